"""The status of a project."""

from datetime import timedelta

import pytest

from rules.access import SYSTEM
from sql.database import value
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/projects/default/status"


@pytest.fixture(autouse=True)
def now(world: World):
    """The time of the transaction. No event has been recorded before."""
    world.conn.execute("DELETE FROM events")
    return value(world.conn, "SELECT now()")


def test_a_new_project_has_nothing_to_report(world: World, alice: Caller) -> None:
    world.project("apollo")
    empty = {"averageDays": None, "currentFlags": 0}
    assert alice.get("/api/admin/projects/apollo/status").json == {
        "resources": {"members": 0, "apiTokens": 0, "segments": 0},
        "activityCountByDate": [],
        "health": {"current": 100},
        "technicalDebt": {"current": 0},
        "lifecycleSummary": {
            **dict.fromkeys(("initial", "preLive", "live", "completed"), empty),
            "archived": {"currentFlags": 0, "last30Days": 0},
        },
        "staleFlags": {"total": 0},
    }


def test_stages_have_their_mean_days(world: World, alice: Caller, now) -> None:
    def flag(name: str, age: int, used_after: int | None = None, **fields) -> int:
        flag_id = world.flag(name, created_at=now - timedelta(days=age), **fields)
        if used_after is not None:
            at = now - timedelta(days=age - used_after)
            sighting = {"flag_id": flag_id, "environment": "development", "app_name": "a"}
            fixtures.insert(world.conn, "flag_sightings", **sighting, first_at=at, last_at=now)
        return flag_id

    flag("unused", 9)
    flag("used-early", 9, used_after=2)
    flag("used-late", 9, used_after=4)
    flag("completed", 20, used_after=12, completed_at=now - timedelta(days=3), completed_status="kept")
    for name, days in (("recent", 29), ("old", 31)):
        flag(name, 40, archived_at=now - timedelta(days=days))
    deleted = flag("deleted", 40, archived_at=now)
    fixtures.update(world.conn, "flags", deleted, deleted_at=now)
    world.project("hermes")
    world.flag("elsewhere", "hermes")
    counts = {"initial": 1, "preLive": 2, "live": 0, "completed": 1, "archived": 2}
    assert alice.get(PATH).json["lifecycleSummary"] == {
        # 2, 4, 12, 9 and 11 days: those of the flags that have left the stage.
        "initial": {"averageDays": 8, "currentFlags": 1},
        "preLive": {"averageDays": 5, "currentFlags": 2},
        "live": {"averageDays": None, "currentFlags": 0},
        "completed": {"averageDays": None, "currentFlags": 1},
        "archived": {"currentFlags": 2, "last30Days": 1},
    }
    assert alice.get("/api/admin/lifecycle/count").json == counts | {"initial": 2}


def test_stages_of_hidden_projects_are_not_counted(world: World, alice: Caller, victor: Caller) -> None:
    world.project("apollo", mode="private")
    world.flag("secret", "apollo")
    assert [caller.get("/api/admin/lifecycle/count").json["initial"] for caller in (alice, victor)] == [1, 0]


def test_health_counts_flags_to_clean_up(world: World, alice: Caller, now) -> None:
    world.flag("active")
    world.flag("also-active")
    world.flag("stale", stale_since=now)
    world.flag("expired", created_at=now - timedelta(days=41))
    world.flag("archived", stale_since=now, archived_at=now)
    status = alice.get(PATH).json
    assert (status["health"], status["technicalDebt"]) == ({"current": 50}, {"current": 50})
    assert status["staleFlags"] == {"total": 2}


def test_events_are_counted_by_day(world: World, alice: Caller, now) -> None:
    for days in (0, 3, 3, 400):
        fixtures.record(world.conn, "project-updated", SYSTEM, created_at=now - timedelta(days=days), project="default")
    fixtures.record(world.conn, "project-updated", SYSTEM, project="hermes")
    days = [(now - timedelta(days=days)).date().isoformat() for days in (3, 0)]
    assert alice.get(PATH).json["activityCountByDate"] == [
        {"date": days[0], "count": 2},
        {"date": days[1], "count": 1},
    ]


def test_resources_are_those_of_the_project(world: World, alice: Caller, eve: Caller) -> None:
    world.member("default", eve)
    world.api_key("client", projects=["default"])
    world.api_key("client")
    assert alice.post("/api/admin/segments", json={"name": "s", "constraints": []}).status_code == 201
    body = {"name": "own", "constraints": [], "project": "default"}
    assert alice.post("/api/admin/segments", json=body).status_code == 201
    assert alice.get(PATH).json["resources"] == {"members": 1, "apiTokens": 1, "segments": 1}
