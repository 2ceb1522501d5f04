"""The body of a login."""

from typing import Any, ClassVar

from validators import Body
from validators.fields import Text


class Login(Body):
    """Body of a login. username is a user name or an e-mail address."""

    example: ClassVar[dict[str, Any]] = {"username": "ada", "password": "correct horse battery staple"}

    username = Text(required=True, description="User name or e-mail address. The case of an e-mail address is ignored.")
    password = Text(required=True, description="Password.")
