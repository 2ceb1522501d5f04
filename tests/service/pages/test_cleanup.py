"""Which flags of a project can be cleaned up, and the page that shows why."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.access import SYSTEM
from sql.database import Connection
from sql.flags import cleanup
from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

PAGE = "/projects/default/cleanup"
ROWS = ".//tbody/tr"
READ_IN_BULK = "UPDATE api_keys SET bulk_read_on = (now() AT TIME ZONE 'UTC')::date WHERE kind = 'frontend'"


def ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def sight(conn: Connection, flag_id: int, first: float, last: float, app: str = "web-shop") -> None:
    """Let an application report a flag, from a number of days ago until another."""
    columns = {"flag_id": flag_id, "environment": "production", "app_name": app}
    fixtures.insert(conn, "flag_sightings", **columns, first_at=ago(first), last_at=ago(last))


def old_flag(world: World, name: str = "f", seen: float | None = None, days: float = 70, **fields: Any) -> int:
    """Create a flag of a type without a lifetime. seen: days since an application asked last."""
    flag = world.flag(name, **{"type": "kill-switch", "created_at": ago(days)} | fields)
    if seen is not None:
        sight(world.conn, flag, 70, seen)
    return flag


def record(conn: Connection, kind: str, days: float, name: str, environment: str | None = None) -> None:
    """Record an event of a flag, some days ago."""
    fixtures.record(conn, kind, SYSTEM, created_at=ago(days), feature=name, project="default", environment=environment)


def found(conn: Connection) -> dict[str, str]:
    """Return the reason of each flag to clean up, by name."""
    page = json.loads(cleanup.list_flags(conn, "default", 1, 50, 0))
    assert cleanup.count(conn, ["default"]).get("default", 0) == sum(page["counts"].values()) == len(page["flags"])
    return {flag["name"]: flag["reason"] for flag in page["flags"]}


@pytest.mark.parametrize(
    ("fields", "seen", "reason"),
    [
        ({"stale_since": "yesterday", "type": "release"}, 0, "stale"),
        ({"type": "release"}, 0, "old"),
        ({"type": "release", "days": 39}, 0, None),
        ({}, 31, "unused"),
        ({}, 29, None),
        ({"days": 31}, None, "never"),
        ({"days": 29}, None, None),
        ({"archived_at": "now"}, 31, None),
    ],
)
def test_reason(world: World, conn: Connection, fields: dict[str, Any], seen: float | None, reason: str | None) -> None:
    old_flag(world, "used", 0)
    old_flag(world, seen=seen, **fields)
    assert found(conn) == ({} if reason is None else {"f": reason})


def test_no_flag_is_never_used_before_applications_report_the_project(world: World, conn: Connection) -> None:
    old_flag(world)
    other = old_flag(world, "other")
    assert found(conn) == {}
    sight(conn, other, 29, 0)
    assert found(conn) == {}
    sight(conn, other, 31, 0, app="mobile")
    assert found(conn) == {"f": "never"}


@pytest.mark.parametrize("type", ["permission", "sunset"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE flags SET type = 'kill-switch'",
        "UPDATE flag_environments SET enabled = false",
        'UPDATE strategies SET parameters = \'{"rollout": "99"}\'',
        "UPDATE strategies SET constraints = '[{}]'",
        "UPDATE strategies SET name = 'userWithId'",
        "INSERT INTO segments (id, name) VALUES (1, 's'); INSERT INTO strategy_segments SELECT id, 1 FROM strategies",
        "INSERT INTO variants (flag_id, environment, name, weight) SELECT id, 'production', 'a', 1000 FROM flags",
        "UPDATE events SET created_at = now() - interval '59 days' WHERE feature_name = 'f'",
        # Nothing is known about the time before the oldest event.
        "DELETE FROM events WHERE created_at < now() - interval '1 day'",
        "UPDATE environments SET type = 'test'",
        "INSERT INTO flag_dependencies (child_id, parent_id) SELECT flags.id, used.id FROM flags, flags AS used "
        "WHERE flags.name = 'f' AND used.name = 'used'",
    ],
)
def test_everybody(world: World, conn: Connection, type: str, change: str) -> None:
    flag = old_flag(world, seen=0, type=type, enabled_in=("production",))
    world.strategy(flag, "production", parameters={"rollout": "100"})
    for days, name in ((61, "f"), (200, "g")):
        record(conn, "feature-environment-enabled", days, name, "production")
    old_flag(world, "used", 0, days=1)
    assert found(conn) == {"f": "everybody"}
    conn.execute(change)  # pyright: ignore
    assert found(conn) == {}


def test_count_of_several_projects(world: World, conn: Connection) -> None:
    world.project("other")
    for name, project in (("a", "default"), ("b", "other"), ("c", "other")):
        world.flag(name, project, stale_since=ago(1))
    assert cleanup.count(conn, ["default", "other", "missing"]) == {"default": 1, "other": 2}


def test_each_flag_has_its_evidence(world: World, conn: Connection, alice: Caller) -> None:
    old_flag(world, "used", 3)
    old_flag(world, "forgotten", 40)
    old_flag(world, "untouched")
    old_flag(world, "decided", 3, stale_since=ago(12))
    record(conn, "feature-stale-on", 12, "decided")
    released = old_flag(world, "released", 3, type="release", enabled_in=("production",))
    world.strategy(released, "production", name="default")
    used = old_flag(world, "narrow", 3, stale_since=ago(1), enabled_in=("production",))
    world.strategy(used, "production", name="default", constraints=[{}])
    record(conn, "feature-created", 70, "released")
    page = open_page(alice, PAGE)
    old, seen = (f"{day.day} {day:%b %Y}" for day in (ago(70), ago(40)))
    assert page.texts(f"{ROWS}/th") == [
        "Stale 2 The decision is made. They lower the health of the project.",
        "Too old for their type 1 Flags of these types should not live so long. They lower the health too.",
        "Not asked for in 30 days 1 Applications used them before.",
        "Never used 1 No application has ever asked, though applications ask for other flags.",
    ]
    cells = [text for text in page.texts(f"{ROWS}/td") if text]
    assert [cells[row : row + 5] for row in range(0, len(cells), 5)] == [
        ["decided", "Marked as stale by system 12 d ago", "kill-switch", "off", "web-shop asked 3 d ago"],
        ["narrow", "Marked as stale 1 d ago", "kill-switch", "some", "web-shop asked 3 d ago"],
        [
            *("released", f"Created {old} , should live 40 days, on for everybody since {old}", "release", "all"),
            "web-shop asked 3 d ago",
        ],
        ["forgotten", f"Last asked for {seen}", "kill-switch", "off", f"no application since {seen}"],
        ["untouched", f"Created {old}", "kill-switch", "off", "no application ever"],
    ]
    # The question before archiving says it too.
    assert [box.get("data-risk") for box in page.all(f"{ROWS}//input")] == [f"{text}." for text in cells[4::5]]
    assert "5 flags can probably go." in page.text
    assert page.links["Clean up 5"] == PAGE


def test_flags_that_pages_may_read_in_bulk_are_not_called_unused(world: World, conn: Connection, alice: Caller) -> None:
    old_flag(world, "used", 0)
    old_flag(world, seen=31)
    world.project("other")
    world.api_key("frontend", projects=["other"])
    conn.execute(READ_IN_BULK)
    assert found(conn) == {"f": "unused"}
    world.api_key("frontend")
    conn.execute(READ_IN_BULK)
    assert found(conn) == {"f": "bulk"}
    page, today = open_page(alice, PAGE), datetime.now(UTC)
    assert "Perhaps used by pages 1" in page.text
    assert page.texts(f"{ROWS}/td")[-1] == f"read in bulk by a page on {today.day} {today:%b}"
    conn.execute("UPDATE api_keys SET bulk_read_on = bulk_read_on - 30")
    assert found(conn) == {"f": "unused"}


def test_a_project_without_such_flags(world: World, alice: Caller) -> None:
    old_flag(world, "used", 0)
    page = open_page(alice, PAGE)
    assert (page.all(ROWS), page.links["See these names"]) == ([], "/admin/applications")
    assert "Nothing to clean up." in page.text


def test_readers_without_permissions_select_nothing(world: World, alice: Caller, victor: Caller) -> None:
    world.flag("f", stale_since="now")
    assert open_page(victor, PAGE).all(".//input") == []
    api = "/api/admin/projects/default"
    assert {("POST", f"{api}/archive"), ("POST", f"{api}/stale")} <= open_page(alice, PAGE).requests
    assert open_page(alice, "/insights").links["Default 1"] == PAGE


@pytest.mark.parametrize("tab", ["", "/environments", "/compare", "/access", "/tokens", "/archive", "/settings"])
def test_all_tabs_show_the_number(world: World, alice: Caller, tab: str) -> None:
    world.flag("f", stale_since="now")
    assert open_page(alice, f"/projects/default{tab}").links["Clean up 1"] == PAGE


def test_long_lists_have_pages(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"f{number:02}", stale_since="now")
    page = open_page(alice, PAGE)
    assert (len(page.all(f"{ROWS}/td/input")), page.links["Next"]) == (50, "?offset=50")
    assert open_page(alice, f"{PAGE}?offset=50").texts(f"{ROWS}/th")[0].startswith("Stale 51 ")
    assert "There are no flags on this page" in open_page(alice, f"{PAGE}?offset=100").text
