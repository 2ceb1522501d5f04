"""The pages of projects in Chromium: find, create, switch and archive flags, and manage API tokens and roles."""

import pytest

from sql.database import connect, rows
from tests.support.demo import ADMIN, OWNER
from tests.support.service import Service
from tests.support.window import Window

pytestmark = pytest.mark.slow
STATE = "return document.querySelector('[role=switch]')?.getAttribute('aria-checked')"
# The role of a menu, of which the page opens one at a time.
MENU = "DisclosureTriangleGrouped"
PROBLEM = "return document.querySelector('.problem.sent')?.innerText ?? ''"
NAMES = "return [...document.querySelectorAll('.name a')].map((link) => link.innerText)"
# Three flags that can be archived, and that applications have asked for.
WITHOUT_CHILDREN = """
    SELECT name
      FROM flags
     WHERE project_id = 'checkout'
       AND archived_at IS NULL
       AND id NOT IN (SELECT parent_id FROM flag_dependencies)
       AND id IN (SELECT flag_id FROM flag_sightings)
     ORDER BY name DESC
     LIMIT 3
"""
# What the cells of an environment say.
CELLS = """
const cells = [...document.querySelectorAll(`td[data-label="${arguments[0]}"]`)];
return cells.map((cell) => cell.innerText.trim());
"""
SOURCE = "return fetch(location.href).then((response) => response.text())"
# The secret in the open dialog.
SECRET = "return document.getElementById('new-token-secret').textContent"
TOAST = "return document.querySelector('.toast span')?.textContent ?? ''"
# Choose the options with these texts.
CHOOSE = """
const field = document.getElementById(arguments[0]);
for (const option of field.options) option.selected = option.text.startsWith(arguments[1]);
field.dispatchEvent(new Event('input', { bubbles: true }));
"""
QUESTION = "return document.querySelector('#question[open]')?.innerText ?? ''"
# The first flag that an application asks for, and the first that none asks for.
RISKS = """
return [" asked ", "no application"].map((text) => document.querySelector(`[data-risk*="${text}"]`).value);
"""


def test_project_and_flag_are_created_switched_archived_and_revived(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/")
    window.click("button", "New project")
    window.type("Name", "Gift cards <b>&")
    window.type("Id", "gift-cards")
    window.click("button", "Create project")
    window.wait_for_path("/projects/gift-cards")
    window.wait_for_text("Gift cards <b>&", "This project has no flags yet.")
    window.click("button", "New flag")
    window.type("Name", "gift wrap")
    window.expect("status of 400")
    window.click("button", "Create flag")
    window.wait_for(PROBLEM, lambda text: text.startswith("Must contain only A-Z"))
    assert window.focused() == "flag-name"
    assert window.run("return document.activeElement.getAttribute('aria-describedby')") == "flag-name-hint problem-0"
    window.type("Name", "gift-wrap")
    window.click("button", "Create flag")
    window.wait_for_path("/projects/gift-cards/flags/gift-wrap")

    window.visit("/projects/gift-cards")
    window.click("switch", "gift-wrap in development")
    window.wait_for(STATE, lambda state: state == "true")
    window.visit("/projects/gift-cards")
    assert window.run(STATE) == "true"

    window.click("checkbox", "Select gift-wrap")
    window.click("button", "Archive…")
    assert window.run("return document.querySelector('#question li').innerText").endswith(
        "No application has asked for it."
    )
    window.accept()
    window.wait_for_text("This project has no flags yet.")
    assert window.run(TOAST).startswith("1 flag archived.")
    window.click("link", "Archive")
    window.click("button", "Revive gift-wrap")
    window.wait_for_text("No flag of this project is archived.")
    window.visit("/projects/gift-cards")
    window.wait_for_text("gift-wrap")
    assert window.run(STATE) == "false"


def test_several_flags_are_archived_with_one_question(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout")
    names = window.run(NAMES)
    with connect(demo_url) as conn:
        chosen = [row["name"] for row in rows(conn, WITHOUT_CHILDREN)]
    for name in chosen:
        window.click("checkbox", f"Select {name}")
    assert window.run("return document.querySelector('.bulk').innerText").startswith("3 selected")
    window.click("button", "Archive…")
    question = window.wait_for("return document.querySelector('#question[open]')?.innerText", bool)
    assert question.startswith("Archive 3 flags?")
    assert all(name in question for name in chosen)
    assert question.count("-shop asked for it") == 3
    assert window.focused() == "Cancel"
    window.click("button", "Archive 3 flags")
    window.wait_for(TOAST, lambda text: text == "3 flags archived.")
    assert window.run(NAMES) == [name for name in names if name not in chosen]
    assert window.nodes("button", "Archive…") == []


def test_selection_stays_after_a_switch_and_after_the_back_button(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout?query=guest-order")
    [first, second, _] = names = window.run(NAMES)
    shown = (
        "const bar = document.querySelector('.bulk'); return bar.checkVisibility() ? bar.innerText.split('\\n')[0] : ''"
    )
    ticked = "return [...document.querySelectorAll('[name=features]:checked')].map((box) => box.value)"
    for name in (first, second):
        window.click("checkbox", f"Select {name}")
    window.click("switch", f"{first} in development")
    window.wait_for(TOAST, bool)
    assert window.run(ticked) == [first, second]
    assert window.run(shown) == "2 selected"
    window.click("link", second)
    window.wait_for_path(f"/projects/checkout/flags/{second}")
    window.go_back()
    window.wait_for(shown, lambda text: text == f"{len(window.run(ticked))} selected")
    assert window.run(NAMES) == names


def test_several_flags_are_tagged_marked_and_switched(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout?query=guest-order")
    for button, said in (("Mark as stale", "marked as stale"), ("Not stale", "no longer stale")):
        window.click("checkbox", "Select all 3 flags")
        window.click("button", button)
        window.wait_for(TOAST, lambda text, said=said: text == f"3 flags {said}.")
    window.click("checkbox", "Select all 3 flags")
    window.click("button", "Add tag…")
    window.expect("status of 400")
    window.run("const field = document.querySelector('#tag-value'); [field.value, field.form.noValidate] = ['x', true]")
    window.click("button", "Add tag")
    window.wait_for(PROBLEM, lambda text: text == "Must be at least 2 characters long")
    assert window.focused() == "tag-value"
    window.type("Value", "q4-goal")
    window.click("button", "Add tag")
    window.wait_for(TOAST, lambda text: text == "Tag added to 3 flags.")
    window.wait_for("return document.querySelectorAll('.tags[title*=q4-goal]').length", lambda number: number == 3)
    for place, dots in (("staging", ""), ("production", "…")):
        window.click("checkbox", "Select all 3 flags")
        window.click(MENU, "Switch off in")
        window.click("button", place + dots)
        if dots:
            assert "Each of them changes at once." in window.accept()
        window.wait_for(TOAST, lambda text, place=place: text == f"3 flags off in {place}.")
        assert set(window.run(CELLS, place)) == {"off"}
    window.click("checkbox", "Select checkout-guest-order")
    window.click("button", "Clear the selection")
    window.wait_for("return document.querySelectorAll('table :checked').length", lambda number: number == 0)


def test_switching_in_production_asks_first(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout?query=coupon-field-kill")
    window.click("switch", "checkout-coupon-field-kill-switch in production")
    question = window.wait_for("return document.querySelector('#question.production[open]')?.innerText", bool)
    assert question.startswith("Switch off in production?")
    assert "checkout-coupon-field-kill-switch is on for all users in production." in question
    assert "-shop asked for it" in question
    window.press("Escape")
    assert window.run(CELLS, "production") == ["all"]
    window.click("switch", "checkout-coupon-field-kill-switch in production")
    window.accept()
    window.wait_for(TOAST, lambda text: text.startswith("checkout-coupon-field-kill-switch is off in production."))
    assert window.run(CELLS, "production") == ["off"]


def test_filters_and_order_are_in_the_address(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout")
    window.click("link", "Type")
    window.wait_for_path("/projects/checkout?sort=type")
    window.click(MENU, "State")
    window.click("checkbox", "too old for its type")
    window.click("button", "Apply")
    window.wait_for_path("/projects/checkout?query=&state=old&sort=type")
    found = window.run(NAMES)
    window.visit(window.path())
    assert window.run(NAMES) == found != []
    window.click("link", "Remove the filter State")
    window.wait_for_path("/projects/checkout?sort=type")


def test_rows_are_chosen_by_keys(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout")
    names = window.run(NAMES)
    window.press("j", "j", "x", "j", "k")
    assert window.focused() == names[1]
    assert window.run("return document.querySelector('table :checked').value") == names[1]
    window.press("Enter")
    window.wait_for_path(f"/projects/checkout/flags/{names[1]}")


def test_flags_of_a_project_fit_on_a_page(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/search")
    rows = "return document.querySelectorAll('tbody tr').length"
    end = "return document.querySelector('table').getBoundingClientRect().bottom + scrollY"
    for width, first, each in ((1280, 240, 28), (390, 420, 80)):
        window.resize(width)
        assert window.run(end) <= first + each * window.run(rows)
        assert window.overflow() == 0
    window.click("switch", f"{window.run(NAMES)[0]} in qa")
    window.wait_for(TOAST, lambda text: " in qa." in text)


def test_token_works_until_it_is_deleted_and_its_secret_is_shown_once(
    window: Window, demo: Service, demo_url: str
) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/tokens")
    window.click("button", "Create API token")
    window.type("Name", "till #<b>7</b>")
    window.run(CHOOSE, "token-environment", "production")
    window.click("button", "Create API token")
    window.wait_for_text("Your new API token", "Authorization: checkout:production.")
    headers = {"Authorization": window.run(SECRET)}
    assert demo.get("/api/client/features", headers=headers).status == 200
    window.click("button", "Close")
    window.find("button", "Delete… till #<b>7</b>")
    assert "till #&lt;b&gt;7&lt;/b&gt;" in window.run(SOURCE)
    for source in (SOURCE, "return document.documentElement.outerHTML"):
        assert headers["Authorization"] not in window.run(source)
    window.click("button", "Delete… till #<b>7</b>")
    assert window.accept() == "Applications that use it stop getting flags."
    window.wait_for(TOAST, lambda text: text == "The API token till #<b>7</b> is deleted.")
    assert window.nodes("button", "Delete… till #<b>7</b>") == []
    assert demo.get("/api/client/features", headers=headers).status == 401


def test_role_is_given_and_taken_away(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/access")
    window.type("People and groups", "arun", role="combobox")
    window.press("Enter")
    window.find("button", "Remove Arun Mehta")
    window.click("button", "Give role")
    window.wait_for(TOAST, lambda text: text == "The role is given.")
    window.wait_for_text("arun.mehta@brightcart.example")
    window.click("DisclosureTriangleGrouped", "Role of Arun Mehta: Member")
    window.click("button", "Owner for Arun Mehta")
    window.wait_for(TOAST, lambda text: text == "Arun Mehta is now Owner.")
    window.find("DisclosureTriangleGrouped", "Role of Arun Mehta: Owner")
    window.click("button", "Remove… Arun Mehta")
    assert window.accept().startswith("Arun Mehta loses all roles in this project.")
    window.wait_for("return document.body.innerText", lambda text: "arun.mehta@brightcart.example" not in text)


def test_role_is_given_by_one_click_after_typing_a_name(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/access")
    window.type("People and groups", "fatima", role="combobox")
    window.click("button", "Give role")
    window.wait_for(TOAST, lambda text: text == "The role is given.")
    window.wait_for_text("fatima.zahra@brightcart.example")
    assert window.focused() == "who"


def test_a_project_is_cleaned_up(window: Window, demo_url: str) -> None:
    window.log_in(demo_url, OWNER)
    window.visit("/projects/checkout/cleanup")
    window.wait_for_text("flags can probably go.", "Too old for their type", "Marked as stale by")
    flags: list[str] = window.run(RISKS)
    assert len(flags) == 2, flags
    for flag in flags:
        window.click("checkbox", f"Select {flag}")
    window.wait_for_text("2 selected")
    window.click("button", "Archive…")
    asked = window.wait_for(QUESTION, lambda text: text.startswith("Archive 2 flags?"))
    assert "no application " in asked
    assert " asked " in asked
    window.accept()
    # The toast is not in the main part of the page.
    window.wait_for(TOAST, lambda text: text == "2 flags archived.")
    assert not set(flags) & set(window.text().split())
    window.click("link", "Show")
    window.wait_for_path("/projects/checkout/archive")
    assert set(flags) <= set(window.run(NAMES))
