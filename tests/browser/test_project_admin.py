"""The tabs of a project in Chromium: give a role and take it away, and create an API token and delete it."""

import pytest

from tests.support.demo import OWNER
from tests.support.service import Service
from tests.support.window import Window

FEATURES = "/api/client/features"
SOURCE = "return fetch(location.href).then((response) => response.text())"
# The secret in the open dialog.
SECRET = "return document.getElementById('new-token-secret').textContent"
# Choose the options with these texts.
CHOOSE = """
const field = document.getElementById(arguments[0]);
for (const option of field.options) option.selected = option.text.startsWith(arguments[1]);
field.dispatchEvent(new Event('input', { bubbles: true }));
"""


@pytest.mark.slow
def test_a_token_works_until_it_is_deleted_and_its_secret_is_shown_once(
    window: Window, demo: Service, demo_url: str
) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/tokens")
    window.type("Name", "till <b>7</b>")
    window.run(CHOOSE, "token-environment", "production")
    window.click("button", "Create API token")
    window.wait_for_text("Your new API token", "Authorization: checkout:production.")
    secret = window.run(SECRET)
    assert demo.get(FEATURES, headers={"Authorization": secret}).status == 200
    window.click("button", "Close")
    window.find("button", "Delete till <b>7</b>")
    assert "till &lt;b&gt;7&lt;/b&gt;" in window.run(SOURCE)
    assert secret not in window.run(SOURCE)
    assert secret not in window.run("return document.documentElement.outerHTML")
    window.click("button", "Delete till <b>7</b>")
    assert window.accept().startswith("Delete the API token till <b>7</b>?")
    window.wait_for("return document.body.innerText", lambda text: "till <b>7</b>" not in text)
    assert demo.get(FEATURES, headers={"Authorization": secret}).status == 401


@pytest.mark.slow
def test_a_role_is_given_and_taken_away(window: Window, demo_url: str) -> None:
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
