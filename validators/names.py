"""Requests that check whether a new name is valid."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Name


class NewName(Body):
    """Body of a check of a new name."""

    example: ClassVar[dict[str, Any]] = {"name": "country"}

    name = Name(required=True, description="Name to check.")
