"""The pages of projects in Chromium: create a project and a flag, switch the flag on, archive it and revive it."""

import pytest

from tests.support.window import Window

STATE = "return document.querySelector('[role=switch]')?.getAttribute('aria-checked')"


@pytest.mark.slow
def test_a_project_and_a_flag_are_created_switched_archived_and_revived(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, "admin")
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
