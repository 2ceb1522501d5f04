"""The end of one's sessions."""

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows
from tests.support.login import ada, log_in
from tests.support.sessions import ANY_PAGE, cookie_of, with_session
from tests.support.world import Caller, refused

BOTH = pytest.mark.parametrize("method", ["GET", "POST"])


@BOTH
def test_a_logout_ends_all_sessions_of_the_user_and_no_others(world, stranger, alice, conn, method):
    ada(world)
    here, _ = cookie_of(log_in(stranger, "ada"))
    elsewhere, _ = cookie_of(log_in(stranger, "ada"))
    sessions.insert(conn, digest("Alice's"), alice.id, 48)
    since = world.last_event_id()
    response = stranger.request(method, "/logout", headers=with_session(here))
    assert response.status_code == 302
    assert response.headers["Location"] == "/"
    assert response.headers["Clear-Site-Data"] == '"cookies", "storage"'
    assert [stranger.get(ANY_PAGE, headers=with_session(session)).status_code for session in (here, elsewhere)] == [
        401,
        401,
    ]
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    assert world.events(since) == []


@pytest.mark.parametrize(
    ("settings", "place", "attributes"),
    [
        ({}, "/", {"Path=/", "HttpOnly", "SameSite=Lax"}),
        (
            {"BASE_URL": "https://example.org/flags", "BASE_PATH": "/flags"},
            "/flags/",
            {"Path=/flags", "HttpOnly", "SameSite=Lax", "Secure"},
        ),
    ],
)
def test_the_cookie_is_cleared_with_the_attributes_of_the_login(
    app, world, stranger, conn, monkeypatch, settings, place, attributes
):
    for name, content in settings.items():
        monkeypatch.setitem(app.config, name, content)
    sessions.insert(conn, digest("Ada's"), ada(world).id, 48)
    response = stranger.post("/logout", headers={"Cookie": 'session="Ada\'s"'})
    assert response.headers["Location"] == place
    (cookie,) = response.headers.getlist("Set-Cookie")
    first, *rest = cookie.split("; ")
    assert first == "session="
    assert {attribute for attribute in rest if not attribute.startswith("Expires=")} == attributes | {"Max-Age=0"}
    assert "Expires=Thu, 01 Jan 1970 00:00:00 GMT" in rest


@BOTH
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
)
def test_another_site_cannot_log_anybody_out(world, stranger, conn, method, headers):
    sessions.insert(conn, digest("Ada"), ada(world).id, 48)
    refused(stranger.request(method, "/logout", headers=with_session("Ada", **headers)), 403, "NoAccessError")
    assert stranger.get(ANY_PAGE, headers=with_session("Ada")).status_code == 200


@BOTH
def test_our_own_pages_and_the_address_bar_can(world, stranger, conn, method):
    user = ada(world)
    for headers in ({"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        sessions.insert(conn, digest("Ada"), user.id, 48)
        assert stranger.request(method, "/logout", headers=with_session("Ada", **headers)).status_code == 302


@BOTH
def test_a_logout_without_a_session_changes_nothing(app, world, stranger, alice, conn, method):
    refused(stranger.request(method, "/logout"), 401, "AuthenticationRequired")
    refused(stranger.request(method, "/logout", headers=with_session("forged")), 401, "AuthenticationRequired")
    sessions.insert(conn, digest("Alice"), alice.id, 48)
    for caller in (alice, world.api_key(), world.api_key("client")):
        refused(caller.request(method, "/logout", headers=with_session("Alice")), 403, "NoAccessError")
    assert Caller(app).get(ANY_PAGE, headers=with_session("Alice")).status_code == 200
