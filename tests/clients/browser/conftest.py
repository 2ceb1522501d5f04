"""A service with the data of the demo, and browsers in which its users are logged in."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.browser import missing_programs
from tests.support.demo import fill
from tests.support.every_page import values
from tests.support.service import Service
from tests.support.window import Window


@pytest.fixture(scope="session")
def demo_template(make_database: Callable[..., str]) -> str:
    """A database with the demo. Tests use copies of it."""
    url = make_database()
    done = fill(url)
    assert done.returncode == 0, done.stderr
    return url


@pytest.fixture(scope="module")
def demo_url(make_database: Callable[..., str], demo_template: str) -> str:
    """The address of a database with the demo, for the tests of one file."""
    return make_database(like=demo_template)


@pytest.fixture(scope="module")
def paths(demo_url: str) -> dict[str, str]:
    """What the paths of tests/support/every_page.py contain in braces, for example a flag of the project checkout."""
    return values(demo_url)


@pytest.fixture(scope="module")
def demo(demo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the demo, under the path /flags. Its integrations reach this machine."""
    folder = tmp_path_factory.mktemp("service")
    with Service(demo_url, folder, path="/flags", INTEGRATION_NETWORKS="127.0.0.0/8") as service:
        yield service


@pytest.fixture(scope="session")
def session_window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """The browser of all tests: its start takes a second. forget() removes what the test before has left."""
    if missing := missing_programs():
        pytest.skip(f"needs {missing} (on Debian: apt-get install chromium chromium-driver)")
    with Window(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture(scope="module")
def module_window(demo: Service, session_window: Window) -> Window:
    """The browser, for the pages of the demo."""
    return session_window.at(f"{demo.origin}/flags")


@pytest.fixture
def window(module_window: Window) -> Iterator[Window]:
    """A browser without a session, 1280 pixels wide. The console must have no error and no violation of the policy."""
    module_window.forget()
    yield module_window
    assert module_window.collect_faults() == []
