"""What is to be exported (neighbours.md 3.17)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import Boolean, ListOf, Text

SELECTORS = ("features", "tag", "project")


class ExportFlags(Body):
    """An environment, and one way to say which flags."""

    example: ClassVar[dict[str, Any]] = {"environment": "development", "features": ["new-checkout", "old-checkout"], "downloadFile": False}
    unsaid: ClassVar[str] = "exactly one of"

    environment = Text(min=1, required=True, metadata={"description": "Environment of whose strategies, variants and states it tells."})
    features = ListOf(
        Text(),
        what="names",
        metadata={"description": "Names of the flags; unknown ones are left out. This, tag or project: exactly one of them."},
    )
    tag = Text(metadata={"description": "Value of a tag, of whatever type: the flags that have it."})
    project = Text(metadata={"description": "Id of a project: its flags."})
    downloadFile = Boolean(load_default=False, metadata={"description": "Whether browsers are to save the document as a file."})

    @validates_schema
    def has_one_selector(self, asked: dict[str, Any], **_: Any) -> None:
        """Neither of two would be obvious."""
        if sum(selector in asked for selector in SELECTORS) != 1:
            raise ValidationError("must have exactly one of features, tag and project")

    @post_load
    def name_selector(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """With selector, the one that was given."""
        return asked | {"selector": next(selector for selector in SELECTORS if selector in asked)}
