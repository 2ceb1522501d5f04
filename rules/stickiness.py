"""Check stickiness: the context field whose value decides which users get a rollout or variant."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from werkzeug.exceptions import BadRequest

from sql.catalog.context_fields import hold_sticky
from sql.database import Connection

# Values that need no context field. For default, SDKs use the userId, else the sessionId, else a random value.
BUILT_IN = frozenset({"default", "random", "userId", "sessionId"})
PROBLEM = "must be default, random, userId, sessionId or a context field with stickiness"


def list_allowed(conn: Connection, values: Iterable[str]) -> frozenset[str]:
    """Return the built-in values, and those of the given values that are allowed."""
    names = set(values) - BUILT_IN
    return BUILT_IN | (hold_sticky(conn, names) if names else frozenset())


def stickiness_problems(field: str, value: str, allowed: Collection[str]) -> list[str]:
    """Return a list with a message if the value is not allowed, otherwise an empty list."""
    return [] if value in allowed else [f"{field}: {PROBLEM}, not {value[:100]}"]


def stickiness_of(variants: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the different values of stickiness that the variants have."""
    return {variant["stickiness"] for variant in variants}


def variant_problems(
    variants: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]], allowed: Collection[str]
) -> list[str]:
    """Return a message for each variant whose stickiness is neither allowed nor one of before."""
    usable = {*allowed, *stickiness_of(before)}
    return [
        problem
        for position, variant in enumerate(variants)
        for problem in stickiness_problems(f"variants.{position}.stickiness", variant["stickiness"], usable)
    ]


def check_default_stickiness(conn: Connection, value: str, before: str = "default") -> None:
    """Raise 400 if the default stickiness of a project is not allowed. before: the present one, always allowed."""
    if value != before:
        problems = stickiness_problems("defaultStickiness", value, list_allowed(conn, [value]))
        if problems:
            raise BadRequest("; ".join(problems))
