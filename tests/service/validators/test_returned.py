"""Which values of a read-only property count as unchanged, and what a refusal says."""

from typing import Any

import pytest
from werkzeug.exceptions import BadRequest

from validators import Body, read
from validators.fields import Text
from validators.returned import ResponseOnly, agrees, without_read_only

THING = ResponseOnly("", ignored=("id", "size"), read_only={"owner": "PUT /things/{id}/owner", "parts": "", "name": ""})


class UpdateThing(Body):
    """A body that sets the text of a thing."""

    class Meta(Body.Meta):
        include = THING.in_change("name")

    name = Text()
    text = Text()


class CreateThing(Body):
    """A body of a new thing."""

    class Meta(Body.Meta):
        include = THING.in_new("name")

    name = Text(required=True)


STORED = {
    "id": 7,
    "name": "a",
    "owner": {"name": "ada", "seenAt": "then", "roles": [1, 2]},
    "parts": [{"n": 1}, {"n": 2}],
}


UNCHANGED: list[tuple[Any, Any]] = [
    *((1, 1), ([], []), ({}, {"a": 1}), ({"a": 1}, {"a": 1, "b": 2}), ({"a": {"b": [1]}}, {"a": {"b": [1], "c": 1}})),
    ({"seenAt": "now", "lastSeenAt": "now", "yes": 9, "no": 9}, {"seenAt": "then"}),
    ([{"a": 1, "yes": 1}], [{"a": 1, "yes": 0}]),
]
CHANGED: list[tuple[Any, Any]] = [
    *((1, 2), (1, True), (1, 1.0), ("a", "b"), ("", None), ({"a": 2}, {"a": 1, "b": 2}), ({"c": None}, {"a": 1})),
    *(([], [1]), ([1], []), ([1, 2], [2, 1]), ([], {}), ({}, [])),
]


def test_a_value_is_unchanged_if_nothing_in_it_differs() -> None:
    assert [pair for pair in UNCHANGED if not agrees(*pair)] == []
    assert [pair for pair in CHANGED if agrees(*pair)] == []


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({}, {}),
        ({"id": {"a": "\0"}, "size": None, "text": "b"}, {"text": "b"}),
        ({"owner": None, "parts": None}, {}),
        ({"owner": {"name": "ada", "seenAt": "now"}, "parts": STORED["parts"], "name": "c"}, {"name": "c"}),
    ],
)
def test_what_is_kept_of_a_body(body: dict[str, Any], kept: dict[str, Any]) -> None:
    assert without_read_only(read(UpdateThing(), body), lambda: STORED) == kept
    assert read(CreateThing(), STORED | {"size": 3}) == {"name": "a"}


def test_all_differences_are_named_with_what_changes_them() -> None:
    payload = read(UpdateThing(), {"owner": {"name": "bob"}, "parts": [], "text": "b"})
    for stored in (STORED, '{"owner": null}', None):
        with pytest.raises(BadRequest) as refusal:
            without_read_only(payload, lambda record=stored: record)
        assert refusal.value.description == (
            "owner: must be omitted or unchanged (PUT /things/{id}/owner changes it); "
            "parts: must be omitted or unchanged"
        )


def test_the_record_is_read_only_if_it_is_needed() -> None:
    read_too_often: list[None] = []
    without_read_only(read(UpdateThing(), {"id": 1, "text": "b"}), lambda: read_too_often.append(None))
    assert read_too_often == []
