"""Sessions: the cookie of a login, what is kept of it, what it opens, and when it ends."""

import base64
import hashlib
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows, value
from sql.tokens import api_tokens
from tests.support.login import ada, log_in
from tests.support.planner import plan_by_loops
from tests.support.sessions import ANY_PAGE, cookie_of, with_session
from tests.support.world import Caller, refused

TOKEN = "/api/admin/invite-link/tokens/no-such-token"


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(world, stranger):
    ada(world)
    session, attributes = cookie_of(log_in(stranger, "ada"))
    # For browsers that do not know Max-Age, the same in other words.
    expires = parsedate_to_datetime(attributes.pop("Expires"))
    assert abs(expires - datetime.now(UTC) - timedelta(hours=48)) < timedelta(minutes=1)
    assert attributes == {"Max-Age": "172800", "Path": "/", "HttpOnly": "", "SameSite": "Lax"}
    assert len(base64.urlsafe_b64decode(session + "=")) == 32


@pytest.mark.parametrize(
    ("base_url", "secure"), [("https://flags.example.org", True), ("http://flags.example.org", False)]
)
def test_the_cookie_is_secure_where_the_service_is(app, world, stranger, monkeypatch, base_url, secure):
    monkeypatch.setitem(app.config, "BASE_URL", base_url)
    ada(world)
    _, attributes = cookie_of(log_in(stranger, "ada"))
    assert ("Secure" in attributes) == secure


def test_the_cookie_belongs_to_the_base_path(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_PATH", "/flags")
    ada(world)
    assert cookie_of(log_in(stranger, "ada"))[1]["Path"] == "/flags"


def test_a_session_lasts_as_long_as_the_setting(app, world, stranger, conn, monkeypatch):
    ada(world)
    lasts = "SELECT extract(epoch FROM expires_at - now())::integer AS seconds FROM sessions ORDER BY expires_at"
    log_in(stranger, "ada")
    assert rows(conn, lasts) == [{"seconds": 172800}]
    monkeypatch.setitem(app.config, "SESSION_TTL_HOURS", 1)
    assert cookie_of(log_in(stranger, "ada"))[1]["Max-Age"] == "3600"
    assert rows(conn, lasts) == [{"seconds": 3600}, {"seconds": 172800}]


def test_a_session_opens_what_its_user_may_open(world, stranger, conn):
    ada(world, root_role=1)
    session, _ = cookie_of(log_in(stranger, "ada"))
    assert stranger.get(ANY_PAGE, headers=with_session(session)).status_code == 200
    refused(stranger.put(TOKEN, headers=with_session(session), json={"enabled": False}), 404, "NotFoundError")
    conn.execute("UPDATE users SET root_role_id = 3 WHERE username = 'ada'")
    refused(stranger.put(TOKEN, headers=with_session(session), json={"enabled": False}), 403, "NoAccessError")


def test_only_the_digest_of_a_session_is_kept(world, stranger, conn):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    assert rows(conn, "SELECT digest FROM sessions") == [{"digest": hashlib.sha256(session.encode()).digest()}]
    assert session not in value(conn, "SELECT string_agg(sessions::text, ' ') FROM sessions")


@pytest.mark.parametrize("session", ["", "x", "\\x00", "' OR true --", "é"])
def test_unknown_sessions_are_refused(world, stranger, session):
    ada(world)
    log_in(stranger, "ada")
    refused(stranger.get(ANY_PAGE, headers=with_session(session)), 401, "AuthenticationRequired")


def test_the_kept_digest_opens_nothing(world, stranger, conn):
    ada(world)
    log_in(stranger, "ada")
    digest = value(conn, "SELECT encode(digest, 'hex') FROM sessions")
    refused(stranger.get(ANY_PAGE, headers=with_session(digest)), 401, "AuthenticationRequired")
    refused(stranger.get(ANY_PAGE, headers={"Authorization": digest}), 401, "AuthenticationRequired")


def test_a_session_is_no_key(world, stranger):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    refused(stranger.get(ANY_PAGE, headers={"Authorization": session}), 401, "AuthenticationRequired")


def test_each_login_gets_a_new_id_and_ends_the_old_session(world, stranger):
    ada(world)
    first, _ = cookie_of(log_in(stranger, "ada"))
    elsewhere, _ = cookie_of(log_in(stranger, "ada"))
    second, _ = cookie_of(log_in(stranger, "ada", headers=with_session(first)))
    assert len({first, elsewhere, second}) == 3
    assert [
        stranger.get(ANY_PAGE, headers=with_session(session)).status_code for session in (first, elsewhere, second)
    ] == [401, 200, 200]


def test_a_login_never_takes_over_an_id_that_the_browser_brought(world, stranger):
    ada(world)
    planted = "A" * 43
    session, _ = cookie_of(log_in(stranger, "ada", headers=with_session(planted)))
    assert session != planted
    assert stranger.get(ANY_PAGE, headers=with_session(planted)).status_code == 401


def test_a_failed_login_ends_no_session(world, stranger):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    assert log_in(stranger, "ada", "wrong horse battery", headers=with_session(session)).status_code == 401
    assert stranger.get(ANY_PAGE, headers=with_session(session)).status_code == 200


def test_a_session_ends_at_its_instant(world, stranger, conn):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    conn.execute("UPDATE sessions SET expires_at = now() + interval '1 microsecond'")
    assert stranger.get(ANY_PAGE, headers=with_session(session)).status_code == 200
    conn.execute("UPDATE sessions SET expires_at = now()")
    refused(stranger.get(ANY_PAGE, headers=with_session(session)), 401, "AuthenticationRequired")


def test_a_session_ends_with_its_user(world, stranger, conn):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'ada'")
    refused(stranger.get(ANY_PAGE, headers=with_session(session)), 401, "AuthenticationRequired")


def test_a_new_session_deletes_all_expired_ones(world, stranger, conn):
    user, bob = ada(world), world.user("Bob")
    for kept, owner in ((b"past", bob), (b"just now", bob), (b"to come", bob), (b"of Ada", user)):
        sessions.insert(conn, kept, owner.id, 1)
    conn.execute("UPDATE sessions SET expires_at = now() - interval '1 hour' WHERE digest = 'past'")
    conn.execute("UPDATE sessions SET expires_at = now() WHERE digest = 'just now'")
    log_in(stranger, "ada")
    left = value(
        conn, "SELECT array_agg(convert_from(digest, 'UTF8') ORDER BY digest) FROM sessions WHERE length(digest) < 32"
    )
    assert left == ["of Ada", "to come"]


def test_all_sessions_of_one_user_can_be_ended(world, conn):
    user, bob = ada(world), world.user("Bob")
    for kept, owner in ((b"1", user), (b"2", user), (b"3", bob)):
        sessions.insert(conn, kept, owner.id, 1)
    sessions.delete_of_user(conn, user.id)
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": bob.id}]


def test_the_header_wins_over_the_cookie(world, stranger, alice):
    ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    wrong = with_session(session, Authorization="*:*.no-such-key-at-all")
    refused(stranger.get(ANY_PAGE, headers=wrong), 401, "AuthenticationRequired")
    refused(stranger.get(ANY_PAGE, headers=with_session(session, Authorization="")), 401, "AuthenticationRequired")
    change = {"headers": with_session(session), "json": {"enabled": True}}
    refused(stranger.put(TOKEN, **change), 403, "NoAccessError")
    refused(alice.put(TOKEN, **change), 404, "NotFoundError")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),
        ({"Origin": "http://localhost"}, 404),
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({"Sec-Fetch-Site": "none"}, 404),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://localhost"}, 403),
        ({"Origin": "http://localhost:8080"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, 403),
    ],
)
def test_a_change_that_another_site_asks_for_is_refused(world, stranger, alice, headers, status):
    ada(world, root_role=1)
    session, _ = cookie_of(log_in(stranger, "ada"))
    name = {403: "NoAccessError", 404: "NotFoundError"}[status]
    change = {"enabled": False}
    refused(stranger.put(TOKEN, headers=with_session(session, **headers), json=change), status, name)
    # A read changes nothing, and a key is not sent by a browser on its own.
    assert stranger.get(ANY_PAGE, headers=with_session(session, **headers)).status_code == 200
    refused(alice.put(TOKEN, headers=headers, json=change), 404, "NotFoundError")


def test_the_base_url_of_the_service_is_not_another_site(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_URL", "https://flags.example.org/flags")
    ada(world, root_role=1)
    session, attributes = cookie_of(log_in(stranger, "ada"))
    assert "Secure" in attributes
    change = {"headers": with_session(session, Origin="https://flags.example.org"), "json": {"enabled": False}}
    refused(stranger.put(TOKEN, **change), 404, "NotFoundError")


def test_over_http_the_requested_address_is_the_same_site(world, stranger):
    ada(world, root_role=1)
    session, _ = cookie_of(log_in(stranger, "ada"))
    # The first is that of BASE_URL.
    origins = {
        "http://localhost": 404,
        "http://127.0.0.1:4242": 404,
        "http://127.0.0.1:4243": 403,
        "http://127.0.0.1": 403,
    }
    for origin, status in origins.items():
        headers = with_session(session, Host="127.0.0.1:4242", Origin=origin)
        assert stranger.put(TOKEN, headers=headers, json={"enabled": False}).status_code == status


def test_being_there_by_a_session_is_being_seen(world, stranger, conn):
    user = ada(world)
    session, _ = cookie_of(log_in(stranger, "ada"))
    conn.execute("DELETE FROM user_seen_days")
    assert stranger.get(ANY_PAGE, headers=with_session(session)).status_code == 200
    assert value(conn, "SELECT user_id FROM user_seen_days WHERE day = (now() AT TIME ZONE 'UTC')::date") == user.id
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", session)


@pytest.mark.parametrize(
    "base", ["https://Flags.Example.org", "https://flags.example.org:443", "https://flags.example.org"]
)
def test_a_browser_may_write_our_origin_in_its_own_way(world, app, alice, monkeypatch, base):
    monkeypatch.setitem(app.config, "BASE_URL", base)
    sessions.insert(world.conn, digest("a session"), alice.id, 48)
    path = "/api/admin/projects/default/features/f/environments/development/strategies/none"
    stranger = Caller(app)
    # The last is where the request itself went, but without encryption.
    origins = {
        "https://flags.example.org": 404,
        "http://flags.example.org": 403,
        "https://flags.example.org:444": 403,
        "http://localhost": 403,
    }
    for origin, status in origins.items():
        response = stranger.delete(path, headers={"Cookie": 'session="a session"', "Origin": origin})
        assert (origin, response.status_code) == (origin, status)


@pytest.mark.parametrize("key", ["a key that ends in voilà", "Åa key that begins so", "eine Schlüsselkette…"])
def test_a_key_of_any_printable_characters_works(world, app, key):
    key = key.replace(" ", "-")
    api_tokens.insert(world.conn, key, name="odd")
    header = key.encode().decode("latin-1")
    for given in (header, f"Bearer {header}", f"bearer  {header} "):
        assert Caller(app, given).get("/api/admin/projects/default/overview").status_code == 200


def test_only_some_expired_sessions_are_cleared_away_by_one_login(world, conn):
    user = world.user("Ada")
    for count in range(130):
        conn.execute(
            "INSERT INTO sessions VALUES (%s, %s, now(), now() - interval '1 hour')", [digest(str(count)), user.id]
        )
    # However it is planned: also by looking at each session in turn.
    plan_by_loops(conn)
    sessions.insert(conn, digest("mine"), user.id, 48)
    assert conn.execute("SELECT count(*) AS number FROM sessions").fetchone() == {"number": 31}
