"""JSON patches: each operation of RFC 6902, invalid steps, and the maximum size of the result."""

from typing import Any

import pytest
from marshmallow import ValidationError

from validators import read
from validators.flags.json_patch import MAX_COPIED, MAX_STEPS, PatchOperation, patched

ABC: Any = ["a", "b", "c"]


def patch(document: Any, *steps: dict[str, Any]) -> Any:
    """The document after these steps."""
    return patched(document, [read(PatchOperation(), step) for step in steps])


def step(op: str, path: str, **more: Any) -> dict[str, Any]:
    """A step of a patch. from_ is the property from."""
    return {"op": op, "path": path} | {name.rstrip("_"): value for name, value in more.items()}


# Among them the examples of RFC 6902, appendix A, and the escapes of RFC 6901.
DONE: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({"foo": "bar"}, [step("add", "/baz", value="qux")], {"foo": "bar", "baz": "qux"}),
    ({"foo": ["bar", "baz"]}, [step("add", "/foo/1", value="qux")], {"foo": ["bar", "qux", "baz"]}),
    ({"baz": "qux", "foo": "bar"}, [step("remove", "/baz")], {"foo": "bar"}),
    ({"foo": ["bar", "qux", "baz"]}, [step("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
    ({"baz": "qux"}, [step("replace", "/baz", value="boo")], {"baz": "boo"}),
    ({"foo": {"a": 1}, "qux": {}}, [step("move", "/qux/b", from_="/foo/a")], {"foo": {}, "qux": {"b": 1}}),
    ({"foo": ["a", "b", "c", "d"]}, [step("move", "/foo/3", from_="/foo/1")], {"foo": ["a", "c", "d", "b"]}),
    ({"foo": ["bar"]}, [step("add", "/foo/-", value=["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
    ({"/": 9, "~1": 10}, [step("test", "/~01", value=10), step("remove", "/~1")], {"~1": 10}),
    ({}, [step("add", "/child", value={"grand": {}})], {"child": {"grand": {}}}),
    ({"a": 1}, [step("add", "/a", value=None)], {"a": None}),
    (ABC, [step("add", "/3", value="d")], [*ABC, "d"]),
    (ABC, [step("add", "/0", value="d")], ["d", *ABC]),
    (ABC, [step("replace", "/2", value=[])], ["a", "b", []]),
    (ABC, [step("copy", "/0", from_="/2"), step("copy", "/-", from_="/1")], ["c", "a", "b", "c", "a"]),
    (ABC, [step("move", "/-", from_="/0")], ["b", "c", "a"]),
    (ABC, [step("move", "/1", from_="/1")], ABC),
    # RFC 6902, 4.4: the value is removed first, so that everything behind it moves up.
    (["a", "b", {}], [step("move", "/1/x", from_="/0")], ["b", {"x": "a"}]),
    (ABC, [step("replace", "", value={"x": 1}), step("add", "/", value=2)], {"x": 1, "": 2}),
    ({"": {"": 1}}, [step("remove", "//")], {"": {}}),
    (ABC, [step("add", "", value=None)], None),
    ({"a": [1]}, [step("copy", "/c", from_="/a"), step("add", "/c/-", value=2)], {"a": [1], "c": [1, 2]}),
    ({"a": {"ab": 1}}, [step("move", "/ab", from_="/a")], {"ab": {"ab": 1}}),
    ({"a": [1, {"b": True}]}, [step("test", "/a", value=[1.0, {"b": True}])], {"a": [1, {"b": True}]}),
    (ABC, [], ABC),
]


@pytest.mark.parametrize(("document", "steps", "created"), DONE, ids=str)
def test_a_patch_is_applied_to_a_copy(document: Any, steps: list[dict[str, Any]], created: Any) -> None:
    before = repr(document)
    assert patch(document, *steps) == created
    assert repr(document) == before


NOT_THERE = "does not exist in the document"
NO_PLACE = ["/4", "/01", "/-1", "/+1", "/1.0", "/١", "/name", f"/{'9' * 900}", "/0/x", "/x/y"]
NO_POINTER = ["0", "#/0", "/~2", "/~", "/" * 1001]
REFUSED: list[tuple[Any, dict[str, Any]]] = [
    *((ABC, step("remove", path)) for path in ("/3", "/-")),
    *((ABC, step("replace", path, value=1)) for path in ("/3", "/-")),
    *((ABC, step("add", path, value=1)) for path in NO_PLACE + NO_POINTER),
    (ABC, step("test", "/3", value=None)),
    (ABC, step("copy", "/0", from_="/3")),
    (ABC, step("move", "/0", from_="/3")),
    ({"a": {"b": 1}}, step("move", "/a", from_="")),
    ({"a": {"b": 1}}, step("replace", "/a/c", value=1)),
    ({"a": 1}, step("test", "/a", value=True)),
    ({"a": [0]}, step("test", "/a", value=[False])),
    ({"a": {"b": 1}}, step("test", "/a", value={"b": 1, "c": 1})),
    ({"a": [1]}, step("test", "/a", value=[1, 1])),
    ({"a": "1"}, step("test", "/a", value=1)),
    # The form.
    *((ABC, {"op": op, "path": "/0"}) for op in ("add", "replace", "test", "move")),
    (ABC, {"op": "copy", "path": "/0", "value": "/1"}),
    (ABC, {"path": "/0", "value": 1}),
    (ABC, {"op": "add", "value": 1}),
    (ABC, step("Add", "/0", value=1)),
    (ABC, step("copy", "/0", from_="1")),
    (ABC, step("add", "/0", value=1, more=1)),
    (ABC, step("add", "/0", value="\0")),
]


@pytest.mark.parametrize(("document", "wrong"), REFUSED, ids=str)
def test_an_invalid_step_is_refused(document: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        patch(document, wrong)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (step("remove", ""), "can't remove the whole document"),
        (step("move", "/0/a", from_="/0"), "Cannot move values into their own children"),
        (step("add", "/7", value=1), "can't insert outside of list"),
        (step("test", "/0", value=1), "does not have the value that the test expects"),
        (step("copy", "/0", from_="/x"), NOT_THERE),
        (step("add", "/-/x", value=1), NOT_THERE),
    ],
)
def test_a_refusal_names_the_step_and_the_error(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        patch([{"a": 1}], step("add", "/-", value=1), wrong)
    assert refusal.value.messages == {1: {"path": [reason]}}


def test_moves_can_nest_a_document_deeper_than_python_can_compare() -> None:
    nested: Any = {}
    for _ in range(90):
        nested = {"a": nested}
    steps = [step("add", f"/{name}{'/a' * deep}", value=nested) for name in "xyz" for deep in range(0, 450, 90)]
    steps += [step("move", f"/y{'/a' * 450}", from_="/x"), step("move", f"/z{'/a' * 450}", from_="/y")]
    with pytest.raises(ValidationError) as refusal:
        patch({}, *steps, step("test", "", value=1))
    assert refusal.value.messages == {17: {"path": ["is nested too deep"]}}


def test_the_values_of_a_patch_do_not_change() -> None:
    value: Any = [1]
    steps = [step("add", "/-", value=value), step("add", "/-", value=value), step("add", "/0/-", value=2)]
    assert patched([], steps) == [[1, 2], [1]]
    assert value == [1]


def test_a_patch_has_a_maximum_of_steps() -> None:
    one = step("test", "/0", value="a")
    assert patch(ABC, *[one] * MAX_STEPS) == ABC
    with pytest.raises(ValidationError, match="at most"):
        patch(ABC, *[one] * (MAX_STEPS + 1))


def test_copies_of_copies_have_a_maximum_of_size_and_depth() -> None:
    for where in ("/-", "/0/-"):
        with pytest.raises(ValidationError, match=str(MAX_COPIED)):
            patch([[1]], *[step("copy", where, from_="")] * 40)
    with pytest.raises(ValidationError, match="levels"):
        patch({"a": {}}, *(step("copy", "/a" * (2**times + 1), from_="/a") for times in range(8)))
