"""GET /api/admin/projects: who sees which, in which order, and each number of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from sql.database import Connection, rows
from sql.people import groups
from sql.projects import favorites as project_favorites
from sql.projects.list import LIST
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/projects"
THEN = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def listed(caller: Caller, query: str = "") -> dict[str, dict[str, Any]]:
    """The projects that a caller sees, by id."""
    answer = caller.get(PATH + query)
    assert answer.status_code == 200
    return {project["id"]: project for project in answer.json["projects"]}


def test_a_project_that_nothing_was_done_with(world: World, victor: Caller) -> None:
    world.project("mobile", name="Mobile", created_at=THEN)
    answer = victor.get(PATH)
    assert answer.json["version"] == 1
    assert answer.json["projects"][1] == {
        "id": "mobile",
        "name": "Mobile",
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


def test_terraform_finds_no_null_where_there_is_no_description(world: World, victor: Caller) -> None:
    world.project("mobile", description="An app")
    world.project("web")
    found = listed(victor)
    assert found["mobile"]["description"] == "An app"
    assert "description" not in found["web"]
    assert all(project.keys() >= {"id", "name", "mode"} for project in found.values())


def test_projects_come_by_name_and_equal_names_by_id(world: World, victor: Caller) -> None:
    for project_id, name in (("c", "B"), ("b", "B"), ("a", "C"), ("d", "A")):
        world.project(project_id, name=name)
    assert list(listed(victor)) == ["d", "b", "c", "a", "default"]


def test_archived_projects_are_listed_apart(world: World, victor: Caller) -> None:
    world.project("old", archived_at=THEN)
    assert list(listed(victor)) == ["default"]
    for query in ("?archived=false", "?archived=", "?archived=TRUE", "?archived=1", "?other=true"):
        assert list(listed(victor, query)) == ["default"], query
    found = listed(victor, "?archived=true")
    assert {key: project["archivedAt"] for key, project in found.items()} == {"old": "2026-01-02T03:04:05.678Z"}
    assert victor.get(f"{PATH}?archived=true&archived=true").status_code == 400


def test_private_projects_are_hidden_from_others(
    conn: Connection, world: World, victor: Caller, olga: Caller, max: Caller, eve: Caller
) -> None:
    world.project("shared", mode="private")
    world.project("vault", mode="protected")
    ada = world.user("Ada")
    group = groups.insert(conn, "Guests")
    fixtures.add_group_user(conn, group, ada.id or 0)
    fixtures.add_project_group(conn, "shared", group, 5)
    everybody = {"default", "vault"}
    seen = {"victor": victor, "olga": olga, "max": max, "ada": ada, "eve": eve, "key": world.api_key()}
    assert {name: set(listed(caller)) - everybody for name, caller in seen.items()} == {
        "victor": set(),
        "olga": {"apollo"},
        "max": {"apollo"},
        "ada": {"shared"},
        "eve": {"apollo", "shared"},
        "key": {"apollo", "shared"},
    }
    assert all(everybody <= set(listed(caller)) for caller in seen.values())


def test_flags_and_their_health(conn: Connection, world: World, victor: Caller) -> None:
    now = datetime.now(UTC)
    world.project("mobile")
    world.flag("active", "mobile")
    world.flag("old", "mobile", created_at=now - timedelta(days=41))
    world.flag("for-good", "mobile", created_at=now - timedelta(days=410), type="kill-switch")
    fixtures.mark_stale(conn, world.flag("stale", "mobile"))
    world.flag("archived", "mobile", archived_at=now)
    world.flag("elsewhere")
    found = listed(victor)
    assert (found["mobile"]["featureCount"], found["mobile"]["health"]) == (4, 50)
    assert (found["default"]["featureCount"], found["default"]["health"]) == (1, 100)
    overview = victor.get(f"{PATH}/mobile/overview").json
    assert overview["health"] == 50


def test_members_are_those_of_the_overview(
    conn: Connection, world: World, victor: Caller, max: Caller, olga: Caller
) -> None:
    world.project("mobile")
    group = groups.insert(conn, "Team")
    for user in (victor, max):
        fixtures.add_group_user(conn, group, user.id or 0)
    fixtures.add_project_group(conn, "mobile", group, 5)
    fixtures.add_project_group(conn, "mobile", group, 4)
    for user, role in ((max, 5), (olga, 4), (olga, 5)):
        world.member("mobile", user, role)
    assert listed(victor)["mobile"]["memberCount"] == 3
    assert victor.get(f"{PATH}/mobile/overview").json["members"] == 3


def test_owners_come_in_the_order_in_which_they_became_that(conn: Connection, world: World, victor: Caller) -> None:
    world.project("mobile")
    ada = world.user("Ada")
    nameless = world.user("Bob")
    group = groups.insert(conn, "Team")
    world.member("mobile", ada, 4, created_at=THEN + timedelta(days=2))
    world.member("mobile", victor, 5, created_at=THEN)
    world.member("mobile", nameless, 4, created_at=THEN)
    fixtures.add_project_group(conn, "mobile", group, 4, created_at=THEN + timedelta(days=1))
    conn.execute("UPDATE users SET image_url = 'https://example.org/ada.png' WHERE id = %s", [ada.id])
    conn.execute("UPDATE users SET name = NULL, email = NULL WHERE id = %s", [nameless.id])
    assert listed(victor)["mobile"]["owners"] == [
        {"ownerType": "user", "name": "bob", "email": None, "imageUrl": None},
        {"ownerType": "group", "name": "Team"},
        {"ownerType": "user", "name": "Ada", "email": "ada@example.org", "imageUrl": "https://example.org/ada.png"},
    ]


def test_the_newest_event_and_the_newest_usage(conn: Connection, world: World, victor: Caller) -> None:
    world.project("mobile")
    for project, days in (("mobile", 3), ("mobile", 5), ("mobile", 4), ("web", 9)):
        statement = "INSERT INTO events (type, created_by, project, created_at) VALUES ('project-updated', 'x', %s, %s)"
        conn.execute(statement, [project, THEN + timedelta(days=days)])
        seen = THEN + timedelta(days=days, hours=1)
        if project == "mobile":
            reports = [
                {
                    "project": project,
                    "flag": "f",
                    "environment": "production",
                    "app": "a",
                    "at": seen,
                    "yes": 1,
                    "no": 0,
                }
            ]
            fixtures.report_usage(conn, reports)
    found = listed(victor)["mobile"]
    assert found["lastUpdatedAt"] == "2026-01-07T03:04:05.678Z"
    assert found["lastReportedFlagUsage"] == "2026-01-07T04:00:00.000Z"


def test_a_favorite_is_that_of_the_caller(conn: Connection, world: World, victor: Caller, eve: Caller) -> None:
    project_favorites.add(conn, victor.id or 0, "default")
    assert [listed(caller)["default"]["favorite"] for caller in (victor, eve, world.api_key())] == [True, False, False]


def test_an_instance_can_be_without_projects(conn: Connection, victor: Caller) -> None:
    conn.execute("UPDATE projects SET archived_at = now()")
    assert victor.get(PATH).json == {"version": 1, "projects": []}


def test_the_list_does_not_read_the_log(app: Flask, conn: Connection) -> None:  # noqa: ARG001
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


@pytest.mark.parametrize("query", ["?archived=true", ""])
def test_the_list_is_one_statement(
    conn: Connection, victor: Caller, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    victor.get(PATH)
    asked: list[str] = []
    execute = type(conn).execute

    def counted(self: Connection, statement: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(statement)
        return execute(self, statement, *args, **kwargs)

    monkeypatch.setattr(type(conn), "execute", counted)
    victor.get(PATH + query)
    # The other one says who is asking.
    assert len(asked) == 2
