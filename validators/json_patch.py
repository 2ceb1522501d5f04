"""JSON Patch (RFC 6902): a document changed step by step. Our own: a library has no bound for what copies make of a small body."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Anything, OneOf, Text, parts

OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
# Our choice: how many steps a patch may have, and how many values all its copies together.
MOST_STEPS = 1000
MOST_COPIED = 10_000
# The place behind the last item of a list.
END = "-"
INDEX = re.compile(r"0|[1-9]\d*", re.ASCII)
POINTER = re.compile(r"(/([^~]|~[01])*)?", re.DOTALL)


class PatchOperation(Body):
    """One step of a patch."""

    example: ClassVar = {"op": "replace", "path": "/0/weightType", "value": "fix"}
    unsaid: ClassVar = "is required with this op|must be a JSON pointer"

    op = OneOf(OPERATIONS, "add, remove, replace, move, copy or test", required=True, metadata={"description": "What is done."})
    path = Text(max=1000, required=True, metadata={"description": "Where, as a JSON pointer (RFC 6901)."})
    origin = Text(max=1000, data_key="from", metadata={"description": "Where move and copy take the value from, as a JSON pointer."})
    value = Anything(metadata={"description": "The value that add, replace and test need."})

    @validates_schema
    def has_what_it_needs(self, asked: dict[str, Any], **_: Any) -> None:
        """Pointers, and whatever the operation works with."""
        wrong = {name: "must be a JSON pointer, such as /0/name" for name in ("path", "from") if not is_pointer(asked, name)}
        needed = {"move": "from", "copy": "from", "remove": "path"}.get(asked["op"], "value")
        if needed not in asked and not (needed == "from" and "origin" in asked):
            wrong[needed] = "is required with this op"
        if wrong:
            raise ValidationError({name: [problem] for name, problem in wrong.items()})


def is_pointer(asked: Mapping[str, Any], name: str) -> bool:
    """Whether the pointer of that name is one, or is not there."""
    return POINTER.fullmatch(asked.get("origin" if name == "from" else name, "")) is not None


def patched(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """What these operations make of the document, which itself stays as it is. ValidationError: one of them cannot be done."""
    if len(operations) > MOST_STEPS:
        raise ValidationError(f"must hold at most {MOST_STEPS} operations")
    # The document hangs on a key, so that it has a parent as everything in it has.
    holder = {"": deepcopy(document)}
    left = MOST_COPIED
    for number, operation in enumerate(operations):
        try:
            left -= apply(holder, operation, left)
        except ValidationError as error:
            raise ValidationError({number: error.normalized_messages()}) from None
    return holder[""]


def apply(holder: dict[str, Any], operation: Mapping[str, Any], most: int) -> int:
    """Do one operation; how many values were copied, which must not be more than most."""
    op, copied = operation["op"], 0
    container, last = find(holder, operation["path"])
    if op == "remove":
        if operation["path"] == "":
            raise ValidationError("must not be the whole document", "path")
        take(container, last)
    elif op == "replace":
        at(container, last)
        put(container, last, operation["value"], instead=True)
    elif op == "test":
        if not same(at(container, last), operation["value"]):
            raise ValidationError("is not what the test says", "path")
    elif op == "add":
        put(container, last, operation["value"])
    else:
        origin = find(holder, operation["origin"])
        found = at(*origin)
        if op == "copy":
            copied = sum(1 for _ in islice(parts(found), most + 1))
            if copied > most:
                raise ValidationError(f"all copies together must hold at most {MOST_COPIED} values")
            put(container, last, deepcopy(found))
        elif operation["path"] != operation["origin"]:
            if f"{operation['path']}/".startswith(f"{operation['origin']}/"):
                raise ValidationError("must not be inside what is moved", "path")
            take(*origin)
            # Behind what was taken out of a list, everything has moved up.
            put(*find(holder, operation["path"]), found)
    return copied


def find(holder: dict[str, Any], pointer: str) -> tuple[Any, str]:
    """What holds the value that a pointer points to, or could, and its key or index there."""
    *way, last = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")]
    container: Any = holder
    for token in way:
        container = at(container, token)
    return container, last


def at(container: Any, token: str) -> Any:
    """What stands in an object or list at a key or index."""
    if isinstance(container, dict) and token in container:
        return container[token]
    if isinstance(container, list) and INDEX.fullmatch(token) and int(token) < len(container):
        return container[int(token)]
    raise ValidationError("there is nothing at this place", "path")


def put(container: Any, token: str, value: Any, *, instead: bool = False) -> None:
    """Set a key of an object, or insert a value into a list (instead: of the one there)."""
    if isinstance(container, dict):
        container[token] = value
    elif isinstance(container, list) and token == END:
        container.append(value)
    elif isinstance(container, list) and INDEX.fullmatch(token) and int(token) <= len(container):
        container[int(token) : int(token) + instead] = [value]
    else:
        raise ValidationError("there is no such place", "path")


def take(container: Any, token: str) -> None:
    """Take out what stands at a key or index."""
    at(container, token)
    del container[int(token) if isinstance(container, list) else token]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. (To Python, true and 1 are.)"""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other
