"""Requests about context fields."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body, Query
from validators.fields import Boolean, ListOf, Name, Nested, Position, Text
from validators.returned import UNLEASH_ONLY, ResponseOnly

CONTEXT_FIELD = ResponseOnly(
    "contextField contextFields",
    ignored=("createdAt", "usedInFeatures", "usedInProjects", "usedInSegments", *UNLEASH_ONLY["context field"]),
    read_only={"name": ""},
)
LEGAL_VALUES = "Legal values of the field. An empty list allows all values."


class LegalValue(Body):
    """A legal value of a context field."""

    example: ClassVar[dict[str, Any]] = {"value": "NO", "description": "Norway"}

    value = Text(min=1, max=100, required=True, description="Value of the field.")
    description = Text(max=250, description="Meaning of the value.")


class UpdateContextField(Body):
    """Body of an update of a context field. Omitted properties keep their values."""

    class Meta(Body.Meta):
        include = CONTEXT_FIELD.in_change()

    example: ClassVar[dict[str, Any]] = {
        "description": "Where the user lives.",
        "legalValues": [{"value": "NO", "description": "Norway"}],
    }
    beyond_json_schema: ClassVar[str] = "must not contain a value twice"

    description = Text(max=250, allow_none=True, description="Description of the field.")
    stickiness = Boolean(description="Whether the field can be used for stickiness.")
    sortOrder = Position(description="Position in the list of fields.")
    legalValues = ListOf(Nested(LegalValue), description=LEGAL_VALUES)

    @validates_schema
    def refuse_duplicates(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse duplicate values, which could have two descriptions."""
        values = [legal["value"] for legal in data.get("legalValues", ())]
        if len(set(values)) < len(values):
            raise ValidationError("must not contain a value twice", "legalValues")


class CreateContextField(UpdateContextField):
    """Body of a new context field."""

    class Meta(Body.Meta):
        include = CONTEXT_FIELD.in_new("name")

    example: ClassVar[dict[str, Any]] = {
        "name": "country",
        "description": "Where the user lives.",
        "legalValues": [LegalValue.example],
    }

    name = Name(required=True, description="Name of the field.")
    stickiness = Boolean(load_default=False, description="Whether the field can be used for stickiness.")
    sortOrder = Position(load_default=10, description="Position in the list of fields.")


class ProjectContextFields(Query):
    """Query parameters of the context fields of a project."""

    include = Text(load_default="", description="root adds the context fields that belong to no project.")
