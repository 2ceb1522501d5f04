"""Write the result of an evaluation as OFREP, the OpenFeature Remote Evaluation Protocol, describes it."""

import json
import re
from typing import Any

from evaluation.results import FlagFacts, Result
from evaluation.variants import Payload, Variant
from validators.errors import InvalidPayload

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
LEADING_ZEROS = re.compile(r"(?<=^)(-?)0+(?=\d)")


def evaluation(result: Result) -> str:
    """Return the JSON text of a result. Raise InvalidPayload if the payload of its variant cannot be parsed."""
    assert result.facts is not None
    if result.ofrep_text is None:
        result.ofrep_text = written(result, result.facts)
    return result.ofrep_text


def evaluation_or_failure(result: Result) -> str:
    """Return the JSON text of a result, as an item of a list: with an error if its payload cannot be parsed."""
    try:
        return evaluation(result)
    except InvalidPayload as error:
        key = result.facts.name if result.facts else ""
        return dumps({"key": key, "errorCode": error.ofrep_code, "errorDetails": error.description})


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


def payload_text(payload: Payload) -> str:
    """Return a payload as JSON text. Numbers keep their spelling: clients tell 3 from 3.0."""
    if payload.type == "number":
        number = LEADING_ZEROS.sub(r"\1", payload.value)
        if not NUMBER.fullmatch(number):
            raise InvalidPayload("The payload of the variant is not a number.")
        return number
    if payload.type == "json":
        try:
            json.loads(payload.value, parse_constant=refuse)
        except (ValueError, RecursionError):
            raise InvalidPayload("The payload of the variant is not JSON.") from None
        return payload.value
    return dumps(payload.value)


def refuse(_word: str) -> None:
    """Raise ValueError for NaN and Infinity."""
    raise ValueError


def dumps(value: Any) -> str:
    """Return a value as JSON text without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
