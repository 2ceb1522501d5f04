"""Compare environments, and copy between them."""

import pytest

from tests.support.demo import ADMIN
from tests.support.window import Window

pytestmark = pytest.mark.slow
FLAG = "checkout-one-page"
COMPARE = f"/projects/checkout/flags/{FLAG}/compare"


def test_flag_is_copied_to_production_after_a_question(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit(f"{COMPARE}?left=development&right=production")
    assert "0 of" not in window.text()
    window.click("button", f"Copy everything to production… for {FLAG}")
    assert window.focused() == "Cancel"
    assert window.accept().startswith(f"In production, {FLAG} gets everything of development: ")
    window.wait_for_text("0 of ")
    toast = window.wait_for("return document.querySelector('.toast')?.innerText", bool)
    assert toast.startswith(f"{FLAG} in production has everything of development.")
    assert window.nodes("button", f"Copy strategies to production… for {FLAG}") == []


def test_environments_are_compared_without_javascript(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.switch_scripts(False)
    window.visit(COMPARE)
    window.run("document.querySelector('#left').value = 'development'")
    window.click("button", "Compare")
    window.wait_for_path(f"{COMPARE}?left=development&right=production")
    assert window.run("return document.querySelector('.copy button')?.checkVisibility() || false") is False
