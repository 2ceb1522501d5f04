"""Signing up by a link, logging in and out, and the page of one's own account."""

from datetime import UTC, datetime, timedelta

import pytest

from sql.database import connect
from tests.support import fixtures
from tests.support.window import Window

pytestmark = pytest.mark.slow
PASSWORD, NEW = "amazing grace 1906", "another password"
HAS_SCRIPT = "return document.documentElement.classList.contains('script')"
PASSWORD_TYPE = "return document.getElementById('password').type"


def link(url: str) -> str:
    """Create a signup token, and return the path of its link."""
    expires_at = datetime.now(UTC) + timedelta(days=1)
    with connect(url) as conn:
        token = fixtures.signup_token(conn, name="friends", expires_at=expires_at, created_by="alice@example.org")
    return f"/new-user?invite={token['secret']}"


def sign_up(window: Window, name: str) -> None:
    """Fill the form of a sign-up in, and wait for the start page."""
    window.type("Name", name)
    window.type("Email", f"{name}@example.org")
    window.type("Password", PASSWORD)
    window.click("button", "Sign up")
    window.wait_for_path("/")


def log_in(window: Window, name: str, password: str) -> None:
    """Fill the login form in."""
    window.type("User name or email", f"{name}@example.org")
    window.type("Password", password)
    window.click("button", "Log in")


@pytest.mark.parametrize("name", ["with-script", "without-script"])
def test_guest_signs_up_by_a_link_logs_out_and_logs_in(window: Window, demo_url: str, name: str) -> None:
    window.expect("status of 401")
    window.switch_scripts(name == "with-script")
    window.visit(link(demo_url))
    assert window.run(HAS_SCRIPT) == (name == "with-script")
    sign_up(window, name)
    window.wait_for_text("Projects")

    # A click through window.click() would make Chromium drop the page from its memory.
    window.run("document.querySelector('header form button').click()")
    window.wait_for_path("/login?next=/")
    if name == "with-script":
        # The page before is loaded again. Without JavaScript, Chromium shows it from memory in spite of no-store.
        window.go_back()
        window.wait_for_path("/login?next=/")

    window.visit("/profile")
    log_in(window, name, "wrong password")
    window.wait_for_text("Wrong user name or password.")
    log_in(window, name, PASSWORD)
    window.wait_for_path("/profile")
    window.wait_for_text("Your account", f"{name}@example.org")


def test_user_sees_the_typed_password_and_changes_it(window: Window, demo_url: str) -> None:
    window.expect("status of 401")
    window.visit(link(demo_url))
    window.type("Password", PASSWORD)
    window.click("checkbox", "Show the password")
    assert window.run(PASSWORD_TYPE) == "text"
    sign_up(window, "password")

    window.visit("/profile")
    window.click("button", "Change password")
    window.type("New password", NEW)
    window.type("New password again", NEW)
    window.type("Current password", "wrong password")
    window.click("button", "Change password")
    # The 401 of a wrong password is no end of the session.
    window.wait_for_text("Must be your current password")
    window.type("Current password", PASSWORD)
    window.click("button", "Change password")
    window.wait_for_path("/login?notice=password-changed")
    log_in(window, "password", NEW)
    window.wait_for_path("/")
