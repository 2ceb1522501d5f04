"""A dependency of one flag on another (neighbours.md 3.14)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, ListOf, Text


class Dependency(Body):
    """The flag that another depends on, and how."""

    example: ClassVar = {"feature": "new-cart", "enabled": True, "variants": ["blue"]}
    unsaid: ClassVar = "must be empty"

    feature = Text(min=1, required=True, metadata={"description": "Name of the flag to depend on."})
    enabled = Boolean(load_default=True, metadata={"description": "Whether that flag must be on, or off."})
    variants = ListOf(
        Text(min=1, max=255), max=100, load_default=list, metadata={"description": "If any: it must give one of these variants."}
    )

    @validates_schema
    def asks_for_variants_of_what_is_on(self, asked: dict[str, Any], **_: Any) -> None:
        """A flag that is off gives none."""
        if asked["variants"] and not asked["enabled"]:
            raise ValidationError("must be empty if enabled is false", "variants")
