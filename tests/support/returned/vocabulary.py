"""The records of the vocabulary, to be sent back."""

from tests.support.returned.sendable import SEGMENT, Json, Sendable, posted
from tests.support.world import Caller, World
from validators.vocabulary import context_fields, environments, flag_types, segments, strategy_types, tag_types


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
