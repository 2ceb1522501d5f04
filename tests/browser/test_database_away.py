"""Pages while the database is away, and after it is back."""

from collections.abc import Iterator

import pytest

from sql.database import embedded
from tests.support.embedded_server import own_server
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL for this test: ensure() starts it, release() stops it."""
    with own_server() as server:
        yield server


@pytest.fixture
def window(server: embedded.Server, session_window: Window) -> Iterator[Window]:
    """A browser in which the administrator of a new instance is logged in."""
    url = server.ensure()
    with Service(url, STATEMENT_TIMEOUT_SECONDS=2, WAIT_SECONDS=2) as service:
        window = session_window.at(service.origin)
        window.forget()
        window.log_in(url, "admin")
        yield window


def test_pages_say_that_the_database_is_away_and_work_again_after(server: embedded.Server, window: Window) -> None:
    window.visit("/")
    window.wait_for_text("Projects")
    window.click("button", "Create project")
    window.type("Name", "Written meanwhile")

    server.release()
    window.expect("status of 503")
    window.run("document.querySelector('#create-project form').requestSubmit()")
    window.wait_for_text("The database is unavailable or too slow.")
    # What the user has typed stays in the form.
    assert window.run("return document.getElementById('name').value") == "Written meanwhile"
    window.visit("/")
    window.wait_for_text("The service is not available", "The database is unavailable or too slow.")

    server.ensure()
    window.wait_for(
        "if (document.title.startsWith('The service')) location.reload(); return document.title",
        lambda title: title.startswith("Projects"),
    )
    assert window.collect_faults() == []
