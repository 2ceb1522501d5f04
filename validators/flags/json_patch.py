"""JSON Patch (RFC 6902). A limit on copies keeps a small body from creating a huge document."""

import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, ClassVar

from jsonpatch import JsonPatch, JsonPatchConflict, JsonPatchException, JsonPatchPathNotFound, JsonPatchTestFailed
from jsonpointer import JsonPointerException, resolve_pointer
from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Anything, OneOf, Text, json_parts

OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
# Our choice: the maximum number of operations of a patch, and of values that all its copies add.
MAX_STEPS = 1000
MAX_COPIED = 10_000
POINTER = re.compile(r"(/([^~]|~[01])*)?", re.DOTALL)


class PatchOperation(Body):
    """One operation of a patch."""

    example: ClassVar = {"op": "replace", "path": "/0/weightType", "value": "fix"}
    beyond_json_schema: ClassVar = "is required with this op|must be a JSON pointer"

    op = OneOf(
        OPERATIONS, "add, remove, replace, move, copy or test", required=True, description="Operation of this step."
    )
    path = Text(max=1000, required=True, description="Place of the change, as a JSON pointer (RFC 6901).")
    origin = Text(max=1000, data_key="from", description="Source of move and copy, as a JSON pointer.")
    value = Anything(description="Value of add, replace and test.")

    @validates_schema
    def check_properties(self, data: dict[str, Any], **_: Any) -> None:
        """Require valid pointers, and the properties that the operation needs."""
        wrong = {
            name: "must be a JSON pointer, such as /0/name" for name in ("path", "from") if not is_pointer(data, name)
        }
        needed = {"move": "from", "copy": "from", "remove": "path"}.get(data["op"], "value")
        if needed not in data and not (needed == "from" and "origin" in data):
            wrong[needed] = "is required with this op"
        if wrong:
            raise ValidationError({name: [problem] for name, problem in wrong.items()})


def is_pointer(data: Mapping[str, Any], name: str) -> bool:
    """Return whether the property with this name is a valid pointer, or omitted."""
    return POINTER.fullmatch(data.get("origin" if name == "from" else name, "")) is not None


def patched(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return a copy of the document with the operations applied. Raise ValidationError if one cannot be applied."""
    if len(operations) > MAX_STEPS:
        raise ValidationError(f"must have at most {MAX_STEPS} operations")
    result = deepcopy(document)
    copied = 0
    for number, operation in enumerate(operations):
        step = {"from" if name == "origin" else name: value for name, value in operation.items()}
        try:
            if step["op"] == "copy":
                copied += sum(1 for _ in islice(json_parts(resolve_pointer(result, step["from"])), MAX_COPIED + 1))
                if copied > MAX_COPIED:
                    raise ValidationError(f"must copy at most {MAX_COPIED} values in total")
            result = JsonPatch([step]).apply(result, in_place=True)
        except ValidationError as error:
            raise ValidationError({number: error.normalized_messages()}) from None
        except (JsonPatchException, JsonPointerException, RecursionError) as error:
            raise ValidationError({number: {"path": [problem(error)]}}) from None
    return result


def patched_properties(
    record: Mapping[str, Any],
    operations: Sequence[Mapping[str, Any]],
    changeable: Collection[str],
    ignored: Collection[str] = (),
) -> dict[str, Any]:
    """Return those of the changeable properties that a copy of the record has after these operations.

    Raise ValidationError if an operation cannot be applied, if it adds a property that records do not have, or if it
    changes or removes a property that is not changeable. ignored: properties that an operation can add without effect.
    """
    result = patched(record, operations)
    if not isinstance(result, dict):
        raise ValidationError("must be a JSON object")
    wrong = {name: ["unknown property"] for name in result if name not in record and name not in ignored}
    for name in record.keys() - set(changeable):
        if name not in result or result[name] != record[name]:
            wrong[name] = ["cannot be changed by a patch"]
    if wrong:
        raise ValidationError(wrong)
    return {name: result[name] for name in changeable if name in result}


def problem(error: Exception) -> str:
    """Return why an operation cannot be applied, as the end of a sentence that begins with its path."""
    if isinstance(error, RecursionError):
        return "is nested too deep"
    if isinstance(error, JsonPatchTestFailed):
        return "does not have the value that the test expects"
    if isinstance(error, JsonPatchConflict) and not isinstance(error, JsonPatchPathNotFound):
        return str(error)
    return "does not exist in the document"
