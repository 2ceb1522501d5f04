"""Read export documents, and state files of Unleash 3 to 5, as the contents of a move."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest

from rules import import_shapes as shapes
from rules.import_contents import Contents, Json
from rules.import_shapes import Unfit, fit
from validators import join_first
from validators.fields import Name

# New names of projects or environments, by their names in the file. None: of entries without one.
NewNames = dict[str | None, str]


def name(value: Any) -> str:
    """Return the name of a flag, project or environment. Raise ValueError if it is invalid."""
    try:
        return Name().load_value(value)
    except ValidationError as error:
        raise ValueError from error


def place(value: Any) -> str:
    """Return the name of an environment. Unleash 4.0 to 4.2 call the only one :global:."""
    return "default" if value == ":global:" else name(value)


STRATEGY = shapes.STRATEGY | {"sortOrder": int | None}
STATE = {"enabled": False, "variants": [shapes.VARIANT]}
FILE = {
    "features": [
        shapes.CORE | STATE | {"name": name, "type": "release", "project?": name, "strategies": [STRATEGY]}
        | {"archived": False, "archivedAt": shapes.instant}
    ],
    "featureStrategies": [
        STRATEGY | {"featureName": str, "environment?": place, "createdAt": shapes.instant, "id": shapes.text}
        | {"name": shapes.text, "strategyName": shapes.text}
    ],
    "featureEnvironments": [{"featureName": str, "environment?": place, **STATE}],
    "featureStrategySegments": [{"featureStrategyId": str, "segmentId": int}],
    "environments": [shapes.ENVIRONMENT | {"name": place}],
    "projects": [shapes.PROJECT | {"id": name}],
    "segments": [{"id": int, "name": str, "description?": str, "project?": shapes.text,
                  "constraints?": [shapes.CONSTRAINT]}],
    "contextFields": [shapes.CONTEXT_FIELD], "tagTypes": [shapes.TAG_TYPE], "tags": [shapes.TAG],
    "strategies": [shapes.STRATEGY_TYPE],
    **{key: shapes.EXPORT[key] for key in ("featureTags", "dependencies", "links")},
}  # fmt: skip
TARGET = {"project?": name, "environment?": place}
# What must be unique in a list: the list, the noun for an entry, and the property.
UNIQUE = (("features", "flag", "name"), ("segments", "segment", "name"), ("segments", "segment", "id"))
# Old types of strategies, and the stickiness with which flexibleRollout gives users the same answers.
GRADUAL = {"gradualRolloutUserId": "userId", "gradualRolloutSessionId": "sessionId", "gradualRolloutRandom": "random"}
LACKING = "State files have no archived flags, dependencies, context fields and API tokens."
UNORDERED = "The file does not tell the order of strategies. It is that of their creation. Flags with several"
UNKNOWN = "The file has strategies or states of flags that it does not have. They are left out"


def read_file(document: Any, label: str, project: str | None = None, environment: str | None = None) -> Contents:
    """Return the contents of a parsed file. Raise 400 if it is no such file, or with all its invalid entries.

    label: of the file, for messages. project, environment: new names of the only project or environment of the file. A
    file with several ones keeps their names.
    """
    data = document.get("data", document) if isinstance(document, dict) else None
    version: Any = data.get("version") if isinstance(data, dict) else None
    is_state = type(version) is int and 1 <= version <= 4
    if not isinstance(data, dict) or "features" not in data or not (is_state or "featureStrategies" in data):
        raise BadRequest(f"{label} is neither an export document nor a state file of Unleash.")
    problems: list[str] = []
    given = {"project": project, "environment": environment}
    wanted = {key: name or document.get(key) or None for key, name in given.items()}
    target = next(fitting(wanted, TARGET, "", problems), {})
    file = {key: list(fitting(data.get(key), shape, key, problems)) for key, shape in FILE.items()}
    if problems := [*problems, *contradictions(file)]:
        raise BadRequest(f"{label} cannot be read: {join_first(problems)}.")
    if not is_state:
        return contents_of(file, Contents("Export document"), **target)
    add_states(file, version)
    return contents_of(file, Contents(f"State file of version {version}", warnings=[LACKING]), **target)


def fitting(value: Any, shape: Any, label: str, problems: list[str]) -> Iterator[Any]:
    """Yield the entries of a list that fit, or the value itself. Add the problems of the others."""
    if isinstance(shape, list) and isinstance(value, list | None):
        for position, entry in enumerate(value or ()):
            yield from fitting(entry, shape[0], f"{label}.{position}", problems)
        return
    try:
        yield fit(value, shape, label)
    except Unfit as error:
        problems.append(str(error))


def contradictions(file: Json) -> Iterator[str]:
    """Yield the problems of entries that fit."""
    for key, noun, property in UNIQUE:
        numbers = Counter(entry[property] for entry in file[key])
        yield from (f"it has the {noun} {each} more than once" for each, number in numbers.items() if number > 1)
    for entry in file["featureStrategies"]:
        if not (entry["strategyName"] or entry["name"]):
            yield f"a strategy of the flag {entry['featureName']} has no name"


def add_states(file: Json, version: int) -> None:
    """Give a state file the strategies, states and variants of its flags as version 4 has them."""
    flags = {flag["name"]: flag for flag in file["features"]}
    if version < 3:
        file["featureEnvironments"] = [{"featureName": name, **flag} for name, flag in flags.items()]
        none = dict.fromkeys(("id", "strategyName", "createdAt"))
        file["featureStrategies"] = [
            {**strategy, **none, "featureName": name, "sortOrder": position}
            for name, flag in flags.items()
            for position, strategy in enumerate(flag["strategies"])
        ]
    elif version < 4:
        for state in file["featureEnvironments"]:
            state["variants"] = flags.get(state["featureName"], state)["variants"]


def contents_of(file: Json, contents: Contents, project: str | None = None, environment: str | None = None) -> Contents:
    """Fill the contents from a file in the shape FILE, and return them."""
    placed = [*file["featureEnvironments"], *file["featureStrategies"]]
    places = new_names(contents, "environment", placed, environment, "development")
    projects = new_names(contents, "project", file["features"], project, "default")
    states = states_of(file, places, contents)
    tags, links, parents = (defaultdict[str, list[Json]](list) for _ in range(3))
    for tag in file["featureTags"]:
        tags[tag["featureName"]].append({"type": tag["tagType"], "value": tag["tagValue"]})
    for entry in file["links"]:
        links[entry["feature"]] += entry["links"]
    for entry in file["dependencies"]:
        parents[entry["feature"]] += entry["dependencies"]
    # Unleash before version 4 does not have the time.
    now = shapes.instant(datetime.now(UTC).isoformat())
    contents.flags = [
        {key: flag[key] for key in shapes.CORE}
        | {
            "project": projects[flag.get("project")],
            "archivedAt": flag["archivedAt"] or (now if flag["archived"] else None),
            "tags": tags[name],
            "links": links[name],
            "dependencies": list({parent["feature"]: parent for parent in parents[name]}.values()),
            "environments": list(states.pop(name, {}).values()),
        }
        for name, flag in ((flag["name"], flag) for flag in file["features"])
    ]
    contents.warn(UNKNOWN, sorted(states))
    # A project or environment with a new name gets no settings from the file.
    contents.environments = [item for item in file["environments"] if places.get(item["name"]) in (None, item["name"])]
    contents.projects = [
        item | {"featureNaming": item.get("featureNaming"), "environments": []}
        for item in file["projects"]
        if projects.get(item["id"]) in (None, item["id"])
    ]
    contents.segments = file["segments"]
    for segment in (segment for segment in contents.segments if segment.get("project")):
        segment["project"] = projects.get(segment["project"], segment["project"])
    contents.strategy_types = [type for type in file["strategies"] if type["name"] not in GRADUAL]
    contents.context_fields, contents.tag_types, contents.tags = file["contextFields"], file["tagTypes"], file["tags"]
    colored = [type["name"] for type in contents.tag_types if type.pop("color") not in (None, shapes.WHITE)]
    contents.warn("Colors of tag types are not stored here", colored)
    return contents


def new_names(contents: Contents, key: str, entries: Iterable[Json], wanted: str | None, default: str) -> NewNames:
    """Return the new names of the projects or environments of a file. With several ones, add a warning."""
    known = sorted({entry[key] for entry in entries if key in entry})
    if len(known) > 1:
        contents.warn(f"The file has several {key}s, which keep their names", known if wanted else [])
        return {None: default, **{name: name for name in known}}
    only = wanted or (known[0] if known else default)
    return {None: only, **dict.fromkeys(known, only)}


def states_of(file: Json, places: NewNames, contents: Contents) -> dict[str, dict[str, Json]]:
    """Return the states of flags, by flag and environment. Add a warning if the order of strategies is not known."""
    states: dict[str, dict[str, Json]] = defaultdict(dict)
    for entry in file["featureStrategies"] + file["featureEnvironments"]:
        environment = places[entry.get("environment")]
        state = {"environment": environment, "enabled": False, "variants": [], "strategies": []}
        # Strategies have other variants.
        states[entry["featureName"]][environment] = state | {key: entry[key] for key in STATE if "enabled" in entry}
    segments: dict[str | None, list[int]] = defaultdict(list)
    for link in file["featureStrategySegments"]:
        segments[link["featureStrategyId"]].append(link["segmentId"])
    unordered = Counter[tuple[str, str]]()
    for entry in sorted(file["featureStrategies"], key=order):
        owner = (entry["featureName"], places[entry.get("environment")])
        unordered[owner] += entry["sortOrder"] is None
        states[owner[0]][owner[1]]["strategies"].append(strategy_of(entry, segments[entry["id"]]))
    contents.warn(UNORDERED, sorted({flag for (flag, _), number in unordered.items() if number > 1}))
    return states


def order(strategy: Json) -> tuple[bool, int, str]:
    """Return what strategies are sorted by: sortOrder, otherwise the creation."""
    return strategy["sortOrder"] is None, strategy["sortOrder"] or 0, strategy["createdAt"] or ""


def strategy_of(entry: Json, segments: list[int]) -> Json:
    """Return a strategy of a file, with more segments. Old types become flexibleRollout."""
    name, parameters = entry["strategyName"] or entry["name"], entry["parameters"]
    kept = {key: entry[key] for key in ("title", "disabled", "constraints", "variants")}
    if name in GRADUAL:
        # Like SDKs, take a missing percentage as 0, and a missing group as an empty one.
        rollout = {"rollout": parameters.get("percentage", "0"), "groupId": parameters.get("groupId", "")}
        name, parameters = "flexibleRollout", rollout | {"stickiness": GRADUAL[name]}
    return {**kept, "name": name, "parameters": parameters, "segments": list({*entry["segments"], *segments})}
