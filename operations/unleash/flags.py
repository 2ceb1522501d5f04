"""Read the flags of a running Unleash server."""

from collections import defaultdict
from itertools import count
from urllib.parse import quote

from operations.unleash.client import Unleash, path_of
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_shapes import Json
from rules.refusals import quantity

EXPORTED = 500  # flags in one export
PAGE = 100  # archived flags in one answer
LISTED = {"name": str, "environments": [{"name": str, "variantCount": 0}]}
SEARCHED = {"features": (shapes.ARCHIVED,), "total": 0}
EXPORT = "/api/admin/features-batch/export"
OFF: Json = {"enabled": False, "strategies": []}


def read_flags(server: Unleash, contents: Contents) -> None:
    """Add the flags of the projects of the contents, archived ones too."""
    reader = FlagReader(
        server,
        {project["id"]: [link["environment"] for link in project["environments"]] for project in contents.projects},
    )
    reader.read_details()
    names = list(reader.projects)
    contents.flags = list(filter(None, server.each(reader.read, names, f"Reading {quantity(len(names), 'flag')}")))
    gone = sorted({*names} - {flag["name"] for flag in contents.flags})
    contents.warn("These flags were archived or deleted during the command. Repeat it", gone)
    contents.warn("Release plans are not moved. These flags keep the strategies of a plan", sorted(reader.planned))


class FlagReader:
    """Reads the flags of some projects. environments: those of each project."""

    def __init__(self, server: Unleash, environments: dict[str, list[str]]) -> None:
        self.server = server
        self.environments = environments
        self.projects: dict[str, str] = {}
        # Flags and environments that can have variants.
        self.varied: set[tuple[str, str]] = set()
        for project in environments:
            for flag in server.get(path_of(project, "features"), {"features": (LISTED,)})["features"]:
                name = flag["name"]
                self.projects[name] = project
                self.varied |= {(name, state["name"]) for state in flag["environments"] if state["variantCount"]}
        # After the live flags: one that is archived meanwhile is in both lists.
        self.archived = {flag["name"]: flag for flag in read_archived(server) if flag["project"] in environments}
        for name, flag in self.archived.items():
            self.projects[name] = flag["project"]
            self.varied |= {(name, environment) for environment in environments[flag["project"]]}
        # What the answers about single flags lack.
        self.details: dict[str, Json] = defaultdict(lambda: {"tags": [], "links": [], "dependencies": []})
        self.variants: dict[tuple[str, str], list[Json]] = {}
        # Flags with strategies of a release plan.
        self.planned: set[str] = set()

    def read_details(self) -> None:
        """Read details from exports, or from each flag that they lack because the server refuses or limits them."""
        names = list(self.projects)
        bodies = [
            {"environment": environment, "features": names[start : start + EXPORTED]}
            for environment in sorted({name for linked in self.environments.values() for name in linked})
            for start in range(0, len(names), EXPORTED)
        ]
        read = self.server.each(
            lambda body: self.server.get(EXPORT, shapes.EXPORT, missing=(400, 403, 404), body=body), bodies
        )
        exported: set[str] = set()
        for body, export in zip(bodies, read, strict=True):
            exported |= self.add(body["environment"], export) if export else set()
        self.server.each(self.read_tags, self.projects.keys() - exported)
        self.server.each(self.read_variants, self.varied - self.variants.keys())

    def add(self, environment: str, export: Json) -> set[str]:
        """Add the details of an export, and return the names of its flags."""
        for state in export["featureEnvironments"]:
            self.variants[state["featureName"], environment] = state["variants"]
        for entry in export["featureTags"]:
            tag = {"type": entry["tagType"], "value": entry["tagValue"]}
            if tag not in (tags := self.details[entry["featureName"]]["tags"]):
                tags.append(tag)
        for key in ("links", "dependencies"):
            for entry in export[key]:
                self.details[entry["feature"]][key] = entry[key]
        return {flag["name"] for flag in export["features"]}

    def read_tags(self, name: str) -> None:
        """Read the tags of a flag."""
        path = f"/api/admin/features/{quote(name, safe='')}/tags"
        self.details[name] |= self.server.get(path, {"tags": (shapes.TAG,)}, missing=(404,)) or {}

    def read_variants(self, place: tuple[str, str]) -> None:
        """Read the variants of a flag in an environment."""
        name, environment = place
        path = path_of(self.projects[name], "features", name, "environments", environment, "variants")
        answer = self.server.get(path, {"variants": (shapes.VARIANT,)}, missing=(404,)) or {"variants": []}
        self.variants[place] = answer["variants"]

    def read(self, name: str) -> Json | None:
        """Return a flag, or None if it was archived or deleted during the command."""
        project = self.projects[name]
        path, linked = path_of(project, "features", name), self.environments[project]
        if flag := self.archived.get(name):
            found = [self.read_archived(path, environment) for environment in linked]
        elif flag := self.server.get(path, shapes.FLAG, missing=(404,)):
            found = flag["environments"]
        else:
            return None
        if not all(found):
            return None
        states: dict[str, Json] = {state["name"]: state for state in found if state}
        environments = []
        for environment in linked:
            state = states.get(environment, OFF)
            if any(strategy["milestoneId"] for strategy in state["strategies"]):
                self.planned.add(name)
            variants, strategies = self.variants.get((name, environment), []), shapes.in_order(state["strategies"])
            here = {"environment": environment, "variants": variants, "strategies": strategies}
            environments.append({"enabled": state["enabled"], **here})
        return {"archivedAt": None, **self.details[name], **flag, "project": project, "environments": environments}

    def read_archived(self, path: str, environment: str) -> Json | None:
        """Return the state of an archived flag in an environment, or None if it is gone. path: that of the flag."""
        url = f"{path}/environments/{quote(environment, safe='')}/strategies"
        strategies = self.server.get(url, [shapes.STRATEGY], missing=(404,))
        return None if strategies is None else {"name": environment, "enabled": False, "strategies": strategies}


def read_archived(server: Unleash) -> list[Json]:
    """Return the archived flags of all projects."""
    if answer := server.get("/api/admin/archive/features", SEARCHED, missing=(404,)):
        return answer["features"]
    # Unleash 7 and newer. Older versions ignore the filter.
    return [flag for flag in search(server, "archived=IS:true") if flag["archivedAt"]]


def search(server: Unleash, query: str) -> list[Json]:
    """Return the flags that a search finds, or none if the server has no search."""
    found: list[Json] = []
    for offset in count(0, PAGE):
        path = f"/api/admin/search/features?{query}&sortBy=name&sortOrder=asc&limit={PAGE}&offset={offset}"
        answer = server.get(path, SEARCHED, missing=(404,)) or {"features": (), "total": 0}
        found += answer["features"]
        if offset + PAGE >= answer["total"]:
            break
    return found
