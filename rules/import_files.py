"""Read export documents, and state files of Unleash 3 to 5, as the contents of a move."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest

from rules import import_shapes as shapes
from rules.import_contents import Contents, Json
from rules.import_shapes import Unfit, fit
from validators.fields import Name

# New names of projects or environments, by their names in the file. None: of entries without one.
NewNames = dict[str | None, str]


def flag_name(value: Any) -> str:
    """Return the name of a flag. Raise ValueError if it is invalid."""
    try:
        return Name().load_value(value)
    except ValidationError as error:
        raise ValueError from error


def place(value: Any) -> str | None:
    """Return the name of an environment, or None. Unleash 4.0 to 4.2 call the only one :global:."""
    name = shapes.text(value)
    return "default" if name == ":global:" else name


STRATEGY = shapes.STRATEGY | {"sortOrder": int | None}
STATE = {"enabled": False, "variants": [shapes.VARIANT]}
FILE = {
    "features": [
        shapes.CORE | STATE | {"name": flag_name, "type": "release", "project": shapes.text, "strategies": [STRATEGY]}
        | {"archived": False, "archivedAt": shapes.instant}
    ],
    "featureStrategies": [
        STRATEGY | {"featureName": str, "environment": place, "createdAt": shapes.instant, "id": shapes.text}
        | {"name": shapes.text, "strategyName": shapes.text}
    ],
    "featureEnvironments": [{"featureName": str, "environment": place, **STATE}],
    "featureStrategySegments": [{"featureStrategyId": str, "segmentId": int}],
    "environments": [shapes.ENVIRONMENT | {"name": place}],
    "projects": [shapes.PROJECT | {"id": str}],
    "segments": [{"id": int, "name": str, "description?": str, "project?": shapes.text,
                  "constraints?": [shapes.CONSTRAINT]}],
    "contextFields": [shapes.CONTEXT_FIELD], "tagTypes": [shapes.TAG_TYPE], "tags": [shapes.TAG],
    "strategies": [shapes.STRATEGY_TYPE],
    **{name: shapes.EXPORT[name] for name in ("featureTags", "dependencies", "links")},
}  # fmt: skip
# What the body of an import has besides the document.
TARGET = {"project": shapes.text, "environment": shapes.text}
# The versions of the format of state files.
VERSIONS = (1, 2, 3, 4)
# Old types of strategies, and the stickiness with which flexibleRollout gives users the same answers.
GRADUAL = {"gradualRolloutUserId": "userId", "gradualRolloutSessionId": "sessionId", "gradualRolloutRandom": "random"}
LACKING = "State files have no archived flags, dependencies, context fields and API tokens."
UNORDERED = "The file does not tell the order of strategies. It is that of their creation. Flags with several"
UNKNOWN = "The file has strategies or states of flags that it does not have. They are left out"


def read_file(document: Any, name: str, project: str | None = None, environment: str | None = None) -> Contents:
    """Return the contents of a parsed file. Raise 400 if it is no such file, or has an invalid value.

    name: of the file, for messages. project, environment: new names of the only project or environment of the file. A
    file with several ones keeps their names.
    """
    data = document.get("data", document) if isinstance(document, dict) else None
    version: Any = data.get("version") if isinstance(data, dict) else None
    is_state = type(version) is int and version in VERSIONS
    if not isinstance(data, dict) or "features" not in data or not (is_state or "featureStrategies" in data):
        raise BadRequest(f"{name} is neither an export document nor a state file of Unleash.")
    try:
        target = fit(document, TARGET)
        file = fit(data, FILE)
        if is_state:
            add_states(file, version)
        source = f"State file of version {version}" if is_state else "Export document"
        contents = contents_of(file, source, project or target["project"], environment or target["environment"])
    except Unfit as error:
        raise BadRequest(f"{name} cannot be read: {error}.") from None
    if is_state:
        contents.warnings.append(LACKING)
    return contents


def add_states(file: Json, version: int) -> None:
    """Give a state file the strategies, states and variants of its flags as version 4 has them."""
    flags = {flag["name"]: flag for flag in file["features"]}
    none = dict.fromkeys(("environment", "id", "strategyName", "createdAt"))
    if version < 3:
        file["featureEnvironments"] = [
            {**flag, "featureName": name, "environment": None} for name, flag in flags.items()
        ]
        file["featureStrategies"] = [
            {**strategy, **none, "featureName": name, "sortOrder": position}
            for name, flag in flags.items()
            for position, strategy in enumerate(flag["strategies"])
        ]
    elif version < 4:
        for state in file["featureEnvironments"]:
            state["variants"] = flags.get(state["featureName"], state)["variants"]


def contents_of(file: Json, source: str, project: str | None, environment: str | None) -> Contents:
    """Return the contents of a file in the shape FILE. Raise Unfit if it contradicts itself."""
    contents = Contents(source)
    names = Counter(flag["name"] for flag in file["features"])
    for twice in (name for name, number in names.items() if number > 1):
        raise Unfit(f"it has the flag {twice} more than once")
    entries = [*file["featureEnvironments"], *file["featureStrategies"]]
    places = new_names(contents, "environment", (entry["environment"] for entry in entries), environment, "development")
    projects = new_names(contents, "project", (flag["project"] for flag in file["features"]), project, "default")
    states = states_of(file, places, contents)
    tags: dict[str, list[Json]] = defaultdict(list)
    for tag in file["featureTags"]:
        tags[tag["featureName"]].append({"type": tag["tagType"], "value": tag["tagValue"]})
    links = {entry["feature"]: entry["links"] for entry in file["links"]}
    parents = {entry["feature"]: entry["dependencies"] for entry in file["dependencies"]}
    # Unleash before version 4 does not have the time.
    now = shapes.instant(datetime.now(UTC).isoformat())
    contents.flags = [
        {key: flag[key] for key in shapes.CORE}
        | {
            "project": projects[flag["project"]],
            "archivedAt": flag["archivedAt"] or (now if flag["archived"] else None),
        }
        | {"tags": tags[flag["name"]], "links": links.get(flag["name"], [])}
        | {"dependencies": parents.get(flag["name"], []), "environments": list(states[flag["name"]].values())}
        for flag in file["features"]
    ]
    contents.warn(UNKNOWN, sorted(states.keys() - names.keys()))
    contents.environments = [item for item in file["environments"] if keeps_name(places, item["name"])]
    contents.projects = [
        item | {"featureNaming": item.get("featureNaming"), "environments": []}
        for item in file["projects"]
        if keeps_name(projects, item["id"])
    ]
    contents.segments = file["segments"]
    for segment in (item for item in contents.segments if item.get("project")):
        segment["project"] = projects.get(segment["project"], segment["project"])
    contents.strategy_types = [type for type in file["strategies"] if type["name"] not in GRADUAL]
    contents.context_fields, contents.tag_types, contents.tags = file["contextFields"], file["tagTypes"], file["tags"]
    coloured = [type["name"] for type in contents.tag_types if type.pop("color") not in (None, shapes.WHITE)]
    contents.warn("Colours of tag types are not stored here", coloured)
    return contents


def new_names(contents: Contents, noun: str, names: Iterable[str | None], wanted: str | None, default: str) -> NewNames:
    """Return the new names of the projects or environments of a file. With several ones, add a warning."""
    known = sorted({name for name in names if name})
    if len(known) > 1:
        contents.warn(f"The file has several {noun}s, which keep their names", known if wanted else [])
        return {None: default, **{name: name for name in known}}
    only = wanted or (known[0] if known else default)
    return {None: only, **dict.fromkeys(known, only)}


def keeps_name(names: NewNames, name: str) -> bool:
    """Return whether a project or an environment keeps its name, or is not used by flags."""
    return names.get(name, name) == name


def states_of(file: Json, places: NewNames, contents: Contents) -> dict[str, dict[str, Json]]:
    """Return the states of flags, by flag and environment. Add a warning if the order of strategies is not known."""
    states: dict[str, dict[str, Json]] = defaultdict(dict)
    for entry in [*file["featureEnvironments"], *file["featureStrategies"]]:
        environment = places[entry["environment"]]
        state = {"environment": environment, "enabled": False, "variants": [], "strategies": []}
        states[entry["featureName"]].setdefault(environment, state)
    for entry in file["featureEnvironments"]:
        states[entry["featureName"]][places[entry["environment"]]] |= {key: entry[key] for key in STATE}
    segments: dict[str | None, list[int]] = defaultdict(list)
    for link in file["featureStrategySegments"]:
        segments[link["featureStrategyId"]].append(link["segmentId"])
    unordered = Counter[tuple[str, str]]()
    for entry in sorted(file["featureStrategies"], key=position):
        owner = (entry["featureName"], places[entry["environment"]])
        unordered[owner] += entry["sortOrder"] is None
        states[owner[0]][owner[1]]["strategies"].append(strategy_of(entry, segments[entry["id"]]))
    contents.warn(UNORDERED, sorted({flag for (flag, _), number in unordered.items() if number > 1}))
    return states


def position(strategy: Json) -> tuple[bool, int, str]:
    """Return what strategies are sorted by."""
    return strategy["sortOrder"] is None, strategy["sortOrder"] or 0, strategy["createdAt"] or ""


def strategy_of(entry: Json, segments: list[int]) -> Json:
    """Return a strategy of a file, with more segments. Old types become flexibleRollout."""
    name, given = entry["strategyName"] or entry["name"], entry["parameters"]
    if name is None:
        raise Unfit(f"a strategy of the flag {entry['featureName']} has no name")
    kept = {key: entry[key] for key in ("title", "disabled", "constraints", "variants")}
    if name in GRADUAL:
        # Like SDKs, take a missing percentage as 0, and a missing group as an empty one.
        given = {"rollout": given.get("percentage", "0"), "groupId": given.get("groupId", "")}
        name, given = "flexibleRollout", given | {"stickiness": GRADUAL[name]}
    return {**kept, "name": name, "parameters": given, "segments": [*entry["segments"], *segments]}
