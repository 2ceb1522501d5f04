"""GET /api/admin/projects: which callers see which projects, their order, and each property."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.database import rows
from sql.people import groups
from sql.projects import favorites as project_favorites
from sql.projects.list import LIST
from tests.support import fixtures
from tests.support.world import Caller

PATH = "/api/admin/projects"
THEN = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def listed(caller: Caller, query: str = "") -> dict[str, dict[str, Any]]:
    """The projects that a caller sees, by id."""
    answer: Any = caller.get(PATH + query)
    assert (answer.status_code, answer.json["version"]) == (200, 1)
    return {project["id"]: project for project in answer.json["projects"]}


def test_projects_are_sorted_by_name_and_have_all_properties(world, victor):
    bare = {
        "id": "b",
        "name": "B",
        "mode": "open",
        "health": 100,
        "featureCount": 0,
        "memberCount": 0,
        "createdAt": "2026-01-02T03:04:05.678Z",
        "archivedAt": None,
        "lastUpdatedAt": None,
        "lastReportedFlagUsage": None,
        "favorite": False,
        "owners": [{"ownerType": "system"}],
    }
    for project_id, name in (("c", "B"), ("b", "B"), ("a", "C")):
        world.project(project_id, name=name, created_at=THEN)
    world.project("d", name="A", description="An app")
    found = listed(victor)
    assert list(found) == ["d", "b", "c", "a", "default"]
    assert found["b"] == bare
    assert found["d"]["description"] == "An app"


def test_archived_projects_are_listed_separately(conn, world, victor):
    world.project("old", archived_at=THEN)
    for query in ("", "?archived=false", "?archived=", "?archived=TRUE", "?archived=1", "?other=true"):
        assert list(listed(victor, query)) == ["default"], query
    found = listed(victor, "?archived=true")
    assert {key: project["archivedAt"] for key, project in found.items()} == {"old": "2026-01-02T03:04:05.678Z"}
    assert victor.get(f"{PATH}?archived=true&archived=true").status_code == 400
    conn.execute("UPDATE projects SET archived_at = now()")
    assert victor.get(PATH).json == {"version": 1, "projects": []}


def test_private_projects_are_hidden_from_others(conn, world, victor, olga, max, eve):
    world.project("shared", mode="private")
    world.project("vault", mode="protected")
    ada = world.user("Ada")
    group = groups.insert(conn, "Guests")
    fixtures.add_group_user(conn, group, ada.id or 0)
    fixtures.add_project_group(conn, "shared", group, 5)
    seen = {"victor": victor, "olga": olga, "max": max, "ada": ada, "eve": eve, "key": world.api_key()}
    assert {name: set(listed(caller)) - {"default", "vault"} for name, caller in seen.items()} == {
        "victor": set(),
        "olga": {"apollo"},
        "max": {"apollo"},
        "ada": {"shared"},
        "eve": {"apollo", "shared"},
        "key": {"apollo", "shared"},
    }
    assert all({"default", "vault"} <= listed(caller).keys() for caller in seen.values())


def test_flags_members_and_favorites_are_counted_as_in_the_overview(conn, world, victor, max, olga):
    now = datetime.now(UTC)
    world.project("mobile")
    world.flag("active", "mobile")
    world.flag("old", "mobile", created_at=now - timedelta(days=41))
    world.flag("for-good", "mobile", created_at=now - timedelta(days=410), type="kill-switch")
    world.flag("stale", "mobile", stale_since=now)
    world.flag("archived", "mobile", archived_at=now)
    world.flag("elsewhere")
    group = groups.insert(conn, "Team")
    for user in (victor, max):
        fixtures.add_group_user(conn, group, user.id or 0)
    for role in (5, 4):
        fixtures.add_project_group(conn, "mobile", group, role)
    for user, role in ((max, 5), (olga, 4), (olga, 5)):
        world.member("mobile", user, role)
    project_favorites.add(conn, victor.id, "mobile")
    properties = ("featureCount", "health", "memberCount", "favorite")
    found = {name: tuple(project[key] for key in properties) for name, project in listed(victor).items()}
    assert found == {"mobile": (4, 50, 3, True), "default": (1, 100, 0, False)}
    overview = victor.get(f"{PATH}/mobile/overview").json
    assert (overview["health"], overview["members"], overview["favorite"]) == (50, 3, True)
    for caller in (max, world.api_key()):
        assert listed(caller)["mobile"]["favorite"] is False


def test_owners_are_sorted_by_date(conn, world, victor):
    world.project("mobile")
    ada, nameless = world.user("Ada"), world.user("Bob")
    group = groups.insert(conn, "Team")
    world.member("mobile", ada, 4, created_at=THEN + timedelta(days=2))
    world.member("mobile", victor, 5, created_at=THEN)
    world.member("mobile", nameless, 4, created_at=THEN)
    fixtures.add_project_group(conn, "mobile", group, 4, created_at=THEN + timedelta(days=1))
    fixtures.update(conn, "users", ada.id or 0, image_url="https://example.org/ada.png")
    fixtures.update(conn, "users", nameless.id or 0, name=None, email=None)
    assert listed(victor)["mobile"]["owners"] == [
        {"ownerType": "user", "name": "bob", "email": None, "imageUrl": None},
        {"ownerType": "group", "name": "Team"},
        {"ownerType": "user", "name": "Ada", "email": "ada@example.org", "imageUrl": "https://example.org/ada.png"},
    ]


def test_dates_are_those_of_the_newest_event_and_the_newest_usage(conn, world, victor):
    world.project("mobile")
    usage = {"flag": "f", "environment": "production", "app": "a", "yes": 1, "no": 0}
    for project, days in (("mobile", 3), ("mobile", 5), ("mobile", 4), ("default", 9)):
        at = THEN + timedelta(days=days)
        fixtures.insert(conn, "events", type="project-updated", created_by="x", project=project, created_at=at)
        fixtures.report_usage(conn, [usage | {"project": project, "at": at + timedelta(hours=1)}])
    found = listed(victor)["mobile"]
    dates = (found["lastUpdatedAt"], found["lastReportedFlagUsage"])
    assert dates == ("2026-01-07T03:04:05.678Z", "2026-01-07T04:00:00.000Z")


@pytest.mark.usefixtures("app")
def test_the_list_does_not_scan_the_events(conn):
    for number in range(20):
        fixtures.insert_project(conn, f"p{number}", "P")
    conn.execute("""
        INSERT INTO events (type, created_by, project, created_at)
        SELECT 'project-updated', 'x', 'p' || n % 20, now() - n * interval '1 minute'
          FROM generate_series(1, 20000) AS n""")
    conn.execute("ANALYZE events")
    plan = rows(conn, "EXPLAIN " + LIST, {"archived": False, "viewer": 1, "user_id": 1, "owner": 4})  # pyright: ignore
    lines = [row["QUERY PLAN"] for row in plan]
    assert any("events_project_idx" in line for line in lines), lines
    assert not any("Seq Scan on events" in line for line in lines), lines
