"""Pages behind nginx, which removes the path of the service."""

from collections.abc import Callable, Iterator

import pytest

from tests.support import nginx
from tests.support.certificate import OPENSSL
from tests.support.instance import SETTINGS
from tests.support.nginx import Nginx
from tests.support.service import Service, free_port, wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow


@pytest.fixture
def window(make_database: Callable[..., str], session_window: Window) -> Iterator[Window]:
    """A browser that opens a new instance by nginx."""
    if not nginx.PROGRAM or not OPENSSL:
        pytest.skip("needs nginx and openssl (on Debian: apt-get install nginx-light openssl)")
    port = free_port()
    home = f"https://localhost:{port}/flags"
    _, _, stripped = nginx.blocks()
    with (
        Service(make_database(), BASE_URL=home, TRUSTED_PROXIES=1) as service,
        Nginx(nginx.under_a_path(stripped), port, free_port(), service.port),
    ):
        session_window.forget()
        yield session_window.at(home)


def test_a_user_logs_in_creates_a_project_and_logs_out_below_a_path(window: Window) -> None:
    window.visit("/projects/default")
    assert window.path() == "/login?next=/projects/default"
    window.type("User name or email", "admin")
    window.type("Password", SETTINGS["INIT_ADMIN_PASSWORD"])
    window.click("button", "Log in")
    window.wait_for_path("/projects/default")
    window.visit("/")
    window.click("button", "New project")
    window.type("Name", "Behind nginx")
    window.run("document.querySelector('#create-project form').requestSubmit()")
    window.wait_for_text("Behind nginx", "This project has no flags yet.")
    assert window.path().startswith("/projects/")
    window.run("document.querySelector('header .menu').open = true")
    window.click("button", "Log out")
    wait_until(lambda: window.path().startswith("/login"), "the login form was there")
    assert window.collect_faults() == []
