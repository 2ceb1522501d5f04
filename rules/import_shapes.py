"""Check what another server or a file has: keep what a move reads, and refuse other types."""

import json
from datetime import UTC, datetime
from types import UnionType
from typing import Any

from validators.fields import unstorable

Json = dict[str, Any]

INT4_MAX = 2**31 - 1


class Unfit(ValueError):
    """The answer has another shape. The message names the property."""


def fit(value: Any, shape: Any, name: str = "") -> Any:
    """Return the parts of a parsed answer that the shape describes. Raises Unfit if one has another type.

    A shape is a dict of shapes, a list of one shape, a type, a function, or the default for a missing value and null.
    A missing list is empty. A tuple of one shape is a list that must not be missing. A key that ends with ? is left
    out of the result if its value is missing or null.
    """
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise Unfit(f"{name or 'the answer'} must be an object")
        optional = {key for key in shape if key.endswith("?") and value.get(key[:-1]) is None}
        keys = {key: key.removesuffix("?") for key in shape if key not in optional}
        return {key: fit(value.get(key), shape[marked], f"{name}.{key}".lstrip(".")) for marked, key in keys.items()}
    if isinstance(shape, list | tuple):
        if not isinstance(value, list if isinstance(shape, tuple) else list | None):
            raise Unfit(f"{name or 'the answer'} must be an array")
        return [fit(item, shape[0], f"{name}.{place}".lstrip(".")) for place, item in enumerate(value or ())]
    if isinstance(value, str) and (problem := unstorable(value)):
        raise Unfit(f"{name} {problem}")
    if isinstance(value, int) and abs(value) > INT4_MAX:
        raise Unfit(f"{name} is too large")
    if isinstance(shape, type | UnionType):
        if not isinstance(value, shape):
            raise Unfit(f"{name} {'is missing' if value is None else 'has an unknown type'}")
        return value
    if callable(shape):
        try:
            return shape(value)
        except (ValueError, TypeError, OverflowError):
            raise Unfit(f"{name} is invalid") from None
    if type(value) not in (type(None), type(shape)):
        raise Unfit(f"{name} has an unknown type")
    return shape if value is None else value


def text(value: Any) -> str | None:
    """Return a text, or None if it is empty: some versions have an empty title for none."""
    return fit(value, str | None) or None


def instant(value: Any) -> str | None:
    """Return a date and time in the form of the API, or None."""
    if value is None:
        return None
    return datetime.fromisoformat(value).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parameters(value: Any) -> dict[str, str]:
    """Return the parameters of a strategy. Old versions have numbers, which SDKs read as texts."""
    known = fit(value or {}, dict)
    return {
        key: fit(item if isinstance(item, str) else json.dumps(item), str)
        for key, item in known.items()
        if item is not None
    }


def in_order(strategies: list[Json]) -> list[Json]:
    """Return strategies in their order, without what only Unleash needs."""
    dropped = ("sortOrder", "milestoneId")
    ordered = sorted(strategies, key=lambda strategy: strategy["sortOrder"])
    return [{key: item for key, item in strategy.items() if key not in dropped} for strategy in ordered]


# The color of tag types without one.
WHITE = "#FFFFFF"
LEGAL_VALUE = {"value": str, "description?": str}
CONSTRAINT = {
    "contextName": str, "operator": str, "values": [str], "value?": str, "inverted": False, "caseInsensitive": False,
}  # fmt: skip
OVERRIDE = {"contextName": str, "values": [str]}
VARIANT = {
    "name": str, "weight": 0, "weightType": "variable", "stickiness": "default",
    "payload?": {"type": str, "value": str}, "overrides": [OVERRIDE],
}  # fmt: skip
STRATEGY = {
    "name": str, "title": text, "disabled": False, "parameters": parameters, "constraints": [CONSTRAINT],
    "variants": [VARIANT], "segments": [int], "sortOrder": 0, "milestoneId": text,
}  # fmt: skip
NAMING = {"pattern": text, "example": text, "description": str | None}
PROJECT = {
    "name": str, "description": str | None, "mode": "open", "defaultStickiness": "default", "featureLimit": int | None,
    "featureNaming?": NAMING, "linkTemplates": [dict],
    "environments": [{"environment": str, "defaultStrategy?": STRATEGY}],
}  # fmt: skip
ENVIRONMENT = {"name": str, "type": str, "sortOrder": 0, "enabled": True}
CONTEXT_FIELD = {
    "name": str, "description": str | None, "legalValues": [LEGAL_VALUE], "stickiness": False, "sortOrder": 0,
}  # fmt: skip
TAG = {"type": str, "value": str}
TAG_TYPE = {"name": str, "description": str | None, "icon": text, "color": text}
STRATEGY_PARAMETER = {"name": str, "type": str, "description": "", "required": False}
STRATEGY_TYPE = {
    "name": str, "description": str | None, "parameters": [STRATEGY_PARAMETER], "deprecated": False, "title": text,
    "displayName": text, "editable": False,
}  # fmt: skip
FLAG_TYPE = {"id": str, "name": str, "description": "", "lifetimeDays": int | None}
SEGMENT = {"id": int, "name": str, "description": str | None, "project": text, "constraints": [CONSTRAINT]}
LINK = {"url": str, "title": text}
DEPENDENCY = {"feature": str, "enabled": True, "variants": [str]}
CORE = {
    "name": str, "type": str, "description": str | None, "stale": False, "impressionData": False, "createdAt": instant,
}  # fmt: skip
FLAG = {
    **CORE, "dependencies": [DEPENDENCY], "links": [LINK],
    "environments": [{"name": str, "enabled": False, "strategies": [STRATEGY]}],
}  # fmt: skip
ARCHIVED = {**CORE, "project": str, "archivedAt": instant}
EXPORT = {
    "features": [{"name": str}],
    "featureEnvironments": [{"featureName": str, "variants": [VARIANT]}],
    "featureTags": [{"featureName": str, "tagType": str, "tagValue": str}],
    "links": [{"feature": str, "links": [LINK]}],
    "dependencies": [{"feature": str, "dependencies": [DEPENDENCY]}],
}
API_TOKEN = {
    "secret": text, "secure": False, "tokenName": text, "username": text, "type": str, "environment": "*",
    "projects": [str], "createdAt": instant, "expiresAt": instant, "seenAt": instant,
}  # fmt: skip
USER = {"id": int, "name": text, "email": text, "username": text, "rootRole": int | None}
ROLE = {"id": int, "name": str, "description": str | None, "type": str}
PERMISSION = {"name": str, "environment": text}
GROUP = {
    "name": str, "description": str | None, "mappingsSSO": [str], "rootRole": int | None,
    "users": [{"user": {"id": int}}],
}  # fmt: skip
ACCESS = {"users": [{"id": int, "roles": [int]}], "groups": [{"name": str, "roles": [int]}]}
