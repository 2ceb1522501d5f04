"""Credentials that are no longer valid. tests/service/access/test_table.py: no route takes a wrong credential."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.tokens import api_tokens
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.login import HASH, log_in
from tests.support.sessions import cookie_of, with_session
from tests.support.world import PASSWORD, Caller, World, refused

ADMIN = "/api/admin"
USERS = f"{ADMIN}/user-admin"
NEW = f"another {PASSWORD}"
Headers = list[dict[str, str]]


def session(world: World, user: Caller, name: str = "here") -> dict[str, str]:
    """The headers of a new session of a user."""
    sessions.insert(world.conn, digest(name), user.id or 0, 48)
    return with_session(name)


def key(user: Caller) -> dict[str, str]:
    """The headers of a caller's key."""
    return {"Authorization": user.key or ""}


def robot(world: World) -> Caller:
    """A service account that administers."""
    return world.user("Robot", root_role=1, email=None, account_type="Service Account")


def done(caller: Caller, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """What a caller gets for a request that succeeds."""
    response = caller.request(method, path, headers=headers, **({} if body is None else {"json": body}))
    assert response.status_code < 400, response.text
    return response.json if response.is_json else None


def of_deleted_user(world: World, alice: Caller, ada: Caller) -> Headers:
    both = [key(ada), session(world, ada)]
    done(alice, "DELETE", f"{USERS}/{ada.id}")
    # A new user with the same name is another user.
    done(alice, "POST", USERS, {"username": "ada", "email": ada.email, "rootRole": 1})
    return both


def of_deleted_service_account(world: World, alice: Caller, _: Caller) -> Headers:
    account = robot(world)
    done(alice, "DELETE", f"{ADMIN}/service-account/{account.id}")
    return [key(account)]


def deleted_personal_token(_: World, __: Caller, ada: Caller) -> Headers:
    [token] = done(ada, "GET", f"{ADMIN}/user/tokens")["pats"]
    done(ada, "DELETE", f"{ADMIN}/user/tokens/{token['id']}")
    return [key(ada)]


def deleted_token_of_service_account(world: World, alice: Caller, _: Caller) -> Headers:
    account = robot(world)
    [token] = done(alice, "GET", f"{ADMIN}/service-account/{account.id}/token")["pats"]
    done(alice, "DELETE", f"{ADMIN}/service-account/{account.id}/token/{token['id']}")
    return [key(account)]


def expired(world: World, _: Caller, ada: Caller) -> Headers:
    admin = world.api_key(expires_at=datetime.now(UTC) + timedelta(days=1))
    all_three = [key(ada), session(world, ada), key(admin)]
    for table in ("personal_tokens", "sessions", "api_keys"):
        world.conn.execute(f"UPDATE {table} SET expires_at = now() WHERE expires_at IS NOT NULL")  # pyright: ignore
    return all_three


def logged_out(world: World, _: Caller, ada: Caller) -> Headers:
    here, elsewhere = session(world, ada), session(world, ada, "elsewhere")
    done(Caller(world.app), "POST", "/logout", **here)
    return [here, elsewhere]


def logged_in_again(world: World, _: Caller, __: Caller) -> Headers:
    first = with_session(cookie_of(log_in(Caller(world.app), "ada"))[0])
    done(Caller(world.app), "POST", "/auth/simple/login", {"username": "ada", "password": PASSWORD}, **first)
    return [first]


def of_changed_password(world: World, _: Caller, ada: Caller) -> Headers:
    here = session(world, ada)
    change = {"password": NEW, "confirmPassword": NEW, "oldPassword": PASSWORD}
    done(Caller(world.app), "POST", f"{ADMIN}/user/change-password", change, **here)
    return [here]


def of_password_that_an_administrator_changed(world: World, alice: Caller, ada: Caller) -> Headers:
    here = session(world, ada)
    done(alice, "POST", f"{USERS}/{ada.id}/change-password", {"password": NEW})
    return [here]


def deleted_api_token(world: World, alice: Caller, _: Caller) -> Headers:
    admin = world.api_key()
    done(alice, "DELETE", f"{ADMIN}/api-tokens/{admin.key}")
    return [key(admin)]


def api_token_that_was_made_to_expire(world: World, alice: Caller, _: Caller) -> Headers:
    admin = world.api_key()
    done(alice, "PUT", f"{ADMIN}/api-tokens/{admin.key}", {"expiresAt": "2020-01-01T00:00:00Z"})
    return [key(admin)]


def what_the_database_stores(world: World, _: Caller, ada: Caller) -> Headers:
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
    return [{"Authorization": text} for text in texts + masked] + [with_session(text) for text in texts[:2]]


ENDED = [
    *(of_deleted_user, of_deleted_service_account, deleted_personal_token, deleted_token_of_service_account, expired),
    *(logged_out, logged_in_again, of_changed_password, of_password_that_an_administrator_changed),
    *(deleted_api_token, api_token_that_was_made_to_expire, what_the_database_stores),
]
ASKED = [("GET", USERS), ("POST", f"{ADMIN}/projects"), ("GET", "/api/client/features"), ("GET", "/api/frontend")]


@pytest.mark.parametrize("ended", ENDED, ids=lambda ended: ended.__name__.replace("_", " "))
def test_a_former_credential_is_401(
    world: World, alice: Caller, stranger: Caller, ended: Callable[[World, Caller, Caller], Headers]
) -> None:
    # All were credentials of administrators.
    ada = world.user("Ada", root_role=1, password_hash=HASH)
    credentials = ended(world, alice, ada)
    before = fingerprint(world.conn)
    for method, path in ASKED:
        [message] = {
            refused(stranger.request(method, path, headers=headers), 401, "AuthenticationRequired")
            for headers in ({}, *credentials)
        }
        assert message
    assert fingerprint(world.conn) == before


def test_each_credential_is_accepted_while_it_is_valid(world: World, stranger: Caller) -> None:
    ada = world.user("Ada", root_role=1, password_hash=HASH)
    for headers in (key(ada), session(world, ada), key(world.api_key()), key(robot(world))):
        assert stranger.get(USERS, headers=headers).status_code == 200


def test_an_api_token_can_begin_like_a_personal_token(world: World) -> None:
    secret = f"user:*.{'0' * 64}"
    api_tokens.insert(world.conn, secret, name="of a project with the id user")
    me = Caller(world.app, secret).get(f"{ADMIN}/user").json
    assert me["user"]["username"] == "of a project with the id user"
