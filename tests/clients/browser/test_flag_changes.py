"""The page of a flag in a browser: what is visible at once, switches that ask in production, and undo."""

import pytest

from tests.support.demo import ADMIN
from tests.support.sdk_project import Project
from tests.support.service import Service, wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow
DEMO_FLAG = "/projects/checkout/flags/checkout-one-page"
PRODUCTION = "environments/production"
BOX = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.top, box.bottom]"
TOAST = "return document.querySelector('.toasts').innerText"
SWITCH = "return document.getElementById('switch-development').getAttribute('aria-checked')"
IN_DIALOG = "return document.querySelector('dialog[open]')?.innerText ?? ''"


@pytest.fixture
def reader(window: Window, demo_url: str) -> Window:
    """A browser in which an administrator is logged in."""
    window.log_in(demo_url, ADMIN)
    return window


@pytest.fixture
def project(demo: Service, request: pytest.FixtureRequest) -> Project:
    """A project with the flag of the test, whose name is that of the project."""
    made = Project(demo, f"p{abs(hash(request.node.name)) % 10**6}")
    made.create(made.features, {"name": made.id})
    return made


def is_on(project: Project, environment: str) -> bool:
    return project.get(f"{project.features}/{project.id}/environments/{environment}")["enabled"]


def visit(reader: Window, project: Project) -> None:
    reader.visit(f"/projects/{project.id}/flags/{project.id}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_four_environments_are_visible_without_scrolling(reader: Window, scheme: str) -> None:
    reader.prefer(scheme)
    reader.resize(1280, 800)
    reader.visit(DEMO_FLAG)
    rows = reader.run("return [...document.querySelectorAll('.matrix tbody tr')].map((row) => row.id)")
    assert (len(rows), rows[-1]) == (4, "production")
    assert reader.run(BOX, ".matrix tbody tr:last-child")[1] < 700


def test_production_begins_in_the_first_thousand_pixels_on_a_phone(reader: Window) -> None:
    reader.resize(390)
    reader.visit(DEMO_FLAG)
    assert reader.run(BOX, "tr.prod")[0] < 1000
    assert reader.overflow() == 0
    # The first line answers without scrolling.
    assert reader.text().index("In production") < reader.text().index("development\n")


def test_production_asks_once_and_cancel_changes_nothing(reader: Window, project: Project) -> None:
    visit(reader, project)
    switch = f"{project.id} in production"
    reader.find("switch", switch)
    reader.run("document.getElementById('switch-production').focus()")
    reader.press("Space")
    reader.wait_for(
        IN_DIALOG, lambda text: "Switch on in production?" in text and "You can undo it in the next 10 seconds" in text
    )
    assert reader.focused() == "Cancel"
    reader.press("Enter")
    assert (reader.run(IN_DIALOG), is_on(project, "production")) == ("", False)
    for key in ("Escape", "Space"):
        assert reader.focused() == switch
        reader.press("Space")
        reader.wait_for(IN_DIALOG, bool)
        if key == "Escape":
            reader.press(key)
            assert (reader.run(IN_DIALOG), is_on(project, "production")) == ("", False)
    reader.click("button", "Switch on in production")
    reader.wait_for(TOAST, lambda text: f"{switch[: -len(' in production')]} is on in production." in text)
    assert is_on(project, "production")


def test_switch_is_undone_from_the_toast_and_from_the_history(reader: Window, project: Project) -> None:
    visit(reader, project)
    # Other environments ask nothing.
    reader.click("switch", f"{project.id} in development")
    reader.wait_for(TOAST, lambda text: "is on in development." in text)
    assert is_on(project, "development")
    reader.click("button", "Undo")
    wait_until(lambda: not is_on(project, "development"), "the toast undid the switch")
    reader.wait_for(SWITCH, lambda checked: checked == "false")
    reader.click("switch", f"{project.id} in development")
    reader.wait_for(SWITCH, lambda checked: checked == "true")
    # The newest event of the history.
    reader.run("document.querySelector('.log form button').click()")
    wait_until(lambda: not is_on(project, "development"), "the history undid the switch")
    reader.wait_for(SWITCH, lambda checked: checked == "false")


def test_strategy_is_copied_to_production_after_a_question(reader: Window, project: Project) -> None:
    place = f"{project.features}/{project.id}/environments"
    project.create(f"{place}/development/strategies", {"name": "default", "title": "All"})
    visit(reader, project)
    reader.run("document.querySelector('#development .acts summary').click()")
    reader.click("button", "production gets a copy of strategy 1 in development")
    reader.wait_for(IN_DIALOG, lambda text: "The strategy “On for everybody” is added" in text)
    assert reader.focused() == "Cancel"
    reader.click("button", "Copy to production")
    reader.wait_for(TOAST, lambda text: "Copied to production." in text)
    assert [one["title"] for one in project.get(f"{place}/production/strategies")] == ["All"]
