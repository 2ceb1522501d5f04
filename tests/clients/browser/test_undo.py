"""Undo in a browser: in the event log and in the history of a flag."""

import pytest

from tests.support.demo import ADMIN
from tests.support.sdk_project import Project
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow
FOCUS = """
const undos = [...document.querySelectorAll('.log button')];
undos.find((undo) => undo.ariaLabel.endsWith(arguments[0])).focus();
"""
TOAST = "return document.querySelector('.toasts').innerText"
ENTRY = "return document.querySelector('.log > li').innerText"


@pytest.mark.parametrize("page", ["/events?feature=undone", "/projects/{}/flags/undone"])
def test_a_change_is_undone_and_a_later_change_is_named(
    demo: Service, demo_url: str, window: Window, page: str
) -> None:
    project = Project(demo, "undo-events" if "events" in page else "undo-flag")
    flag = f"undone-in-{project.id}"
    project.create(project.features, {"name": flag, "description": "first"})
    project.request("PUT", f"{project.features}/{flag}", {"description": "second"})
    window.log_in(demo_url, ADMIN)
    window.visit(page.format(project.id).replace("undone", flag))
    window.wait_for_text("second", "Undo")
    window.run(FOCUS, f"changed {flag}")
    window.press("Enter")
    window.wait_for(TOAST, lambda text: "The change is undone." in text)
    window.wait_for_text("(undid a change)")
    assert project.get(f"{project.features}/{flag}")["description"] == "first"
    # A later change of the same thing: the page says so at the event, and nothing changes.
    project.request("PUT", f"{project.features}/{flag}", {"description": "third"})
    window.expect("409")
    window.run(FOCUS, "(undid a change)")
    window.press("Enter")
    window.wait_for(ENTRY, lambda text: "description was first, and is third now" in text)
    assert project.get(f"{project.features}/{flag}")["description"] == "third"


def test_days_are_those_of_the_reader(demo_url: str, window: Window) -> None:
    window.cdp("Emulation.setTimezoneOverride", timezoneId="Pacific/Kiritimati")
    try:
        window.log_in(demo_url, ADMIN)
        window.visit("/")
        window.visit("/events")
        at, day, clock = window.run(
            "const one = document.querySelector('.log time');"
            "return [one.dateTime, one.closest('section').querySelector('.day').textContent, one.textContent.trim()]"
        )
        shown = window.run(
            "const at = new Date(arguments[0]);"
            "return [at.getDate(), at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })]",
            at,
        )
        assert (str(shown[0]) in day.split(), clock) == (True, shown[1])
    finally:
        window.cdp("Emulation.setTimezoneOverride", timezoneId="")
