"""Logs in, and makes users with a password."""

from typing import Any

import bcrypt
from werkzeug.test import TestResponse

from tests.support.world import PASSWORD, Caller, World

HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def log_in(caller: Caller, username: str, password: str = PASSWORD, **kwargs: Any) -> TestResponse:
    return caller.post("/auth/simple/login", json={"username": username, "password": password}, **kwargs)


def ada(world: World, **fields: Any) -> Caller:
    """Ada, who has a password."""
    return world.user("Ada", **{"password_hash": HASH} | fields)
