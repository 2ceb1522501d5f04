"""Somebody else changes a record while a form is open in Chromium: no change is overwritten by mistake."""

import pytest

from tests.support.demo import ADMIN
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.window import Window

API = "/flags/api/admin/projects/checkout/features/checkout-one-page"
CHANGED = "return document.querySelector('#changed').open ? document.querySelector('#changed').innerText : ''"


def change(demo: Service, description: str | None = None) -> str:
    """Change the description of the flag as somebody else, if it is given. Return the present one."""
    headers = {"Authorization": ADMIN_KEY, "Content-Type": "application/json"}
    if description is not None:
        assert demo.request("PUT", API, {"description": description}, headers).status == 200
    return demo.get(API, headers=headers).json["description"]


@pytest.mark.slow
def test_a_change_of_somebody_else_is_shown_and_not_overwritten_by_mistake(
    demo: Service, demo_url: str, window: Window
) -> None:
    window.log_in(demo_url, ADMIN)
    window.expect("status of 412")
    window.visit("/projects/checkout/flags/checkout-one-page")
    window.run("document.querySelector('[data-open=edit-flag]').click()")
    window.type("Description", "Mine")
    change(demo, "Theirs")
    window.click("button", "Save flag")
    window.wait_for(CHANGED, lambda text: "changed checkout-one-page" in text and "Theirs" in text)
    # After Cancel, the text is still there, and a second attempt asks again.
    assert window.focused() == "Cancel"
    window.press("Enter")
    window.wait_for(CHANGED, lambda text: not text)
    assert (change(demo), window.run("return document.querySelector('#description').value")) == ("Theirs", "Mine")
    window.click("button", "Save flag")
    window.wait_for(CHANGED, bool)
    # A third change comes before the answer: it is not overwritten unseen.
    change(demo, "Newer")
    window.click("button", "Overwrite")
    window.wait_for(CHANGED, lambda text: "Newer" in text)
    window.click("button", "Overwrite")
    window.wait_for_text("Mine")
    assert change(demo) == "Mine"
    # The page has the new number now: no question without a change in between.
    window.run("document.querySelector('[data-open=edit-flag]').click()")
    window.type("Description", "Mine again")
    window.click("button", "Save flag")
    window.wait_for_text("Mine again")
    assert change(demo) == "Mine again"
    # Their version is shown instead.
    window.run("document.querySelector('[data-open=edit-flag]').click()")
    change(demo, "Last")
    window.click("button", "Save flag")
    window.wait_for(CHANGED, bool)
    window.click("button", "See their version")
    window.wait_for_text("Last")
    assert change(demo) == "Last"


@pytest.mark.slow
def test_what_was_typed_in_another_form_of_the_page_stays(demo: Service, demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/projects/checkout/settings")
    window.type("Description", "Mine")
    for button in ("Save pattern", "Save project, mode and flags"):
        window.click("button", button)
        window.wait_for("return document.querySelector('.toast span')?.innerText ?? ''", bool)
        window.run("document.querySelector('.toast').remove()")
    page = demo.get("/flags/api/admin/projects/checkout/overview", headers={"Authorization": ADMIN_KEY})
    assert page.json["description"] == "Mine"


QUESTION = "return document.querySelector('#question').open ? document.querySelector('#question').innerText : ''"


@pytest.mark.slow
def test_question_about_what_has_changed_is_asked_again(demo: Service, demo_url: str, window: Window) -> None:
    headers = {"Authorization": ADMIN_KEY, "Content-Type": "application/json"}
    strategies = f"{API}/environments/development/strategies"
    new = {"name": "flexibleRollout", "parameters": {"rollout": "55"}}
    path = f"{strategies}/{demo.request('POST', strategies, new, headers).json['id']}"
    window.log_in(demo_url, ADMIN)
    window.expect("status of 412")

    def change(share: int) -> None:
        assert demo.request("PUT", path, {"parameters": {"rollout": str(share)}}, headers).status == 200

    def ask(address: str, form: str, share: int) -> None:
        """Open the question of a form, while the share is 55 %, and answer yes after it has changed."""
        change(55)
        window.visit(address)
        window.run(f"document.querySelector({form!r}).requestSubmit()")
        window.wait_for(QUESTION, lambda text: "55 %" in text)
        change(share)
        window.run("document.querySelector('#question button').click()")
        window.wait_for(QUESTION, lambda text: "Somebody has changed this meanwhile." in text and f"{share} %" in text)

    copy = "form[data-path$='/production/copy']:has([id^=everything])"
    ask("/projects/checkout/flags/checkout-one-page/compare?left=development&right=production", copy, 98)
    production = f"{API}/environments/production/strategies"
    before = demo.get(production, headers=headers).json
    window.run("document.querySelector('#question button').click()")
    window.wait_for("return document.querySelector('.toast')?.innerText ?? ''", lambda text: "has everything" in text)
    after = demo.get(production, headers=headers).json
    assert before != after
    assert "98" in [one["parameters"].get("rollout") for one in after]
    form = f"form[data-send=DELETE][data-path='{path}']"
    ask("/projects/checkout/flags/checkout-one-page", form, 99)
    assert demo.get(path, headers=headers).status == 200
    assert "99 %" in window.run(f"return document.querySelector({form!r}).dataset.confirm")
    window.run("document.querySelector('#question button').click()")
    window.wait_for("return document.querySelector('.toast')?.innerText ?? ''", lambda text: "is deleted" in text)
    assert demo.request("GET", path, None, headers).status == 404


@pytest.mark.slow
def test_refusal_after_a_question_of_a_menu_can_be_seen(demo: Service, demo_url: str, window: Window) -> None:
    headers = {"Authorization": ADMIN_KEY, "Content-Type": "application/json"}
    strategies = f"{API}/environments/production/strategies"
    # A text that looks like a time, and is none, is shown as it is.
    constraint = {"contextName": "userId", "operator": "IN", "values": ["2026-99-99T00Z"]}
    new = {"name": "default", "constraints": [constraint]}
    path = f"{strategies}/{demo.request('POST', strategies, new, headers).json['id']}"
    window.log_in(demo_url, ADMIN)
    window.expect("status of 404")
    window.visit("/projects/checkout/flags/checkout-one-page")
    form = f"form[data-send=DELETE][data-path='{path}']"
    # The menu closes, because the click on the question is outside of it.
    window.run(f"document.querySelector({form!r}).closest('details').open = true")
    window.run(f"document.querySelector({form!r}).requestSubmit()")
    window.wait_for(QUESTION, lambda text: "2026-99-99T00Z" in text)
    assert demo.request("DELETE", path, None, headers).status == 200
    window.run("document.querySelector('#question button').click()")
    refusal = f"return document.querySelector({form!r}).querySelector('.refusal').checkVisibility()"
    window.wait_for(refusal, bool)
