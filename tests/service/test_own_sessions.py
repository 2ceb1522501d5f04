"""Lists of sessions, how they end, and what a login leaves in them and in the log."""

import json
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql import sessions
from sql.access import digest
from sql.database import Connection, rows, value
from tests.support.login import ada, log_in
from tests.support.login_throttle import WRONG, blocked, from_address
from tests.support.page import open_page, send_form
from tests.support.sessions import ANY_PAGE, cookie_of, login_lines, with_session
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user/sessions"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


@pytest.fixture
def mine(world: World, stranger: Caller) -> str:
    """A session of Ada, an administrator."""
    ada(world, root_role=1)
    return cookie_of(log_in(stranger, "ada", **from_address("192.0.2.7", **{"User-Agent": BROWSER})))[0]


def begin(conn: Connection, user: Caller, *secrets: str) -> list[int]:
    """Begin sessions of a user, and return their ids."""
    for secret in secrets:
        sessions.insert(conn, digest(secret), user.id or 0, 1)
    return [value(conn, "SELECT id FROM sessions WHERE digest = %(it)s", {"it": digest(it)}) for it in secrets]


def status(caller: Caller, session: str) -> int:
    return caller.get(ANY_PAGE, headers=with_session(session)).status_code


def test_a_login_is_listed_with_its_way_address_and_browser(stranger: Caller, mine: str, conn: Connection) -> None:
    response = stranger.get(PATH, headers=with_session(mine))
    [session] = response.json["sessions"]
    [row] = rows(conn, "SELECT id, iso(created_at) AS created, iso(expires_at) AS expires FROM sessions")
    assert session == {
        "id": row["id"],
        "createdAt": row["created"],
        "expiresAt": row["expires"],
        "via": "password",
        "address": "192.0.2.7",
        "userAgent": BROWSER,
        "current": True,
    }
    assert mine not in response.text


def test_a_long_browser_is_cut_and_none_is_left_out(world: World, stranger: Caller) -> None:
    user = ada(world)
    for agent in ("x" * 201, ""):
        log_in(stranger, "ada", headers={"User-Agent": agent})
    listed = user.get(PATH).json["sessions"]
    assert [session.get("userAgent") for session in listed] == [None, "x" * 200]


def test_sessions_of_a_user_are_listed_newest_first(
    world: World, stranger: Caller, alice: Caller, conn: Connection
) -> None:
    _, older, past = begin(conn, ada(world), "current", "older", "past")
    conn.execute("UPDATE sessions SET created_at = now() - interval '1 day' WHERE id = %s", [older])
    begin(conn, alice, "alices")
    conn.execute("UPDATE sessions SET expires_at = now() WHERE id = %s", [past])
    listed = stranger.get(PATH, headers=with_session("current")).json["sessions"]
    assert [session["current"] for session in listed] == [True, False]
    assert listed[1].keys() == {"id", "createdAt", "expiresAt", "via", "current"}
    assert listed[1]["id"] == older
    # By a personal token, no session is the current one.
    assert [session["current"] for session in alice.get(PATH).json["sessions"]] == [False]


def test_a_user_ends_one_session_of_their_own(world: World, stranger: Caller, alice: Caller, conn: Connection) -> None:
    current, second = begin(conn, ada(world), "current", "second")
    [other] = begin(conn, alice, "alices")
    mine = with_session("current")
    refused(stranger.delete(f"{PATH}/{other}", headers=mine), 404, "NotFoundError")
    assert status(stranger, "alices") == 200
    for session_id, statuses in ((second, [200, 401]), (current, [401, 401])):
        response = stranger.delete(f"{PATH}/{session_id}", headers=mine)
        assert (response.status_code, response.data) == (200, b"")
        assert [status(stranger, secret) for secret in ("current", "second")] == statuses


def test_a_user_ends_all_other_sessions(world: World, stranger: Caller, alice: Caller, conn: Connection) -> None:
    begin(conn, ada(world), "current", "second", "third")
    begin(conn, alice, "alices")
    since = world.last_event_id()
    response = stranger.delete(PATH, headers=with_session("current"))
    assert (response.status_code, response.data) == (200, b"")
    assert [status(stranger, it) for it in ("current", "second", "third", "alices")] == [200, 401, 401, 200]
    assert world.events(since) == []


def test_an_administrator_ends_the_sessions_of_a_user(
    world: World, stranger: Caller, alice: Caller, conn: Connection
) -> None:
    user, robot = ada(world), world.user("Robot", account_type="Service Account")
    begin(conn, user, "first", "second")
    begin(conn, alice, "alices")
    response = alice.delete(f"/api/admin/user-admin/{user.id}/sessions")
    assert (response.status_code, response.data) == (200, b"")
    assert [status(stranger, it) for it in ("first", "second", "alices")] == [401, 401, 200]
    assert user.get(ANY_PAGE).status_code == 200
    refused(alice.delete(f"/api/admin/user-admin/{robot.id}/sessions"), 404, "NotFoundError")


def line(response: TestResponse, login: str, user: int | None, address: str = "127.0.0.1") -> dict[str, Any]:
    """The line that a login must leave."""
    request_id = response.headers["X-Request-ID"]
    return {"requestId": request_id, "login": login, "via": "password", "user": user, "address": address}


def test_each_login_is_a_line_of_the_log(world: World, stranger: Caller, capsys: pytest.CaptureFixture[str]) -> None:
    user = ada(world).id
    capsys.readouterr()
    response = log_in(stranger, "ada", **from_address("192.0.2.7"))
    assert login_lines(capsys) == [line(response, "succeeded", user, "192.0.2.7")]
    response = send_form(stranger, "/login", username="ada", password=PASSWORD)
    assert login_lines(capsys) == [line(response, "succeeded", user)]
    response = log_in(stranger, "ada@example.org", WRONG)
    assert login_lines(capsys) == [line(response, "refused", user)]
    log_in(stranger, PASSWORD, WRONG)
    out = capsys.readouterr().out
    assert json.loads(out.splitlines()[0])["user"] is None
    assert PASSWORD not in out
    assert WRONG not in out


def test_throttled_logins_are_lines_of_the_log(
    app: Flask,
    stranger: Caller,
    conn: Connection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocked(conn, stranger, "nobody")
    capsys.readouterr()
    response = log_in(stranger, "nobody")
    assert login_lines(capsys) == [line(response, "throttled", None)]
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    response = log_in(stranger, "ada")
    assert login_lines(capsys) == [line(response, "throttled", None)]


def test_there_is_no_login_history(alice: Caller) -> None:
    refused(alice.get("/api/admin/logins"), 404, "NotFoundError")


# --- Pages ------------------------------------------------------------------------------------------------------------


def test_the_profile_lists_and_ends_sessions(stranger: Caller, mine: str, conn: Connection) -> None:
    headers = {"environ_overrides": {"HTTP_COOKIE": f"session={mine}"}}
    page = open_page(stranger, "/profile", **headers)
    current = value(conn, "SELECT max(id) FROM sessions")
    assert {path for method, path in page.requests if method == "DELETE" and PATH in path} == {f"{PATH}/{current}"}
    assert BROWSER in page.text
    assert "192.0.2.7" in page.text
    # To end the current session is to log out.
    [form] = page.all(f".//form[@data-path='{PATH}/{current}']")
    assert form.get("data-then") == "/login?notice=logged-out"
    conn.execute(
        "INSERT INTO sessions (digest, user_id, expires_at, via) SELECT 'x', user_id, expires_at, 'oidc' FROM sessions"
    )
    page = open_page(stranger, "/profile", **headers)
    other = value(conn, "SELECT max(id) FROM sessions")
    assert {("DELETE", PATH), ("DELETE", f"{PATH}/{other}")} <= page.requests
    assert page.all(f".//form[@data-path='{PATH}/{other}']")[0].get("data-then") is None
    assert page.texts(".//section[@aria-labelledby='sessions']//*[@class='tag']") == ["this one"]
    assert "single sign-on" in page.text


def test_the_dialog_of_a_user_ends_all_their_sessions(world: World, alice: Caller) -> None:
    user = world.user("Ida")
    page = open_page(alice, "/admin/users")
    path = f"/api/admin/user-admin/{user.id}/sessions"
    [form] = page.all(f".//dialog[@id='edit-{user.id}']//form[@data-path='{path}']")
    assert form.get("data-send") == "DELETE"
    assert "Their tokens keep working." in (form.get("data-confirm") or "")
