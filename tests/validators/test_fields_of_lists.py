"""What fields for lists, objects and free values take, and what they refuse: the tables."""

from typing import Any

import pytest
from marshmallow import ValidationError, fields

from tests.support.fields import BROKEN_TEXT, ODD_TEXT, refuses, takes
from validators import MAX_ITEMS, Body
from validators.fields import (
    BIGINT_MAX,
    MAX_KEYS,
    MAX_LEVELS,
    Anything,
    Boolean,
    DateTime,
    Day,
    Email,
    Integer,
    ListOf,
    Name,
    Nested,
    ObjectOf,
    Text,
    Trimmed,
    Username,
)
from validators.query_fields import Filter

# Lists, objects, and what may be anything


class Leaf(Body):
    """One of a list."""

    operator = Text(required=True)
    weight = Integer(min=0, allow_none=True, load_default=None)


class Open(Body):
    """One that lets pass what it does not know."""

    class Meta(Body.Meta):
        unknown = "exclude"


def problems(field: fields.Field, value: Any) -> Any:
    """What a field that holds others says of the places inside it."""
    with pytest.raises(ValidationError) as refusal:
        field.deserialize(value)
    return refusal.value.messages


NULLABLE = [Text, Trimmed, Name, Username, Email, Boolean, DateTime, Day, Filter]


@pytest.mark.parametrize("kind", NULLABLE, ids=lambda kind: kind.__name__)
def test_null_is_accepted_only_where_declared(kind: Any) -> None:
    takes(kind(allow_none=True), None, None)
    assert refuses(kind(allow_none=False), None) == "Field may not be null."


@pytest.mark.parametrize("value", [True, 0, 5.5, "", "a", "[]", {}, {"0": "a"}, ("a",), {"a"}])
def test_a_value_that_is_not_a_json_array_is_refused(value: Any) -> None:
    assert refuses(ListOf(Text()), value) == "must be a list"


def test_a_list_is_what_its_field_makes_of_each() -> None:
    takes(ListOf(Email()), [], [])
    takes(ListOf(Email()), ["A@b", "c@d"], ["a@b", "c@d"])
    takes(ListOf(Integer(min=0, allow_none=True), allow_none=True), [1, None], [1, None])
    assert problems(ListOf(Text()), ["a", "b", "c", 5, "d", None]) == {
        3: ["must be a string"],
        5: ["Field may not be null."],
    }
    assert problems(ListOf(ListOf(Text())), [["a"], ["b", 5], 7]) == {
        1: {1: ["must be a string"]},
        2: ["must be a list"],
    }


def test_a_list_is_bounded() -> None:
    takes(ListOf(Boolean()), [True] * MAX_ITEMS, [True] * MAX_ITEMS)
    assert refuses(ListOf(Boolean()), [5] * (MAX_ITEMS + 1)) == f"must have at most {MAX_ITEMS} items"
    assert refuses(ListOf(Boolean(), max=1, what="answers"), [True, True]) == "must have at most 1 answers"


NO_OBJECTS = [True, 0, 5.5, "", "a", "{}", [], ["a"], [{}]]


@pytest.mark.parametrize("value", NO_OBJECTS)
def test_a_value_that_is_not_a_json_object_is_refused(value: Any) -> None:
    assert problems(Nested(Leaf), value) == {"_schema": ["must be a JSON object"]}
    assert refuses(ObjectOf(Text()), value) == "must be a JSON object"


def test_a_nested_body_is_read_like_one_that_is_not() -> None:
    field = ListOf(Nested(Leaf))
    takes(field, [{"operator": "IN"}], [{"operator": "IN", "weight": None}])
    wrong = [{}, {"operator": "IN", "weight": -1}, {"operator": "IN", "other": 1}]
    assert problems(field, wrong) == {
        0: {"operator": ["Missing data for required field."]},
        1: {"weight": [f"must be from 0 to {BIGINT_MAX}"]},
        2: {"other": ["unknown property"]},
    }
    takes(Nested(Leaf, allow_none=True), None, None)


def test_many_unknown_properties_are_counted() -> None:
    many = {f"property-{count}": 1 for count in range(21)}
    assert refuses(Nested(Leaf), many) == "21 unknown properties"
    takes(Nested(Open), many, {})


def test_an_object_of_free_keys_is_what_its_field_makes_of_each_value() -> None:
    takes(ObjectOf(Email()), {}, {})
    takes(ObjectOf(Email()), {"": "A@b", "ключ": "c@d"}, {"": "a@b", "ключ": "c@d"})
    assert problems(ObjectOf(Text()), {"a": "a", "b": 5}) == {"b": ["must be a string"]}
    takes(
        ObjectOf(Boolean()),
        dict.fromkeys(map(str, range(MAX_KEYS)), True),
        dict.fromkeys(map(str, range(MAX_KEYS)), True),
    )
    assert (
        refuses(ObjectOf(Text()), dict.fromkeys(map(str, range(MAX_KEYS + 1)), 5))
        == f"must have at most {MAX_KEYS} properties"
    )


@pytest.mark.parametrize("text", BROKEN_TEXT)
def test_a_key_that_cannot_be_stored_is_refused(text: str) -> None:
    assert refuses(ObjectOf(Text()), {"a": "a", text: "a"}).startswith("the name of a property must not contain ")


ANYTHING = [
    None,
    True,
    0,
    -1,
    5.5,
    10**400,
    "",
    "a",
    [],
    {},
    [None, [1, {"a": [True]}]],
    {"": {"ключ": "значение"}},
    *ODD_TEXT,
]


@pytest.mark.parametrize("value", ANYTHING, ids=lambda value: ascii(value)[:20])
def test_any_value_is_accepted_unchanged(value: Any) -> None:
    takes(Anything(), value, value)
    takes(Anything(), [{"a": value}], [{"a": value}])


@pytest.mark.parametrize("value", [*BROKEN_TEXT, float("inf"), float("-inf"), float("nan")], ids=ascii)
def test_a_value_that_cannot_be_stored_is_refused_at_any_depth(value: Any) -> None:
    for inside in (
        value,
        [value],
        {"a": value},
        [1, {"a": [[], {"b": value}]}],
        *([{value: 1}] if isinstance(value, str) else []),
    ):
        assert refuses(Anything(), inside).startswith("must not contain ")


def test_anything_is_nested_no_deeper_than_can_be_handled() -> None:
    def deep(levels: int) -> Any:
        value: Any = 1
        for level in range(levels):
            value = [value] if level % 2 else {"a": value}
        return value

    takes(Anything(), deep(MAX_LEVELS), deep(MAX_LEVELS))
    for levels in (MAX_LEVELS + 1, 900, 10**5):
        assert refuses(Anything(), deep(levels)) == f"must not be nested more than {MAX_LEVELS} levels deep"
