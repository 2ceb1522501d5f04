"""Explanations: why a flag is on or off for a context."""

from dataclasses import asdict
from typing import Any

import pytest

from evaluation.document import Document
from evaluation.rollout import bucket_of

PLAN = {"contextName": "plan", "operator": "IN", "values": ["gold"], "inverted": True}
ROLLOUT = {"name": "flexibleRollout", "parameters": {"rollout": "25", "stickiness": "userId", "groupId": "group"}}
VARIANTS = [{"name": "a", "weight": 300}, {"name": "b", "weight": 700}]
PARSED: dict[str, Any] = {
    "features": [
        {
            "name": "flag",
            "enabled": True,
            "strategies": [
                {**ROLLOUT, "constraints": [PLAN], "segments": [1]},
                {"name": "remoteAddress", "parameters": {"IPs": "10.0.0.0/8"}, "variants": VARIANTS},
                {"name": "custom"},
            ],
            "dependencies": [{"feature": "parent", "variants": ["a"]}, {"feature": "missing"}],
        },
        {"name": "parent", "enabled": True, "strategies": [], "variants": VARIANTS},
    ],
    "segments": [
        {"id": 1, "name": "Norway", "constraints": [{"contextName": "country", "operator": "IN", "values": ["NO"]}]}
    ],
}
CONTEXT = {"userId": "4711", "remoteAddress": "10.0.0.1", "properties": {"country": "NO", "plan": "gold"}}


def explained(field: str, found: str, **more: bool) -> dict[str, Any]:
    """The explanation of a constraint with the operator IN, whose only value was found."""
    constraint = {"contextName": field, "operator": "IN", "values": (found,), "value": "", "caseInsensitive": False}
    return constraint | {"found": found} | more


def test_why_the_first_strategy_does_not_match():
    strategy = Document(PARSED).explain("flag", CONTEXT).strategies[0]
    bucket = bucket_of("group", "4711", 100)
    assert asdict(strategy) == {
        "name": "flexibleRollout",
        "problem": None,
        "constraints": (explained("plan", "gold", inverted=True, satisfied=False),),
        "segments": (
            {
                "id": 1,
                "name": "Norway",
                "constraints": (explained("country", "NO", inverted=False, satisfied=True),),
                "satisfied": True,
            },
        ),
        "rollout": {
            "percentage": 25,
            "group": "group",
            "stickiness": "userId",
            "identity": "4711",
            "bucket": bucket,
            "satisfied": bucket <= 25,
        },
        "satisfied": False,
    }


def test_why_the_other_strategies_match_or_not():
    strategies = Document(PARSED).explain("flag", CONTEXT).strategies
    assert [(one.satisfied, one.problem) for one in strategies[1:]] == [
        (True, None),
        (False, "custom: matches only in applications that implement this custom strategy"),
    ]


def test_parents():
    explanation = Document(PARSED).explain("flag", CONTEXT)
    bucket = bucket_of("parent", "4711", 1000, 86028157)
    parent, missing = map(asdict, explanation.parents)
    assert parent == {
        "name": "parent",
        "enabled": True,
        "variants": ("a",),
        "foundEnabled": True,
        "foundVariant": "a" if bucket <= 300 else "b",
        "problem": None,
        "satisfied": bucket <= 300,
    }
    assert missing == {
        "name": "missing",
        "enabled": True,
        "variants": (),
        "foundEnabled": None,
        "foundVariant": None,
        "problem": "The parent does not exist, is hidden from this token, or has parents itself.",
        "satisfied": False,
    }
    assert (explanation.enabled, explanation.decidedBy, explanation.reason) == (False, None, "TARGETING_MATCH")


def test_which_strategy_decided_and_how_the_variant_was_chosen():
    flag = {**PARSED["features"][0], "dependencies": []}
    explanation = Document({**PARSED, "features": [flag]}).explain("flag", CONTEXT)
    bucket = bucket_of("flag", "4711", 1000, 86028157)
    assert (explanation.enabled, explanation.decidedBy, explanation.reason) == (True, 1, "SPLIT")
    assert explanation.variant == ("a" if bucket <= 300 else "b")
    assert explanation.variants is not None
    assert asdict(explanation.variants) == {
        "group": "flag",
        "stickiness": "default",
        "override": None,
        "identity": "4711",
        "bucket": bucket,
        "buckets": 1000,
    }


def test_override_has_no_bucket():
    override = {"contextName": "plan", "values": ["gold"]}
    flag = {"name": "flag", "enabled": True, "variants": [VARIANTS[0], {**VARIANTS[1], "overrides": [override]}]}
    explanation = Document({"features": [flag]}).explain("flag", CONTEXT)
    assert explanation.variants is not None
    assert (explanation.variant, explanation.variants.override, explanation.variants.bucket) == ("b", "plan", None)


def test_flag_that_is_off_in_the_environment_shows_what_would_match():
    flag = {"name": "flag", "enabled": False, "strategies": [{"name": "default"}]}
    explanation = Document({"features": [flag]}).explain("flag", {})
    assert (explanation.enabled, explanation.environmentEnabled, explanation.reason) == (False, False, "DISABLED")
    assert explanation.strategies[0].satisfied
    assert explanation.decidedBy is None


def test_rollout_without_an_identity_has_no_bucket():
    rollout = Document(PARSED).explain("flag", {}).strategies[0].rollout
    assert rollout is not None
    assert (rollout.identity, rollout.bucket, rollout.satisfied) == (None, None, False)


def test_unknown_flag_has_no_explanation():
    with pytest.raises(KeyError):
        Document(PARSED).explain("unknown", {})
