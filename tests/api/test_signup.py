"""Signup of invited users: which tokens work, what is created, and what the log says."""

from datetime import timedelta

import pytest

from sql.database import one, rows, value
from tests.support.login import log_in
from tests.support.signup import counts, invitation, sign_up
from tests.support.world import Caller, refused


def test_the_answer_is_the_record_of_a_viewer_who_has_never_logged_in(world, stranger, conn):
    response = sign_up(stranger, invitation(world))
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.json == {
        "id": value(conn, "SELECT max(id) FROM users"),
        "isAPI": False,
        "name": "Grace Hopper",
        "username": "grace",
        "email": "grace@example.org",
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "emailSent": False,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    }


def test_signup_creates_user_and_link_but_no_session(world, stranger, conn):
    secret = invitation(world)
    before = counts(world)
    response = sign_up(stranger, secret)
    assert "Set-Cookie" not in response.headers
    assert counts(world) == {"users": before["users"] + 1, "links": before["links"] + 1, "sessions": 0}
    link = one(conn, "SELECT user_id, secret FROM signup_token_users JOIN signup_tokens ON signup_tokens.id = token_id")
    assert link == {"user_id": response.json["id"], "secret": secret}


def test_two_events_have_the_new_user_as_author(world, stranger, conn):
    secret = invitation(world)
    since = world.last_event_id()
    user_id = sign_up(stranger, secret).json["id"]
    created, added = world.events(since)
    for event in (created, added):
        assert (event["created_by"], event["created_by_user_id"]) == ("grace@example.org", user_id)
        assert event["pre_data"] is event["project"] is event["environment"] is event["feature_name"] is None
        assert event["tags"] == []
    assert created["type"] == "user-created"
    person = {"id": user_id, "name": "Grace Hopper", "username": "grace", "email": "grace@example.org", "rootRole": 3}
    assert created["data"] == person
    assert list(created["data"]) == list(person)
    assert added["type"] == "public-signup-token-user-added"
    assert added["data"] == {
        "id": value(conn, "SELECT id FROM signup_tokens"),
        "name": "for friends",
        "userId": user_id,
    }


def test_a_user_name_is_not_needed(world, stranger, conn):
    since = world.last_event_id()
    response = sign_up(stranger, invitation(world), username=...)
    assert response.status_code == 200
    assert response.json["username"] is None
    assert "username" not in world.events(since)[0]["data"]
    assert value(conn, "SELECT username FROM users WHERE id = %(id)s", {"id": response.json["id"]}) is None
    assert log_in(stranger, "grace@example.org", "amazing grace").status_code == 200


def test_the_new_user_can_log_in(world, stranger):
    user_id = sign_up(stranger, invitation(world)).json["id"]
    for name in ("grace", "Grace@Example.ORG"):
        response = log_in(stranger, name, "amazing grace")
        assert response.status_code == 200
        assert response.json["id"] == user_id


def test_an_address_is_kept_in_lower_case(world, stranger, conn):
    since = world.last_event_id()
    response = sign_up(stranger, invitation(world), email="Grace.HOPPER@Example.ORG")
    assert response.json["email"] == "grace.hopper@example.org"
    assert (
        value(conn, "SELECT email FROM users WHERE id = %(id)s", {"id": response.json["id"]})
        == "grace.hopper@example.org"
    )
    assert {event["created_by"] for event in world.events(since)} == {"grace.hopper@example.org"}


def test_a_token_can_be_used_many_times(world, stranger, conn):
    secret = invitation(world)
    people = [
        sign_up(stranger, secret, username=f"user-{n}", email=f"user-{n}@example.org").json["id"] for n in range(3)
    ]
    assert [row["user_id"] for row in rows(conn, "SELECT user_id FROM signup_token_users ORDER BY user_id")] == people


def test_signup_needs_no_credential_and_ignores_wrong_ones(world, app):
    wrong = Caller(app, "*:*.no-such-key-at-all")
    assert sign_up(wrong, invitation(world)).status_code == 200


def test_the_new_user_is_the_author_for_administrators_too(world, alice):
    since = world.last_event_id()
    user_id = sign_up(alice, invitation(world)).json["id"]
    assert {event["created_by_user_id"] for event in world.events(since)} == {user_id}


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
def test_a_token_works_until_its_expiry_unless_disabled(world, stranger, token, is_refused):
    secret = invitation(world, **token)
    before, since = counts(world), world.last_event_id()
    response = sign_up(stranger, secret)
    if is_refused:
        refused(response, 403, "NoAccessError")
        assert counts(world) == before
        assert world.events(since) == []
    else:
        assert response.status_code == 200


def test_an_unknown_token_is_404(world, stranger):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    for wrong in ("0" * 32, secret[:-1], secret + "0", secret.upper() + "A", "%00", "%25"):
        refused(sign_up(stranger, wrong), 404, "NotFoundError")
    assert counts(world) == before
    assert world.events(since) == []


@pytest.mark.parametrize("secret", ["unknown", "disabled"])
def test_a_bad_body_is_refused_before_the_token_is_looked_at(world, stranger, secret):
    secret = invitation(world, enabled=False) if secret == "disabled" else secret
    refused(sign_up(stranger, secret, name=...), 400, "ValidationError")


@pytest.mark.parametrize("email", ["grace@example.org", "GRACE@EXAMPLE.ORG", "Grace@example.Org"])
def test_an_address_that_exists_is_refused_in_any_case(world, stranger, email):
    secret = invitation(world)
    sign_up(stranger, secret)
    before, since = counts(world), world.last_event_id()
    response = sign_up(stranger, secret, username="other", email=email)
    refused(response, 409, "NameExistsError")
    assert response.json["message"].startswith("email: ")
    assert counts(world) == before
    assert world.events(since) == []


def test_a_user_name_that_exists_is_refused(world, stranger):
    secret = invitation(world)
    world.user("Robot", email=None, account_type="Service Account")
    sign_up(stranger, secret)
    before, since = counts(world), world.last_event_id()
    for taken in ("grace", "robot"):
        response = sign_up(stranger, secret, username=taken, email="other@example.org")
        refused(response, 409, "NameExistsError")
        assert response.json["message"].startswith("username: ")
    assert counts(world) == before
    assert world.events(since) == []


def test_after_a_refusal_the_next_signup_works(world, stranger):
    secret = invitation(world)
    sign_up(stranger, secret)
    assert sign_up(stranger, secret).status_code == 409
    assert sign_up(stranger, secret, username="ida", email="ida@example.org").status_code == 200


def test_user_names_are_case_sensitive(world, stranger):
    secret = invitation(world)
    sign_up(stranger, secret)
    assert sign_up(stranger, secret, username="Grace", email="other@example.org").status_code == 200


def test_the_names_of_a_deleted_user_are_free(world, stranger, conn):
    secret = invitation(world)
    first = sign_up(stranger, secret).json["id"]
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [first])
    second = sign_up(stranger, secret)
    assert second.status_code == 200
    assert second.json["id"] != first


def test_a_signup_is_rolled_back_if_its_events_fail(world, stranger, conn):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'public-signup-token-user-added') NOT VALID")
    refused(sign_up(stranger, secret), 500, "InternalError")
    assert counts(world) == before
    assert world.events(since) == []


# What an address, a user name and a text are: tests/validators/test_fields.py.
INVALID = [
    *((field, content) for field in ("email", "name", "username") for content in (None, 1, "", "a\0b")),
    *((field, ...) for field in ("email", "name", "password")),
    ("email", "grace hopper@example.org"),
    ("name", "x" * 256),
    ("username", "x" * 256),
    ("username", "gr@ce"),
    ("username", " grace"),
    ("rootRole", 1),
    ("id", 1),
    ("sendEmail", True),
]


def test_an_invalid_field_is_named_and_nothing_is_created(world, stranger):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    for field, content in INVALID:
        message = refused(sign_up(stranger, secret, **{field: content}), 400, "ValidationError")
        assert f"{field}: " in message, content
    assert counts(world) == before
    assert world.events(since) == []


def test_all_invalid_fields_are_named_at_once(world, stranger):
    response = sign_up(
        stranger, invitation(world), email="nonsense", name="", username="gr@ce", password="short", age=7
    )
    refused(response, 400, "ValidationError")
    assert {part.partition(": ")[0] for part in response.json["message"].split("; ")} == {
        "email",
        "name",
        "username",
        "password",
        "age",
    }


@pytest.mark.parametrize(
    "changes", [{"name": "x"}, {"name": "é" * 255}, {"username": "x"}, {"username": "é" * 255}, {"username": "a b"}]
)
def test_names_have_up_to_255_characters(world, stranger, changes):
    response = sign_up(stranger, invitation(world), **changes)
    assert response.status_code == 200
    assert {field: response.json[field] for field in changes} == changes
