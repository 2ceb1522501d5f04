"""Public signup tokens: created, listed, updated and validated."""

import re
from datetime import timedelta

import pytest
from psycopg.errors import UniqueViolation

from sql.database import rows, value
from sql.tokens import signup_tokens
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.signup import sign_up
from tests.support.signup_tokens import EXPIRY, make_token, put, stored
from tests.support.world import Caller, refused

PATH = "/api/admin/invite-link/tokens"
BODY = {"name": "Summer interns", "expiresAt": EXPIRY}
VIEWER = {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None}


def validate(caller: Caller, secret: str):
    """Ask whether a token works."""
    return caller.get(f"/invite/{secret}/validate")


# Creating and reading


def test_a_new_token_has_a_secret_a_link_and_the_role_viewer(world, alice, conn):
    since = world.last_event_id()
    response = alice.post(PATH, json=BODY)
    secret = response.json["secret"]
    assert re.fullmatch("[0-9a-f]{32}", secret)
    assert (response.status_code, response.headers["Location"]) == (201, f"tokens/{secret}")
    assert response.json == {
        "secret": secret,
        "url": f"http://localhost/new-user?invite={secret}",
        "name": "Summer interns",
        "enabled": True,
        "expiresAt": EXPIRY,
        "createdAt": value(conn, "SELECT iso(now())"),
        "createdBy": "alice@example.org",
        "users": [],
        "role": VIEWER,
    }
    row = stored(conn, secret)
    assert row == {"id": row["id"], "name": "Summer interns", "enabled": True, "expiresAt": EXPIRY}
    assert events(world, since) == [event("public-signup-token-created", alice, data=row)]


@pytest.mark.parametrize("expiry", ["2020-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"])
def test_any_expiry_is_stored_unchanged(alice, expiry):
    created = alice.post(PATH, json=BODY | {"expiresAt": expiry}).json
    assert (created["expiresAt"], created["enabled"]) == (expiry, expiry > EXPIRY)


def test_tokens_are_listed_newest_first_with_disabled_and_expired_ones(alice, conn):
    assert alice.get(PATH).json == {"tokens": []}
    for name, day, expiry, enabled in (
        ("works", "02", EXPIRY, True),
        ("disabled", "03", EXPIRY, False),
        ("expired", "01", "2026-02-01T00:00:00Z", True),
    ):
        fields = {"expires_at": expiry, "enabled": enabled, "created_at": f"2026-01-{day}T00:00:00Z"}
        fixtures.signup_token(conn, name=name, created_by="x", **fields)
    # Tokens of one instant too.
    at_once = [alice.post(PATH, json=BODY).json["secret"] for _ in range(5)]
    listed = alice.get(PATH).json["tokens"]
    assert [token["secret"] for token in listed[:5]] == at_once[::-1]
    assert [(token["name"], token["enabled"]) for token in listed[5:]] == [
        ("disabled", False),
        ("works", True),
        ("expired", False),
    ]
    for token in listed:
        assert token == alice.get(f"{PATH}/{token['secret']}").json


# Updating


def test_an_update_returns_the_record_with_the_address_of_the_service(app, alice, conn, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_URL", "https://flags.example.org/flags")
    secret = make_token(conn)
    assert put(alice, secret, expiresAt=EXPIRY).json == {
        "secret": secret,
        "url": f"https://flags.example.org/flags/new-user?invite={secret}",
        "name": "for friends",
        "enabled": True,
        "expiresAt": EXPIRY,
        "createdAt": value(conn, "SELECT iso(now())"),
        "createdBy": "alice@example.org",
        "users": [],
        "role": VIEWER,
    }


def test_users_are_listed_in_the_order_of_their_signups(alice, stranger, conn):
    secret, other = make_token(conn), make_token(conn, name="for others")
    records = [
        sign_up(stranger, token, username=name, email=f"{name}@example.org").json
        for token, name in ((secret, "ada"), (secret, "gone"), (secret, "zoe"), (other, "else"), (secret, "mia"))
    ]
    ada, gone, zoe, _, mia = records
    age = "UPDATE signup_token_users SET created_at = now() - make_interval(days => %s) WHERE user_id = %s"
    for days, record in ((1, zoe), (2, ada), (4, gone), (3, mia)):
        conn.execute(age, [days, record["id"]])
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone["id"]])
    assert put(alice, secret, enabled=False).json["users"] == [mia, ada, zoe]


@pytest.mark.parametrize("change", [{"enabled": False}, {"expiresAt": EXPIRY}, {"enabled": False, "expiresAt": EXPIRY}])
def test_omitted_fields_stay_and_each_update_is_one_event(world, alice, conn, change):
    secret, other = make_token(conn), make_token(conn, name="another")
    before, untouched, since = stored(conn, secret), stored(conn, other), world.last_event_id()
    response, after = put(alice, secret, **change), before | change
    assert (response.json["enabled"], response.json["expiresAt"]) == (after["enabled"], after["expiresAt"])
    assert (stored(conn, secret), stored(conn, other)) == (after, untouched)
    updated = event("public-signup-token-updated", alice, data=after, pre_data=before)
    assert events(world, since) == [updated]
    assert list(world.events(since)[0]["data"]) == ["id", "name", "enabled", "expiresAt"]


@pytest.mark.parametrize(("milliseconds", "enabled"), [(-1, False), (0, False), (1, True)])
def test_a_token_works_until_its_instant(alice, conn, milliseconds, enabled):
    secret = make_token(conn, expires_in=timedelta(days=9))
    expiry = value(conn, "SELECT now()") + timedelta(milliseconds=milliseconds)
    assert put(alice, secret, expiresAt=expiry.isoformat()).json["enabled"] is enabled
    assert stored(conn, secret)["enabled"] is True


def test_an_expired_token_is_reported_disabled_even_if_enabled(world, alice, stranger, conn):
    secret = make_token(conn, expires_in=timedelta(days=-1), enabled=False)
    since = world.last_event_id()
    assert put(alice, secret, enabled=True).json["enabled"] is False
    assert stored(conn, secret)["enabled"] is True
    assert sign_up(stranger, secret).status_code == 403
    # A later expiry revives it.
    assert put(alice, secret, expiresAt=EXPIRY).json["enabled"] is True
    assert [(row["pre_data"]["enabled"], row["data"]["enabled"]) for row in world.events(since)] == [
        (False, True),
        (True, True),
    ]
    assert sign_up(stranger, secret).status_code == 200


def test_a_later_expiry_does_not_revive_a_disabled_token(alice, stranger, conn):
    secret = make_token(conn, expires_in=timedelta(days=-1))
    assert put(alice, secret, enabled=False).status_code == 200
    assert put(alice, secret, expiresAt=EXPIRY).json["enabled"] is False
    assert stored(conn, secret)["enabled"] is False
    assert sign_up(stranger, secret).status_code == 403


@pytest.mark.parametrize(
    ("sent", "instant"),
    [
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("2099-05-31T12:00:00.1239999Z", "2099-05-31T12:00:00.123Z"),
    ],
)
def test_the_expiry_may_be_any_instant_in_milliseconds(world, alice, conn, sent, instant):
    secret = make_token(conn)
    response = put(alice, secret, expiresAt=sent)
    assert (response.json["expiresAt"], response.json["enabled"]) == (instant, instant > "2098")
    exact = "SELECT expires_at = %(at)s::timestamptz FROM signup_tokens WHERE name = 'for friends'"
    assert value(conn, exact, {"at": instant})
    # What is sent again is no difference.
    since = world.last_event_id()
    for same in ({"enabled": True}, {"expiresAt": sent}, {"expiresAt": instant, "enabled": True}):
        assert put(alice, secret, **same).json["expiresAt"] == instant
    assert world.events(since) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "body: must have expiresAt or enabled"),
        ({"enabled": None, "expiresAt": EXPIRY}, "enabled: must not be null"),
        ({"enabled": False, "name": "another"}, "name: unknown property"),
    ],
)
def test_an_invalid_body_is_refused_before_the_token_is_looked_up(alice, conn, body, message):
    secret = make_token(conn)
    before = fingerprint(conn)
    for path in (secret, "0" * 32):
        assert refused(alice.put(f"{PATH}/{path}", json=body)) == message
    assert fingerprint(conn) == before


def test_an_unknown_secret_is_404(alice, stranger, conn):
    secret = make_token(conn, secret="abcdef0123456789abcdef0123456789")
    before = fingerprint(conn)
    similar = (secret.upper(), secret[:-1], secret + "0", secret + "%20", secret[:-1] + "%25", secret + "/")
    for unknown in (*similar, "for friends", "%00", "%F0%9F%90%98", "x" * 5000):
        refused(put(alice, unknown, enabled=False), 404, "NotFoundError")
        refused(alice.get(f"{PATH}/{unknown}"), 404, "NotFoundError")
    for unknown in (secret[:-1], "%00"):
        refused(validate(stranger, unknown), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_the_author_is_the_address_or_the_name(world, conn):
    secret = make_token(conn)
    by_address = world.user("Grace", root_role=1)
    by_name = world.user("Ida", root_role=1, email=None)
    by_key = world.api_key(name="the pipeline's key")
    since = world.last_event_id()
    for number, caller in enumerate((by_address, by_name, by_key)):
        assert put(caller, secret, expiresAt=f"209{number}-01-01T00:00:00Z").json["createdBy"] == "alice@example.org"
    authors = [(event["created_by"], event["created_by_user_id"]) for event in world.events(since)]
    assert authors == [("grace@example.org", by_address.id), ("ida", by_name.id), ("the pipeline's key", None)]


# Validating, and secrets


def test_validation_follows_the_switch_and_the_expiry(stranger, alice, conn):
    secret = make_token(conn)
    for change, status in (
        ({"enabled": False}, 403),
        ({"enabled": True}, 200),
        ({"expiresAt": value(conn, "SELECT iso(now())")}, 403),
    ):
        assert put(alice, secret, **change).status_code == 200
        response = validate(stranger, secret)
        assert response.status_code == status
        assert status == 200 or "disabled or has expired" in refused(response, 403, "NoAccessError")
    before = fingerprint(conn)
    validate(stranger, secret)
    assert fingerprint(conn) == before


def test_no_secret_reaches_the_log_or_an_event(alice, stranger, conn, capsys):
    secret = alice.post(PATH, json=BODY).json["secret"]
    alice.get(f"{PATH}/{secret}")
    validate(stranger, secret)
    put(alice, secret, enabled=False)
    put(alice, secret, enabled=True, expiresAt=EXPIRY)
    put(alice, secret, enabled="nonsense")
    sign_up(stranger, secret)
    written = capsys.readouterr().out
    assert (written.count("\n"), written.count("/api/admin/invite-link/tokens/<token>")) == (7, 4)
    assert secret not in written + value(conn, "SELECT string_agg(to_jsonb(events)::text, '') FROM events")


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
    for statement in (signup_tokens.ROW, signup_tokens.HOLD, signup_tokens.LOCK, signup_tokens.GET):
        params = {"digest": b"unknown", "base_url": "http://localhost"}
        plan = "\n".join(row["QUERY PLAN"] for row in rows(conn, "EXPLAIN " + statement, params))
        assert "signup_tokens_secret_idx" in plan
        assert "Seq Scan on signup_tokens" not in plan
