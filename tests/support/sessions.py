"""Sessions: the cookie of a login, requests that carry it, and a new password by session."""

import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.world import PASSWORD, Caller

# Open to any user, and to no stranger.
ANY_PAGE = "/api/admin/projects/default/overview"


def cookie_of(response: TestResponse) -> tuple[str, dict[str, str]]:
    """The session id that a login gives, and the attributes of its cookie."""
    assert response.status_code == 200
    (header,) = response.headers.getlist("Set-Cookie")
    first, *rest = header.split("; ")
    name, _, session = first.partition("=")
    assert name == "session"
    return session, {key: text for key, _, text in (attribute.partition("=") for attribute in rest)}


def with_session(session: str, **headers: str) -> dict[str, str]:
    return {"Cookie": f"session={session}", **headers}


PATH = "/api/admin/user/change-password"
NEW = "another battery staple"


def change(
    caller: Caller, password: Any = NEW, old: Any = PASSWORD, *, session: str = "Ada", **fields: Any
) -> TestResponse:
    """Ask for a new password by a session."""
    body = {"password": password, "confirmPassword": password, "oldPassword": old} | fields
    return caller.post(PATH, json=body, headers=with_session(session))


def login_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines of logins since the last look, without the time."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [{key: line[key] for key in line if key != "time"} for line in lines if "login" in line]
