"""Two environments side by side, of a flag and of a project."""

import json
from typing import Any, LiteralString

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection
from sql.flags import comparison
from tests.support import fixtures
from tests.support.page import Page, open_page
from tests.support.roles import make as make_role
from tests.support.world import Caller, World, refused

PROJECT = "/projects/default/compare"
FLAG = "/projects/default/flags/checkout/compare"
PARAMETERS = {"rollout": "25", "groupId": "g", "stickiness": "userId"}
SIDES = "?left=development&right=production"


@pytest.fixture(autouse=True)
def checkout(world: World) -> int:
    """A flag that is on for a quarter of the users in development, and for everybody in production."""
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, parameters=PARAMETERS, constraints=[])
    world.strategy(flag, "production", parameters=PARAMETERS | {"rollout": "100"}, constraints=[])
    return flag


def cells(page: Page) -> list[list[str]]:
    """The texts of the rows: the head, left, copies and right."""
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in page.all(".//tbody/tr")]


def copies(page: Page) -> dict[str, tuple[Any, dict[str, str]]]:
    """The bodies of the forms that copy, and their attributes, by the label of the button."""
    return {
        form.find("button").get("aria-label"): (json.loads(form.get("data-body")), form.attrib)  # pyright: ignore
        for form in page.all(".//form[@data-send='POST']")
        if "/copy" in form.get("data-path", "")
    }


def test_rows_of_a_flag_say_what_differs(world: World, alice: Caller, checkout: int) -> None:
    world.strategy(checkout, name="default", parameters={}, constraints=[], sort_order=1)
    page = open_page(alice, FLAG + SIDES)
    both = "Copy strategies to development Copy strategies to production…"
    assert [row[:2] + row[-1:] for row in cells(page)] == [
        ["State", "on", "off"],
        ["Strategy 1", "On for 25 % of users", "On for everybody"],
        ["Strategy 2", "On for everybody", "none"],
        ["All strategies", both, both],
    ]
    assert [row.get("class") for row in page.all(".//tbody/tr")] == [None] * 4
    marked = ["on", "off", "On for 25 % of users", "On for everybody", "On for everybody", "none"]
    assert page.texts(".//tbody//mark") == marked
    assert "3 of 3 rows differ" in page.text
    found = copies(page)
    assert found["Copy strategies to production… for checkout"][0] == {
        **{"from": "development", "strategies": True, "variants": False, "enabled": False}
    }
    asked = found["Copy everything to production… for checkout"][1]
    assert "data-production" in asked
    assert asked["data-confirm"] == (
        "In production, checkout gets everything of development: on · On for 25 % of users; or On for everybody."
    )
    assert "data-confirm" not in found["Copy state to development for checkout"][1]
    assert alice.post(asked["data-path"], json=json.loads(asked["data-body"])).status_code == 200
    page = open_page(alice, FLAG + SIDES)
    assert ("0 of 3 rows differ" in page.text, copies(page)) == (True, {})


def test_differences_that_no_sentence_shows_are_named(world: World, alice: Caller) -> None:
    other = json.dumps(PARAMETERS | {"rollout": "100", "groupId": "h"})
    world.conn.execute("UPDATE strategies SET parameters = %s::json WHERE environment = 'development'", [other])
    assert cells(open_page(alice, FLAG + SIDES))[1][-1] == "On for everybody (other parameters)"


def test_variants_are_those_of_the_flag_and_of_strategies(world: World, alice: Caller, checkout: int) -> None:
    first = world.strategy(checkout, parameters=PARAMETERS, constraints=[], sort_order=-1)
    world.strategy(checkout, name="default", parameters={}, constraints=[], sort_order=1)
    for strategy, name in ((first, "blue"), (None, "red")):
        fixtures.insert_variant(world.conn, checkout, "development", strategy, name=name, weight=1000)
    rows = [row[:2] + row[-1:] for row in cells(open_page(alice, FLAG + SIDES))]
    assert rows[1] == ["Strategy 1", "Variant for 25 % of users, with blue 100 %", "On for everybody"]
    assert rows[-1] == ["Flag's own variants", "red 100 %", "none"]


def test_production_is_compared_with_its_neighbour_by_default(alice: Caller) -> None:
    for query in ("", "?left=nowhere&right=nowhere", "?left=production&right=production"):
        page = open_page(alice, FLAG + query)
        assert [option.text for option in page.all(".//option[@selected]")] == ["development", "production"]


def test_readers_see_copies_only_if_they_may_copy(world: World, alice: Caller, victor: Caller) -> None:
    assert copies(open_page(victor, FLAG)) == copies(open_page(victor, PROJECT)) == {}
    names = ("UPDATE_FEATURE_ENVIRONMENT", "UPDATE_FEATURE_STRATEGY")
    permissions = [{"name": name, "environment": "production"} for name in names]
    world.member("default", victor, make_role(alice, permissions=permissions))
    assert [*copies(open_page(victor, FLAG))] == ["Copy state to production… for checkout"]


def test_project_lists_the_flags_that_differ(world: World, alice: Caller, conn: Connection) -> None:
    world.flag("same")
    fixtures.insert_variant(conn, world.flag("varied"), "production", None, name="blue", weight=1000)
    world.flag("gone", enabled_in=("production",), archived_at="2026-05-01T00:00:00Z")
    page = open_page(alice, PROJECT + SIDES)
    assert [row[:2] + row[-1:] for row in cells(page)] == [
        ["checkout", "on · On for 25 % of users", "off · On for everybody"],
        ["varied", "off · no variants", "off · blue 100 %"],
    ]
    assert "2 of 3 flags differ" in page.text
    asked = copies(page)["Copy to production… for checkout"][1]
    assert alice.post(asked["data-path"], json=json.loads(asked["data-body"])).status_code == 200
    assert [row[0] for row in cells(open_page(alice, PROJECT + SIDES))] == ["varied"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE strategies SET name = 'default'",
        "UPDATE strategies SET title = 'T'",
        "UPDATE strategies SET disabled = true",
        "UPDATE strategies SET parameters = '{}'",
        "UPDATE strategies SET constraints = '[{}]'",
        "WITH added AS (INSERT INTO segments (name) VALUES ('s') RETURNING id) "
        "INSERT INTO strategy_segments SELECT 'it', id FROM added",
        "INSERT INTO variants (flag_id, environment, strategy_id, name, weight) "
        "SELECT flag_id, environment, id, 'v', 1000 FROM strategies WHERE id = 'it'",
    ],
)
def test_each_difference_of_strategies_is_found(world: World, alice: Caller, change: LiteralString) -> None:
    twin = world.flag("twin")
    for environment, id in (("development", "other"), ("production", "it")):
        world.strategy(twin, environment, strategy_id=id, parameters=PARAMETERS, constraints=[])
    assert "1 of 2 flags differ" in open_page(alice, PROJECT).text
    world.conn.execute(change + (" WHERE id = 'it'" if change.startswith("UPDATE") else ""))
    assert comparison.list_flags(world.conn, "default", "development", "production")[-1]["name"] == "twin"


def test_long_lists_of_differences_have_pages(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"flag-{number:02}", enabled_in=("production",))
    assert len(cells(open_page(alice, PROJECT))) == 50
    # After the end, for example when the last flag of a page was copied, it is the last page.
    for offset in (50, 100):
        page = open_page(alice, f"{PROJECT}{SIDES}&offset={offset}")
        assert ([row[0] for row in cells(page)], "51 to 52 of 52" in page.text) == (["flag-49", "flag-50"], True)


def test_project_with_one_environment_has_nothing_to_compare(world: World, alice: Caller) -> None:
    world.conn.execute("DELETE FROM project_environments WHERE environment = 'development'")
    for path in (FLAG, PROJECT):
        assert "fewer than two environments" in open_page(alice, path, 404).text


def test_unknown_flag_is_404(alice: Caller) -> None:
    assert open_page(alice, FLAG.replace("checkout", "unknown"), 404).status == 404


@pytest.mark.parametrize("changed", ["development", "production"])
@pytest.mark.parametrize("part", ["strategies", "variants", "state"])
def test_copy_is_refused_if_a_side_has_changed_meanwhile(
    alice: Caller, conn: Connection, changed: str, part: str
) -> None:
    api = f"/api/admin/projects/default/features/checkout/environments/{changed}"
    strategy = conn.execute("SELECT id FROM strategies WHERE environment = %s", [changed]).fetchone()
    assert strategy

    def copy() -> TestResponse:
        body, form = copies(page)["Copy to production… for checkout"]
        headers = {"If-Match": f'"{form["data-if-match"]}"'}
        return alice.post(form["data-path"], json=body, headers=headers)

    page = open_page(alice, PROJECT + SIDES)
    if part == "strategies":
        answer = alice.put(f"{api}/strategies/{strategy['id']}", json={"parameters": PARAMETERS | {"rollout": "99"}})
    elif part == "variants":
        answer = alice.put(f"{api}/variants", json=[{"name": "red", "weight": 1000}])
    else:
        answer = alice.post(f"{api}/{'off' if changed == 'development' else 'on'}")
    assert answer.status_code == 200
    refused(copy(), 412, "PreconditionFailedError")
    page = open_page(alice, PROJECT + SIDES)
    assert copy().status_code == 200
