"""Web pages with event streams in Chromium, through nginx as docs/how-to/proxy.md sets it up."""

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.support import nginx
from tests.support.browser import Browser, missing_programs
from tests.support.certificate import OPENSSL
from tests.support.nginx import Nginx
from tests.support.sdk import DRIVERS, NODE_MODULES, require
from tests.support.sdk_project import Project
from tests.support.service import Service, free_port, wait_until

pytestmark = pytest.mark.slow
STREAM = "/ofrep/v1/stream"
VALUES = "return globalThis.values ? values(arguments[0]) : []"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a site with a page that uses the provider, and return its origin."""
    require(".mjs")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(DRIVERS / "push_page.html", folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_more_pages_than_a_browser_has_connections_see_a_change(
    site: str, make_database: Callable[..., str], tmp_path: Path
) -> None:
    if missing := missing_programs():
        pytest.skip(f"needs {missing} (on Debian: apt-get install chromium chromium-driver)")
    if not nginx.PROGRAM or not OPENSSL:
        pytest.skip("needs nginx and openssl (on Debian: apt-get install nginx-light openssl)")
    port = free_port()
    base = f"https://localhost:{port}"
    with (
        Service(make_database(), BASE_URL=base, TRUSTED_PROXIES=1) as service,
        Nginx(nginx.blocks()[0], port, free_port(), service.port),
        Browser(tmp_path, acceptInsecureCerts=True) as browser,
    ):
        project = Project(service, "tabs")
        project.flag("last")
        query = urlencode({"url": base, "token": project.token("frontend", origins=[site])})
        browser.open(f"{site}/push_page.html?{query}")
        browser.wait_for(VALUES, lambda values: values == [True] * 8, project.name("last"))
        wait_until(lambda: project.statuses(STREAM) == [200] * 8, "each had a stream")
        project.switch("last", "off")
        browser.wait_for(VALUES, lambda values: values == [False] * 8, project.name("last"))
        assert project.statuses(STREAM) == [200] * 8
        assert browser.complaints() == []
