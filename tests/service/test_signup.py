"""Signup of invited users: which tokens work, what is created, and what is logged."""

from datetime import timedelta

import pytest

from sql.database import one, rows, value
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.login import log_in
from tests.support.signup import counts, invitation, sign_up
from tests.support.world import Caller, refused


def test_a_signup_creates_a_viewer_and_records_two_events(world, stranger, conn):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    response = sign_up(stranger, secret, email="Grace@Example.ORG")
    user_id = value(conn, "SELECT max(id) FROM users")
    person = {"id": user_id, "name": "Grace Hopper", "username": "grace", "email": "grace@example.org", "rootRole": 3}
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert response.json == person | {
        "isAPI": False,
        "accountType": "User",
        "loginAttempts": 0,
        "emailSent": False,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    }
    # No session.
    assert "Set-Cookie" not in response.headers
    assert counts(world) == {"users": before["users"] + 1, "links": before["links"] + 1, "sessions": 0}
    link = one(conn, "SELECT user_id, secret FROM signup_token_users JOIN signup_tokens ON signup_tokens.id = token_id")
    assert link == {"user_id": user_id, "secret": secret}
    grace = Caller(world.app, id=user_id, email="grace@example.org")
    used = {"id": value(conn, "SELECT id FROM signup_tokens"), "name": "for friends", "userId": user_id}
    assert events(world, since) == [
        event("user-created", grace, data=person),
        event("public-signup-token-user-added", grace, data=used),
    ]
    assert list(world.events(since)[0]["data"]) == list(person)
    for name in ("grace", "Grace@Example.ORG"):
        assert log_in(stranger, name, "amazing grace").json["id"] == user_id


def test_a_user_name_is_not_needed(world, stranger):
    since = world.last_event_id()
    response = sign_up(stranger, invitation(world), username=...)
    assert (response.status_code, response.json["username"]) == (200, None)
    assert "username" not in world.events(since)[0]["data"]
    assert log_in(stranger, "grace@example.org", "amazing grace").status_code == 200


def test_a_token_can_be_used_many_times(world, stranger, conn):
    secret = invitation(world)
    people = [
        sign_up(stranger, secret, username=f"user-{n}", email=f"user-{n}@example.org").json["id"] for n in range(3)
    ]
    assert [row["user_id"] for row in rows(conn, "SELECT user_id FROM signup_token_users ORDER BY user_id")] == people


def test_the_new_user_is_the_author_whatever_the_credential(world, alice, app):
    since = world.last_event_id()
    first = sign_up(alice, invitation(world)).json["id"]
    second = sign_up(Caller(app, "*:*.no-such-key-at-all"), invitation(world), username=..., email="i@example.org")
    assert {event["created_by_user_id"] for event in world.events(since)} == {first, second.json["id"]}


@pytest.mark.parametrize(
    ("token", "is_refused"),
    [
        ({"enabled": False}, True),
        ({"expires_in": timedelta(milliseconds=-1)}, True),
        ({"expires_in": timedelta(0)}, True),
        ({"expires_in": timedelta(days=-400)}, True),
        ({"expires_in": timedelta(days=-1), "enabled": False}, True),
        ({"expires_in": timedelta(milliseconds=1)}, False),
        ({"expires_in": timedelta(days=400_000)}, False),
    ],
)
def test_a_token_works_until_its_expiry_unless_disabled(world, stranger, conn, token, is_refused):
    secret = invitation(world, **token)
    before = fingerprint(conn)
    response = sign_up(stranger, secret)
    if is_refused:
        refused(response, 403, "NoAccessError")
        assert fingerprint(conn) == before
    else:
        assert response.status_code == 200


def test_an_unknown_token_is_404_after_the_body(world, stranger, conn):
    secret, disabled = invitation(world), invitation(world, enabled=False)
    before = fingerprint(conn)
    for wrong in ("0" * 32, secret[:-1], secret + "0", secret.upper() + "A", "%00", "%25"):
        refused(sign_up(stranger, wrong), 404, "NotFoundError")
    for wrong in ("unknown", disabled):
        refused(sign_up(stranger, wrong, name=...))
    assert fingerprint(conn) == before


def test_taken_names_are_refused(world, stranger, conn):
    secret = invitation(world)
    world.user("Robot", email=None, account_type="Service Account")
    first = sign_up(stranger, secret).json["id"]
    before = fingerprint(conn)
    for email in ("grace@example.org", "GRACE@EXAMPLE.ORG", "Grace@example.Org"):
        message = refused(sign_up(stranger, secret, username="other", email=email), 409, "NameExistsError")
        assert message.startswith("email: ")
    for taken in ("grace", "robot"):
        response = sign_up(stranger, secret, username=taken, email="other@example.org")
        assert refused(response, 409, "NameExistsError").startswith("username: ")
    assert fingerprint(conn) == before
    # User names are case-sensitive, and those of deleted users are free.
    assert sign_up(stranger, secret, username="Grace", email="other@example.org").status_code == 200
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [first])
    assert sign_up(stranger, secret).json["id"] != first


def test_a_signup_is_rolled_back_if_its_events_fail(world, stranger, conn):
    secret = invitation(world)
    before = fingerprint(conn)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'public-signup-token-user-added') NOT VALID")
    refused(sign_up(stranger, secret), 500, "InternalError")
    assert fingerprint(conn) == before


def test_all_invalid_fields_are_named_at_once(world, stranger, conn):
    secret = invitation(world)
    before = fingerprint(conn)
    names = {"name": "", "username": "gr@ce"}
    message = refused(sign_up(stranger, secret, email="nonsense", **names, password="short", age=7, rootRole=1))
    fields = {part.partition(": ")[0] for part in message.split("; ")}
    assert fields == {"email", "name", "username", "password", "age", "rootRole"}
    for changes, field in (
        ({"username": None}, "username"),
        ({"username": ""}, "username"),
        ({"username": " grace"}, "username"),
        ({"email": None}, "email"),
        ({"email": ...}, "email"),
    ):
        assert f"{field}: " in refused(sign_up(stranger, secret, **changes))
    assert fingerprint(conn) == before


@pytest.mark.parametrize(
    "changes", [{"name": "x"}, {"name": "é" * 255}, {"username": "x"}, {"username": "é" * 255}, {"username": "a b"}]
)
def test_names_have_up_to_255_characters(world, stranger, changes):
    response = sign_up(stranger, invitation(world), **changes)
    assert {field: response.json[field] for field in changes} == changes
