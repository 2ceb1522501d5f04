"""The page at /docs: its headers and files, and how it works in a browser."""

import hashlib
import re

import pytest

from blueprints.documentation import SCRIPT, VIEWER
from tests.support.openapi_document import DOCUMENT, OPERATIONS
from tests.support.service import Service
from tests.support.window import Window
from tests.support.world import Caller

PAGE = (VIEWER / "index.html").read_text(encoding="utf-8")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


# --- What it is made of -----------------------------------------------------------------------------------------------


def test_page_may_reach_nothing_but_this_service(stranger: Caller) -> None:
    answer = stranger.get("/docs")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert answer.get_data(as_text=True) == PAGE
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == set(POLICY.split("; "))
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-cache"
    # It has no script of its own, and only relative addresses.
    addresses = re.findall(r'(?:src|href|spec-url)="([^"]*)"', PAGE)
    assert sorted(addresses) == ["./", "data:,", f"docs/{SCRIPT}", "openapi.json", "openapi.json"]
    assert re.findall(r"<script[^>]*>([^<]*)</script>", PAGE) == [""]
    assert not re.search(r"\son[a-z]+=|javascript:|https?://", PAGE)


def test_script_is_kept_for_a_year_under_the_name_of_its_version(stranger: Caller) -> None:
    answer = stranger.get(f"/docs/{SCRIPT}")
    assert (answer.status_code, answer.mimetype) == (200, "text/javascript")
    assert answer.get_data() == (VIEWER / SCRIPT).read_bytes()
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "name", ["README.md", "index.html", "LICENSE.txt", "../openapi.json", "..%2f..%2fapp.py", "rapidoc.js", "", "/"]
)
def test_other_files_of_the_documentation_are_not_found(stranger: Caller, name: str) -> None:
    answer = stranger.get(f"/docs/{name}")
    assert (answer.status_code, answer.json["name"]) == (404, "NotFoundError")


def test_viewer_is_the_one_in_its_readme() -> None:
    readme = (VIEWER / "README.md").read_text(encoding="utf-8")
    kept = (VIEWER / SCRIPT).read_bytes()
    assert f"`rapidoc` {SCRIPT.removeprefix('rapidoc-').removesuffix('.min.js')}," in readme
    assert hashlib.sha256(kept).hexdigest() in readme
    # There is no other script, and the script names no source map.
    assert [path.name for path in VIEWER.glob("*.js")] == [SCRIPT]
    assert b"sourceMappingURL" not in kept


# --- What a browser makes of it ---------------------------------------------------------------------------------------

# Return the id and the text of each operation in the navigation bar.
NAVIGATION = """
const viewer = document.querySelector('rapi-doc');
const links = viewer.shadowRoot?.querySelectorAll('.nav-bar-path[data-content-id]') ?? [];
return [...links].map(link => [link.dataset.contentId, link.innerText.replace(/\\s+/g, ' ').trim()]);
"""

MAIN_TEXT = "return document.querySelector('rapi-doc').shadowRoot.querySelector('.main-content').innerText"

# Open an operation, and return the text that the viewer shows.
OPEN = """
const viewer = document.querySelector('rapi-doc');
await viewer.scrollToPath(arguments[0]);
await viewer.updateComplete;
return viewer.shadowRoot.querySelector('.expanded-endpoint-body').innerText;
"""

# Press TRY at an operation. The form of an operation is a shadow tree.
PRESS = """
const viewer = document.querySelector('rapi-doc');
await viewer.scrollToPath(arguments[0]);
await viewer.updateComplete;
viewer.shadowRoot.querySelector('api-request').shadowRoot.querySelector('.m-btn.primary[part~="btn-try"]').click();
"""
RESPONSE = """
const form = document.querySelector('rapi-doc').shadowRoot.querySelector('api-request');
return form.shadowRoot.textContent.replace(/\\s+/g, ' ');
"""


def path_id(method: str, route: str) -> str:
    """Return the id that the viewer gives to an operation."""
    return f"{method}-{re.sub(r'[{}]', '-', route)}"


@pytest.fixture(scope="module")
def page(module_window: Window) -> Window:
    """The browser with the open page. It renders for seconds, so the tests use it one after another."""
    module_window.forget()
    module_window.visit("/docs")
    module_window.wait_for(NAVIGATION, lambda links: len(links) >= len(OPERATIONS))
    return module_window


@pytest.mark.slow
def test_page_lists_every_operation_and_loads_nothing_from_other_sites(page: Window, demo: Service) -> None:
    entries = page.run(NAVIGATION)
    summaries = {path_id(method, route): operation["summary"] for (method, route), operation in OPERATIONS.items()}
    assert {key: text.split(" ", 1)[1] for key, text in entries} == summaries
    # The search comes before its deprecated form.
    ids = [key for key, _ in entries]
    assert ids.index("get-/api/admin/search/events") < ids.index("post-/api/admin/events/search")
    loaded = page.addresses()
    assert {f"{demo.origin}/flags/docs", f"{demo.origin}/flags/docs/{SCRIPT}"} <= set(loaded)
    assert [address for address in loaded if not address.startswith((f"{demo.origin}/", "data:"))] == []
    assert page.complaints() == []
    assert page.run("return document.body.innerText").startswith("TRY sends real requests to this instance.")
    assert "Authentication" in page.run(MAIN_TEXT)


@pytest.mark.slow
def test_page_shows_every_operation(page: Window) -> None:
    for (method, route), operation in OPERATIONS.items():
        text = " ".join(page.run(OPEN, path_id(method, route)).split())
        assert f"{method.upper()} {route}" in text
        assert operation["summary"] in text
        # The page shows code without its backticks, and with spaces of its own.
        assert operation["description"].replace("`", "")[:50] in text
    # A click on a tag shows its description.
    page.run("document.querySelector('rapi-doc').shadowRoot.querySelector('.nav-bar-tag').click()")
    page.wait_for(MAIN_TEXT, lambda text: DOCUMENT["tags"][0]["description"] in text)


@pytest.mark.slow
def test_operation_can_be_tried_on_the_page(page: Window, demo: Service) -> None:
    page.run(PRESS, "get-/health")
    page.wait_for(RESPONSE, lambda text: '"health": "GOOD"' in text)
    assert f"{demo.origin}/flags/health" in page.addresses()
