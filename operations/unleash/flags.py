"""Read the flags of a running Unleash server."""

from collections import defaultdict
from itertools import count
from urllib.parse import quote

from operations.unleash.client import Unleash
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_shapes import Json

# A flag and an environment.
Place = tuple[str, str]

EXPORTED = 500  # flags in one export
PAGE = 100  # archived flags in one answer
LISTED = {"name": str, "environments": [{"name": str, "variantCount": 0}]}
OFF: Json = {"enabled": False, "strategies": []}


def read_flags(server: Unleash, contents: Contents) -> None:
    """Add the flags of the projects of the contents, archived ones too."""
    environments = {
        project["id"]: [link["environment"] for link in project["environments"]] for project in contents.projects
    }
    reader = FlagReader(server, environments)
    reader.read_details()
    names = list(reader.projects)
    flags = server.each(reader.read, names, label=f"Reading {len(names)} flags")
    contents.flags = [flag for flag in flags if flag is not None]
    gone = sorted({*names} - {flag["name"] for flag in contents.flags})
    contents.warn("These flags were archived or deleted during the command. Repeat it", gone)
    contents.warn("That server does not show strategies of these archived flags", sorted(reader.hidden))
    contents.warn("Release plans are not moved. These flags keep the strategies of a plan", sorted(reader.planned))


class FlagReader:
    """Reads the flags of some projects. environments: those of each project."""

    def __init__(self, server: Unleash, environments: dict[str, list[str]]) -> None:
        self.server = server
        self.environments = environments
        self.archived = {flag["name"]: flag for flag in read_archived(server) if flag["project"] in environments}
        self.projects = {name: flag["project"] for name, flag in self.archived.items()}
        # Where flags can have variants.
        self.varied = {(name, place) for name, project in self.projects.items() for place in environments[project]}
        for project in environments:
            for flag in server.get(path(project), {"features": [LISTED]})["features"]:
                self.projects[flag["name"]] = project
                self.archived.pop(flag["name"], None)
                self.varied |= {
                    (flag["name"], state["name"]) for state in flag["environments"] if state["variantCount"]
                }
        # What the answer for a single flag lacks: tags and variants, and for archived flags also the rest.
        self.tags: dict[str, list[Json]] = defaultdict(list)
        self.states: dict[Place, Json] = {}
        self.others: dict[str, Json] = defaultdict(lambda: {"links": [], "dependencies": []})
        # Flags to warn of.
        self.hidden: set[str] = set()
        self.planned: set[str] = set()

    def read_details(self) -> None:
        """Read details from exports. Ask for each flag that they do not have, or if the server refuses exports."""
        names = list(self.projects)
        parts = [
            {"environment": environment, "features": names[start : start + EXPORTED]}
            for environment in sorted({environment for linked in self.environments.values() for environment in linked})
            for start in range(0, len(names), EXPORTED)
        ]
        exported: set[str] = set()
        for part, export in zip(parts, self.server.each(self.export, parts), strict=True):
            exported |= {flag["name"] for flag in export["features"]}
            self.add(part["environment"], export)
        self.server.each(self.read_tags, self.projects.keys() - exported)
        self.server.each(self.read_variants, self.varied - self.states.keys())

    def export(self, body: Json) -> Json:
        """Return an export, which is empty if the server refuses it."""
        answer = self.server.post("/api/admin/features-batch/export", body, shapes.EXPORT, missing=(400, 403, 404))
        return answer or shapes.fit({}, shapes.EXPORT)

    def add(self, environment: str, export: Json) -> None:
        """Add the details of an export."""
        for state in export["featureEnvironments"]:
            self.states[state["featureName"], environment] = state
        for entry in export["featureTags"]:
            tags, tag = self.tags[entry["featureName"]], {"type": entry["tagType"], "value": entry["tagValue"]}
            tags += [] if tag in tags else [tag]
        for name in ("links", "dependencies"):
            for entry in export[name]:
                self.others[entry["feature"]][name] = entry[name]

    def read_tags(self, name: str) -> None:
        """Read the tags of a flag."""
        answer = self.server.get(f"/api/admin/features/{quoted(name)}/tags", {"tags": [shapes.TAG]}, missing=(404,))
        self.tags[name] = answer["tags"] if answer else []

    def read_variants(self, place: Place) -> None:
        """Read the variants of a flag in an environment."""
        url = f"{path(self.projects[place[0]], *place)}/variants"
        answer = self.server.get(url, {"variants": [shapes.VARIANT]}, missing=(404,)) or {"variants": []}
        self.states[place] = {"enabled": False, **answer}

    def read(self, name: str) -> Json | None:
        """Return a flag, or None if it was archived or deleted during the command."""
        project = self.projects[name]
        if name in self.archived:
            flag = self.archived[name] | self.others[name] | {"environments": self.read_archived_states(name)}
        else:
            flag = self.server.get(path(project, name), shapes.FLAG, missing=(404,))
            if flag is None:
                return None
        states = {state["name"]: state for state in flag["environments"]}
        if any(strategy["milestoneId"] for state in states.values() for strategy in state["strategies"]):
            self.planned.add(name)
        environments = [
            {
                "environment": environment,
                "enabled": states.get(environment, OFF)["enabled"],
                "variants": self.states.get((name, environment), {}).get("variants", []),
                "strategies": shapes.in_order(states.get(environment, OFF)["strategies"]),
            }
            for environment in self.environments[project]
        ]
        return {"archivedAt": None, **flag, "project": project, "tags": self.tags[name], "environments": environments}

    def read_archived_states(self, name: str) -> list[Json]:
        """Return the states of an archived flag, with its strategies if the server shows them."""
        states: list[Json] = []
        for environment in self.environments[self.projects[name]]:
            url = f"{path(self.projects[name], name, environment)}/strategies"
            strategies = self.server.get(url, [shapes.STRATEGY], missing=(404,))
            if strategies is None:
                self.hidden.add(name)
            enabled = self.states.get((name, environment), OFF)["enabled"]
            states.append({"name": environment, "enabled": enabled, "strategies": strategies or []})
        return states


def read_archived(server: Unleash) -> list[Json]:
    """Return the archived flags of all projects."""
    shape = {"features": [shapes.ARCHIVED], "total": 0}
    if answer := server.get("/api/admin/archive/features", shape, missing=(404,)):
        return answer["features"]
    # Unleash 7 and newer. Older ones ignore the filter.
    found: list[Json] = []
    for offset in count(0, PAGE):
        query = f"archived=IS:true&sortBy=name&sortOrder=asc&limit={PAGE}&offset={offset}"
        answer = server.get(f"/api/admin/search/features?{query}", shape)
        found += [flag for flag in answer["features"] if flag["archivedAt"]]
        if offset + PAGE >= answer["total"]:
            break
    return found


def path(project: str, flag: str = "", environment: str = "") -> str:
    """Return the path of the flags of a project, of a flag, or of a flag in an environment."""
    flags = f"/api/admin/projects/{quoted(project)}/features{'/' if flag else ''}{quoted(flag)}"
    return f"{flags}/environments/{quoted(environment)}" if environment else flags


def quoted(name: str) -> str:
    """Return a name for a path."""
    return quote(name, safe="")
