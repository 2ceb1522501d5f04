"""The page at /docs: what it is made of, and what a browser makes of it."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from blueprints.documentation import DOCS, SCRIPT, VIEWER
from tests.support.browser import Browser, missing_programs
from tests.support.service import Service
from tests.support.world import Caller

DOCUMENT = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
PAGE = (VIEWER / "index.html").read_text(encoding="utf-8")
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


# --- What it is made of ---------------------------------------------------------------------------------------------------------------


def test_the_page_may_reach_nothing_but_this_service(stranger: Caller) -> None:
    answer = stranger.get("/docs")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert answer.get_data(as_text=True) == PAGE
    said = answer.headers["Content-Security-Policy"]
    assert dict(directive.split(" ", 1) for directive in said.split("; ")) == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-cache"


def test_the_page_has_no_script_of_its_own_and_only_relative_addresses() -> None:
    addresses = re.findall(r'(?:src|href|spec-url)="([^"]*)"', PAGE)
    assert sorted(addresses) == ["data:,", f"docs/{SCRIPT}", "openapi.json", "openapi.json"]
    assert re.findall(r"<script[^>]*>([^<]*)</script>", PAGE) == [""]
    assert not re.search(r"\son[a-z]+=|javascript:|https?://", PAGE)


def test_the_script_is_kept_for_a_year_under_the_name_of_its_version(stranger: Caller) -> None:
    answer = stranger.get(f"/docs/{SCRIPT}")
    assert (answer.status_code, answer.mimetype) == (200, "text/javascript")
    assert answer.get_data() == (VIEWER / SCRIPT).read_bytes()
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.cache_control.max_age == 31_536_000
    assert answer.cache_control.public
    assert answer.cache_control.immutable


@pytest.mark.parametrize("name", ["README.md", "index.html", "LICENSE.txt", "../openapi.json", "..%2f..%2fapp.py", "rapidoc.js", "", "/"])
def test_nothing_else_is_served_from_there(stranger: Caller, name: str) -> None:
    answer = stranger.get(f"/docs/{name}")
    assert (answer.status_code, answer.json["name"]) == (404, "NotFoundError")


def test_the_documentation_is_not_to_be_written_to(alice: Caller) -> None:
    for path in ("/docs", f"/docs/{SCRIPT}", "/openapi.json"):
        answer = alice.post(path, json={})
        assert (answer.status_code, answer.json["name"]) == (405, "MethodNotAllowedError")


def test_the_viewer_is_the_one_that_its_readme_tells_of() -> None:
    readme = (VIEWER / "README.md").read_text(encoding="utf-8")
    kept = (VIEWER / SCRIPT).read_bytes()
    version = re.fullmatch(r"rapidoc-(\d+\.\d+\.\d+)\.min\.js", SCRIPT)
    assert version
    assert f"`rapidoc` {version[1]}," in readme
    assert kept.startswith(f"/*! RapiDoc {version[1]} ".encode())
    assert hashlib.sha256(kept).hexdigest() in readme
    # Nothing else of its kind lies about, and nothing of it asks for a source map.
    assert [path.name for path in VIEWER.glob("*.js")] == [SCRIPT]
    assert b"sourceMappingURL" not in kept
    for name in ("LICENSE.txt", "rapidoc-min.js.LICENSE.txt"):
        assert "MIT" in (VIEWER / name).read_text(encoding="utf-8")
        assert name in readme


# --- What a browser makes of it -------------------------------------------------------------------------------------------------------

# The words of each operation that the viewer shows; the viewer and the try-it form of an operation are shadow trees.
SHOWN = """
const viewer = document.querySelector('rapi-doc');
return [...(viewer.shadowRoot?.querySelectorAll('.expanded-endpoint-body') ?? [])].map(shown => shown.innerText);
"""

# Presses TRY at an operation, and gives back what the service said once it has.
PRESS = """
const forms = [...document.querySelector('rapi-doc').shadowRoot.querySelectorAll('api-request')];
forms.find(form => form.method === 'get' && form.path === arguments[0]).shadowRoot.querySelector('.m-btn.primary[part~="btn-try"]').click();
"""
ANSWERED = """
const forms = [...document.querySelector('rapi-doc').shadowRoot.querySelectorAll('api-request')];
const form = forms.find(form => form.method === 'get' && form.path === arguments[0]);
return [form.responseStatus, form.responseMessage, form.shadowRoot.textContent.replace(/\\s+/g, ' ')];
"""

# Asks another site for something, and gives back how that ended.
ASK = "return fetch(arguments[0]).then(() => 'answered', error => error.name);"


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The real service, whose users reach it under a path."""
    with Service(make_database(), tmp_path_factory.mktemp("service"), path="/flags") as service:
        yield service


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with an empty profile."""
    if missing := missing_programs():
        pytest.skip(f"needs {missing} (on Debian: apt-get install chromium chromium-driver)")
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/flags/docs", "/docs"])
def test_the_page_shows_every_operation_and_asks_no_other_site(browser: Browser, service: Service, path: str) -> None:
    browser.open(f"{service.origin}{path}")
    operations = {(method.upper(), path): said for path, methods in DOCUMENT["paths"].items() for method, said in methods.items()}
    assert len(operations) >= 9 + 5
    shown = browser.wait_for(SHOWN, lambda found: len(found) >= len(operations))
    for (method, route), said in operations.items():
        words = next((text for text in shown if re.search(rf"\b{method}\s+{re.escape(route)}\s", text)), "")
        assert said["summary"] in words
        # Line breaks are the browser's own.
        assert said["description"][:60] in " ".join(words.split())
    assert "Update a public signup token" in str(shown)
    asked = browser.addresses()
    assert {f"{service.origin}{path}", f"{service.origin}{path}/{SCRIPT}"} <= set(asked)
    assert [address for address in asked if not address.startswith((f"{service.origin}/", "data:"))] == []
    assert browser.complaints() == []


@pytest.mark.slow
def test_an_operation_can_be_tried_on_the_page(browser: Browser, service: Service) -> None:
    browser.open(f"{service.origin}/flags/docs")
    browser.wait_for(SHOWN, lambda found: len(found) >= len(DOCUMENT["paths"]))
    browser.run(PRESS, "/health")
    browser.wait_for(ANSWERED, lambda found: '"health": "GOOD"' in found[2], "/health")
    assert f"{service.origin}/flags/health" in browser.addresses()
    assert browser.complaints() == []


@pytest.mark.slow
def test_the_browser_keeps_the_page_from_other_sites(browser: Browser, service: Service) -> None:
    browser.open(f"{service.origin}/flags/docs")
    # The same service under another name: it would answer.
    other = f"http://localhost:{urlsplit(service.origin).port}/health"
    assert browser.run(ASK, f"{service.origin}/health") == "answered"
    assert browser.run(ASK, other) == "TypeError"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())
