"""People log in with an identity provider in a browser: a certified provider, and a service with two workers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sql.database import connect, value
from tests.support import sdk
from tests.support.program import Program
from tests.support.service import Service, free_port
from tests.support.window import Window

pytestmark = pytest.mark.slow

PROVIDER = Path(__file__).with_name("identity_provider.mjs")
SECRET = "a secret of the client"


@pytest.fixture
def service(make_database: Callable[..., str], tmp_path: Path) -> Iterator[Service]:
    """A service below a path, with its provider."""
    sdk.require(".mjs")
    port, own_port = free_port(), free_port()
    home, issuer = f"http://127.0.0.1:{own_port}/flags", f"http://127.0.0.1:{port}"
    command = ["node", str(PROVIDER), str(sdk.NODE_MODULES), issuer, f"{home}/auth/oidc/callback"]
    program = Program(command, tmp_path / "log")
    oidc = {"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "flags", "OIDC_CLIENT_SECRET": SECRET, "OIDC_NAME": "Acme"}
    try:
        program.ready(port)
        with Service(make_database(), tmp_path, path="/flags", PORT=own_port, WEB_CONCURRENCY=2, **oidc) as service:
            yield service
    finally:
        program.kill()


@pytest.fixture
def window(service: Service, session_window: Window) -> Window:
    session_window.forget()
    # The pages of the provider have no icon, and a font that this machine cannot load.
    session_window.expect("fonts.googleapis.com|/favicon.ico|Roboto")
    return session_window.at(f"{service.origin}/flags")


def log_in(window: Window, between: Callable[[], Any] = lambda: None) -> None:
    """Press the button, and log in at the provider. between: what happens while the person types."""
    window.click("link", "Log in with Acme")
    window.type("Enter any login", "grace")
    between()
    window.type("and password", "any password")
    window.click("button", "Sign-in")
    window.click("button", "Continue")


def test_person_logs_in_while_the_service_restarts_and_logs_out(service: Service, window: Window) -> None:
    window.visit("/projects/default")
    before = service.workers

    def restart() -> None:
        service.stop()
        service.start().ready()

    log_in(window, restart)
    window.wait_for_path("/projects/default")
    assert not service.workers & before
    window.visit("/profile")
    window.wait_for_text("grace@example.org")
    window.run("document.querySelector('header .menu').open = true")
    window.click("button", "Log out")
    window.wait_for_path("/login?notice=logged-out")
    window.wait_for_text("You are logged out.")
    window.click("link", "Log out of Acme too")
    window.click("button", "Yes, sign me out")
    window.wait_for_path("/login")
    assert window.collect_faults() == []
    with connect(str(service.settings["DATABASE_URL"])) as conn:
        assert value(conn, "SELECT count(*) FROM users WHERE email = 'grace@example.org'") == 1
        assert value(conn, "SELECT count(*) FROM sessions") == 0
    # No line has a code, a state or a token.
    assert {"/auth/oidc/login", "/auth/oidc/callback"} <= {line.get("route") for line in service.lines}
    assert not [
        word for word in ("code=", "state=", "eyJ", SECRET, "any password") if word in service.out + service.err
    ]


def test_person_presses_cancel(window: Window) -> None:
    window.expect("403")
    window.visit("/login")
    window.click("link", "Log in with Acme")
    window.click("link", "[ Cancel ]")
    window.wait_for_text("Acme refused the login.", "Password")
    window.type("User name or email", "admin")
    window.type("Password", "the administrator's password")
    window.click("button", "Log in")
    window.wait_for_path("/")
    assert window.collect_faults() == []
