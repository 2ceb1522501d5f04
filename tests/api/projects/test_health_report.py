"""GET /api/admin/projects/{p}/health-report: the overview, each flag, and how stale they are."""

from datetime import UTC, datetime, timedelta

from sql.database import Connection
from sql.flags import core as flags
from sql.flags import favorites as flag_favorites
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/projects/mobile"


def test_the_health_report_is_the_overview_with_flags_and_counts(
    conn: Connection, world: World, victor: Caller
) -> None:
    now = datetime.now(UTC)
    world.project("mobile", description="An app", naming_pattern=".+", created_at=now - timedelta(days=99))
    world.flag("d-active", "mobile", enabled_in=("production",))
    world.flag("c-old", "mobile", created_at=now - timedelta(days=41))
    world.flag("b-for-good", "mobile", created_at=now - timedelta(days=410), type="permission")
    fixtures.mark_stale(conn, world.flag("a-stale", "mobile", created_at=now - timedelta(days=41)))
    world.flag("archived", "mobile", archived_at=now)
    world.flag("elsewhere")
    flag_favorites.add(conn, victor.id or 0, flags.lock(conn, "mobile", "d-active")["id"])
    overview = victor.get(f"{PATH}/overview").json
    del overview["onboardingStatus"], overview["featureTypeCounts"]
    report = victor.get(f"{PATH}/health-report").json
    found = report.pop("features")
    assert report == overview | {"activeCount": 3, "staleCount": 1, "potentiallyStaleCount": 1}
    assert report["health"] == 50
    assert [flag["name"] for flag in found] == ["a-stale", "b-for-good", "c-old", "d-active"]
    assert [flag["stale"] for flag in found] == [True, False, False, False]
    assert [flag["favorite"] for flag in found] == [False, False, False, True]
    assert [(place["name"], place["enabled"]) for place in found[3]["environments"]] == [
        ("development", False),
        ("production", True),
    ]


def test_a_project_without_flags(world: World, victor: Caller) -> None:
    world.project("mobile")
    report = victor.get(f"{PATH}/health-report").json
    assert (report["features"], report["health"]) == ([], 100)
    assert (report["activeCount"], report["staleCount"], report["potentiallyStaleCount"]) == (0, 0, 0)


def test_favorites_are_those_of_the_caller(conn: Connection, world: World, victor: Caller) -> None:
    world.project("mobile")
    flag_favorites.add(conn, victor.id or 0, world.flag("a", "mobile"))
    report = world.api_key().get(f"{PATH}/health-report").json
    assert (report["favorite"], report["features"][0]["favorite"]) == (False, False)
