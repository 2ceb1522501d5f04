"""A webhook in Chromium: created, tested, and called after a change, with and without JavaScript."""

import json

import pytest

from tests.support.demo import ADMIN
from tests.support.instance import ADMIN_KEY
from tests.support.receiver import receiving
from tests.support.service import Service, wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow
SECRET = "return document.getElementById('signing-secret')?.innerText"
FLAGS = "/flags/api/admin/projects/checkout/features"


@pytest.mark.parametrize("scripts", [True, False])
def test_webhook_is_created_tested_called_and_deleted(
    window: Window, demo: Service, demo_url: str, scripts: bool
) -> None:
    window.log_in(demo_url, ADMIN)
    window.switch_scripts(scripts)
    window.expect("status of 400")
    flag = f"webhook-{scripts}".lower()
    with receiving() as receiver:
        window.visit("/admin")
        window.click("link", "Integrations")
        window.click("DisclosureTriangleGrouped", "Create integration")
        window.click("link", "Webhook")
        window.type("Description", flag)
        window.type("URL", "nowhere:1")
        window.click("button", "Create integration")
        window.wait_for_text("URL must be an https address without a password or a fragment.")
        window.type("URL", receiver.url)
        # The types of a group appear with the choice "Some".
        assert window.nodes("checkbox", "feature-created") == []
        window.run("document.querySelector('[name=\"group.flags\"][value=some]').click()")
        window.find("checkbox", "feature-created")
        window.click("button", "Create integration")
        window.wait_for_text("Copy it now. It is not shown again.", "no event sent yet")
        assert window.run(SECRET).startswith("whsec_")
        window.click("button", "Send a test message")
        window.wait_for_text("The test message arrived: 200 after 1 attempt")
        assert not window.run(SECRET)

        assert demo.request("POST", FLAGS, {"name": flag}, {"Authorization": ADMIN_KEY}).status == 201
        wait_until(lambda: len(receiver.received) == 2, "the event was sent")
        window.visit("/admin/integrations")
        window.click("link", flag)
        wait_until(lambda: f"created {flag} delivered" in " ".join(shown(window).split()), "the delivery was shown")
        window.click("DisclosureTriangleGrouped", "Delete…")
        window.click("button", "Delete integration")
        window.wait_for_path("/admin/integrations")
        assert window.nodes("link", flag) == []
    types = [json.loads(body)["type"] for body in receiver.bodies]
    assert types == ["test", "feature-created"]


def test_form_is_sent_again_after_the_session_has_ended(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.expect("status of 401")
    window.visit("/admin/integrations/new?provider=webhook")
    window.type("Description", "kept")
    window.type("URL", "https://example.org/hook")
    window.log_out()
    window.click("button", "Create integration")
    window.wait_for_text("Your session has ended", "Log in in a new tab")
    window.log_in(demo_url, ADMIN)
    window.send("POST", "/refresh", {})
    window.wait_for_text("kept", "no event sent yet")


def shown(window: Window) -> str:
    """The text of the page as it is now."""
    window.send("POST", "/refresh", {})
    return window.text()
