"""Errors on the routes of pages, and at unknown addresses."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from flask import Flask

from tests.support.page import Page, open_page
from tests.support.world import Caller, refused

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_an_unknown_address_is_a_page_for_browsers(stranger: Caller) -> None:
    page = open_page(stranger, "/no/such/page", 404)
    assert page.heading == "Page not found"
    assert page.links["Go to the start page"] == "/"
    assert "Check the address." in page.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0", ""])
def test_an_unknown_address_has_the_error_body_for_programs(stranger: Caller, accept: str) -> None:
    refused(stranger.get("/no/such/page", headers={"Accept": accept}), 404, "NotFoundError")


@pytest.mark.parametrize("path", ["/api/x", "/api", "/auth/x", "/invite/x", "/ofrep/x"])
def test_addresses_of_the_api_have_the_error_body_for_browsers_too(stranger: Caller, path: str) -> None:
    refused(stranger.get(path, headers=BROWSER), 404, "NotFoundError")


def test_an_unknown_record_of_the_api_has_the_error_body_for_browsers_too(alice: Caller) -> None:
    refused(alice.get("/api/admin/projects/nowhere", headers=BROWSER), 404, "NotFoundError")


def test_visitors_are_sent_to_the_login_form_and_come_back(stranger: Caller) -> None:
    response = stranger.get("/?x=1")
    assert response.status_code == 302
    assert response.headers["Location"] == "/login?next=/%3Fx%3D1"


def test_visitors_come_back_to_a_name_with_any_characters(stranger: Caller) -> None:
    address = "/admin/applications/a%3Fb%23c%25d%2Fe%C3%A9?offset=50"
    target = urlsplit(stranger.get(address).headers["Location"])
    assert parse_qs(target.query)["next"] == [address]


def test_the_start_page_is_served_under_a_base_path(make_app: Any, shared_url: str) -> None:
    app = make_app(shared_url, BASE_URL="https://example.org/flags", BASE_PATH="/flags")
    for path in ("/flags", "/flags/", "/"):
        assert app.test_client().get(path).headers["Location"] == "/flags/login?next=/"


def test_an_error_of_a_page_names_its_id_and_hides_its_cause(
    app: Flask, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("a secret")

    monkeypatch.setitem(app.view_functions, "pages.projects.show_projects", fail)
    page = open_page(alice, "/", 500)
    assert page.heading == "Something went wrong"
    assert "id of this error" in page.text
    assert "a secret" not in page.response.text


def test_readers_can_try_again_while_the_database_is_away(
    app: Flask, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise psycopg.OperationalError

    assert "Try again" not in open_page(alice, "/no/such/page", 404).links
    monkeypatch.setitem(app.view_functions, "pages.projects.show_projects", fail)
    page = open_page(alice, "/?query=x", 503)
    assert page.heading == "The service is not available"
    # The address of the page itself.
    assert page.links["Try again"] == ""


def test_pages_allow_no_inline_scripts_and_are_not_kept(alice: Caller) -> None:
    page = open_page(alice, "/")
    policy = page.response.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.response.headers["Cache-Control"] == "no-store"
    assert page.response.headers["Referrer-Policy"] == "same-origin"
    assert page.response.headers["X-Frame-Options"] == "DENY"
    assert [script.get("src", "")[:8] for script in page.all(".//script")] == ["/static/"]
    assert page.all(".//*[@style]") == page.all(".//*[@onclick]") == []


def test_files_of_pages_are_kept_for_a_year_under_their_version(stranger: Caller) -> None:
    page = Page(stranger.get("/no/such/page", headers=BROWSER))
    addresses = [element.get("src") or element.get("href", "") for element in page.all(".//head/*")]
    for address in filter(None, addresses):
        response = stranger.get(address)
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert stranger.get(address.partition("?")[0]).headers["Cache-Control"] == "no-store"
    assert stranger.get("/static/nothing.css").status_code == 404


def test_scripts_and_styles_weigh_at_most_60_kb(stranger: Caller) -> None:
    sizes = [len(stranger.get(f"/static/{name}").get_data()) for name in ("console.js", "console.css")]
    assert sum(sizes) <= 60_000
    assert stranger.get("/static/console.js").text.count("\n") <= 300


@pytest.mark.usefixtures("apollo")
@pytest.mark.parametrize(("path", "status"), [("/admin/users", 403), ("/projects/apollo", 404), ("/projects/x", 404)])
def test_the_page_of_a_refusal_has_the_menu_of_the_reader(victor: Caller, path: str, status: int) -> None:
    links = open_page(victor, path, status).links
    assert (links["Events"], links["Victor"]) == ("/events", "/profile")
