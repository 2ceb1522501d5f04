"""A name on its own, to ask whether it can be taken."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Name


class NewName(Body):
    """The name of what is to be made."""

    example: ClassVar[dict[str, Any]] = {"name": "country"}

    name = Name(required=True, metadata={"description": "The name."})
