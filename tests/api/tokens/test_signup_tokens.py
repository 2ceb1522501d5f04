"""Public signup tokens: made, listed, read, and asked whether they work."""

import re
from typing import Any

import pytest
from psycopg.errors import UniqueViolation

from sql.database import rows, value
from sql.tokens import signup_tokens
from tests.support import fixtures
from tests.support.event_log import events
from tests.support.fingerprint import fingerprint
from tests.support.signup import sign_up
from tests.support.signup_tokens import EXPIRY, make_token
from tests.support.world import Caller, refused

PATH = "/api/admin/invite-link/tokens"
BODY = {"name": "Summer interns", "expiresAt": EXPIRY}


def test_a_new_token_has_a_secret_a_link_and_the_role_viewer(world, alice, conn):
    since = world.last_event_id()
    answer = alice.post(PATH, json=BODY)
    assert answer.status_code == 201
    secret = answer.json["secret"]
    assert re.fullmatch("[0-9a-f]{32}", secret)
    assert answer.headers["Location"] == f"tokens/{secret}"
    assert answer.json == {
        "secret": secret,
        "url": f"http://localhost/new-user?invite={secret}",
        "name": "Summer interns",
        "enabled": True,
        "expiresAt": EXPIRY,
        "createdAt": value(conn, "SELECT iso(now())"),
        "createdBy": "alice@example.org",
        "users": [],
        "role": {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None},
    }
    (row,) = rows(
        conn, "SELECT id, secret, name, enabled, root_role_id, iso(expires_at) AS expires_at FROM signup_tokens"
    )
    data = {"id": row["id"], "name": "Summer interns", "enabled": True, "expiresAt": EXPIRY}
    assert row == {
        "id": row["id"],
        "secret": secret,
        "name": "Summer interns",
        "enabled": True,
        "root_role_id": 3,
        "expires_at": EXPIRY,
    }
    by_alice = {"type": "public-signup-token-created", "created_by": alice.email, "created_by_user_id": alice.id}
    nothing = {"project": None, "environment": None, "feature_name": None, "pre_data": None, "tags": []}
    assert events(world, since) == [by_alice | nothing | {"data": data}]


@pytest.mark.parametrize("expiry", ["2020-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"])
def test_any_expiry_is_stored_unchanged(alice, expiry):
    created = alice.post(PATH, json=BODY | {"expiresAt": expiry}).json
    assert (created["expiresAt"], created["enabled"]) == (expiry, expiry > EXPIRY)


def test_people_sign_up_with_a_token(alice, stranger):
    secret = alice.post(PATH, json=BODY).json["secret"]
    ada = sign_up(stranger, secret, email="ada@example.org").json
    assert alice.get(f"{PATH}/{secret}").json["users"] == [ada]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "expiresAt: is required; name: is required"),
        ({"name": "x"}, "expiresAt: is required"),
        (BODY | {"name": ""}, "name: must not be empty"),
        (BODY | {"name": "x" * 256}, "name: must be at most 255 characters long"),
        (BODY | {"name": None}, "name: must not be null"),
        (BODY | {"expiresAt": None}, "expiresAt: must not be null"),
        (
            BODY | {"expiresAt": "2030-01-01"},
            "expiresAt: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
        (BODY | {"other": True}, "other: unknown property"),
    ],
)
def test_an_invalid_body_is_refused(alice, conn, body, message):
    before = fingerprint(conn)
    assert "; ".join(sorted(refused(alice.post(PATH, json=body)).split("; "))) == message
    assert fingerprint(conn) == before


def test_all_tokens_are_listed_newest_first_with_disabled_and_expired_ones(alice, conn):
    created = {
        name: fixtures.signup_token(
            conn, name=name, created_by="x", expires_at=expiry, enabled=enabled, created_at=f"2026-01-{day}T00:00:00Z"
        )
        for name, day, expiry, enabled in (
            ("works", "02", EXPIRY, True),
            ("disabled", "03", EXPIRY, False),
            ("expired", "01", "2026-02-01T00:00:00Z", True),
        )
    }
    listed = alice.get(PATH)
    assert listed.status_code == 200
    assert [(token["name"], token["enabled"]) for token in listed.json["tokens"]] == [
        ("disabled", False),
        ("works", True),
        ("expired", False),
    ]
    for token in listed.json["tokens"]:
        assert token["secret"] == created[token["name"]]["secret"]
        assert token == alice.get(f"{PATH}/{token['secret']}").json


def test_tokens_of_one_instant_are_listed_newest_first_too(alice):
    created = [alice.post(PATH, json=BODY).json["secret"] for _ in range(5)]
    assert [token["secret"] for token in alice.get(PATH).json["tokens"]] == created[::-1]


def test_the_list_is_empty_without_tokens(alice):
    assert alice.get(PATH).json == {"tokens": []}


def test_an_unknown_secret_is_not_found(alice, conn):
    secret = make_token(conn)
    for unknown in (secret[:-1], secret.upper() + "x", "for friends", "%00"):
        refused(alice.get(f"{PATH}/{unknown}"), 404, "NotFoundError")


def test_only_administrators_read_and_make_tokens(eve, victor, conn):
    secret = make_token(conn)
    for caller in (eve, victor):
        before = fingerprint(conn)
        for path in (PATH, f"{PATH}/{secret}", f"{PATH}/unknown"):
            refused(caller.get(path), 403, "NoAccessError")
        refused(caller.post(PATH, json=BODY), 403, "NoAccessError")
        refused(caller.post(PATH, data=b"x"), 403, "NoAccessError")
        assert fingerprint(conn) == before


# Asked whether it works


def validate(caller: Caller, secret: str) -> Any:
    """Ask whether one can sign up with a token."""
    return caller.get(f"/invite/{secret}/validate")


def test_validation_is_public(world, stranger, victor, conn):
    secret = make_token(conn)
    before = fingerprint(conn)
    for caller in (stranger, victor, world.api_key("client"), Caller(world.app, "forged")):
        answer = validate(caller, secret)
        assert (answer.status_code, answer.data) == (200, b"")
    conn.execute("DELETE FROM api_keys WHERE kind = 'client'")
    assert fingerprint(conn) == before


def test_disabled_tokens_are_403_and_unknown_ones_404(stranger, alice, conn):
    secret = make_token(conn)
    assert alice.put(f"{PATH}/{secret}", json={"enabled": False}).status_code == 200
    refused(validate(stranger, secret), 403, "NoAccessError")
    assert alice.put(f"{PATH}/{secret}", json={"enabled": True}).status_code == 200
    assert validate(stranger, secret).status_code == 200
    now = value(conn, "SELECT iso(now())")
    assert alice.put(f"{PATH}/{secret}", json={"expiresAt": now}).status_code == 200
    refused(validate(stranger, secret), 403, "NoAccessError")
    for unknown in ("unknown", secret[:-1], "%00"):
        refused(validate(stranger, unknown), 404, "NotFoundError")


def test_no_secret_reaches_the_log_or_an_event(alice, stranger, conn, capfd):
    secret = alice.post(PATH, json=BODY).json["secret"]
    alice.get(f"{PATH}/{secret}")
    validate(stranger, secret)
    log = capfd.readouterr().out
    assert log.count("\n") == 3
    assert secret not in log
    assert secret not in value(conn, "SELECT string_agg(to_jsonb(events)::text, '') FROM events")


@pytest.mark.parametrize("secret", ["a secret", "\\x00", "back\\\\slash\\", "\\134", "Zürich ☃"])
def test_a_secret_of_any_characters_is_found_and_unique(conn, secret):
    make_token(conn, secret=secret)
    assert signup_tokens.get_row(conn, secret)
    with pytest.raises(UniqueViolation), conn.transaction():
        make_token(conn, secret=secret)


def test_a_token_is_found_among_many_without_hashing_each(conn):
    make_token(conn)
    numbers = "SELECT 'secret ' || number, 'one', now() FROM generate_series(1, 1000) AS number"
    conn.execute(f"INSERT INTO signup_tokens (secret, name, expires_at) {numbers}")
    for statement in (signup_tokens.ROW, signup_tokens.SHARE, signup_tokens.LOCK, signup_tokens.GET):
        params = {"digest": b"unknown", "base_url": "http://localhost"}
        plan = "\n".join(row["QUERY PLAN"] for row in rows(conn, "EXPLAIN " + statement, params))
        assert "signup_tokens_secret_idx" in plan
        assert "Seq Scan on signup_tokens" not in plan
