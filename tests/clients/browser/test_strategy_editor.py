"""The form of a strategy in a browser, by mouse and by keyboard."""

import re
from typing import Any

import pytest

from tests.support.demo import ADMIN
from tests.support.sdk_project import Project
from tests.support.service import Service
from tests.support.window import QUESTION, Window

pytestmark = pytest.mark.slow
# The visible field with a name in the last condition, step or variant, or in the form. Not all have a unique label.
FIELD = """
const rows = [...document.querySelectorAll(`[data-list=${arguments[0]}] > [data-item]`)];
const place = rows.at(-1) ?? document.querySelector('#strategy');
const field = [...place.querySelectorAll(`[name="${arguments[1]}"]`)].find((one) => one.checkVisibility());
"""
SET = f"{FIELD} field.value = arguments[2]; field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
FOCUS = f"{FIELD} field.focus(); field.select?.();"
PREVIEW = "return document.querySelector('#preview').innerText"


class Editor:
    """The form of a new strategy of a flag, in production or in another environment."""

    def __init__(self, demo: Service, window: Window, name: str, environment: str = "production") -> None:
        self.project, self.window, self.name, self.environment = Project(demo, name), window, name, environment
        self.project.create(self.project.features, {"name": name})
        self.page = f"/projects/{name}/flags/{name}"
        self.window.visit(f"{self.page}/environments/{environment}/strategies/new")
        self.window.wait_for("return document.readyState", lambda state: state == "complete")

    def set(self, rows: str, field: str, text: str) -> None:
        self.window.run(SET, rows, field, text)

    def says(self, text: str) -> None:
        self.window.wait_for(PREVIEW, lambda shown: text in shown)

    def saved(self) -> list[dict[str, Any]]:
        """Wait until the page of the flag says that it was saved, and return the strategies."""
        self.window.wait_for_path(f"{self.page}#{self.environment}")
        toast = "return document.querySelector('.toast')?.innerText ?? ''"
        self.window.wait_for(toast, lambda text: text.startswith("Saved. Strategy 1"))
        return self.project.get(f"{self.project.features}/{self.name}/environments/{self.environment}/strategies")


@pytest.fixture
def reader(window: Window, demo_url: str) -> Window:
    """A browser in which an administrator is logged in."""
    window.log_in(demo_url, ADMIN)
    return window


def is_for_a_fifth_of_norway(strategy: dict[str, Any]) -> bool:
    """Return whether a strategy gives two variants to 20 % of one country."""
    [constraint] = strategy["constraints"]
    weights = {variant["name"]: (variant["weight"], variant["weightType"]) for variant in strategy["variants"]}
    return (
        (constraint["contextName"], constraint["operator"], constraint["values"]) == ("country", "IN", ["NO"])
        and strategy["parameters"]["rollout"] == "20"
        and weights == {"control": (605, "fix"), "treatment": (395, "variable")}
    )


def test_a_fifth_of_one_country_gets_two_variants_by_mouse(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "by-mouse")
    reader.click("button", "Set 25 %")
    reader.type("Share of users in percent", "20", role="spinbutton")
    reader.click("button", "Add condition")
    editor.set("constraints", "contextName", "country")
    reader.click("checkbox", "NO Norway")
    for name in ("control", "treatment"):
        reader.click("button", "Add variant")
        editor.set("variants", "name", name)
    reader.run("document.querySelectorAll('[name=weight]')[0].id = 'first'")
    reader.run("document.getElementById('first').value = 60.5")
    reader.run("document.getElementById('first').dispatchEvent(new Event('input', { bubbles: true }))")
    assert reader.run("return [...document.querySelectorAll('.share i')].map((part) => part.style.flexGrow)") == [
        "60.5",
        "39.5",
    ]
    editor.says("On for 20 % of users where country is NO")
    reader.click("button", "Save in production")
    [strategy] = editor.saved()
    assert is_for_a_fifth_of_norway(strategy)


def test_a_fifth_of_one_country_gets_two_variants_by_keyboard(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "by-keys")
    reader.run(FOCUS, "none", "parameters.rollout")
    reader.write("20")
    reader.focus("button", "Add condition")
    reader.press("Enter")
    reader.write("country")
    reader.focus("checkbox", "NO Norway")
    reader.press("Space")
    for name in ("control", "treatment"):
        reader.focus("button", "Add variant")
        reader.press("Enter")
        reader.write(name)
    reader.run("const [first] = document.querySelectorAll('[name=weight]'); first.focus(); first.select()")
    reader.write("60.5")
    editor.says("On for 20 % of users where country is NO")
    reader.chord("Control", "Enter")
    [strategy] = editor.saved()
    assert is_for_a_fifth_of_norway(strategy)


def test_a_click_in_a_number_keeps_it_and_typing_replaces_it(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "clicked")
    share = "return document.querySelector('[name=\"parameters.rollout\"]').value"
    reader.click("spinbutton", "Share of users in percent")
    assert reader.run(share) == "100"
    reader.write("30")
    editor.says("On for 30 % of users")


def test_a_date_is_stored_with_the_zone_of_the_reader(demo: Service, reader: Window) -> None:
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="Europe/Oslo")
    editor = Editor(demo, reader, "dated")
    reader.click("button", "Add condition")
    editor.set("constraints", "contextName", "currentTime")
    editor.set("constraints", "value", "2096-12-02T09:00")
    reader.wait_for_text("Europe/Oslo · 2096-12-02 08:00 UTC")
    editor.says("On for everybody, from 2 Dec 2096")
    reader.click("button", "Save in production")
    [strategy] = editor.saved()
    assert strategy["constraints"][0]["operator"] == "DATE_AFTER"
    assert strategy["constraints"][0]["value"] == "2096-12-02T08:00:00.000Z"
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="")


def test_a_wrong_value_shows_its_problem_at_the_field(demo: Service, reader: Window) -> None:
    reader.expect("400")
    editor = Editor(demo, reader, "wrong", "development")
    reader.click("button", "Add condition")
    editor.set("constraints", "operator", "NUM_GTE")
    editor.set("constraints", "value", "49,90 €")
    problem = "return [...document.querySelectorAll('.conditions .problem')].map((one) => one.textContent)"
    reader.wait_for(problem, lambda texts: texts == ["Must be a number, such as 3.5"])
    editor.says("1 field to correct")
    editor.set("constraints", "value", "49.90")
    reader.wait_for(problem, lambda texts: texts == [])
    # A condition without a value is refused at its field.
    reader.click("button", "Add condition")
    reader.click("button", "Save in development")
    reader.wait_for(problem, lambda texts: texts == ["Must have at least one value"])
    assert reader.run("return document.activeElement.name") == "values"
    # Of several check boxes, it is after the last one.
    editor.set("constraints", "contextName", "country")
    reader.click("button", "Save in development")
    reader.wait_for("return document.querySelector('.checks + .problem')?.textContent ?? ''", bool)


def test_a_wrong_share_or_time_is_explained_as_the_form_shows_it(demo: Service, reader: Window) -> None:
    reader.expect("400")
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="Europe/Oslo")
    editor = Editor(demo, reader, "shares", "development")
    problem = "return [...document.querySelectorAll('.problem.sent')].map((one) => one.textContent)"
    for name in ("red", "blue", "green"):
        reader.click("button", "Add variant")
        editor.set("variants", "name", name)
    editor.set("variants", "weight", "150")
    reader.wait_for(problem, lambda texts: texts == ["Must be from 0 to 100 %"])
    editor.set("variants", "weight", "70")
    reader.wait_for(problem, lambda texts: texts == [])
    reader.run(SET.replace("rows.at(-1)", "rows[0]"), "variants", "weight", "60")
    reader.click("button", "Save in development")
    invalid = "const field = document.activeElement; return [field.name, field.validationMessage]"
    assert reader.run(invalid) == ["weight", "The fixed shares are more than 100 % together."]
    reader.run(SET.replace("rows.at(-1)", "rows[0]"), "variants", "weight", "30")
    reader.click("button", "Add step")
    editor.set("steps", "percent", "100")
    editor.set("steps", "at", "2020-12-02T09:00")
    reader.type("Share of users in percent", "20", role="spinbutton")
    reader.click("button", "Save in development")
    # The time of the step before is that of the request.
    later = re.compile(r"Must be later than \d+ \w+ \d{4}, \d\d:\d\d, the time")
    reader.wait_for(problem, lambda texts: later.match(" ".join(texts)))
    reader.wait_for("return document.activeElement.name", lambda name: name == "at")
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="")


def test_operators_in_words_store_what_they_say(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "worded", "development")
    reader.click("button", "Add condition")
    reader.run("""
        const select = document.querySelector('.conditions [name=operator]');
        select.selectedIndex = [...select.options].findIndex((option) => option.text === 'does not contain');
        select.dispatchEvent(new Event('input', { bubbles: true }));
    """)
    editor.set("constraints", "values", "a\nb")
    reader.click("checkbox", "Ignore case")
    editor.says("does not contain a or b (ignoring case)")
    reader.click("button", "Save in development")
    [constraint] = editor.saved()[0]["constraints"]
    wanted = {"operator": "STR_CONTAINS", "values": ["a", "b"], "inverted": True, "caseInsensitive": True}
    assert constraint.items() >= wanted.items()


def test_a_ramp_plan_is_made_and_edited(demo: Service, reader: Window) -> None:
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="Europe/Oslo")
    editor = Editor(demo, reader, "ramped")
    # No step can follow 100 %.
    reader.click("button", "Add step")
    reader.run(
        "document.activeElement.value = 50; document.activeElement.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    editor.says("On for 10 % of users. Then 50 % on")
    reader.run("document.querySelector('[data-list=steps] [data-remove]').click()")
    editor.says("On for everybody")
    reader.type("Share of users in percent", "20", role="spinbutton")
    reader.click("button", "Add step")
    reader.click("button", "Add step")
    days = "return [...document.querySelectorAll('[name=at]')].map((field) => new Date(field.value) - new Date())"
    [first, second] = reader.run(days)
    # Tomorrow at 9, and a week later. A day can be an hour shorter or longer.
    assert 8 <= first / 3600e3 <= 34
    assert reader.run("return document.querySelector('[name=at]').value").endswith("T09:00")
    assert 6.9 <= (second - first) / 86400e3 <= 7.1
    # The first step was left without a share. The second one has the focus.
    editor.says("2 fields to correct")
    remove = "document.querySelector('[data-list=steps] [data-remove]').click()"
    reader.run(remove)
    editor.says("Not complete yet.")
    reader.run(remove)
    for percent, at in (("50", "2096-12-02T09:00"), ("100", "2096-12-04T09:00")):
        reader.click("button", "Add step")
        editor.set("steps", "percent", percent)
        editor.set("steps", "at", at)
    editor.says("On for 20 % of users. Then 50 % on 2 Dec 2096")
    reader.click("button", "Save in production")
    steps = editor.saved()
    assert [step["parameters"]["rollout"] for step in steps] == ["20", "50", "100"]
    assert steps[1]["constraints"][0]["value"] == "2096-12-02T08:00:00.000Z"
    reader.run("document.querySelector('form[data-path$=\"/skip\"]').requestSubmit()")
    reader.wait_for(QUESTION, lambda text: "not only on 2 Dec 2096, 09:00." in text)
    reader.visit(f"{editor.page}/environments/production/strategies/{steps[2]['id']}")
    reader.run("document.querySelectorAll('[data-list=steps] [data-remove]')[0].click()")
    reader.click("button", "Save in production")
    assert [step["parameters"]["rollout"] for step in editor.saved()] == ["20", "100"]
    reader.cdp("Emulation.setTimezoneOverride", timezoneId="")


def test_form_says_that_a_lower_share_switches_no_user_off(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "overruled")
    path = f"{editor.project.features}/overruled/environments/production/strategies"
    first, _ = (editor.project.create(path, {"name": name}) for name in ("flexibleRollout", "default"))
    reader.visit(f"{editor.page}/environments/production/strategies/{first['id']}")
    editor.says("Strategy 2 is on for everybody, so this strategy changes nothing.")
    reader.click("button", "Set 25 %")
    editor.says("On for 25 % of users\nStrategy 2 is on for everybody, so this strategy changes nothing.")
    reader.click("button", "Add variant")
    editor.set("variants", "name", "control")
    editor.says("On for 25 % of users\nStrategy 2 is on for everybody, so this only chooses the variant.")
    # Another type has no ramp plan, but the strategy is the same.
    reader.click("radio", "Standard On for everybody.")
    editor.says("On for everybody\nStrategy 2 is on for everybody, so this only chooses the variant.")
    reader.click("button", "Save in production")
    assert [one["name"] for one in editor.saved()] == ["default", "default"]


def test_segment_is_chosen_by_typing(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "typing")
    reader.type("Add a segment", "nordi", role="combobox")
    # The sentence follows the choice, not what was typed before.
    asked = "return performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/preview')).length"
    reader.wait_for(asked, lambda number: number > 0)
    reader.press("Enter")
    editor.says("in the segment Nordics")
    reader.click("button", "Save in production")
    names = {one["id"]: one["name"] for one in editor.project.get("/api/admin/segments")["segments"]}
    assert [names[number] for number in editor.saved()[0]["segments"]] == ["Nordics"]


def test_type_is_a_link_without_javascript(demo: Service, reader: Window) -> None:
    editor = Editor(demo, reader, "scriptless")
    reader.switch_scripts(on=False)
    reader.visit(reader.path())
    reader.click("link", "IP addresses")
    reader.wait_for_path(f"{editor.page}/environments/production/strategies/new?type=remoteAddress")
    reader.switch_scripts(on=True)
    reader.visit(reader.path())
    assert reader.run("return document.querySelector('[name=name]:checked').value") == "remoteAddress"
    shown = (
        "return [...document.querySelectorAll('form fieldset[data-for]:not([hidden])')].map((one) => one.dataset.for)"
    )
    assert reader.run(shown) == ["remoteAddress"]
