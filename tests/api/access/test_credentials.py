"""Credentials that are no longer valid: for every route their callers are strangers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from rules.access import digest
from sql import sessions
from tests.access import ROWS, Stage, parameters
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.login import HASH, log_in
from tests.support.sessions import ANY_PAGE, cookie_of, with_session
from tests.support.verdicts import Asked, answer, changed, verdict
from tests.support.world import PASSWORD, Caller, World, refused

pytestmark = pytest.mark.slow

NEW = f"another {PASSWORD}"
ROUTES = list(dict.fromkeys(row.route for row in ROWS))
WORDS = {
    "project_id": "default",
    "feature_name": "flag-of-default",
    "environment": "development",
    "name": "userId",
    "type": "simple",
}


def session(world: World, user: Caller) -> dict[str, str]:
    """The headers of a new session of a user."""
    sessions.insert(world.conn, digest(f"session-of-{user.id}"), user.id or 0, 48)
    return with_session(f"session-of-{user.id}")


def key(user: Caller) -> dict[str, str]:
    """The headers of a caller's key."""
    return {"Authorization": user.key or ""}


def of_deleted(world: World, alice: Caller, ada: Caller) -> list[dict[str, str]]:
    """Token and session of a user who has been deleted."""
    both = [key(ada), session(world, ada)]
    assert alice.delete(f"/api/admin/user-admin/{ada.id}").status_code == 200
    # A new user with the same name is another user.
    assert (
        alice.post("/api/admin/user-admin", json={"username": "ada", "email": ada.email, "rootRole": 1}).status_code
        == 201
    )
    return both


def of_deleted_account(world: World, alice: Caller, _: Caller) -> list[dict[str, str]]:
    """The token of a service account that has been deleted."""
    robot = world.user("Robot", root_role=1, email=None, account_type="Service Account")
    assert alice.delete(f"/api/admin/service-account/{robot.id}").status_code == 200
    return [key(robot)]


def deleted_token(_: World, alice: Caller, ada: Caller) -> list[dict[str, str]]:
    """A personal token that its owner has deleted."""
    [token] = ada.get("/api/admin/user/tokens").json["pats"]
    assert ada.delete(f"/api/admin/user/tokens/{token['id']}").status_code == 200
    assert alice.get(ANY_PAGE).status_code == 200
    return [key(ada)]


def deleted_token_of_account(world: World, alice: Caller, _: Caller) -> list[dict[str, str]]:
    """The token of a service account that has been deleted without it."""
    robot = world.user("Robot", root_role=1, email=None, account_type="Service Account")
    [token] = alice.get(f"/api/admin/service-account/{robot.id}/token").json["pats"]
    assert alice.delete(f"/api/admin/service-account/{robot.id}/token/{token['id']}").status_code == 200
    return [key(robot)]


def expired(world: World, _: Caller, ada: Caller) -> list[dict[str, str]]:
    """Token, session and key that have come to their end."""
    all_three = [key(ada), session(world, ada), key(world.api_key(expires_at=datetime.now(UTC) + timedelta(days=1)))]
    for table in ("personal_tokens", "sessions", "api_keys"):
        world.conn.execute(f"UPDATE {table} SET expires_at = now() WHERE expires_at IS NOT NULL")  # pyright: ignore
    return all_three


def logged_out(world: World, _: Caller, ada: Caller) -> list[dict[str, str]]:
    """The sessions of a user who has logged out of one of them."""
    elsewhere = with_session("elsewhere")
    sessions.insert(world.conn, digest("elsewhere"), ada.id or 0, 48)
    here = session(world, ada)
    assert Caller(world.app).post("/logout", headers=here).status_code == 302
    return [here, elsewhere]


def logged_in_again(world: World, _: Caller, __: Caller) -> list[dict[str, str]]:
    """The session with which somebody came to the login."""
    first = with_session(cookie_of(log_in(Caller(world.app), "ada"))[0])
    again = Caller(world.app).post("/auth/simple/login", json={"username": "ada", "password": PASSWORD}, headers=first)
    assert again.status_code == 200
    return [first]


def after_new_password(world: World, _: Caller, ada: Caller) -> list[dict[str, str]]:
    """The session of a user after a change of the password."""
    here = session(world, ada)
    change = {"password": NEW, "confirmPassword": NEW, "oldPassword": PASSWORD}
    assert Caller(world.app).post("/api/admin/user/change-password", json=change, headers=here).status_code == 200
    return [here]


def after_reset_password(world: World, alice: Caller, ada: Caller) -> list[dict[str, str]]:
    """The session of a user whose password an administrator has changed."""
    here = session(world, ada)
    assert alice.post(f"/api/admin/user-admin/{ada.id}/change-password", json={"password": NEW}).status_code == 200
    return [here]


def deleted_key(world: World, alice: Caller, _: Caller) -> list[dict[str, str]]:
    """An admin key that has been deleted."""
    admin = world.api_key()
    assert alice.delete(f"/api/admin/api-tokens/{admin.key}").status_code == 200
    return [key(admin)]


def ended_key(world: World, alice: Caller, _: Caller) -> list[dict[str, str]]:
    """An admin key to which an end in the past has been given."""
    admin = world.api_key()
    assert (
        alice.put(f"/api/admin/api-tokens/{admin.key}", json={"expiresAt": "2020-01-01T00:00:00Z"}).status_code == 200
    )
    return [key(admin)]


def kept(world: World, _: Caller, ada: Caller) -> list[dict[str, str]]:
    """What the database keeps of credentials, as if it were they."""
    session(world, ada)
    statement = """
        SELECT encode(digest, 'hex') AS text FROM sessions
         UNION ALL
        SELECT encode(digest, 'hex') FROM personal_tokens
         UNION ALL
        SELECT encode(digest, 'hex') FROM api_keys
         UNION ALL
        SELECT password_hash FROM users WHERE password_hash IS NOT NULL
    """
    texts = [row["text"] for row in world.conn.execute(statement)]
    masked = [f"{ADMIN_KEY.rpartition('.')[2][:8]}", "…".encode().decode("latin-1")]
    return [{"Authorization": text} for text in (*texts[-3:], *masked)] + [with_session(text) for text in texts[:2]]


DEAD: list[Callable[[World, Caller, Caller], list[dict[str, str]]]] = [
    of_deleted,
    of_deleted_account,
    deleted_token,
    deleted_token_of_account,
    expired,
    logged_out,
    logged_in_again,
    after_new_password,
    after_reset_password,
    deleted_key,
    ended_key,
    kept,
]


@pytest.mark.parametrize("dead", DEAD, ids=lambda dead: dead.__name__.replace("_", " "))
def test_a_former_credential_opens_nothing(
    stage: Stage, world: World, app: Flask, dead: Callable[..., list[dict[str, str]]]
) -> None:
    # It was the session of an administrator.
    ada = world.user("Ada", root_role=1, password_hash=HASH)
    credentials = dead(world, stage.cast["alice"], ada)
    anonymous, before, complaints = Caller(app), fingerprint(stage.conn), []
    bodies: dict[str, Any] = {"GET": None, "DELETE": None}
    for route in ROUTES:
        asked = Asked({word: WORDS.get(word, "1") for word in parameters(route)}, bodies.get(route.split(" ")[0], {}))
        answers = {answer(stage, anonymous, route, asked, **headers) for headers in ({}, *credentials)}
        if len(answers) > 1 or next(iter(answers))[0] != 401:
            complaints.append(f"{route}: {answers!s:.400}")
    verdict(complaints + changed(stage, before))


def test_each_credential_opens_much_while_valid(world: World, app: Flask, alice: Caller) -> None:
    # What is dead above was alive before its end.
    ada = world.user("Ada", root_role=1, password_hash=HASH)
    robot = world.user("Robot", root_role=1, email=None, account_type="Service Account")
    for headers in (key(ada), session(world, ada), key(world.api_key()), key(robot), key(alice)):
        assert Caller(app).get("/api/admin/user-admin", headers=headers).status_code == 200
    refused(Caller(app).get("/api/admin/user-admin"), 401, "AuthenticationRequired")
