"""Change requests in a browser: one person proposes a change, another one approves, applies or schedules it."""

import pytest

from tests.support.demo import ADMIN, MEMBER
from tests.support.sdk_project import Project
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow
CHECKOUT = "/api/admin/projects/checkout"
TOAST = "return document.querySelector('.toasts').innerText"
FILL = """
const field = document.querySelector(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event('input', { bubbles: true }));
"""
PROPOSAL = "return document.querySelector('[aria-label^=\"Propose to switch\"]').ariaLabel"
LATER = "new Date(Date.now() + 864e5).toISOString().slice(0, 16)"


@pytest.fixture(scope="module")
def api(demo: Service) -> Project:
    """The API, with change requests in production of the project checkout."""
    api = Project(demo, "unused")
    on = {"changeRequestsEnabled": True, "requiredApprovals": 1}
    api.request("PUT", f"{CHECKOUT}/environments/production/change-requests/config", on)
    return api


def send_to_review(window: Window) -> str:
    """Send the draft of the page to review. Return its path."""
    window.click("link", "draft in production")
    window.click("button", "Send to review")
    window.wait_for_text("In review", "You cannot approve your own request.")
    return window.path()


def test_a_strategy_is_proposed_approved_and_applied(
    window: Window, api: Project, demo_url: str, paths: dict[str, str]
) -> None:
    flag, strategy = paths["flag"], paths["strategy"]
    place = f"{CHECKOUT}/features/{flag}/environments/production/strategies/{strategy}"
    window.log_in(demo_url, MEMBER)
    window.visit(f"/projects/checkout/flags/{flag}/environments/production/strategies/{strategy}")
    window.run(FILL, "[aria-label='Share of users in percent']", "41")
    window.click("button", "Add to change request")
    window.wait_for_text("has 1 change.")
    assert api.get(place)["parameters"]["rollout"] != "41"
    path = send_to_review(window)
    window.log_in(demo_url, ADMIN)
    window.visit("/projects/checkout/change-requests")
    window.wait_for_text("Waits for your approval.")
    window.visit(path)
    window.wait_for_text("41 %")
    window.click("button", "Approve")
    window.wait_for_text("Waits for you to apply it.")
    window.click("button", "Apply…")
    assert "All changes are made in production at once." in window.accept()
    window.wait_for(TOAST, lambda text: "All changes are made." in text)
    assert api.get(place)["parameters"]["rollout"] == "41"


@pytest.mark.usefixtures("api")
def test_a_ramp_plan_can_only_be_saved_directly(window: Window, demo_url: str, paths: dict[str, str]) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit(f"/projects/checkout/flags/{paths['flag']}/environments/production/strategies/{paths['strategy']}")
    shown = "return [...document.querySelectorAll('.foot button')].filter((one) => one.checkVisibility()).length"
    assert window.run(shown) == 2
    window.click("button", "Add step")
    assert window.run(shown) == 1
    window.run("document.querySelector('[data-list=steps] [data-remove]').click()")
    assert window.run(shown) == 2
    window.run(FILL, "#until", "2098-01-01T09:00")
    window.wait_for(shown, lambda number: number == 1)


@pytest.mark.usefixtures("api")
def test_a_change_is_scheduled_and_rejected(window: Window, demo_url: str, paths: dict[str, str]) -> None:
    window.log_in(demo_url, MEMBER)
    window.visit(f"/projects/checkout/flags/{paths['flag']}")
    window.click("button", window.run(PROPOSAL))
    window.wait_for_text("has 1 change.")
    path = send_to_review(window)
    window.log_in(demo_url, ADMIN)
    window.visit(path)
    window.click("button", "Approve")
    window.wait_for_text("Waits for you to apply it.")
    window.click("button", "Schedule…")
    window.run(FILL.replace("arguments[1]", LATER), "#scheduled-at")
    window.click("button", "Schedule")
    window.wait_for_text("Scheduled")
    window.click("button", "Reject…")
    window.type("Comment optional", "Not on a Sunday.")
    window.click("button", "Reject")
    window.wait_for_text("Rejected", "Not on a Sunday.")


def test_save_and_add_to_change_request_are_beside_each_other(
    window: Window, api: Project, demo_url: str, paths: dict[str, str]
) -> None:
    flag, strategy = paths["flag"], paths["strategy"]
    place = f"{CHECKOUT}/features/{flag}/environments/production/strategies/{strategy}"
    window.log_in(demo_url, ADMIN)
    for button, text, share in (
        ("Add to change request", "Added to your draft in production.", "41"),
        # Ctrl Enter presses the main button.
        ("", "Added to your draft in production.", "42"),
        ("Save in production", "Saved. Strategy 1 in production.", "43"),
    ):
        window.visit(f"/projects/checkout/flags/{flag}/environments/production/strategies/{strategy}")
        window.run(FILL, "[aria-label='Share of users in percent']", share)
        before = api.get(place)["parameters"]["rollout"]
        if button:
            window.click("button", button)
        else:
            window.run("document.querySelector('#title').focus()")
            window.chord("Control", "Enter")
        window.wait_for(TOAST, lambda toast, text=text: text in toast)
        assert api.get(place)["parameters"]["rollout"] == ("43" if share == "43" else before)


@pytest.mark.usefixtures("api")
def test_a_ramp_plan_cannot_be_proposed(window: Window, demo_url: str, paths: dict[str, str]) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit(f"/projects/checkout/flags/{paths['flag']}/environments/production/strategies/new")
    proposes = "return document.querySelector('[data-proposal]').checkVisibility()"
    assert window.run(proposes)
    window.click("button", "Add step")
    assert not window.run(proposes)
    window.click("button", "Remove this step")
    assert window.run(proposes)
    window.run(FILL, "[name=until]", "2096-12-02T09:00")
    assert not window.run(proposes)
    # Another type has no plan.
    window.run("document.querySelector('[name=name][value=default]').click()")
    assert window.run(proposes)


def test_proposal_of_a_segment_does_not_send_its_project(
    window: Window, api: Project, demo_url: str, paths: dict[str, str]
) -> None:
    segment = api.request("POST", "/api/admin/segments", {"name": "Proposed", "constraints": []})["id"]
    given = {"projectId": "checkout", "strategyId": paths["strategy"], "environmentId": "production"}
    api.request("POST", "/api/admin/segments/strategies", given | {"segmentIds": [segment]})
    window.log_in(demo_url, ADMIN)
    window.visit(f"/admin/segments/{segment}")
    window.run(FILL, "#project", "checkout")
    window.click("button", "Add to change request of checkout in production")
    window.wait_for(TOAST, lambda text: "Added to your draft in production." in text)


@pytest.mark.usefixtures("api")
def test_settings_say_whether_change_requests_are_on_and_stay_in_place(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/projects/checkout/settings")
    window.run("document.querySelector('.approvals').scrollIntoView()")
    before = window.run("return scrollY")
    box = "document.querySelector('form[data-path*=\"production/change-requests\"] [type=checkbox]').click()"
    for text in ("Change requests are off in production.", "Change requests are on in production. Approvals: 1."):
        window.run(box)
        window.click("button", "Save for production")
        window.wait_for(TOAST, lambda shown, text=text: text in shown)
    assert before > 0
    assert abs(window.run("return scrollY") - before) < 2
