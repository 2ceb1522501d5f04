"""A page on another origin, with the Unleash SDK of browsers, in Chromium."""

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest

from tests.support.browser import Browser, missing_programs
from tests.support.sdk import DRIVERS, NODE_MODULES, require
from tests.support.sdk_project import Project
from tests.support.service import Service

pytestmark = pytest.mark.slow
ROUTE = "/api/frontend"
IS_ON = "return client.isEnabled(arguments[0])"
PROBLEMS = "return problems"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a site with a page that uses the SDK, and return its origin."""
    require(".mjs")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(DRIVERS / "page.html", folder)
    shutil.copy(NODE_MODULES / "unleash-proxy-client" / "build" / "main.min.js", folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a browser with an empty profile."""
    if missing := missing_programs():
        pytest.skip(f"needs {missing} (on Debian: apt-get install chromium chromium-driver)")
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def open_page(browser: Browser, site: str, service: Service, token: str) -> None:
    """Open the page with a frontend token."""
    query = urlencode({"url": f"{service.origin}{ROUTE}", "clientKey": token})
    browser.open(f"{site}/page.html?{query}")


def preflights(browser: Browser) -> list[dict[str, str]]:
    """Return the headers of the preflights that the browser sent."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.entries("performance")]
    sent = [one["params"]["request"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [request["headers"] for request in sent if request["method"] == "OPTIONS"]


def test_a_page_of_another_origin_sees_flags(browser: Browser, site: str, service: Service) -> None:
    project = Project(service, "shop")
    project.flag("last")
    open_page(browser, site, service, project.token("frontend", origins=[site]))
    browser.wait_for(IS_ON, bool, project.name("last"))
    # The browser sends a preflight before the first request, and before the first with If-None-Match.
    project.wait_for_status(ROUTE, 304)
    assert any("if-none-match" in headers.get("Access-Control-Request-Headers", "") for headers in preflights(browser))
    project.switch("last", "off")
    browser.wait_for(IS_ON, lambda is_on: not is_on, project.name("last"))
    browser.run("return client.sendMetrics()")
    assert set(project.statuses(f"{ROUTE}/client/metrics")) == {200}
    assert browser.run(PROBLEMS) == []
    assert browser.complaints() == []


def test_a_page_cannot_use_the_token_of_another_origin(browser: Browser, site: str, service: Service) -> None:
    project = Project(service, "another-shop")
    project.flag("last")
    open_page(browser, site, service, project.token("frontend", origins=["https://shop.example.org"]))
    browser.wait_for(PROBLEMS, bool)
    assert not browser.run(IS_ON, project.name("last"))
