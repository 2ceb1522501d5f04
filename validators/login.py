"""The body of a login (api.md 6)."""

from validators import Body
from validators.fields import Text


class Login(Body):
    """username: a user name or an e-mail address."""

    username = Text(required=True)
    password = Text(required=True)
