"""What a service account may be called."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Integer, Text, Username


class CreateServiceAccount(Body):
    """A new service account."""

    example: ClassVar[dict[str, Any]] = {"username": "terraform", "name": "Terraform", "rootRole": 2}

    username = Username(required=True, metadata={"description": "User name; no user may have it. No @, and no spaces around."})
    name = Text(min=1, max=255, required=True, metadata={"description": "Name of the service account."})
    rootRole = Integer(min=1, required=True, metadata={"description": "Id of its root role."})


class UpdateServiceAccount(Body):
    """The change of a service account."""

    example: ClassVar[dict[str, Any]] = {"name": "Terraform Cloud"}

    name = Text(min=1, max=255, metadata={"description": "Name of the service account."})
    rootRole = Integer(min=1, metadata={"description": "Id of its root role."})
