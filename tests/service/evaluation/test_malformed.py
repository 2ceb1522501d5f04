"""Stored flags and contexts can contain anything. A malformed flag or strategy is off alone."""

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from evaluation.document import Document


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


GARBAGE = (
    None, True, False, 0, -1, 7, 2.5, math.nan, math.inf, 10**40, "", "x", "100", "\ud800", "a\x00b", "9" * 5000,
    [], {}, [[]], [None], [7], ["\ud800"], [{}], {"a": {}}, {"name": "default"}, nested(50_000),
)  # fmt: skip
ON = {"userId": "7", "remoteAddress": "10.0.0.1", "properties": {"plan": "gold", "score": "5", "version": "2.0.0"}}
CONSTRAINTS = [
    {"contextName": "plan", "operator": "IN", "values": ["gold"], "inverted": False, "caseInsensitive": False},
    {"contextName": "plan", "operator": "STR_CONTAINS", "values": ["o"], "caseInsensitive": True},
    {"contextName": "score", "operator": "NUM_GT", "value": "3"},
    {"contextName": "version", "operator": "SEMVER_GTE", "value": "2.0.0-rc.1"},
    {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2024-05-31T00:00:00Z"},
    {"contextName": "plan", "operator": "REGEX", "value": "^g"},
    {"contextName": "remoteAddress", "operator": "IN_CIDR", "values": ["10.0.0.0/8"]},
]
VARIANTS = [
    {
        "name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default",
        "payload": {"type": "json", "value": "{}"}, "overrides": [{"contextName": "plan", "values": ["silver"]}],
    }
]  # fmt: skip
ROLLOUT = {"rollout": "100", "stickiness": "userId", "groupId": "x"}
FEATURE = {
    "name": "rich", "type": "release", "project": "default", "enabled": True, "stale": False, "impressionData": True,
    "strategies": [
        {
            "name": "flexibleRollout", "parameters": ROLLOUT, "constraints": CONSTRAINTS, "segments": [1],
            "variants": VARIANTS,
        },
        {"name": "userWithId", "parameters": {"userIds": "1,2"}},
        {"name": "remoteAddress", "parameters": {"IPs": "127.0.0.1"}},
        {"name": "gradualRolloutUserId", "parameters": {"percentage": "0", "groupId": "x"}},
    ],
    "variants": VARIANTS, "dependencies": [{"feature": "plain", "enabled": True, "variants": ["a"]}],
}  # fmt: skip
PLAIN = {"name": "plain", "enabled": True, "strategies": [{"name": "default"}], "variants": VARIANTS}
SEGMENT = {"id": 1, "name": "segment", "constraints": CONSTRAINTS[:1]}
# Written and parsed, so that no two places are the same object.
DOCUMENT = json.loads(json.dumps({"version": 2, "features": [FEATURE, PLAIN], "segments": [SEGMENT]}))


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a document."""
    ahead: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while ahead:
        path, inner = ahead.pop()
        items = inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        for key, child in items:
            yield (*path, key)
            ahead.append(((*path, key), child))


def with_garbage(path: tuple[Any, ...], garbage: Any) -> dict[str, Any]:
    """Return the document with garbage at one place."""
    changed = copy.deepcopy(DOCUMENT)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = garbage
    return changed


def test_document_is_on():
    document = Document(DOCUMENT)
    assert [(flag.name, result.variant_name) for flag, result in document.evaluate_all(ON)] == [
        ("rich", "a"),
        ("plain", "a"),
    ]
    assert not any(strategy.problem for flag in document.flags.values() for strategy in flag.strategies)


@pytest.mark.parametrize("garbage", GARBAGE, ids=map(str, range(len(GARBAGE))))
def test_garbage_anywhere_switches_off_one_flag_at_most(garbage):
    original = Document(DOCUMENT)
    for path in places(DOCUMENT):
        document = Document(with_garbage(path, garbage), original)
        on = {flag.name: result.text for flag, result in document.evaluate_all(ON)}
        assert all(json.loads(text)["enabled"] for text in on.values())
        for name in document.flags:
            assert (name in on) is document.evaluate(name, ON).enabled is document.explain(name, ON).enabled
            json.dumps(asdict(document.explain(name, ON)))
        if path[:2] == ("features", 0) or path[0] in ("version", "segments"):
            assert "plain" in on, path
        if path[0] == "features" and len(path) > 1 and path[1] == 1:
            assert len(path) == 2 or "rich" in document.flags, path


@pytest.mark.parametrize(
    ("path", "garbage", "problem"),
    [
        (("parameters", "rollout"), "many", "rollout: must be a whole number from 0 to 100"),
        (("parameters", "rollout"), "101", "rollout: must be a whole number from 0 to 100"),
        (("parameters", "rollout"), 100, "rollout: must be text"),
        (("parameters", "groupId"), 7, "groupId: must be text"),
        (("parameters",), [], "parameters: must be an object"),
        (("constraints", 0, "operator"), "NOPE", "operator: NOPE is not an operator"),
        (("constraints", 0, "values"), [None], "values: must be a list of texts"),
        (("constraints", 0, "inverted"), "yes", "inverted: must be true or false"),
        (("constraints", 1, "values"), [], "values: must have at least one value"),
        (("constraints", 2, "value"), "NaN", "value: must be a number"),
        (("constraints", 2, "value"), "1_0", "value: must be a number"),
        (("constraints", 3, "value"), "v2.0.0", "value: must be a version such as 1.2.3"),
        (("constraints", 4, "value"), "2024-05-31", "value: must be a date-time such as 2024-05-31T00:00:00Z"),
        (("constraints", 5, "value"), "(", "value: must be a regular expression of RE2. RE2 says: missing ): ("),
        # RE2 would compile it in two seconds otherwise.
        (
            ("constraints", 5, "value"),
            ".{0,1000}" * 28,
            "value: must be a regular expression of RE2. RE2 says: pattern too large - compile failed",
        ),
        (
            ("constraints", 6, "values"),
            ["x"],
            "values: must have at least one IP address or network such as 10.0.0.0/8",
        ),
        (("segments",), [99], "segments: segment 99 does not exist"),
        (("segments",), [True], "segments: must be a list of ids"),
        (("variants", 0, "weight"), True, "weight: must be a whole number from 0"),
        (("variants", 0, "weight"), 1.5, "weight: must be a whole number from 0"),
        (("variants", 0, "payload"), {"type": "json"}, "value: must be text"),
        (("name",), "custom", "custom: matches only in applications that implement this custom strategy"),
        (("name",), "applicationHostname", "applicationHostname: matches only in the SDKs that support it"),
    ],
)
def test_malformed_strategy_never_matches_and_says_why(path, garbage, problem):
    """Even an inverted constraint; and the other strategies still work."""
    parsed = with_garbage(("features", 0, "strategies", 0, *path), garbage)
    strategies = parsed["features"][0]["strategies"]
    assert Document(parsed).explain("rich", ON).strategies[0].problem == problem
    assert not Document(parsed).evaluate("rich", ON).enabled
    if path[0] == "constraints" and path[-1] != "inverted":
        strategies[0]["constraints"][path[1]]["inverted"] = True
        assert not Document(parsed).evaluate("rich", ON).enabled
    strategies.append({"name": "default"})
    assert Document(parsed).evaluate("rich", ON).enabled


def test_malformed_segment_switches_off_its_strategies():
    parsed = with_garbage(("segments", 0, "constraints", 0, "operator"), "NOPE")
    explanation = Document(parsed).explain("rich", ON)
    assert not explanation.enabled
    assert explanation.strategies[0].problem == "segment 1: operator: NOPE is not an operator"


@pytest.mark.parametrize(
    ("key", "garbage", "problem"),
    [
        ("enabled", "true", "enabled: must be true or false"),
        ("strategies", {}, "strategies: must be a list"),
        ("variants", [{"name": 1}], "name: must be text"),
        ("dependencies", [{"feature": "plain", "variants": "a"}], "variants: must be a list"),
    ],
)
def test_malformed_flag_is_off_and_says_why(key, garbage, problem):
    explanation = Document(with_garbage(("features", 0, key), garbage)).explain("rich", ON)
    assert (explanation.enabled, explanation.problem) == (False, problem)


@pytest.mark.parametrize("garbage", GARBAGE, ids=map(str, range(len(GARBAGE))))
def test_garbage_in_a_context(garbage):
    document = Document(DOCUMENT)
    plain = {"name": "sticky", "enabled": True, "variants": [{"name": "a", "weight": 1, "stickiness": "plan"}] * 2}
    rollout = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "plan"}}
    sticky = Document({"features": [{**plain, "strategies": [rollout, {"name": "default"}]}]})
    for name in ("userId", "remoteAddress", "currentTime", "properties", "unknown"):
        document.evaluate_all({**ON, name: garbage})
        json.dumps(asdict(document.explain("rich", {**ON, name: garbage})))
    for name in ("plan", "score", "version"):
        context = {**ON, "properties": {**ON["properties"], name: garbage}}
        document.evaluate_all(context)
        assert sticky.evaluate("sticky", context).enabled
