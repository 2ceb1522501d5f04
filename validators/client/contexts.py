"""Contexts: what an application says about its user, so that flags can be evaluated for that user."""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import MAX_QUOTED, OpenBody, Query
from validators.fields import Field, Text, unstorable

NAMES = ("userId", "sessionId", "remoteAddress", "environment", "appName", "currentTime")
TICKET = "4.41333.0123456789abcdef0123456789abcdef"
# Our choice: limits, because browsers choose contexts.
MAX_PROPERTIES = 100
MAX_LENGTH = 1000
PROPERTY = re.compile(r"properties\[(.*)\]", re.DOTALL)

Scalar = str | bool | int | float
Context = dict[str, Any]


def read_context(given: Any) -> Context:
    """Return the context in a body. Its member properties is an object. Raises ValidationError."""
    members = members_of(given)
    properties = members.pop("properties", None)
    if not isinstance(properties, dict | None):
        raise ValidationError({"properties": ["must be a JSON object"]})
    return context_of(members, properties or {})


def read_ofrep_context(given: Any) -> Context:
    """Return the context of OFREP, which is flat. targetingKey is the user id. Raises ValidationError."""
    members = members_of(given)
    return context_of({"userId": members.pop("targetingKey", None)} | present(members), {})


def members_of(given: Any) -> dict[str, Any]:
    """Return a copy of a JSON object."""
    if not isinstance(given, dict):
        raise ValidationError("must be a JSON object")
    return dict(given)


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not null and not empty: browser SDKs send userId= for a user without an id."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def context_of(members: Mapping[str, Any], properties: Mapping[str, Any]) -> Context:
    """Return a context from members and properties, or raise ValidationError. Empty values are ignored."""
    members, properties = present(members), present(properties)
    properties = {name: value for name, value in members.items() if name not in NAMES} | properties
    if len(properties) > MAX_PROPERTIES:
        raise ValidationError({"properties": [f"must be at most {MAX_PROPERTIES}"]})
    named = {name: value for name, value in members.items() if name in NAMES}
    return scalars(named) | {"properties": scalars(properties)}


def scalars(values: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the values that are texts, numbers or booleans. Raise ValidationError for invalid names and texts."""
    found = {name: value for name, value in values.items() if isinstance(value, Scalar)}
    wrong = {name[:MAX_QUOTED]: [problem] for name, value in found.items() if (problem := problem_of(name, value))}
    if wrong:
        raise ValidationError(wrong)
    return found


def problem_of(name: str, value: Scalar) -> str | None:
    """Return what is wrong with a value of a context, or None."""
    if isinstance(value, float) and not isfinite(value):
        return "must not be a number that is too large"
    texts = (name, value) if isinstance(value, str) else (name,)
    if max(map(len, texts)) > MAX_LENGTH:
        return f"must be at most {MAX_LENGTH} characters long"
    return next(filter(None, map(unstorable, texts)), None)


def read_query_context(pairs: Iterable[tuple[str, str]]) -> Context:
    """Return the context of query parameters. properties[plan]=gold and plan=gold are both the property plan.

    Raises ValidationError, also for a parameter that is given twice.
    """
    members: dict[str, str] = {}
    properties: dict[str, str] = {}
    for name, value in pairs:
        match = PROPERTY.fullmatch(name)
        place, key = (properties, match[1]) if match else (members, name)
        if key in place:
            raise ValidationError({name[:MAX_QUOTED]: ["must not be given more than once"]})
        place[key] = value
    return context_of(members, properties)


class EvaluationContext(Field[Context]):
    """A context in a body. read: read_context or read_ofrep_context."""

    def __init__(self, read: Callable[[Any], Context], **kwargs: Any) -> None:
        super().__init__(load_default=lambda: {"properties": {}}, **kwargs)
        self.read = read

    def load_value(self, value: Any) -> Context:
        return self.read(value)


CONTEXT = (
    "The user: userId, sessionId, remoteAddress, appName, currentTime and properties. Other members count as "
    "properties. Values are texts of at most 1,000 characters, numbers or booleans. Empty texts count as missing."
)


class FrontendContext(OpenBody):
    """Body of a request for the flags of a user. Unknown properties are ignored."""

    example: ClassVar = {"context": {"userId": "7", "properties": {"plan": "gold"}}}

    context = EvaluationContext(read_context, description=CONTEXT)


class OfrepContext(OpenBody):
    """Body of a request of OFREP. Unknown properties are ignored."""

    example: ClassVar = {"context": {"targetingKey": "7", "plan": "gold"}}

    context = EvaluationContext(
        read_ofrep_context,
        description="The user. userId, or else targetingKey, is the user id. sessionId, remoteAddress, appName "
        "and currentTime have their meaning. Other texts, numbers and booleans are properties.",
    )


class OfrepRead(Query):
    """What a web page knows from a stream when it reads its flags."""

    flagConfigEtag = Text(description="The `etag` of the event that asks to read the flags. The response is not older.")


class OfrepStream(Query):
    """The ticket of a stream."""

    key = Text(load_default="", description="The ticket in `eventStreams`.", metadata={"examples": [TICKET]})


class FrontendQuery(Query):
    """The query parameters that are not properties, for the OpenAPI document. read_query_context() reads them."""

    beyond_json_schema: ClassVar = ""

    userId = Text(max=MAX_LENGTH, description="Id of the user.")
    sessionId = Text(max=MAX_LENGTH, description="Id of the session. Default: random in each request.")
    remoteAddress = Text(max=MAX_LENGTH, description="Address of the user. Default: that of the client.")
    appName = Text(max=MAX_LENGTH, description="Name of the application.")
    currentTime = Text(max=MAX_LENGTH, description="The time for constraints on dates. Default: now.")
    environment = Text(max=MAX_LENGTH, description="Ignored. The environment is always that of the token.")
