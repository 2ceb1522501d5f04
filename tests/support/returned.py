"""The records whose GET can be sent back: where each is read, changed and created, and one full example of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.world import Caller, World
from validators import Body
from validators.returned import Returned
from validators.vocabulary import context_fields, environments, flag_types, segments, strategy_types, tag_types

Json = dict[str, Any]
ADMIN = "/api/admin"
CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": True}


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
    return posted(
        caller,
        "segments",
        {"name": "Beta", "description": "Testers.", "project": "default", "constraints": [CONSTRAINT]},
    )


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
SENDABLE = VOCABULARY


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
