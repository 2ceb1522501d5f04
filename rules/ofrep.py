"""Write the result of an evaluation as OFREP, the OpenFeature Remote Evaluation Protocol, describes it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from evaluation.context import Fields, NoIdentity, fields_of
from evaluation.document import Document
from evaluation.results import FlagFacts, Result
from evaluation.variants import Payload, Variant
from validators.errors import InvalidPayload, TargetingKeyMissing

NO_KEY = "context.targetingKey: is required, because a rollout or the variants of this flag depend on it"
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
LEADING_ZEROS = re.compile(r"(?<=^)(-?)0+(?=\d)")


def fields_for(context: Mapping[str, Any]) -> Fields:
    """Return the values of a context. The user id replaces a missing session id and random numbers."""
    # Our choice: clients poll, and OFREP has no sessions. So the same targeting key always gets the same result.
    fields = fields_of(context)
    fields.identity = fields.get("userId", "")
    return fields


def result_of(flags: Document, name: str, fields: Fields) -> Result:
    """Return the result of a flag. Raise TargetingKeyMissing if it depends on the targeting key."""
    try:
        return flags.evaluate(name, fields)
    except NoIdentity:
        # Our choice: flags without a rollout, such as kill switches, need no key.
        raise TargetingKeyMissing(NO_KEY) from None


def text_of(result: Result) -> str:
    """Return the JSON text of a result. Raise InvalidPayload if the payload of the variant cannot be a value."""
    assert result.facts is not None
    if result.ofrep_text is None:
        result.ofrep_text = written(result, result.facts)
    return result.ofrep_text


def evaluation_or_failure(flags: Document, name: str, fields: Fields) -> str:
    """Return the JSON text of the result of a flag, as an item of a list: with an error instead of raising it."""
    try:
        return text_of(result_of(flags, name, fields))
    except (InvalidPayload, TargetingKeyMissing) as error:
        return dumps({"key": name, "errorCode": error.ofrep_code, "errorDetails": error.description})


def written(result: Result, facts: FlagFacts) -> str:
    """Return the JSON text of a result of a flag that exists."""
    # Clients need the variant. A client in Python loses the value without it.
    name = result.variant.name if result.variant else "enabled" if result.enabled else "disabled"
    value = value_text(facts, result.enabled, result.variant)
    metadata = {"project": facts.project, "type": facts.type, "stale": facts.stale, "enabled": result.enabled}
    return (
        f'{{"key":{dumps(facts.name)},'
        + ("" if value is None else f'"value":{value},')
        + f'"reason":{dumps(result.reason)},"variant":{dumps(name)},"metadata":{dumps(metadata)}}}'
    )


def value_text(facts: FlagFacts, enabled: bool, variant: Variant | None) -> str | None:
    """Return the value as JSON text. None: the application uses its default.

    A flag with payloads has their type, so it has no value while it is off: false would be of another type.
    """
    if not enabled:
        return None if facts.has_payloads else "false"
    return "true" if variant is None or variant.payload is None else payload_text(variant.payload)


def payload_text(payload: Payload) -> str | None:
    """Return a payload as JSON text, or None for null. Numbers keep their spelling: clients tell 3 from 3.0."""
    if payload.type == "number":
        number = LEADING_ZEROS.sub(r"\1", payload.value)
        if not NUMBER.fullmatch(number):
            raise InvalidPayload("The payload of the variant is not a number.")
        return number
    if payload.type == "json":
        try:
            value = json.loads(payload.value, parse_constant=refuse)
        except (ValueError, RecursionError):
            raise InvalidPayload("The payload of the variant is not JSON.") from None
        if isinstance(value, list):
            raise InvalidPayload("The payload of the variant is a list. OFREP has no lists: use an object.")
        # Without a value, the application uses its own default, which is what null means in OFREP.
        return None if value is None else payload.value
    return dumps(payload.value)


def refuse(_word: str) -> None:
    """Raise ValueError for NaN and Infinity."""
    raise ValueError


def dumps(value: Any) -> str:
    """Return a value as JSON text without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
