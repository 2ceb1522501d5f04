"""Creates links to set a password, and uses them."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.world import Caller

CREATE, CHECK, USE = "/api/admin/user-admin/reset-password", "/auth/reset/validate", "/auth/reset/password"
NEW = "a password by a link"


def token_of(link: str) -> str:
    return link.partition("?token=")[2]


def new_link(caller: Caller, login: str = "ada") -> str:
    response = caller.post(CREATE, json={"id": login})
    assert response.status_code == 200
    return token_of(response.json["resetPasswordUrl"])


def check(caller: Caller, token: str, **kwargs: Any) -> TestResponse:
    """Ask whose link this is."""
    return caller.get(CHECK, query_string={"token": token}, **kwargs)


def use(caller: Caller, token: str, password: Any = NEW, **kwargs: Any) -> TestResponse:
    """Set a password by a link."""
    return caller.post(USE, json={"token": token, "password": password}, **kwargs)
