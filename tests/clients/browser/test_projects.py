"""The pages of projects in Chromium: create, switch and archive a flag, and manage API tokens and roles."""

import pytest

from tests.support.demo import ADMIN, OWNER
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow
STATE = "return document.querySelector('[role=switch]')?.getAttribute('aria-checked')"
SOURCE = "return fetch(location.href).then((response) => response.text())"
# The secret in the open dialog.
SECRET = "return document.getElementById('new-token-secret').textContent"
# Choose the options with these texts.
CHOOSE = """
const field = document.getElementById(arguments[0]);
for (const option of field.options) option.selected = option.text.startsWith(arguments[1]);
field.dispatchEvent(new Event('input', { bubbles: true }));
"""


def test_project_and_flag_are_created_switched_archived_and_revived(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/")
    window.click("button", "Create project")
    window.type("Name", "Gift cards <b>&")
    window.type("Id", "gift-cards")
    window.click("button", "Create project")
    window.wait_for_path("/projects/gift-cards")
    window.wait_for_text("Gift cards <b>&", "This project has no flags yet.")
    window.click("button", "Create flag")
    window.type("Name", "gift-wrap")
    window.click("button", "Create flag")
    window.wait_for_path("/projects/gift-cards/flags/gift-wrap")

    window.visit("/projects/gift-cards")
    window.click("switch", "gift-wrap in development")
    window.wait_for(STATE, lambda state: state == "true")
    window.visit("/projects/gift-cards")
    assert window.run(STATE) == "true"

    window.click("button", "Archive gift-wrap")
    assert window.accept().startswith("Archive the flag gift-wrap?")
    window.wait_for_text("This project has no flags yet.")
    window.click("link", "Archived flags")
    window.click("button", "Revive gift-wrap")
    window.wait_for_text("No flag of this project is archived.")
    window.visit("/projects/gift-cards")
    window.wait_for_text("gift-wrap")
    assert window.run(STATE) == "false"


def test_token_works_until_it_is_deleted_and_its_secret_is_shown_once(
    window: Window, demo: Service, demo_url: str
) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/tokens")
    window.type("Name", "till <b>7</b>")
    window.run(CHOOSE, "token-environment", "production")
    window.click("button", "Create API token")
    window.wait_for_text("Your new API token", "Authorization: checkout:production.")
    headers = {"Authorization": window.run(SECRET)}
    assert demo.get("/api/client/features", headers=headers).status == 200
    window.click("button", "Close")
    window.find("button", "Delete till <b>7</b>")
    assert "till &lt;b&gt;7&lt;/b&gt;" in window.run(SOURCE)
    for source in (SOURCE, "return document.documentElement.outerHTML"):
        assert headers["Authorization"] not in window.run(source)
    window.click("button", "Delete till <b>7</b>")
    assert window.accept().startswith("Delete the API token till <b>7</b>?")
    window.wait_for("return document.body.innerText", lambda text: "till <b>7</b>" not in text)
    assert demo.get("/api/client/features", headers=headers).status == 401


def test_role_is_given_and_taken_away(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/access")
    window.run(CHOOSE, "users", "Arun Mehta")
    window.run(CHOOSE, "roles", "Member")
    window.click("button", "Give role")
    window.wait_for_text("arun.mehta@brightcart.example")
    window.click("DisclosureTriangle", "Change roles of Arun Mehta")
    window.click("button", "Remove Arun Mehta")
    assert window.accept() == "Take all roles in this project away from Arun Mehta?"
    window.wait_for("return document.body.innerText", lambda text: "arun.mehta@brightcart.example" not in text)
