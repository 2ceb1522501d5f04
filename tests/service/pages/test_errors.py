"""Errors on the routes of pages, and at unknown addresses."""

from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from flask import Flask

from tests.support.page import Page, open_page, text_of
from tests.support.service import free_port
from tests.support.world import Caller, World, refused

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_unknown_address_is_a_page_for_browsers(stranger: Caller) -> None:
    page = open_page(stranger, "/no/such/page", 404)
    assert page.heading == "Page not found"
    assert page.links["Go to the start page"] == "/"
    assert "Check the address." in page.text
    assert page.frame(".//nav[@aria-label='Main']") == []


@pytest.mark.parametrize("address", ["/no/such/page", "/projects/default/change-requests/none", "/admin/segments/none"])
def test_page_of_an_unknown_address_has_the_menu_of_the_reader(alice: Caller, address: str) -> None:
    page = open_page(alice, address, 404)
    assert [text_of(link) for link in page.frame(".//nav[@aria-label='Main']/a")][:2] == ["Projects", "Events"]
    alice.key = "user:unknown"
    assert open_page(alice, "/no/such/page", 404).frame(".//nav[@aria-label='Main']") == []


def test_unknown_address_is_404_without_the_database(make_app: Any) -> None:
    caller = Caller(make_app(f"postgresql://127.0.0.1:{free_port()}/x", WAIT_SECONDS=0.2), "user:some")
    assert "Check the address." in open_page(caller, "/no/such/page", 404).text


def test_page_of_an_unknown_flag_offers_to_search_for_it(alice: Caller) -> None:
    page = open_page(alice, "/projects/default/flags/old%20flag/why", 404)
    assert page.links["old flag"] == "/search?q=old%20flag"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0", ""])
def test_unknown_address_has_the_error_body_for_programs(stranger: Caller, accept: str) -> None:
    refused(stranger.get("/no/such/page", headers={"Accept": accept}), 404, "NotFoundError")


@pytest.mark.parametrize("path", ["/api/x", "/api", "/auth/x", "/invite/x", "/ofrep/x", "/api/admin/projects/nowhere"])
def test_api_has_the_error_body_for_browsers_too(alice: Caller, path: str) -> None:
    refused(alice.get(path, headers=BROWSER), 404, "NotFoundError")


@pytest.mark.parametrize(
    "address",
    [
        *("/?x=1", "/profile", "/events", "/events/download?type=feature-created"),
        "/admin/applications/a%3Fb%23c%25d%2Fe%C3%A9?offset=50",
    ],
)
def test_visitor_is_sent_to_the_login_form_and_comes_back(stranger: Caller, address: str) -> None:
    response = stranger.get(address)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/login?next={quote(address, safe='/')}"


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("admin/integrations/new?provider=webhook",) * 2,
        ("admin/import",) * 2,
        ("projects/default/export", "projects/default?x=1"),
    ],
)
def test_form_of_an_ended_session_leads_to_the_login_form_and_back(stranger: Caller, path: str, page: str) -> None:
    origin = stranger.app.config["BASE_URL"]
    headers = {"Origin": origin, "Referer": f"{origin}/{page}"}
    shown = Page(stranger.post(f"/{path}", data={"description": "typed"}, headers=headers))
    assert (shown.status, shown.heading) == (401, "Your session has ended")
    assert shown.links["Log in in a new tab"] == f"/login?next=/{quote(page)}"
    assert "load this page again" in shown.text
    assert "API token" not in shown.text


def test_start_page_is_served_under_a_base_path(make_app: Any, shared_url: str) -> None:
    app = make_app(shared_url, BASE_URL="https://example.org/flags", BASE_PATH="/flags")
    for path in ("/flags", "/flags/", "/"):
        assert app.test_client().get(path).headers["Location"] == "/flags/login?next=/"


@pytest.mark.parametrize(
    ("error", "status", "heading"),
    [
        (RuntimeError("a secret"), 500, "Something went wrong"),
        (psycopg.OperationalError("a secret"), 503, "The service is not available"),
    ],
)
def test_error_page_names_its_id_and_hides_its_cause(
    app: Flask, alice: Caller, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, heading: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setitem(app.view_functions, "pages.projects.show_projects", fail)
    page = open_page(alice, "/?query=x", status)
    assert page.heading == heading
    assert "id of this error" in page.text
    assert "a secret" not in page.response.text
    # While the database is away, readers can try again. The address is that of the page itself.
    assert page.links.get("Try again") == ("" if status == 503 else None)


def test_pages_allow_no_inline_scripts_and_are_not_kept(alice: Caller) -> None:
    page = open_page(alice, "/")
    policy = page.response.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.response.headers["Cache-Control"] == "no-store"
    assert page.response.headers["Referrer-Policy"] == "same-origin"
    assert page.response.headers["X-Frame-Options"] == "DENY"
    assert [script.get("src", "")[:8] for script in page.frame(".//script")] == ["/static/"]
    assert page.frame(".//*[@style]") == page.frame(".//*[@onclick]") == []


def test_files_of_pages_are_kept_for_a_year_under_their_version(stranger: Caller) -> None:
    page = Page(stranger.get("/no/such/page", headers=BROWSER))
    addresses = [element.get("src") or element.get("href", "") for element in page.frame(".//head/*")]
    for address in filter(None, addresses):
        response = stranger.get(address)
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert stranger.get(address.partition("?")[0]).headers["Cache-Control"] == "no-store"
    assert stranger.get("/static/nothing.css").status_code == 404


def test_script_and_style_weigh_at_most_70_kb_as_sent(stranger: Caller) -> None:
    gzip = {"Accept-Encoding": "gzip"}
    sizes = [len(stranger.get(f"/static/{name}", headers=gzip).get_data()) for name in ("console.js", "console.css")]
    assert sum(sizes) <= 70_000
    assert stranger.get("/static/console.js").text.count("\n") <= 500


STRATEGIES = "/projects/default/flags/checkout/environments/{}/strategies"
MISSING = (
    *("/projects/nowhere", "/projects/nowhere/archive", "/projects/apollo", "/projects/apollo/archive"),
    *("/projects/nowhere/cleanup", "/projects/apollo/cleanup"),
    *("/projects/default/flags/nothing", "/projects/default/flags/moon", "/projects/apollo/flags/moon"),
    *("/projects/nowhere/compare", "/projects/apollo/compare", "/projects/default/flags/nothing/compare"),
    *("/projects/default/flags/nothing/why", "/projects/apollo/flags/moon/why"),
    "/projects/default/flags/checkout/why?environment=nowhere",
    *("/admin/segments/999", "/admin/context-fields/nothing", "/admin/applications/nothing"),
)


@pytest.mark.parametrize("path", MISSING)
def test_unknown_or_hidden_place_is_404(world: World, victor: Caller, apollo: str, path: str) -> None:
    world.flag("checkout")
    world.flag("moon", apollo)
    links = open_page(victor, path, 404).links
    assert (links["Events"], links["Victor: profile and tokens"]) == ("/events", "/profile")


def test_unknown_place_is_404_for_administrators(world: World, alice: Caller) -> None:
    strategy = world.strategy(world.flag("checkout"))
    for path in (
        *("/admin/roles/999", "/admin/groups/999", f"{STRATEGIES.format('nowhere')}/new"),
        *(f"{STRATEGIES.format('development')}/{end}" for end in ("nothing", "new?type=nothing")),
        f"{STRATEGIES.format('production')}/{strategy}",
        f"{STRATEGIES.format('development').replace('checkout', 'nothing')}/new",
    ):
        open_page(alice, path, 404)
    open_page(alice, "/admin/segments/x", 400)


@pytest.mark.parametrize("path", ["", "/archive"])
def test_hidden_project_has_the_page_of_an_unknown_one(victor: Caller, apollo: str, path: str) -> None:
    hidden, unknown = (open_page(victor, f"/projects/{name}{path}", 404) for name in (apollo, "nowhere"))
    assert hidden.text.rpartition(" ")[0].rsplit(":", 1)[0] == unknown.text.rpartition(" ")[0].rsplit(":", 1)[0]


FORBIDDEN = (
    *("users", "groups", "groups/1", "roles", "roles/4", "roles/new", "service-accounts", "signup-tokens"),
    *("api-tokens", "segments/new"),
)


@pytest.mark.parametrize(
    "path",
    [
        *(f"/admin/{name}" for name in FORBIDDEN),
        *(f"/projects/default/{tab}" for tab in ("access", "tokens", "settings")),
    ],
)
def test_page_without_the_permission_is_403(victor: Caller, stranger: Caller, path: str) -> None:
    page = open_page(victor, path, 403)
    assert page.heading == "You cannot see this page"
    assert (page.links["Events"], page.links["Victor: profile and tokens"]) == ("/events", "/profile")
    assert stranger.get(path).headers["Location"] == f"/login?next={path}"
