"""Read the contents of a running Unleash server."""

from collections import Counter
from collections.abc import Sequence

import click

from operations.unleash.client import Unleash, path_of
from operations.unleash.flags import read_archived, read_flags, search
from operations.unleash.people import read_optional, read_people
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_shapes import Json

OLDEST = 5
# The names of our own service, which has other versions. Version 0.2 had the second one.
OURS = ("Flags", "Flag administration")
UNREADABLE = "favorites, personal tokens, usage, lifecycle stages, change requests, SSO settings and banners"


def read_server(server: Unleash, only: Sequence[str] = (), *, with_users: bool = False) -> Contents:
    """Return the contents of a server. only: ids of the projects to read, or empty for all."""
    contents = identify(server)
    click.echo(f"Reading {contents.source} ...", err=True)
    contents.api_tokens = read_api_tokens(server)
    read_projects(server, only, contents)
    read_catalog(server, contents)
    if with_users:
        read_people(server, contents)
    read_flags(server, contents)
    warn_of_unmoved(server, contents)
    return contents


def identify(server: Unleash) -> Contents:
    """Return empty contents with the name of the server. Raises ClickException if it or the token does not fit."""
    shape = {"name": "", "versionInfo?": {"current": {"oss": "", "enterprise": ""}}}
    config: Json = server.get("/api/admin/ui-config", shape, missing=(404,)) or {"name": ""}
    current: Json = config.get("versionInfo", {}).get("current", {})
    version = current.get("enterprise") or current.get("oss") or ""
    major, minor, *_ = [*version.split("."), "0"]
    if config["name"] not in OURS and major.isdecimal() and int(major) < OLDEST:
        advice = "Export it with GET /api/admin/state/export and run ./flags import FILE."
        raise click.ClickException(f"Unleash {major}.{minor} is too old for this command. {advice}")
    if server.get("/api/admin/projects", {}, missing=(404,)) is None:
        raise server.no_unleash("GET /api/admin/projects returned 404")
    me = server.get("/api/admin/user", {"permissions": [{"permission": str}]}, missing=(404,))
    if me is not None and {"permission": "ADMIN"} not in me["permissions"]:
        raise server.no_admin()
    is_ours = config["name"] in OURS
    edition = "" if is_ours else " (Enterprise)" if current.get("enterprise") else " (OSS)"
    source = f"{OURS[0] if is_ours else 'Unleash'} {version} at {server.url}{edition}"
    return Contents(source, server.url, version or None)


def read_projects(server: Unleash, only: Sequence[str], contents: Contents) -> None:
    """Add the live projects."""
    listed = {"projects": ({"id": str, "archivedAt": shapes.instant},)}
    projects = server.get("/api/admin/projects", listed)["projects"]
    ids = [project["id"] for project in projects if project["archivedAt"] is None]
    # The open-source edition ignores the parameter.
    archived = server.get("/api/admin/projects?archived=true", listed)["projects"]
    if ids == ["default"]:
        # The open-source edition lists no other project, but serves the flags that others have after a downgrade.
        used = {flag["project"] for flag in (*search(server, "project=IS_NOT:default"), *read_archived(server))}
        ids += sorted(used - {project["id"] for project in (*projects, *archived)})
    if unknown := next((project for project in only if project not in ids), None):
        raise click.ClickException(f"Unleash has no project {unknown}. It has: {', '.join(ids)}.")
    contents.warn("Archived projects are not moved", [project["id"] for project in archived if project["archivedAt"]])
    for project_id in dict.fromkeys(only) or ids:
        project = server.get(path_of(project_id, "overview"), shapes.PROJECT)
        contents.warn("Link templates are not moved", [project_id] if project.pop("linkTemplates") else ())
        naming = project.get("featureNaming")
        project["featureNaming"] = naming if naming and naming["pattern"] else None
        for link in project["environments"]:
            strategy = link.get("defaultStrategy")
            link["defaultStrategy"] = strategy and shapes.in_order([strategy])[0]
        contents.projects.append({"id": project_id, **project})


def read_catalog(server: Unleash, contents: Contents) -> None:
    """Add what flags are described with, and all environments."""

    def listed(path: str, name: str, shape: Json) -> list[Json]:
        return server.get(f"/api/admin/{path}", {name: (shape,)})[name]

    projects = [project["id"] for project in contents.projects]
    fields = {field["name"]: field for field in server.get("/api/admin/context", (shapes.CONTEXT_FIELD,))}
    for project in projects:
        own = server.get(path_of(project, "context"), (shapes.CONTEXT_FIELD,), missing=(404,)) or ()
        new = {field["name"]: field for field in own if field["name"] not in fields}
        twice = [field["name"] for field in own if fields.get(field["name"], field) != field]
        contents.warn(f"Context fields of project {project} become fields of all projects", new)
        contents.warn(f"Context fields of project {project} are not moved, because others have their names", twice)
        fields |= new
    contents.context_fields = list(fields.values())
    contents.environments = listed("environments", "environments", shapes.ENVIRONMENT)
    contents.tag_types = listed("tag-types", "tagTypes", shapes.TAG_TYPE)
    colored = [type["name"] for type in contents.tag_types if type.pop("color") not in (None, shapes.WHITE)]
    contents.warn("Colors of tag types are not stored here", colored)
    contents.tags = listed("tags", "tags", shapes.TAG)
    types = listed("strategies", "strategies", shapes.STRATEGY_TYPE)
    contents.strategy_types = [type for type in types if type.pop("editable")]
    contents.flag_types = listed("feature-types", "types", shapes.FLAG_TYPE)
    segments = listed("segments", "segments", shapes.SEGMENT)
    contents.segments = [segment for segment in segments if segment["project"] in (None, *projects)]


def read_api_tokens(server: Unleash) -> list[Json]:
    """Return all API tokens. The secret of a token is None if Unleash stores only its hash."""
    tokens = server.get("/api/admin/api-tokens", {"tokens": (shapes.API_TOKEN,)})["tokens"]
    for token in tokens:
        username, is_hashed = token.pop("username"), token.pop("secure")
        token["tokenName"] = token["tokenName"] or username or "unnamed"
        # Unleash 7 and 8 answer with client.
        token["type"] = token["type"].lower().replace("backend", "client")
        token["secret"] = None if is_hashed else token["secret"]
    return tokens


def warn_of_unmoved(server: Unleash, contents: Contents) -> None:
    """Add a warning for each kind of records that are never moved."""
    addons = read_optional(server, contents, "Integrations", "/api/admin/addons", {"addons": [{"provider": str}]})
    providers = Counter(addon["provider"] for addon in addons.get("addons", ()))
    contents.warn("Integrations are not moved", [f"{number} {provider}" for provider, number in providers.items()])
    shape = {"tokens": [{"name": str}]}
    signup = read_optional(server, contents, "Signup tokens", "/api/admin/invite-link/tokens", shape)
    names = [token["name"] for token in signup.get("tokens", ())]
    contents.warn("Signup tokens are not moved (./flags signup-token create makes new ones)", names)
    contents.warnings.append(f"The event log is not moved, nor are {UNREADABLE}.")
