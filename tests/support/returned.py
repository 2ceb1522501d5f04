"""The records whose GET can be sent back: where each is read, changed and created, and one full example of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.world import Caller, World
from validators import Body
from validators.flags import core as flags
from validators.flags import strategies
from validators.returned import Returned
from validators.vocabulary import context_fields, environments, flag_types, segments, strategy_types, tag_types

Json = dict[str, Any]
ADMIN = "/api/admin"
CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": True}
SEGMENT = {"name": "Beta", "description": "Testers.", "project": "default", "constraints": [CONSTRAINT]}


@dataclass(frozen=True)
class Sendable:
    """A record, and the requests that take it.

    table: its properties that requests do not set. records: its JSON Schemas. create: creates one and returns it.
    gets: the paths that return it. renamed: what a second record needs. wrong: other values of read-only properties.
    """

    name: str
    table: Returned
    update: type[Body]
    new: type[Body] | None
    records: tuple[str, ...]
    create: Callable[[World, Caller], Json]
    gets: tuple[str, ...]
    put: str
    post: str = ""
    renamed: Json | None = None
    wrong: Json | None = None

    def __str__(self) -> str:
        return self.name


def posted(caller: Caller, path: str, body: Json) -> Json:
    """What a POST answers."""
    response = caller.post(f"{ADMIN}/{path}", json=body)
    assert response.status_code in (200, 201), response.text
    return response.get_json()


def context_field(_: World, caller: Caller) -> Json:
    """A context field."""
    legal = [{"value": "NO", "description": "Norway"}, {"value": "SE"}]
    return posted(
        caller,
        "context",
        {"name": "country", "description": "Where.", "stickiness": True, "sortOrder": 3, "legalValues": legal},
    )


def tag_type(_: World, caller: Caller) -> Json:
    """A tag type."""
    return posted(caller, "tag-types", {"name": "team", "description": "Whose.", "icon": "🚀"})


def strategy_type(_: World, caller: Caller) -> Json:
    """A strategy type, deprecated."""
    parameters = [{"name": "hosts", "type": "list", "description": "Hosts.", "required": True}]
    body = {
        "name": "byHost",
        "title": "By host",
        "description": "Some hosts.",
        "parameters": parameters,
        "deprecated": True,
    }
    return posted(caller, "strategies", body)


def environment(_: World, caller: Caller) -> Json:
    """An environment that is off."""
    return posted(caller, "environments", {"name": "staging", "type": "test", "enabled": False, "sortOrder": 7})


def segment(_: World, caller: Caller) -> Json:
    """A segment of project default."""
    return posted(caller, "segments", SEGMENT)


def flag_type(world: World, _: Caller) -> Json:
    """A flag type, which is built in."""
    world.conn.execute("UPDATE flag_types SET lifetime_days = 12 WHERE id = 'release'")
    return {"id": "release"}


VOCABULARY = (
    Sendable(
        "context field",
        context_fields.CONTEXT_FIELD,
        context_fields.UpdateContextField,
        context_fields.CreateContextField,
        ("contextField", "contextFields"),
        context_field,
        ("context/{name}", "context"),
        "context/{name}",
        "context",
        {"name": "country-2"},
        {"name": "other"},
    ),
    Sendable(
        "tag type",
        tag_types.TAG_TYPE,
        tag_types.UpdateTagType,
        tag_types.CreateTagType,
        ("tagType",),
        tag_type,
        ("tag-types/{name}", "tag-types"),
        "tag-types/{name}",
        "tag-types",
        {"name": "team-2"},
        {"name": "other"},
    ),
    Sendable(
        "strategy type",
        strategy_types.STRATEGY_TYPE,
        strategy_types.UpdateStrategyType,
        strategy_types.CreateStrategyType,
        ("strategyType",),
        strategy_type,
        ("strategies/{name}", "strategies"),
        "strategies/{name}",
        "strategies",
        {"name": "byHost-2"},
        {"name": "other", "displayName": "By host", "editable": False, "deprecated": False},
    ),
    Sendable(
        "environment",
        environments.ENVIRONMENT,
        environments.UpdateEnvironment,
        environments.CreateEnvironment,
        ("environment", "countedEnvironment"),
        environment,
        ("environments/{name}", "environments"),
        "environments/update/{name}",
        "environments",
        {"name": "staging-2"},
        {"name": "other", "enabled": True, "protected": True},
    ),
    Sendable(
        "segment",
        segments.SEGMENT,
        segments.UpdateSegment,
        segments.CreateSegment,
        ("segment", "usedSegment"),
        segment,
        ("segments/{id}", "segments"),
        "segments/{id}",
        "segments",
        {"name": "Beta 2"},
        {"createdBy": "nobody"},
    ),
    Sendable(
        "flag type",
        flag_types.FLAG_TYPE,
        flag_types.UpdateLifetime,
        None,
        ("flagType",),
        flag_type,
        ("feature-types",),
        "feature-types/{id}/lifetime",
        wrong={"name": "Other", "description": "Other."},
    ),
)


def flag(_: World, caller: Caller) -> Json:
    """A flag of a user that has something of everything."""
    base = "projects/default/features"
    posted(caller, base, {"name": "parent"})
    tags = [{"type": "simple", "value": "one"}, {"type": "simple", "value": "two"}]
    body = {"name": "checkout", "type": "experiment", "description": "One page.", "impressionData": True, "stale": True}
    made = posted(caller, base, body | {"tags": tags})
    assert caller.post(f"{ADMIN}/{base}/checkout/dependencies", json={"feature": "parent"}).status_code == 200
    assert caller.post(f"{ADMIN}/{base}/checkout/favorites").status_code == 200
    variants = [{"name": name, "weight": 500, "weightType": "variable", "stickiness": "default"} for name in "ab"]
    place = f"{base}/checkout/environments/development"
    assert caller.put(f"{ADMIN}/{place}/variants", json=variants).status_code == 200
    posted(caller, f"{place}/strategies", strategy_body(posted(caller, "segments", SEGMENT)["id"]))
    assert caller.post(f"{ADMIN}/{place}/on").status_code == 200
    return made


def strategy_body(segment_id: int) -> Json:
    """A strategy that has something of everything."""
    variant = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    parameters = {"rollout": "25", "stickiness": "default", "groupId": "g"}
    payload = {"type": "json", "value": '{"a": 1}'}
    return {
        "name": "flexibleRollout",
        "title": "Some",
        "disabled": False,
        "sortOrder": 3,
        "constraints": [CONSTRAINT, {"contextName": "appName", "operator": "SEMVER_EQ", "value": "1.2.3"}],
        "variants": [variant | {"payload": payload}],
        "parameters": parameters,
        "segments": [segment_id],
    }


def strategy(_: World, caller: Caller) -> Json:
    """A strategy of a flag, with a segment."""
    posted(caller, "projects/default/features", {"name": "f"})
    body = strategy_body(posted(caller, "segments", SEGMENT)["id"])
    return posted(caller, "projects/default/features/f/environments/development/strategies", body)


FLAGS = (
    Sendable(
        "flag",
        flags.FLAG,
        flags.UpdateFlag,
        flags.CreateFlag,
        ("flag", "flagCore", "flagItem", "featureSearch.features", "archivedFlag"),
        flag,
        ("projects/default/features/{name}", "projects/default/features", "search/features"),
        "projects/default/features/{name}",
        "projects/default/features",
        {"name": "checkout-2"},
        {
            "name": "other",
            "project": "apollo",
            "enabled": False,
            "archived": True,
            "environments": [],
            "favorite": False,
            "tags": [],
            "children": ["other"],
            "dependencies": [],
            "variants": [],
            "createdBy": {"id": 0},
        },
    ),
    Sendable(
        "strategy",
        strategies.STRATEGY,
        strategies.StrategyChange,
        strategies.StrategyInput,
        ("strategy",),
        strategy,
        (
            "projects/default/features/f/environments/development/strategies/{id}",
            "projects/default/features/f/environments/development/strategies",
            "projects/default/features/f",
        ),
        "projects/default/features/f/environments/development/strategies/{id}",
        "projects/default/features/f/environments/development/strategies",
        {},
        {"featureName": "other", "sortOrder": 9},
    ),
)
SENDABLE = (*VOCABULARY, *FLAGS)


def found(answer: Any, place: Json) -> Json:
    """Return the record with the id or name of the place in an answer: the answer itself, or below one of its keys."""
    key = "id" if "id" in place else "name"
    candidates: list[Any] = [answer]
    while candidates:
        candidate = candidates.pop(0)
        if isinstance(candidate, list):
            candidates += candidate
        elif isinstance(candidate, dict):
            if candidate.get(key) == place[key]:
                return candidate
            candidates += [value for value in candidate.values() if isinstance(value, (dict, list))]
    raise AssertionError(f"{place} is not in {answer}")
