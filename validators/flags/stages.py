"""Requests about the lifecycle of a flag."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import TITLE_MAX, OneOf, Text


class CompleteFlag(Body):
    """How a flag is completed."""

    example: ClassVar[dict[str, Any]] = {"status": "kept", "statusValue": "one-page"}

    status = OneOf(
        frozenset({"kept", "discarded"}),
        "kept or discarded",
        required=True,
        description="Whether the code behind the flag is kept or discarded.",
    )
    statusValue = Text(
        max=TITLE_MAX,
        allow_none=True,
        load_default=None,
        description="More about the status, such as the variant that is kept.",
    )
