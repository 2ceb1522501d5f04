"""Read the contents of a running Unleash server."""

from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

import click

from operations.unleash import people
from operations.unleash.client import Unleash
from operations.unleash.flags import read_flags
from rules import import_shapes as shapes
from rules.import_contents import Contents

OLDEST = 5
# The name of our own service, which has other versions.
OURS = "Flag administration"
CONFIG = {"name": "", "versionInfo?": {"current": {"oss": "", "enterprise": ""}}}
# Every project begins with this colour of a tag type.
UNREADABLE = "favourites, personal tokens, usage, lifecycle stages, change requests, SSO settings and banners"


def read_server(server: Unleash, only: Sequence[str] = (), *, with_users: bool = False) -> Contents:
    """Return the contents of a server. only: ids of the projects to read, or empty for all."""
    contents = identify(server)
    click.echo(f"Reading {contents.source} ...", err=True)
    contents.api_tokens = read_api_tokens(server)
    read_projects(server, only, contents)
    read_catalog(server, contents)
    if with_users:
        people.read_people(server, contents)
    read_flags(server, contents)
    warn_of_unmoved(server, contents)
    return contents


def identify(server: Unleash) -> Contents:
    """Return empty contents with the name of the server. Raises ClickException if it or the token does not fit."""
    config: shapes.Json = server.get("/api/admin/ui-config", CONFIG, missing=(404,)) or {"name": ""}
    current = config.get("versionInfo", {}).get("current", {"oss": "", "enterprise": ""})
    version = current["enterprise"] or current["oss"]
    major, _, rest = version.partition(".")
    if config["name"] != OURS and major.isdecimal() and int(major) < OLDEST:
        release, advice = (
            f"{major}.{rest.partition('.')[0]}",
            "GET /api/admin/state/export and run ./flags import FILE.",
        )
        raise click.ClickException(f"Unleash {release} is too old for this command. Export it with {advice}")
    if server.get("/api/admin/projects", {}, missing=(404,)) is None:
        raise server.no_unleash("GET /api/admin/projects returned 404")
    me = server.get("/api/admin/user", {"permissions": [{"permission": str}]}, missing=(404,))
    if me is not None and {"permission": "ADMIN"} not in me["permissions"]:
        raise server.no_admin()
    edition = "" if config["name"] == OURS or not version else " (Enterprise)" if current["enterprise"] else " (OSS)"
    product = OURS if config["name"] == OURS else "Unleash"
    return Contents(f"{product} {version} at {server.url}{edition}".replace("  ", " "), server.url, version or None)


def read_projects(server: Unleash, only: Sequence[str], contents: Contents) -> None:
    """Add the live projects and all environments."""
    listed = {"projects": [{"id": str, "archivedAt": shapes.instant}]}
    projects = server.get("/api/admin/projects", listed)["projects"]
    ids = [project["id"] for project in projects if project["archivedAt"] is None]
    for unknown in set(only) - set(ids):
        raise click.ClickException(f"Unleash has no project {unknown}. It has: {', '.join(ids)}.")
    projects += server.get("/api/admin/projects?archived=true", listed)["projects"]
    archived = {project["id"] for project in projects if project["archivedAt"]}
    contents.warn("Archived projects are not moved", () if only else sorted(archived))
    for project_id in only or ids:
        project = server.get(f"/api/admin/projects/{quote(project_id, safe='')}/overview", shapes.PROJECT)
        naming = project.get("featureNaming")
        contents.warn("Link templates are not moved", [project_id] if project.pop("linkTemplates") else ())
        links = []
        for link in project["environments"]:
            strategies = shapes.in_order([link["defaultStrategy"]] if "defaultStrategy" in link else [])
            links.append({"environment": link["environment"], "defaultStrategy": next(iter(strategies), None)})
        settings = {"featureNaming": naming if naming and naming["pattern"] else None, "environments": links}
        contents.projects.append({"id": project_id, **project, **settings})
    contents.environments = server.get("/api/admin/environments", {"environments": [shapes.ENVIRONMENT]})[
        "environments"
    ]


def read_catalog(server: Unleash, contents: Contents) -> None:
    """Add what flags are described with."""
    projects = [project["id"] for project in contents.projects]
    fields = {field["name"]: field for field in server.get("/api/admin/context", [shapes.CONTEXT_FIELD])}
    for project in projects:
        path = f"/api/admin/projects/{quote(project, safe='')}/context"
        own = server.get(path, [shapes.CONTEXT_FIELD], missing=(404,)) or ()
        names = [field["name"] for field in own]
        contents.warn(f"Context fields of project {project} become fields of all projects", names)
        twice = [name for name in names if name in fields]
        contents.warn(f"Context fields of project {project} have the name of another and are not moved", twice)
        fields = {field["name"]: field for field in own} | fields
    contents.context_fields = list(fields.values())
    contents.tag_types = server.get("/api/admin/tag-types", {"tagTypes": [shapes.TAG_TYPE]})["tagTypes"]
    coloured = [type["name"] for type in contents.tag_types if type.pop("color") not in (None, shapes.WHITE)]
    contents.warn("Colours of tag types are not stored here", coloured)
    contents.tags = server.get("/api/admin/tags", {"tags": [shapes.TAG]})["tags"]
    types = server.get("/api/admin/strategies", {"strategies": [shapes.STRATEGY_TYPE]})["strategies"]
    contents.strategy_types = [type for type in types if type.pop("editable")]
    contents.flag_types = server.get("/api/admin/feature-types", {"types": [shapes.FLAG_TYPE]})["types"]
    segments = server.get("/api/admin/segments", {"segments": [shapes.SEGMENT]})["segments"]
    contents.segments = [segment for segment in segments if segment["project"] in (None, *projects)]


def read_api_tokens(server: Unleash) -> list[shapes.Json]:
    """Return all API tokens. The secret of a token is None if Unleash stores only its hash."""
    tokens = server.get("/api/admin/api-tokens", {"tokens": [shapes.API_TOKEN]})["tokens"]
    for token in tokens:
        token["tokenName"] = token["tokenName"] or token.pop("username", None) or "unnamed"
        token.pop("username", None)
        token["type"] = token["type"].lower().replace("backend", "client")
        token["secret"] = None if token.pop("secure") else token["secret"]
    return tokens


def warn_of_unmoved(server: Unleash, contents: Contents) -> None:
    """Add a warning for each kind of records that are never moved."""
    addons = server.get("/api/admin/addons", {"addons": [{"provider": str}]}, missing=(403, 404)) or {"addons": []}
    providers = Counter(addon["provider"] for addon in addons["addons"])
    contents.warn("Integrations are not moved", [f"{number} {provider}" for provider, number in providers.items()])
    signup = server.get("/api/admin/invite-link/tokens", {"tokens": [{"name": str}]}, missing=(403, 404))
    names = [token["name"] for token in (signup or {"tokens": []})["tokens"]]
    contents.warn("Signup tokens are not moved (./flags signup-token create makes new ones)", names)
    contents.warnings.append(f"The event log is not moved, nor are {UNREADABLE}.")
