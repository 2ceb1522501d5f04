"""How people use the pages: by keyboard, without JavaScript, impatiently, and after their session."""

import pytest

from sql.database import connect, run
from tests.support.demo import ADMIN, OWNER
from tests.support.service import Service, wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow
DIALOGS = "return document.querySelectorAll('dialog[open]').length"


def test_the_first_tab_leads_to_the_content(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/projects/checkout")
    window.press("Tab")
    assert window.focused() == "Skip to the content"
    window.press("Enter")
    assert window.focused() == "main"
    window.press("Tab")
    assert window.focused() == "Favorite: Checkout"


def test_the_space_key_turns_a_switch_and_the_focus_stays(window: Window, demo_url: str, paths: dict[str, str]) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/projects/checkout/flags/{flag}".format(**paths))
    label = "{flag} in production".format(**paths)
    switch = window.find("switch", label)
    before = window.send("GET", f"{switch}/attribute/aria-checked")
    window.run("document.getElementById('switch-production').focus()")
    window.press("Space")
    wait_until(lambda: window.focused() == "Cancel", "the question was there")
    window.accept()
    checked = "return document.getElementById('switch-production').ariaChecked"
    after = window.wait_for(checked, lambda state: state != before)
    assert {before, after} == {"true", "false"}
    wait_until(lambda: window.focused() == label, "the switch had the focus")


def test_escape_closes_a_dialog_and_the_focus_returns(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/")
    window.find("button", "New project")
    window.run("document.querySelector('[data-open=create-project]').focus()")
    window.press("Enter")
    assert window.run(DIALOGS) == 1
    assert window.focused() == "name"
    window.press("Escape")
    assert window.run(DIALOGS) == 0
    assert window.focused() == "New project"


def test_pages_are_read_and_filtered_without_javascript(window: Window, demo_url: str, paths: dict[str, str]) -> None:
    window.log_in(demo_url, ADMIN)
    window.switch_scripts(False)
    window.visit("/projects/checkout")
    assert "Most changes need it." in window.text()
    assert window.nodes("button", "New flag") == []
    assert window.run("return document.querySelector('[role=switch]').checkVisibility()") is False
    window.type("Name, description or tag", f"{paths['flag']}\ue007", role="searchbox")
    wait_until(lambda: f"query={paths['flag']}" in window.path(), "the list was filtered")
    window.click("link", paths["flag"])
    window.wait_for_path("/projects/checkout/flags/{flag}".format(**paths))


def test_double_click_sends_one_request(window: Window, demo: Service, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout")
    window.click("button", "New flag")
    window.type("Name", "checkout-double-click")
    window.double_click("#create-flag button.main")
    window.wait_for_path("/projects/checkout/flags/checkout-double-click")
    creations = [line for line in demo.lines if line["method"] == "POST" and str(line["route"]).endswith("/features")]
    assert len(creations) == 1


def test_change_of_a_strategy_that_another_admin_deleted_is_refused_beside_the_form(
    window: Window, demo_url: str, paths: dict[str, str]
) -> None:
    form = "/projects/checkout/flags/{flag}/environments/{environment}/strategies/{strategy}".format(**paths)
    window.log_in(demo_url, ADMIN)
    window.visit(form)
    with connect(demo_url) as conn:
        run(conn, "DELETE FROM strategies WHERE id = %(id)s", {"id": paths["strategy"]})
    window.expect("status of 404")
    window.type("Title optional", "Too late")
    window.click("button", "Save in {environment}".format(**paths))
    window.wait_for_text("The flag has no such strategy in this project and environment.")
    assert window.path() == form
    assert window.run("return document.querySelector('[name=title]').value") == "Too late"


def test_after_a_logout_the_back_button_and_reload_show_nothing(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/")
    window.visit("/projects/checkout")
    window.run("document.querySelector('header .menu').open = true")
    window.click("button", "Log out")
    wait_until(lambda: window.path().startswith("/login"), "the login form was there")
    for step in ("/back", "/refresh"):
        window.send("POST", step, {})
        wait_until(lambda: window.path().startswith("/login"), "the login form was there again")
        window.wait_for_text("Log in")
        assert "Checkout" not in window.text()


@pytest.mark.parametrize(
    ("path", "form"), [("settings", "main form[data-send=PUT]"), ("tokens", "main form[data-find]")]
)
def test_session_that_ends_while_a_form_is_open_keeps_what_was_entered(
    window: Window, demo_url: str, path: str, form: str
) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit(f"/projects/checkout/{path}")
    with connect(demo_url) as conn:
        run(conn, "DELETE FROM sessions")
    window.expect("status of 401")
    window.run("document.querySelector(arguments[0]).requestSubmit()", form)
    if path == "tokens":
        window.accept()
    window.wait_for("return document.querySelector('#expired').open", bool)
    window.log_in(demo_url, ADMIN)
    window.click("button", "Send again")
    window.wait_for("return document.querySelector('.toast')?.innerText", bool)
