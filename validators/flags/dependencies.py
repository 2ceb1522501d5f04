"""Requests about dependencies between flags."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, ListOf, Text

PARENT_VARIANTS = "Variants of the parent. If not empty, the parent must return one of them."


class Dependency(Body):
    """Body of a new dependency: the parent flag, and its required state."""

    example: ClassVar = {"feature": "new-cart", "enabled": True, "variants": ["blue"]}
    beyond_json_schema: ClassVar = "must be empty"

    feature = Text(min=1, required=True, description="Name of the parent flag.")
    enabled = Boolean(load_default=True, description="Whether the parent must be on (true) or off (false).")
    variants = ListOf(Text(min=1, max=255), max=100, load_default=list, description=PARENT_VARIANTS)

    @validates_schema
    def refuse_variants_of_disabled(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse variants of a disabled parent, which returns none."""
        if data["variants"] and not data["enabled"]:
            raise ValidationError("must be empty if enabled is false", "variants")
