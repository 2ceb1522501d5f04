"""Read the flags of a running Unleash server."""

from itertools import count
from urllib.parse import quote

from operations.unleash.client import Unleash
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_report import first_names
from rules.import_shapes import Json

# A flag and an environment.
Place = tuple[str, str]

EXPORTED = 500  # flags in one export
PAGE = 100  # archived flags in one answer
LISTED = {"name": str, "environments": [{"name": str, "variantCount": 0}]}
OFF: Json = {"enabled": False, "strategies": []}


def read_flags(server: Unleash, contents: Contents) -> None:
    """Add the flags of the projects of the contents, archived ones too."""
    reader = FlagReader(
        server,
        {project["id"]: [link["environment"] for link in project["environments"]] for project in contents.projects},
    )
    reader.read_details()
    names = list(reader.projects)
    flags = dict(zip(names, server.each(reader.read, names, label=f"Reading {len(names)} flags"), strict=True))
    contents.flags = [flag for flag in flags.values() if flag is not None]
    for message, affected in (
        ("Archived or deleted during this command, so run it again", [name for name in names if flags[name] is None]),
        ("Release plans are not moved. These flags keep the strategies of the plan", sorted(reader.planned)),
    ):
        if affected:
            contents.warnings.append(f"{message}: {first_names(affected)}.")


def read_archived(server: Unleash) -> list[Json]:
    """Return the archived flags of all projects."""
    shape = {"features": [shapes.ARCHIVED], "total": 0}
    if answer := server.get("/api/admin/archive/features", shape, missing=(404,)):
        return answer["features"]
    # Unleash 7 and newer.
    found: list[Json] = []
    for page in count():
        search = f"archived=IS:true&sortBy=name&sortOrder=asc&limit={PAGE}&offset={page * PAGE}"
        answer = server.get(f"/api/admin/search/features?{search}", shape)
        found += [flag for flag in answer["features"] if flag["archivedAt"]]
        if (page + 1) * PAGE >= answer["total"] or not answer["features"]:
            return found
    raise AssertionError


class FlagReader:
    """Reads the flags of some projects. linked: these projects with their environments."""

    def __init__(self, server: Unleash, linked: dict[str, list[str]]) -> None:
        self.server = server
        self.linked = linked
        self.archived = {flag["name"]: flag for flag in read_archived(server) if flag["project"] in linked}
        # The project of each flag, and where flags have variants.
        self.projects = {name: flag["project"] for name, flag in self.archived.items()}
        self.varied = {(name, environment) for name in self.projects for environment in linked[self.projects[name]]}
        for project in linked:
            for flag in server.get(path(project), {"features": [LISTED]})["features"]:
                self.projects[flag["name"]] = project
                self.varied |= {
                    (flag["name"], state["name"]) for state in flag["environments"] if state["variantCount"]
                }
                self.archived.pop(flag["name"], None)
        # What the answer for a single flag lacks. For archived flags, that is more.
        self.variants: dict[Place, list[Json]] = {}
        self.enabled: dict[Place, bool] = {}
        self.tags: dict[str, list[Json]] = {}
        self.links: dict[str, list[Json]] = {}
        self.dependencies: dict[str, list[Json]] = {}
        # The flags with strategies of release plans.
        self.planned: set[str] = set()

    def read_details(self) -> None:
        """Read the details of all flags, from exports if the server does not refuse them."""
        names = list(self.projects)
        parts = [
            {"environment": environment, "features": names[start : start + EXPORTED]}
            for environment in sorted({environment for linked in self.linked.values() for environment in linked})
            for start in range(0, len(names), EXPORTED)
        ]
        exports = self.server.each(self.export, parts)
        if None in exports:
            self.server.each(self.read_tags, names)
            self.server.each(self.read_variants, self.varied)
        for part, export in zip(parts, exports, strict=True):
            self.add(part["environment"], export or shapes.fit({}, shapes.EXPORT))

    def export(self, body: Json) -> Json | None:
        """Return an export, or None if the server refuses it."""
        return self.server.post("/api/admin/features-batch/export", body, shapes.EXPORT, missing=(400, 403, 404))

    def add(self, environment: str, export: Json) -> None:
        """Add an export to the details."""
        for state in export["featureEnvironments"]:
            self.variants[state["featureName"], environment] = state["variants"]
            self.enabled[state["featureName"], environment] = state["enabled"]
        for entry in export["featureTags"]:
            tags, tag = (
                self.tags.setdefault(entry["featureName"], []),
                {"type": entry["tagType"], "value": entry["tagValue"]},
            )
            tags += [] if tag in tags else [tag]
        self.links |= {entry["feature"]: entry["links"] for entry in export["links"]}
        self.dependencies |= {entry["feature"]: entry["dependencies"] for entry in export["dependencies"]}

    def read_tags(self, name: str) -> None:
        """Read the tags of a flag."""
        answer = self.server.get(f"/api/admin/features/{quoted(name)}/tags", {"tags": [shapes.TAG]}, missing=(404,))
        self.tags[name] = answer["tags"] if answer else []

    def read_variants(self, place: Place) -> None:
        """Read the variants of a flag in an environment."""
        url = f"{path(self.projects[place[0]], *place)}/variants"
        answer = self.server.get(url, {"variants": [shapes.VARIANT]}, missing=(404,))
        self.variants[place] = answer["variants"] if answer else []

    def read(self, name: str) -> Json | None:
        """Return a flag, or None if it was archived or deleted during this command."""
        project = self.projects[name]
        flag = self.read_archived(name) if name in self.archived else self.read_live(name)
        if flag is None:
            return None
        states = {state["name"]: state for state in flag["environments"]}
        if any(strategy["milestoneId"] for state in states.values() for strategy in state["strategies"]):
            self.planned.add(name)
        environments = [
            {
                "environment": environment,
                "enabled": states.get(environment, OFF)["enabled"],
                "variants": self.variants.get((name, environment), []),
                "strategies": shapes.moved_strategies(states.get(environment, OFF)["strategies"]),
            }
            for environment in self.linked[project]
        ]
        return flag | {"project": project, "tags": self.tags.get(name, []), "environments": environments}

    def read_live(self, name: str) -> Json | None:
        """Return a flag that is not archived."""
        flag = self.server.get(path(self.projects[name], name), shapes.FLAG, missing=(404,))
        return flag and flag | {"archivedAt": None}

    def read_archived(self, name: str) -> Json:
        """Return an archived flag."""
        project = self.projects[name]
        environments = []
        for environment in self.linked[project]:
            url = f"{path(project, name, environment)}/strategies"
            strategies = self.server.get(url, [shapes.STRATEGY], missing=(404,)) or []
            enabled = self.enabled.get((name, environment), False)
            environments.append({"name": environment, "enabled": enabled, "strategies": strategies})
        more = {"links": self.links.get(name, []), "dependencies": self.dependencies.get(name, [])}
        return self.archived[name] | more | {"environments": environments}


def path(project: str, flag: str = "", environment: str = "") -> str:
    """Return the path of the flags of a project, of a flag, or of a flag in an environment."""
    flags = f"/api/admin/projects/{quoted(project)}/features"
    one = f"/{quoted(flag)}" if flag else ""
    return f"{flags}{one}/environments/{quoted(environment)}" if environment else f"{flags}{one}"


def quoted(name: str) -> str:
    """Return a name for a path."""
    return quote(name, safe="")
