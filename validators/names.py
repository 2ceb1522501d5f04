"""Body of a check of a name."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Name


class NewName(Body):
    """A name for something new."""

    example: ClassVar[dict[str, Any]] = {"name": "country"}

    name = Name(required=True, metadata={"description": "Name to check."})
