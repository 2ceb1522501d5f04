"""Sessions: the cookie of a login, what it opens, how it ends, and logout (decisions.md, Credentials)."""

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
UNDER_FLAGS = {"BASE_URL": "https://example.org/flags", "BASE_PATH": "/flags"}
BOTH = pytest.mark.parametrize("method", ["GET", "POST"])


@pytest.fixture
def session(world, stranger) -> str:
    """The session of Ada, an administrator."""
    ada(world, root_role=1)
    return cookie_of(log_in(stranger, "ada"))[0]


def statuses(caller: Caller, *ids: str) -> list[int]:
    """The status of a request with each of these sessions."""
    return [caller.get(ANY_PAGE, headers=with_session(session)).status_code for session in ids]


# The cookie


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(world, stranger):
    ada(world)
    session, attributes = cookie_of(log_in(stranger, "ada"))
    # For browsers that do not know Max-Age, the same in other words.
    expires = parsedate_to_datetime(attributes.pop("Expires"))
    assert abs(expires - datetime.now(UTC) - timedelta(hours=48)) < timedelta(minutes=1)
    assert attributes == {"Max-Age": "172800", "Path": "/", "HttpOnly": "", "SameSite": "Lax"}
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", session)
    assert len(base64.urlsafe_b64decode(session + "=")) == 32


def test_the_cookie_follows_the_settings(app, world, stranger, conn, monkeypatch):
    ada(world)
    lasts = "SELECT extract(epoch FROM expires_at - now())::integer AS seconds FROM sessions ORDER BY expires_at"
    log_in(stranger, "ada")
    assert rows(conn, lasts) == [{"seconds": 172800}]
    for name, setting in (UNDER_FLAGS | {"SESSION_TTL_HOURS": 1}).items():
        monkeypatch.setitem(app.config, name, setting)
    attributes = cookie_of(log_in(stranger, "ada"))[1]
    assert (attributes["Path"], attributes["Max-Age"], "Secure" in attributes) == ("/flags", "3600", True)
    assert rows(conn, lasts) == [{"seconds": 3600}, {"seconds": 172800}]


def test_only_the_digest_of_a_session_is_kept_and_opens_nothing(stranger, session, conn):
    kept = hashlib.sha256(session.encode())
    assert rows(conn, "SELECT digest FROM sessions") == [{"digest": kept.digest()}]
    assert session not in value(conn, "SELECT string_agg(sessions::text, ' ') FROM sessions")
    for header in (kept.hexdigest(), session):
        refused(stranger.get(ANY_PAGE, headers={"Authorization": header}), 401, "AuthenticationRequired")
    for unknown in (kept.hexdigest(), "", "x", "\\x00", "' OR true --", "é"):
        refused(stranger.get(ANY_PAGE, headers=with_session(unknown)), 401, "AuthenticationRequired")


# What it opens


def test_a_session_opens_what_its_user_may_open(stranger, session, conn):
    conn.execute("DELETE FROM user_seen_days")
    assert statuses(stranger, session) == [200]
    seen = value(conn, "SELECT users.username FROM users JOIN user_seen_days ON user_id = users.id")
    assert seen == "ada"
    refused(stranger.put(TOKEN, headers=with_session(session), json={"enabled": False}), 404, "NotFoundError")
    conn.execute("UPDATE users SET root_role_id = 3 WHERE username = 'ada'")
    refused(stranger.put(TOKEN, headers=with_session(session), json={"enabled": False}), 403, "NoAccessError")


def test_the_header_wins_over_the_cookie(stranger, session, victor, alice):
    for header in ("*:*.no-such-key-at-all", ""):
        headers = with_session(session, Authorization=header)
        refused(stranger.get(ANY_PAGE, headers=headers), 401, "AuthenticationRequired")
    change = {"headers": with_session(session), "json": {"enabled": True}}
    refused(victor.put(TOKEN, **change), 403, "NoAccessError")
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
        # Over HTTP, the requested address is the same site.
        ({"Host": "127.0.0.1:4242", "Origin": "http://localhost"}, 404),
        ({"Host": "127.0.0.1:4242", "Origin": "http://127.0.0.1:4242"}, 404),
        ({"Host": "127.0.0.1:4242", "Origin": "http://127.0.0.1:4243"}, 403),
        ({"Host": "127.0.0.1:4242", "Origin": "http://127.0.0.1"}, 403),
    ],
)
def test_a_change_that_another_site_asks_for_is_refused(stranger, session, alice, headers, status):
    change = {"enabled": False}
    name = {403: "NoAccessError", 404: "NotFoundError"}[status]
    refused(stranger.put(TOKEN, headers=with_session(session, **headers), json=change), status, name)
    # A read changes nothing, and a key is not sent by a browser on its own.
    assert stranger.get(ANY_PAGE, headers=with_session(session, **headers)).status_code == 200
    refused(alice.put(TOKEN, headers=headers, json=change), 404, "NotFoundError")


@pytest.mark.parametrize(
    "base", ["https://Flags.Example.org", "https://flags.example.org:443", "https://flags.example.org/flags"]
)
def test_browsers_write_our_origin_in_their_own_way(stranger, session, app, monkeypatch, base):
    monkeypatch.setitem(app.config, "BASE_URL", base)
    # The last is where the request itself went, but without encryption.
    origins = {
        "https://flags.example.org": 404,
        "http://flags.example.org": 403,
        "https://flags.example.org:444": 403,
        "http://localhost": 403,
    }
    for origin, status in origins.items():
        response = stranger.put(TOKEN, headers=with_session(session, Origin=origin), json={"enabled": False})
        assert (origin, response.status_code) == (origin, status)


@pytest.mark.parametrize("key", ["a key that ends in voilà", "Åa key that begins so", "eine Schlüsselkette…"])
def test_a_key_of_any_printable_characters_works(world, app, key):
    key = key.replace(" ", "-")
    api_tokens.insert(world.conn, key, name="odd")
    header = key.encode().decode("latin-1")
    for given in (header, f"Bearer {header}", f"bearer  {header} "):
        assert Caller(app, given).get(ANY_PAGE).status_code == 200


# How it ends


def test_each_login_gets_a_new_id_and_ends_the_old_session(stranger, session):
    elsewhere, _ = cookie_of(log_in(stranger, "ada"))
    # A failed login ends nothing.
    assert log_in(stranger, "ada", "wrong horse battery", headers=with_session(session)).status_code == 401
    assert statuses(stranger, session, elsewhere) == [200, 200]
    second, _ = cookie_of(log_in(stranger, "ada", headers=with_session(session)))
    # An id that the browser brought is never taken over.
    planted = "A" * 43
    third, _ = cookie_of(log_in(stranger, "ada", headers=with_session(planted)))
    assert len({session, elsewhere, second, third, planted}) == 5
    assert statuses(stranger, session, elsewhere, second, third, planted) == [401, 200, 200, 200, 401]


def test_a_session_ends_at_its_instant_and_with_its_user(stranger, session, conn):
    conn.execute("UPDATE sessions SET expires_at = now() + interval '1 microsecond'")
    assert statuses(stranger, session) == [200]
    conn.execute("UPDATE sessions SET expires_at = now()")
    assert statuses(stranger, session) == [401]
    conn.execute("UPDATE sessions SET expires_at = now() + interval '1 hour'")
    conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'ada'")
    assert statuses(stranger, session) == [401]


def test_a_new_session_deletes_expired_ones(world, stranger, conn):
    user, bob = ada(world), world.user("Bob")
    for kept, owner in ((b"past", bob), (b"just now", bob), (b"to come", bob), (b"of Ada", user)):
        sessions.insert(conn, kept, owner.id, 1)
    conn.execute("UPDATE sessions SET expires_at = now() - interval '1 hour' WHERE digest = 'past'")
    conn.execute("UPDATE sessions SET expires_at = now() WHERE digest = 'just now'")
    log_in(stranger, "ada")
    left = "SELECT convert_from(digest, 'UTF8') AS id FROM sessions WHERE length(digest) < 32 ORDER BY digest"
    assert [row["id"] for row in rows(conn, left)] == ["of Ada", "to come"]


def test_a_login_deletes_at_most_a_hundred_expired_sessions(world, conn):
    user = world.user("Ada")
    old = "SELECT sha256(number::text::bytea), %s, now(), now() - interval '1 hour' FROM generate_series(1, 130) number"
    conn.execute(f"INSERT INTO sessions {old}", [user.id])
    # However it is planned: also by looking at each session in turn.
    plan_by_loops(conn)
    sessions.insert(conn, digest("mine"), user.id, 48)
    assert value(conn, "SELECT count(*) FROM sessions") == 31


# Logout


@BOTH
def test_a_logout_ends_all_sessions_of_the_user_and_no_others(world, stranger, session, alice, conn, method):
    elsewhere, _ = cookie_of(log_in(stranger, "ada"))
    sessions.insert(conn, digest("Alice's"), alice.id, 48)
    since = world.last_event_id()
    response = stranger.request(method, "/logout", headers=with_session(session))
    assert (response.status_code, response.headers["Location"]) == (302, "/")
    assert response.headers["Clear-Site-Data"] == '"cookies", "storage"'
    assert statuses(stranger, session, elsewhere) == [401, 401]
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    assert world.events(since) == []


@pytest.mark.parametrize(
    ("settings", "place", "attributes"),
    [
        ({}, "/", {"Path=/", "HttpOnly", "SameSite=Lax"}),
        (UNDER_FLAGS, "/flags/", {"Path=/flags", "HttpOnly", "SameSite=Lax", "Secure"}),
    ],
)
def test_the_cookie_is_cleared_with_the_attributes_of_the_login(
    app, stranger, alice, conn, monkeypatch, settings, place, attributes
):
    for name, content in settings.items():
        monkeypatch.setitem(app.config, name, content)
    sessions.insert(conn, digest("Alice's"), alice.id, 48)
    response = stranger.post("/logout", headers={"Cookie": 'session="Alice\'s"'})
    assert response.headers["Location"] == place
    (cookie,) = response.headers.getlist("Set-Cookie")
    first, *rest = cookie.split("; ")
    assert first == "session="
    assert set(rest) == attributes | {"Max-Age=0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"}


@BOTH
def test_only_our_own_pages_and_the_address_bar_can_log_out(stranger, alice, conn, method):
    sessions.insert(conn, digest("Alice"), alice.id, 48)
    for headers in ({"Origin": "http://evil.example"}, *({"Sec-Fetch-Site": f"{at}-site"} for at in ("cross", "same"))):
        refused(stranger.request(method, "/logout", headers=with_session("Alice", **headers)), 403, "NoAccessError")
    for headers in ({"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert statuses(stranger, "Alice") == [200]
        assert stranger.request(method, "/logout", headers=with_session("Alice", **headers)).status_code == 302
        sessions.insert(conn, digest("Alice"), alice.id, 48)


@BOTH
def test_a_logout_without_a_session_changes_nothing(app, world, stranger, alice, conn, method):
    for headers in ({}, with_session("forged")):
        refused(stranger.request(method, "/logout", headers=headers), 401, "AuthenticationRequired")
    sessions.insert(conn, digest("Alice"), alice.id, 48)
    for caller in (alice, world.api_key(), world.api_key("client")):
        refused(caller.request(method, "/logout", headers=with_session("Alice")), 403, "NoAccessError")
    assert statuses(Caller(app), "Alice") == [200]
