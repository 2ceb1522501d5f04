"""Requests about service accounts."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Integer, NotBlank, Username
from validators.people.users import USER
from validators.returned import ResponseOnly

SERVICE_ACCOUNT = ResponseOnly(
    "serviceAccount managedUser",
    USER.ignored,
    {**USER.read_only, "tokens": "POST /api/admin/service-account/{accountId}/token"},
)


class CreateServiceAccount(Body):
    """Body of a new service account."""

    class Meta(Body.Meta):
        include = SERVICE_ACCOUNT.in_new("username")

    example: ClassVar[dict[str, Any]] = {"username": "terraform", "name": "Terraform", "rootRole": 2}

    username = Username(required=True, description="User name. It must be free, and has no @ and no spaces around it.")
    name = NotBlank(min=1, max=255, required=True, description="Name of the service account.")
    rootRole = Integer(min=1, required=True, description="Id of the root role of the account.")


class UpdateServiceAccount(Body):
    """Body of an update of a service account."""

    class Meta(Body.Meta):
        include = SERVICE_ACCOUNT.in_change()

    example: ClassVar[dict[str, Any]] = {"name": "Terraform Cloud"}

    name = NotBlank(min=1, max=255, description="Name of the service account.")
    rootRole = Integer(min=1, description="Id of the root role of the account.")
