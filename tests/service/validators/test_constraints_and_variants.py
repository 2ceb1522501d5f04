"""Valid constraints, variants and strategies, and the form in which they are stored: bodies without a database."""

from typing import Any

import pytest
from marshmallow import ValidationError

from validators import read
from validators.catalog.constraints import OPERATORS, Constraint
from validators.flags.strategies import StrategyChange, StrategyInput, with_defaults
from validators.flags.variants import Payload, StrategyVariant, Variant, balanced

# --- Constraints ------------------------------------------------------------------------------------------------------

KEPT = {"values": [], "inverted": False, "caseInsensitive": False}


def constraint(operator: str | None, **fields: Any) -> dict[str, Any]:
    """A constraint on a context field."""
    return {"contextName": "userId", "operator": operator, **fields}


def refuses(schema: Any, asked: Any) -> str:
    """Why a schema refuses this; an empty text when it does not."""
    return str(schema().validate(asked) or "")


OPERANDS: list[tuple[str, list[str], list[str]]] = [
    ("NUM", ["0", "-1", "3.5", "1e3", "007", "1E-2"], ["", " 1", "1 ", "x", "1,5", ".5", "1.", "NaN", "0x10", "1e999"]),
    (
        "DATE",
        ["2026-05-31T12:00:00Z", "2026-05-31t12:00:00+02:00"],
        ["", "2026-05-31", "2026-05-31T12:00:00", "2026-02-30T12:00:00Z"],
    ),
    (
        "SEMVER",
        ["0.0.0", "10.20.30", "1.2.3-beta.1", "1.2.3-0a", "1.2.3+build.7", "1.2.3-rc+7"],
        ["", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.x", "１.2.3"],
    ),
]


@pytest.mark.parametrize(("operator", "good", "bad"), OPERANDS)
def test_an_operator_takes_a_value_of_its_type(operator: str, good: list[str], bad: list[str]) -> None:
    for name in (name for name in OPERATORS if name.startswith(operator)):
        for value in good:
            assert refuses(Constraint, constraint(name, value=value)) == "", (name, value)
        for value in bad:
            assert "must be a" in refuses(Constraint, constraint(name, value=value)), (name, value)
        assert "is required" in refuses(Constraint, constraint(name, values=["1"]))


def test_an_operator_on_texts_needs_a_value_and_membership_none() -> None:
    assert len(OPERATORS) == 19
    for operator in ("STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH", "IN_CIDR"):
        assert "at least one value" in refuses(Constraint, constraint(operator))
        assert "at least one value" in refuses(Constraint, constraint(operator, values=[], value="a"))
        assert refuses(Constraint, constraint(operator, values=["a"])) == ""
    for operator in ("IN", "NOT_IN"):
        assert refuses(Constraint, constraint(operator)) == ""
        assert refuses(Constraint, constraint(operator, values=["a", "b"])) == ""


IN = constraint("IN")
WRONG: list[dict[str, Any]] = [
    *({"operator": "IN"}, {"contextName": "userId"}, IN | {"other": 1}, IN | {"caseInsensitive": 1}),
    *({"contextName": name, "operator": "IN"} for name in ("", None)),
    *(constraint(operator) for operator in ("in", None)),
    *(IN | {"values": [value]} for value in ("", "x" * 101, 1)),
    constraint("NUM_EQ", value=5),
]


@pytest.mark.parametrize("asked", WRONG, ids=str)
def test_an_invalid_constraint_is_refused(asked: dict[str, Any]) -> None:
    assert refuses(Constraint, asked)


def test_a_constraint_is_kept_whole_and_in_order() -> None:
    kept = read(Constraint(), {"operator": "IN", "contextName": "userId"})
    assert list(kept.items()) == [("contextName", "userId"), ("operator", "IN"), *KEPT.items()]
    nulls = dict.fromkeys(("values", "value", "inverted", "caseInsensitive"))
    assert Constraint().load(nulls | {"operator": "IN", "contextName": "userId"}) == kept
    asked = constraint("NUM_EQ", value="5", caseInsensitive=True, inverted=True, values=["a"])
    assert Constraint().load(asked) == asked


@pytest.mark.parametrize(("operator", "longest"), [("REGEX", 1000), ("SEMVER_GTE", 100), ("IN", 100), ("NUM_EQ", 100)])
def test_only_a_regular_expression_is_longer_than_100_characters(operator: str, longest: int) -> None:
    text = {"SEMVER_GTE": "1.0.0-a", "NUM_EQ": "1"}.get(operator, "a")
    asked = constraint(operator, values=["7"], value=text + text[-1] * (longest - len(text)))
    assert refuses(Constraint, asked) == ""
    assert f"at most {longest} characters" in refuses(Constraint, asked | {"value": asked["value"] + text[-1]})


# --- Variants ---------------------------------------------------------------------------------------------------------


def weights(*variants: tuple[str, int, str]) -> dict[str, int]:
    """The weights that variants (name, weight, type) are kept with."""
    given = [{"name": name, "weight": weight, "weightType": type} for name, weight, type in variants]
    return {variant["name"]: variant["weight"] for variant in balanced(given)}


def test_weights_make_a_thousand() -> None:
    assert weights() == {}
    assert weights(("a", 0, "variable")) == {"a": 1000}
    assert weights(("c", 1, "variable"), ("a", 1, "variable"), ("b", 1, "variable")) == {"a": 334, "b": 333, "c": 333}
    assert weights(("a", 250, "fix"), ("b", 9, "variable"), ("c", 9, "variable")) == {"a": 250, "b": 375, "c": 375}
    assert weights(("a", 999, "fix"), ("b", 0, "variable"), ("c", 0, "variable")) == {"a": 999, "b": 1, "c": 0}
    assert weights(("a", 1000, "fix"), ("b", 7, "variable")) == {"a": 1000, "b": 0}
    # They are sorted by name.
    assert list(weights(("b", 0, "variable"), ("a", 0, "variable"), ("B", 0, "variable"))) == ["B", "a", "b"]


@pytest.mark.parametrize(
    ("variants", "reason"),
    [
        ([("a", 1, "variable"), ("a", 2, "variable")], "a name twice"),
        ([("a", 1000, "fix")], "weightType variable"),
        ([("a", 500, "fix"), ("b", 500, "fix")], "weightType variable"),
        ([("a", 600, "fix"), ("b", 401, "fix"), ("c", 0, "variable")], "more than 1000"),
    ],
)
def test_weights_that_cannot_be_are_refused(variants: list[tuple[str, int, str]], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        weights(*variants)


def test_a_payload_has_a_value_of_its_type() -> None:
    good = [("string", ""), ("csv", "a,b"), ("number", "-3.5"), ("json", '{"a": [1]}')]
    bad: list[tuple[str, Any]] = [("number", "three"), ("number", ""), ("xml", "<a/>"), ("string", 5)]
    bad += [("json", text) for text in ("{a: 1}", "NaN", "[" * 100000)]
    for type, value in good:
        assert refuses(Payload, {"type": type, "value": value}) == ""
    for payload in (*({"type": type, "value": value} for type, value in bad), {"type": "string"}, {"value": "a"}):
        assert refuses(Payload, payload), payload


def test_variants_of_strategies_are_whole_those_of_flags_need_not() -> None:
    bare = {"name": "a", "weight": 10}
    assert "weightType" in refuses(StrategyVariant, bare)
    assert "stickiness" in refuses(StrategyVariant, bare)
    assert Variant().load(bare) == bare | {"weightType": "variable", "stickiness": "default", "overrides": []}
    for weight in (-1, 1001, 5.0, "5", True, None):
        assert refuses(Variant, bare | {"weight": weight}), weight


# --- Strategies -------------------------------------------------------------------------------------------------------


def test_a_new_strategy_has_everything_but_its_place() -> None:
    kept = {"name": "default", "title": None, "disabled": False, "constraints": [], "variants": [], "parameters": {}}
    asked = {"name": "default", "disabled": None, "segments": [3, 1, 3]}
    assert StrategyInput().load(asked) == kept | {"segments": [1, 3]}


def test_parameters_are_kept_as_text() -> None:
    given = {"a": 50, "b": 0.5, "c": True, "d": "x", "e": 50.0, "f": False, "g": -1, "h": ""}
    kept = {"a": "50", "b": "0.5", "c": "true", "d": "x", "e": "50", "f": "false", "g": "-1", "h": ""}
    assert read(StrategyInput(), {"name": "x", "parameters": given})["parameters"] == kept
    assert read(StrategyInput(), {"name": "x", "parameters": {"a": None}})["parameters"] == {}
    for value in ([], {}, float("inf"), "a\0"):
        assert refuses(StrategyInput, {"name": "x", "parameters": {"a": value}}), value


def test_variants_of_a_strategy_are_balanced_and_refused_with_their_place() -> None:
    variant = {"name": "a", "weight": 1, "weightType": "variable", "stickiness": "default"}
    assert read(StrategyInput(), {"name": "x", "variants": [variant]})["variants"] == [variant | {"weight": 1000}]
    assert "variants" in StrategyInput().validate({"name": "x", "variants": [variant, variant]})


def test_a_change_keeps_omitted_fields_except_lists() -> None:
    assert StrategyChange().load({}) == {"constraints": [], "variants": []}
    assert StrategyChange().load(dict.fromkeys(("name", "constraints", "variants", "parameters", "segments"))) == {}
    asked = {"id": 7, "featureName": None, "sortOrder": None, "disabled": None, "title": None}
    kept = {"constraints": [], "variants": [], "disabled": False, "title": None}
    assert StrategyChange().load(asked) == kept


def test_a_gradual_rollout_gets_its_required_parameters() -> None:
    full = {"rollout": "100", "groupId": "f", "stickiness": "userId"}
    assert with_defaults("flexibleRollout", {}, flag="f", stickiness="userId") == full
    assert with_defaults("flexibleRollout", {"rollout": "5"}, flag="f", stickiness="userId") == full | {"rollout": "5"}
    filled = with_defaults("flexibleRollout", {"stickiness": ""}, flag="f", stickiness="userId")
    assert filled == full | {"stickiness": "default"}
    assert with_defaults("default", {}, flag="f", stickiness="userId") == {}
