"""Context fields, which constraints ask about (neighbours.md 3.16)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Anything, Boolean, Integer, ListOf, Name, Nested, Text

SORT_ORDER_MAX = 2**31 - 1


class LegalValue(Body):
    """A value that a context field can have."""

    example: ClassVar[dict[str, Any]] = {"value": "NO", "description": "Norway"}

    value = Text(min=1, max=100, required=True, metadata={"description": "The value."})
    description = Text(max=250, metadata={"description": "What it means."})


class UpdateContextField(Body):
    """A change of a context field; what is absent stays as it is."""

    example: ClassVar[dict[str, Any]] = {"description": "Where the user lives.", "legalValues": [{"value": "NO", "description": "Norway"}]}
    unsaid: ClassVar[str] = "must not contain a value twice"

    description = Text(max=250, allow_none=True, metadata={"description": "What the field says."})
    stickiness = Boolean(metadata={"description": "Whether one can stay with a variant by it."})
    sortOrder = Integer(min=0, max=SORT_ORDER_MAX, metadata={"description": "Place among the fields."})
    legalValues = ListOf(Nested(LegalValue), metadata={"description": "The values that the field can have; none: any."})

    @validates_schema
    def values_differ(self, asked: dict[str, Any], **_: Any) -> None:
        """A value that stands twice would have two descriptions."""
        values = [legal["value"] for legal in asked.get("legalValues", ())]
        if len(set(values)) < len(values):
            raise ValidationError("must not contain a value twice", "legalValues")


class CreateContextField(UpdateContextField):
    """A new context field."""

    example: ClassVar[dict[str, Any]] = {"name": "country", "description": "Where the user lives.", "legalValues": [LegalValue.example]}

    name = Name(required=True, metadata={"description": "Name of the field."})
    stickiness = Boolean(load_default=False, metadata={"description": "Whether one can stay with a variant by it."})
    sortOrder = Integer(min=0, max=SORT_ORDER_MAX, load_default=10, metadata={"description": "Place among the fields."})
    project = Anything(metadata={"description": "Ignored: context fields are of the whole instance."})
