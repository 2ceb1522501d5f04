"""Forms in Chromium: what the script sends, and where it says what is wrong."""

import pytest

from tests.clients.browser.test_admin import DIALOG, SEND, read_secret
from tests.support.demo import ADMIN
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow


def test_token_without_chosen_projects_is_for_all(demo: Service, demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/admin/api-tokens")
    window.click("button", "Create API token")
    window.run(SEND, "Create API token", {"tokenName": "everywhere", "environment": "production"})
    read_secret(window)
    tokens = demo.get("/flags/api/admin/api-tokens", headers={"Authorization": ADMIN_KEY}).json["tokens"]
    assert [token["projects"] for token in tokens if token["tokenName"] == "everywhere"] == [["*"]]
