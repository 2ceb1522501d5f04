"""The change of a public signup token: its expiry, its enabled flag, and what the log says of both."""

from datetime import timedelta
from typing import Any

import pytest

from sql.database import value
from tests.support.signup import sign_up
from tests.support.signup_tokens import EXPIRY, make_token, put, stored
from tests.support.world import World, refused


def unchanged(world: World, secret: str, before: dict[str, Any], since: int) -> bool:
    """Return whether the token is unchanged and no event was recorded."""
    return stored(world.conn, secret) == before and world.events(since) == []


def test_the_whole_record_comes_back(alice, conn):
    secret = make_token(conn)
    response = put(alice, secret, expiresAt=EXPIRY)
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.json == {
        "secret": secret,
        "url": f"http://localhost/new-user?invite={secret}",
        "name": "for friends",
        "enabled": True,
        "expiresAt": EXPIRY,
        "createdAt": value(conn, "SELECT iso(now())"),
        "createdBy": "alice@example.org",
        "users": [],
        "role": {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None},
    }
    assert stored(conn, secret)["expiresAt"] == EXPIRY


def test_the_link_begins_with_the_base_url(app, alice, conn, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_URL", "https://flags.example.org/flags")
    secret = make_token(conn)
    assert put(alice, secret, enabled=False).json["url"] == f"https://flags.example.org/flags/new-user?invite={secret}"


def test_the_users_are_listed_in_the_order_of_their_signups(alice, stranger, conn):
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


@pytest.mark.parametrize("enabled", [False, True])
def test_a_token_is_switched_and_the_expiry_stays(world, alice, conn, enabled):
    secret = make_token(conn, enabled=not enabled)
    before, since = stored(conn, secret), world.last_event_id()
    response = put(alice, secret, enabled=enabled)
    assert response.status_code == 200
    assert response.json["enabled"] is enabled
    assert response.json["expiresAt"] == before["expiresAt"]
    assert stored(conn, secret) == before | {"enabled": enabled}
    (event,) = world.events(since)
    assert (event["pre_data"], event["data"]) == (before, before | {"enabled": enabled})


def test_both_fields_change_with_one_event(world, alice, conn):
    secret = make_token(conn)
    other = make_token(conn, name="another")
    before, since, untouched = stored(conn, secret), world.last_event_id(), stored(conn, other)
    assert put(alice, secret, enabled=False, expiresAt=EXPIRY).status_code == 200
    after = before | {"enabled": False, "expiresAt": EXPIRY}
    assert stored(conn, secret) == after
    assert stored(conn, other) == untouched
    (event,) = world.events(since)
    assert event["type"] == "public-signup-token-updated"
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    assert (event["pre_data"], event["data"]) == (before, after)
    assert list(event["data"]) == list(event["pre_data"]) == ["id", "name", "enabled", "expiresAt"]
    assert event["tags"] == []
    assert event["project"] is event["environment"] is event["feature_name"] is None


@pytest.mark.parametrize(("milliseconds", "enabled"), [(-1, False), (0, False), (1, True)])
def test_a_token_works_until_its_instant(alice, conn, milliseconds, enabled):
    secret = make_token(conn, expires_in=timedelta(days=9))
    now = value(conn, "SELECT now()")
    response = put(alice, secret, expiresAt=(now + timedelta(milliseconds=milliseconds)).isoformat())
    assert response.status_code == 200
    assert response.json["enabled"] is enabled
    assert stored(conn, secret)["enabled"] is True


def test_the_row_the_response_and_the_event_agree(world, alice, conn):
    secret = make_token(conn, expires_in=timedelta(days=9))
    put(alice, secret, expiresAt="2030-01-01T00:00:00.123100Z")
    since = world.last_event_id()
    assert put(alice, secret, expiresAt="2030-01-01T00:00:00.123900Z").json["expiresAt"] == "2030-01-01T00:00:00.123Z"
    assert value(
        conn,
        "SELECT iso(expires_at) = %(at)s AND expires_at = %(at)s::timestamptz FROM signup_tokens",
        {"at": "2030-01-01T00:00:00.123Z"},
    )
    assert world.events(since) == []


def test_an_expired_token_is_reported_disabled_even_if_enabled(world, alice, conn):
    secret = make_token(conn, expires_in=timedelta(days=-1), enabled=False)
    since = world.last_event_id()
    response = put(alice, secret, enabled=True)
    assert response.status_code == 200
    assert response.json["enabled"] is False
    assert stored(conn, secret)["enabled"] is True
    assert [event["data"]["enabled"] for event in world.events(since)] == [True]


def test_a_later_expiry_revives_a_token(world, alice, stranger, conn):
    secret = make_token(conn, expires_in=timedelta(days=-1))
    since = world.last_event_id()
    assert sign_up(stranger, secret).status_code == 403
    assert put(alice, secret, expiresAt=EXPIRY).json["enabled"] is True
    (event,) = world.events(since)
    assert (event["pre_data"]["enabled"], event["data"]["enabled"]) == (True, True)
    assert sign_up(stranger, secret).status_code == 200


def test_a_later_expiry_does_not_revive_what_was_disabled_by_hand(alice, stranger, conn):
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
def test_the_expiry_may_be_any_instant(alice, conn, sent, instant):
    secret = make_token(conn)
    response = put(alice, secret, expiresAt=sent)
    assert response.status_code == 200
    assert response.json["expiresAt"] == instant
    assert response.json["enabled"] is (instant > "2098")
    assert stored(conn, secret)["expiresAt"] == instant


# Other invalid date-times and booleans: tests/validators/test_fields_of_dates.py and test_fields_of_numbers.py.
INVALID: list[tuple[object, str]] = [
    ({}, "body"),
    ([{"enabled": False}], "body"),
    ("enabled", "body"),
    ({"enabled": "true"}, "enabled"),
    ({"enabled": None, "expiresAt": EXPIRY}, "enabled"),
    ({"expiresAt": None}, "expiresAt"),
    ({"expiresAt": "2099-05-31"}, "expiresAt"),
    ({"enabled": False, "expiresAt": "never"}, "expiresAt"),
    ({"enabled": False, "name": "another"}, "name"),
    ({"enabled": False, "secret": "0" * 32}, "secret"),
    ({"Enabled": False}, "Enabled"),
]


def test_an_invalid_body_changes_nothing(world, alice, conn):
    secret = make_token(conn)
    before, since = stored(conn, secret), world.last_event_id()
    for body, field in INVALID:
        message = refused(alice.put(f"/api/admin/invite-link/tokens/{secret}", json=body), 400, "ValidationError")
        assert f"{field}: " in message, body
    assert unchanged(world, secret, before, since)


@pytest.mark.parametrize("secret", ["0" * 32, "for friends", "%00", "%F0%9F%90%98", "x" * 5000])
def test_an_unknown_secret_is_404_once_the_body_fits(world, alice, conn, secret):
    known = make_token(conn)
    before, since = stored(conn, known), world.last_event_id()
    refused(put(alice, secret, enabled="true"), 400, "ValidationError")
    refused(put(alice, secret, enabled=False), 404, "NotFoundError")
    assert unchanged(world, known, before, since)


def test_a_secret_is_exact(world, alice, conn):
    secret = make_token(conn, secret="abcdef0123456789abcdef0123456789")
    before, since = stored(conn, secret), world.last_event_id()
    for similar in (secret.upper(), secret[:-1], secret + "0", secret + "%20", secret[:-1] + "%25", secret + "/"):
        refused(put(alice, similar, enabled=False), 404, "NotFoundError")
    assert unchanged(world, secret, before, since)


def test_only_administrators_change_tokens(world, eve, victor, olga, stranger, conn):
    secret = make_token(conn)
    before, since = stored(conn, secret), world.last_event_id()
    for caller in (eve, victor, olga, world.api_key("client"), world.api_key("frontend")):
        for path in (secret, "unknown"):
            refused(put(caller, path, enabled="nonsense"), 403, "NoAccessError")
    refused(put(stranger, secret, enabled="nonsense"), 401, "AuthenticationRequired")
    assert unchanged(world, secret, before, since)


def test_an_update_without_a_difference_changes_nothing(world, alice, conn):
    secret = make_token(conn)
    put(alice, secret, expiresAt="2099-05-31T12:00:00Z")
    before, since = stored(conn, secret), world.last_event_id()
    for same in (
        {"enabled": True},
        {"expiresAt": "2099-05-31T12:00:00Z"},
        {"expiresAt": "2099-05-31T14:00:00+02:00", "enabled": True},
    ):
        response = put(alice, secret, **same)
        assert response.status_code == 200
        assert response.json["expiresAt"] == "2099-05-31T12:00:00.000Z"
    assert unchanged(world, secret, before, since)


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


def test_the_log_has_no_secret(alice, stranger, conn, capsys):
    secret = make_token(conn)
    put(alice, secret, enabled=False)
    put(alice, secret, enabled=True, expiresAt=EXPIRY)
    sign_up(stranger, secret)
    put(alice, secret, enabled="nonsense")
    assert value(conn, "SELECT count(*) FROM events WHERE type = 'public-signup-token-updated'") == 2
    assert secret not in value(conn, "SELECT string_agg(events::text, ' ') FROM events")
    written = capsys.readouterr().out
    assert "/api/admin/invite-link/tokens/<token>" in written
    assert secret not in written


def test_a_change_is_rolled_back_if_its_event_fails(world, alice, conn):
    secret = make_token(conn)
    before, since = stored(conn, secret), world.last_event_id()
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'public-signup-token-updated') NOT VALID")
    refused(put(alice, secret, enabled=False), 500, "InternalError")
    assert unchanged(world, secret, before, since)
