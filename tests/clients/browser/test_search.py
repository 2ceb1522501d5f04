"""The search of all pages by keyboard, and the fields that find as you type."""

import pytest

from tests.support.demo import ADMIN
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow
RESULTS = "return [...document.querySelectorAll('#palette[open] [role=option]')].map((item) => item.innerText)"
CHOSEN = "return document.querySelector('#palette [aria-selected=true]')?.innerText ?? ''"
SECRET = "return document.getElementById('new-token-secret').textContent"


def test_flag_is_found_by_keyboard_among_all(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/insights")
    window.chord("Control", "k")
    window.press(*"one-page")
    window.wait_for(RESULTS, lambda found: [text.split()[0] for text in found][:1] == ["checkout-one-page"])
    window.press("Down")
    chosen = window.wait_for(CHOSEN, lambda text: text.startswith("checkout-one-page-kill-switch"))
    # The state in each environment.
    assert "development" in chosen
    assert "production" in chosen
    window.press("Enter")
    window.wait_for_path("/projects/checkout/flags/checkout-one-page-kill-switch")
    # Enter that comes before the results opens the first of them, not one of the text before.
    window.press("/")
    window.wait_for(RESULTS, bool)
    window.press(*"checkout-one-page", "Enter")
    window.wait_for_path("/projects/checkout/flags/checkout-one-page")
    # A page, by one letter. Escape closes the palette.
    window.press("/")
    window.press(*"clean checkout")
    window.wait_for(RESULTS, lambda found: [text.split("\n")[0] for text in found] == ["Clean up Checkout"])
    window.press("Escape")
    assert window.run("return document.querySelector('#palette').open") is False


def test_single_letters_can_be_switched_off(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/profile")
    window.click("checkbox", "Switch shortcuts of one letter off, such as / and j. This browser remembers it.")
    window.visit("/events")
    window.press("/")
    assert window.run("return document.querySelector('#palette').open") is False
    window.chord("Control", "k")
    assert window.run("return document.querySelector('#palette').open") is True


def test_frontend_token_gets_projects_and_origins(window: Window, demo: Service, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/admin/api-tokens")
    window.click("button", "Create API token")
    window.type("Name", "widget")
    assert window.nodes("textbox", "Origins, one on each line") == []
    window.run(
        "const type = document.getElementById('token-type'); type.value = 'frontend';"
        "type.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    window.type("Origins, one on each line", "https://shop.example.org")
    window.run("document.getElementById('token-environment').value = 'production'")
    for project in ("checkout", "search"):
        window.type("Projects", project, role="combobox")
        window.press("Enter")
    window.click("button", "Remove Search")
    window.click("button", "Create API token")
    headers = {"Authorization": window.wait_for(SECRET, bool), "Origin": "https://shop.example.org"}
    assert headers["Authorization"].startswith("checkout:production.")
    response = demo.get("/flags/api/frontend", headers=headers)
    assert response.headers["Access-Control-Allow-Origin"] == "https://shop.example.org"
    window.click("button", "Close")
    window.wait_for_text("https://shop.example.org")
    window.click("button", "Change origins of widget")
    window.type("Origins, one on each line", "*")
    window.click("button", "Save origins")
    window.wait_for("return document.querySelector('.toast')?.textContent ?? ''", lambda text: text == "Saved.")
    assert demo.get("/flags/api/frontend", headers=headers).headers["Access-Control-Allow-Origin"] == "*"
