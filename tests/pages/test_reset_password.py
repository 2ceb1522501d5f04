"""Links to set a password."""

import pytest
from flask import Flask

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.login import ada, log_in
from tests.support.login_throttle import blocked
from tests.support.page import Page, open_page, send_form
from tests.support.reset_links import NEW, new_link
from tests.support.sessions import with_session
from tests.support.world import PASSWORD, Caller, World

UNUSABLE = "This link does not exist, was used or has expired. Ask an administrator for a new one."


@pytest.fixture
def address(world: World, alice: Caller) -> str:
    """The address of a link for Ada."""
    ada(world)
    return f"/reset-password?token={new_link(alice)}"


def test_a_user_sets_a_password_and_is_logged_in(
    world: World, stranger: Caller, address: str, conn: Connection
) -> None:
    sessions.insert(conn, digest("old"), world.conn.execute("SELECT max(id) AS id FROM users").fetchone()["id"], 1)
    page = open_page(stranger, address)
    assert page.heading == "Set your password"
    assert page.fields() == {"account": "ada@example.org", "password": ""}
    assert "Not one of your last 5 passwords." in page.text
    assert "you are logged in here, and logged out on all other devices" in page.text
    response = send_form(stranger, address, account="ada@example.org", password=NEW)
    assert response.headers["Location"] == "/"
    session = response.headers["Set-Cookie"].split("session=")[1].split(";")[0]
    assert stranger.get("/profile", headers=with_session(session)).status_code == 200
    assert stranger.get("/profile", headers=with_session("old")).status_code == 302
    assert [log_in(stranger, "ada", password).status_code for password in (PASSWORD, NEW)] == [401, 200]


def test_a_used_link_is_explained(stranger: Caller, address: str) -> None:
    send_form(stranger, address, password=NEW)
    for page in (open_page(stranger, address, 401), Page(send_form(stranger, address, 401, password=NEW))):
        assert page.heading == "This link does not work"
        assert UNUSABLE in page.text


def test_expired_and_unknown_links_are_explained(stranger: Caller, address: str, conn: Connection) -> None:
    conn.execute("UPDATE reset_tokens SET expires_at = now()")
    for link in (address, "/reset-password?token=unknown", "/reset-password", "/reset-password?token=%00"):
        assert UNUSABLE in open_page(stranger, link, 401).text


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("short", "Password must be at least 8 characters long."),
        ("é" * 37, "Password must be at most 72 bytes long."),
        (PASSWORD, "Password must not be one of your last 5 passwords."),
        ("ADA@example.org", "Password must not be the user's own name, user name or email."),
        ("", "Password is required."),
    ],
)
def test_a_refused_password_is_explained_and_the_link_still_works(
    stranger: Caller, address: str, password: str, sentence: str
) -> None:
    page = Page(send_form(stranger, address, 400, account="ada@example.org", password=password))
    assert page.texts(".//*[@id='password-problem']") == [sentence]
    assert page.fields() == {"account": "ada@example.org", "password": ""}
    send_form(stranger, address, password=NEW)


def test_a_name_that_has_to_wait_logs_in_later(stranger: Caller, address: str, conn: Connection) -> None:
    blocked(conn, stranger, "ada@example.org")
    response = send_form(stranger, address, password=NEW)
    assert response.headers["Location"] == "/login?notice=password-set"
    assert "Set-Cookie" not in response.headers


def test_guesses_are_throttled(app: Flask, stranger: Caller, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    open_page(stranger, "/reset-password?token=guess", 401)
    page = open_page(stranger, address, 429)
    assert f"Try again in {page.response.headers['Retry-After']} seconds." in page.text
