"""Forms in Chromium: what the script sends, and where it says what is wrong."""

import pytest

from tests.support.demo import ADMIN
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.window import DIALOG, SEND, Window

pytestmark = pytest.mark.slow
# What is wrong at the field with the focus.
PROBLEM = """
const field = document.activeElement;
const ids = (field.getAttribute("aria-describedby") || "").trim().split(" ");
return field.name + ": " + (document.getElementById(ids.at(-1))?.innerText ?? "");
"""


def test_token_without_chosen_projects_is_for_all(demo: Service, demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/admin/api-tokens")
    window.click("button", "Create API token")
    window.run(SEND, "Create API token", {"tokenName": "everywhere", "environment": "production"})
    window.wait_for(DIALOG, lambda text: text and "Your new API token" in text)
    tokens = demo.get("/flags/api/admin/api-tokens", headers={"Authorization": ADMIN_KEY}).json["tokens"]
    assert [token["projects"] for token in tokens if token["tokenName"] == "everywhere"] == [["*"]]


def test_line_that_is_there_twice_is_sent_once(demo: Service, demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/admin/groups")
    window.run("document.querySelector('main tbody a').click()")
    window.find("button", "Save group")
    window.run("document.querySelector('[name=mappingsSSO]').value = 'b\\na, c\\n b '")
    window.click("button", "Save group")
    window.wait_for("return document.querySelector('.toast')?.innerText ?? ''", bool)
    path = "/flags/api" + window.path()
    assert demo.get(path, headers={"Authorization": ADMIN_KEY}).json["mappingsSSO"] == ["b", "a, c"]


def test_year_with_five_digits_is_refused_at_its_field(demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.expect("status of 400")
    window.visit("/admin/signup-tokens")
    window.click("button", "Create signup token")
    fields = {"name": "far", "expiresAt": "20270-01-01T10:00"}
    window.run(SEND, "Create signup token", fields)
    assert window.run("return document.activeElement.validity.rangeOverflow")
    # A browser without this check.
    window.run("document.activeElement.form.noValidate = true")
    window.run(SEND, "Create signup token", fields)
    window.wait_for(PROBLEM, lambda text: text.startswith("expiresAt: Must be"))
    # An exception of the script.
    window.run("Object.assign(document.activeElement.form.dataset, { body: 'null', only: 'missing' })")
    window.run(SEND, "Create signup token", fields)
    window.wait_for(DIALOG, lambda text: "This page has a fault. Load it again: Cannot read" in text)
