"""Strategies and constraints in words."""

from typing import Any

import pytest

from blueprints.pages.constraints import describe
from blueprints.pages.strategy_text import sentence

SEGMENTS = {1: "Staff", 2: "<b>"}


def on(field: str, operator: str, *values: str, **more: Any) -> dict[str, Any]:
    """A constraint."""
    value = {} if operator.startswith(("IN", "NOT_IN", "STR")) else {"value": values[0]}
    return {"contextName": field, "operator": operator, "values": [] if value else [*values], **value, **more}


NORDIC = on("country", "IN", "NO", "SE")
AFTER = on("currentTime", "DATE_AFTER", "2026-12-02T08:00:00.000Z")


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ({"name": "default"}, "On for everybody"),
        ({"name": "default", "constraints": [NORDIC]}, "On for users where country is NO or SE"),
        (
            {"name": "flexibleRollout", "parameters": {"rollout": "25"}, "constraints": [NORDIC], "segments": [1]},
            "On for 25 % of users where country is NO or SE, in the segment Staff",
        ),
        (
            {"name": "flexibleRollout", "parameters": {"rollout": "5", "stickiness": "random"}, "segments": [2, 9]},
            "On for 5 % of requests in the segments <b> and 9",
        ),
        (
            {"name": "flexibleRollout", "parameters": {"rollout": "5", "stickiness": "team"}},
            "On for 5 % of users by team",
        ),
        (
            {"name": "flexibleRollout", "parameters": {"rollout": "5%"}},
            "On for no user, because 5% is not a whole number of percent",
        ),
        ({"name": "flexibleRollout", "parameters": {"rollout": "100"}}, "On for everybody"),
        (
            {"name": "default", "constraints": [NORDIC, on("tier", "NOT_IN", "a"), AFTER]},
            "On for users where country is NO or SE and tier is not a, from 2 Dec 2026 08:00 UTC",
        ),
        (
            {"name": "default", "constraints": [AFTER], "segments": [1]},
            "On for users in the segment Staff, from 2 Dec 2026 08:00 UTC",
        ),
        (
            {"name": "userWithId", "parameters": {}, "segments": [1]},
            "On for no user, because the list is empty, in the segment Staff",
        ),
        ({"name": "userWithId", "parameters": {"userIds": "7, 8,"}}, "On for the users 7 and 8"),
        (
            {"name": "userWithId", "parameters": {"userIds": "1,2,3,4,5,6,7"}},
            "On for the users 1, 2, 3, 4, 5 and 2 more",
        ),
        ({"name": "userWithId", "parameters": {}}, "On for no user, because the list is empty"),
        ({"name": "own", "parameters": {"a": "b"}}, "On for those whom the strategy type own chooses by a b"),
    ],
)
def test_strategy_is_a_sentence(strategy: dict[str, Any], words: str) -> None:
    text = sentence(strategy, SEGMENTS)
    assert text.striptags() == words
    assert "<b>" not in text.removeprefix("<strong>")


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (on("c", "IN", "a"), "c is a"),
        (on("c", "IN", "b, c", "a"), "c is “b, c” or a"),
        (on("c", "IN", "a", "b"), "c is a or b"),
        (on("c", "IN", "a", inverted=True), "c is not a"),
        (on("c", "IN", "a", "b", inverted=True), "c is none of a, b"),
        (on("c", "NOT_IN", "a", "b", "d"), "c is none of a, b, d"),
        (on("c", "NOT_IN", "a", "b", inverted=True), "c is a or b"),
        (on("c", "IN"), "c is (no value)"),
        (on("c", "STR_CONTAINS", "a", "b", caseInsensitive=True), "c contains a or b (ignoring case)"),
        (on("c", "IN", "a", caseInsensitive=True), "c is a"),
        (on("c", "STR_ENDS_WITH", "a", inverted=True), "c does not end with a"),
        (on("c", "NUM_GTE", "5"), "c is at least 5"),
        (on("c", "NUM_GTE", "5", inverted=True), "c is not at least 5"),
        (on("c", "SEMVER_EQ", "1.0.0", inverted=True), "c is not version 1.0.0"),
        (on("c", "DATE_BEFORE", "2026-01-01T00:00:00+02:00"), "c is before 31 Dec 2025 22:00 UTC"),
        (on("c", "DATE_BEFORE", "soon"), "c is before soon"),
    ],
)
def test_constraint_is_described(constraint: dict[str, Any], words: str) -> None:
    assert describe(constraint) == words
    assert describe(on("c", "IN", *"abcdefg"), most=5) == "c is a, b, c, d, e or 2 more"
