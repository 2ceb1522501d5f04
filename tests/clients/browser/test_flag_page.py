"""The page of a flag in a browser: roll it out, and edit a strategy without losing anything."""

from typing import Any

import pytest

from tests.support.demo import ADMIN
from tests.support.sdk_project import Project
from tests.support.service import Service, wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow
STRATEGIES = "environments/development/strategies"
# Set the first visible field with this name.
FILL = """
const fields = [...document.querySelectorAll('main form [name]')];
const field = fields.find((field) => field.name === arguments[0] && field.checkVisibility());
field.value = arguments[1];
field.dispatchEvent(new Event('input', { bubbles: true }));
"""
SHOWN = """
const fields = [...document.querySelectorAll('main form [name^="parameters."]')];
return fields.filter((field) => field.checkVisibility()).map((field) => [field.name, field.value]);
"""
VARIANT = {"weight": 1, "weightType": "variable", "stickiness": "default"}
# Everything that a form could lose: what it does not show, and what browsers change in fields.
FULL = {
    "name": "flexibleRollout",
    "title": "One\nTwo",
    "parameters": {"rollout": "25", "stickiness": "userId", "groupId": " a\tgroup\r\nwith lines "},
    "constraints": [
        {"contextName": "userId", "operator": "IN", "values": [" 7", "8\n9", "\ufeffx"], "value": "", "inverted": True},
        {"contextName": "userId", "operator": "STR_CONTAINS", "values": ["a", "b"], "value": "c"},
        {"contextName": "userId", "operator": "NUM_GT", "values": ["1"], "value": "5", "caseInsensitive": True},
        {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2025-12-31T23:00:00.500Z"},
        {"contextName": "userId", "operator": "REGEX", "value": " ^\\d+\n$ "},
        {"contextName": "userId", "operator": "IN_CIDR", "values": ["10.0.0.0/8", "::1"]},
        {"contextName": "country", "operator": "NOT_IN", "values": ["SE", "NO"], "inverted": True, "value": "NO"},
        {"contextName": "country", "operator": "STR_ENDS_WITH", "values": ["PT", "NL"], "caseInsensitive": True},
        {"contextName": "appVersion", "operator": "SEMVER_LT", "value": "1.2.3-a.b+c", "inverted": True},
    ],
    "variants": [
        {"name": "blue", "weight": 300, "weightType": "fix", "stickiness": "random"},
        VARIANT | {"name": " red ", "weight": 700, "payload": {"type": "string", "value": "\nfirst\r\nsecond\n"}},
        VARIANT | {"name": "empty", "payload": {"type": "string", "value": ""}},
        VARIANT | {"name": "json", "payload": {"type": "json", "value": '\n{"a":  "</textarea><b>\\u00e9"}'}},
    ],
    "disabled": True,
}


@pytest.fixture
def reader(window: Window, demo_url: str) -> Window:
    """A browser in which an administrator is logged in."""
    window.log_in(demo_url, ADMIN)
    return window


def edit(reader: Window, project: Project, flag: str, strategy: Any, **changes: str) -> Any:
    """Create a flag with a strategy, save the form of the strategy with these changes, and return both records."""
    project.create(project.features, {"name": flag})
    place = f"{project.features}/{flag}/{STRATEGIES}"
    before = project.create(place, strategy)
    page = f"/projects/{project.id}/flags/{flag}"
    reader.visit(f"{page}/{STRATEGIES}/{before['id']}")
    for name, text in changes.items():
        reader.run(FILL, name, text)
    reader.click("button", "Save in development")
    reader.wait_for_path(f"{page}#development")
    return before, project.get(f"{place}/{before['id']}")


@pytest.mark.parametrize("flag", ["checkout-page", "it's-(new)!*"])
def test_flag_is_created_and_rolled_out_to_a_quarter_of_all_users(flag: str, demo: Service, reader: Window) -> None:
    project = Project(demo, f"rollout-{len(flag)}")
    reader.visit(f"/projects/{project.id}")
    reader.click("button", "New flag")
    reader.type("Name", flag)
    reader.click("button", "Create flag")
    reader.wait_for_path(f"/projects/{project.id}/flags/{flag}")
    reader.click("link", "Add strategy in development")
    reader.wait_for("return location.pathname + document.readyState", lambda at: at.endswith("/strategies/newcomplete"))
    reader.run(FILL, "parameters.rollout", "25")
    reader.click("button", "Save in development")
    reader.wait_for_text("25 % of users", "added a strategy to it in")
    reader.click("switch", f"{flag} in development")
    reader.wait_for_text("switched it on in development")
    headers = {"Authorization": project.token("client")}

    def rollouts() -> list[str]:
        features = demo.get("/api/client/features", headers=headers).json["features"]
        enabled = [feature for feature in features if (feature["name"], feature["enabled"]) == (flag, True)]
        return [strategy["parameters"]["rollout"] for feature in enabled for strategy in feature["strategies"]]

    wait_until(lambda: rollouts() == ["25"], "applications got the flag")
    reader.visit(f"/projects/{project.id}")
    reader.click("link", flag)
    reader.wait_for("return decodeURIComponent(location.pathname)", lambda path: path.endswith(f"/flags/{flag}"))


def test_strategy_gets_the_type_that_the_form_shows(demo: Service, reader: Window) -> None:
    project = Project(demo, "typed")
    project.create(project.features, {"name": "typed"})
    page = "/projects/typed/flags/typed"
    reader.visit(f"{page}/{STRATEGIES}/new")
    reader.wait_for("return document.readyState", lambda state: state == "complete")
    reader.click("button", "Add condition")
    reader.run(FILL, "values", "7")
    reader.run(FILL, "title", "The office")
    reader.run(FILL, "parameters.groupId", "mine")
    reader.click("radio", "IP addresses On for clients by their addresses.")
    assert reader.run(SHOWN) == [["parameters.IPs", ""]]
    reader.run(FILL, "parameters.IPs", "10.0.0.1")
    # Nothing that was typed is lost by another choice.
    reader.click("radio", "Gradual rollout On for a share of users, who keep what they got.")
    assert ["parameters.groupId", "mine"] in reader.run(SHOWN)
    reader.click("radio", "Standard On for everybody.")
    assert reader.run(SHOWN) == []
    reader.click("radio", "IP addresses On for clients by their addresses.")
    assert reader.run(SHOWN) == [["parameters.IPs", "10.0.0.1"]]
    reader.click("button", "Save in development")
    reader.wait_for_path(f"{page}#development")
    [strategy] = project.get(f"{project.features}/typed/{STRATEGIES}")
    assert (strategy["name"], strategy["title"]) == ("remoteAddress", "The office")
    assert strategy["parameters"] == {"IPs": "10.0.0.1"}
    assert [constraint["values"] for constraint in strategy["constraints"]] == [["7"]]


def test_strategy_that_is_saved_without_a_change_stays_as_it_is(demo: Service, reader: Window) -> None:
    project = Project(demo, "full")
    before, after = edit(reader, project, "full", FULL)
    assert after == before
    events = project.get("/api/admin/search/events?feature=IS:full")["events"]
    assert "feature-strategy-update" not in [event["type"] for event in events]


def test_parameter_keeps_a_name_that_javascript_uses(demo: Service, reader: Window) -> None:
    project = Project(demo, "odd")
    texts = {"__proto__": "one", "constructor": "two"}
    parameters = [{"name": name, "type": "string"} for name in texts]
    project.create("/api/admin/strategies", {"name": "odd", "parameters": parameters})
    before, after = edit(reader, project, "odd", {"name": "odd", "parameters": texts}, title="Changed")
    assert after == before | {"title": "Changed"}


def test_variants_of_a_flag_are_added_and_removed(demo: Service, reader: Window) -> None:
    project = Project(demo, "variants")
    project.create(project.features, {"name": "variants"})
    path = f"{project.features}/variants/environments/development/variants"
    override = {"contextName": "userId", "values": ["7", " 8"]}
    project.request("PUT", path, [{"name": "blue", "weight": 1000, "overrides": [override]}])
    reader.visit("/projects/variants/flags/variants")
    reader.run("document.getElementById('edit-variants').open = true")
    reader.click("DisclosureTriangle", "The flag in development: blue 100 %")
    reader.click("button", "Add variant")
    reader.run("""
        const row = document.querySelectorAll('[data-list=variants] > [data-item]')[1];
        row.querySelector('[name=name]').value = 'red';
        row.querySelector('button[data-add=overrides]').click();
        row.querySelector('[name=contextName]').value = 'country';
        row.querySelector('[data-list=overrides] [name=values]').value = 'NO\\nSE';
    """)
    reader.click("button", "Save variants in development")
    reader.wait_for_text("The flag in development: blue 50 %, red 50 %")
    blue, red = project.get(path)["variants"]
    assert (blue["overrides"], red["name"]) == ([override], "red")
    assert red["overrides"] == [{"contextName": "country", "values": ["NO", "SE"]}]
    removers = "[data-list=variants] > [data-item] > tr:first-child [data-remove]"
    reader.run("document.querySelectorAll(arguments[0]).forEach((button) => button.click())", removers)
    reader.click("button", "Save variants in development")
    reader.wait_for_text("The flag in development: none")
    assert project.get(path)["variants"] == []


def test_focus_follows_a_strategy_that_moves(demo: Service, reader: Window) -> None:
    project = Project(demo, "order")
    project.create(project.features, {"name": "order"})
    place = f"{project.features}/order/{STRATEGIES}"
    ids = [project.create(place, {"name": "default"})["id"] for _ in range(3)]
    reader.visit("/projects/order/flags/order")
    button = f"{ids[0]}-down"
    reader.run(
        "const button = document.getElementById(arguments[0]);"
        "button.closest('.menu').open = true; button.focus(); button.click();",
        button,
    )
    reader.wait_for_text("changed the order of the strategies")
    # The menu is closed again. Its button has the focus.
    in_menu = (
        "return document.getElementById(arguments[0]).closest('.menu').firstElementChild === document.activeElement"
    )
    assert reader.run(in_menu, button)
    assert [strategy["id"] for strategy in project.get(place)] == [ids[1], ids[0], ids[2]]


def test_flag_is_cloned_and_the_clone_moved(demo: Service, reader: Window) -> None:
    project = Project(demo, "source")
    Project(demo, "target")
    project.create(project.features, {"name": "original"})
    project.create(f"{project.features}/original/{STRATEGIES}", {"name": "default", "title": "For all"})
    reader.visit("/projects/source/flags/original")
    reader.run("document.querySelector('[data-open=clone-flag]').click()")
    reader.run(FILL, "name", "clone")
    reader.run("document.querySelector('#clone-flag form').requestSubmit()")
    reader.wait_for_path("/projects/source/flags/clone")
    reader.wait_for_text("For all")
    reader.run("document.querySelector('[data-open=move-flag]').click()")
    reader.run(FILL, "newProjectId", "target")
    reader.run("document.querySelector('#move-flag form').requestSubmit()")
    reader.wait_for_path("/projects/target/flags/clone")
    reader.wait_for_text("moved it from source to target")
