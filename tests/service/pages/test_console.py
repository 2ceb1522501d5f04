"""The setting CONSOLE."""

import pytest
from flask import Flask

from contract.routes import is_page
from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.login import ada
from tests.support.page import Page, open_page, send_form
from tests.support.reset_links import new_link
from tests.support.sessions import with_session
from tests.support.signup import guest, invitation
from tests.support.world import PASSWORD, Caller, World

FORMS = {"/projects/<project_id>/export", "/admin/integrations/<addon_id>/delete"}
DOORS = {"/", "/forgot-password", "/login", "/new-user", "/reset-password", "/static/<name>"}


@pytest.fixture(autouse=True)
def off(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the console off."""
    monkeypatch.setitem(app.config, "CONSOLE", False)


def test_the_pages_of_the_console_are_the_404_page(app: Flask, alice: Caller) -> None:
    paths = {rule.rule for rule in app.url_map.iter_rules() if is_page(rule.endpoint)}
    assert paths > DOORS
    for path in paths - DOORS - FORMS:
        assert open_page(alice, path.replace("<", "").replace(">", ""), 404).heading == "Page not found", path
    for path in FORMS:
        assert Page(send_form(alice, path, 404)).heading == "Page not found"


def test_login_sign_up_and_reset_still_work(world: World, alice: Caller, stranger: Caller) -> None:
    ada(world)
    send_form(stranger, f"/new-user?invite={invitation(world)}", **guest())
    send_form(stranger, f"/reset-password?token={new_link(alice)}", password="a new password")
    assert send_form(stranger, "/login", username="ada", password="a new password").headers["Location"] == "/"


def test_users_end_at_a_page_on_which_they_can_log_out(world: World, stranger: Caller, conn: Connection) -> None:
    assert stranger.get("/").headers["Location"] == "/login"
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    response = stranger.get("/login", headers=with_session("Ada"))
    page = Page(response)
    assert page.heading == "You are logged in"
    assert "You are logged in as Ada." in page.text
    assert page.all(".//nav") == []
    assert page.root.findall(".//dialog") == []
    assert [form.get("action") for form in page.all(".//form")] == ["/logout"]
    assert PASSWORD not in response.text
