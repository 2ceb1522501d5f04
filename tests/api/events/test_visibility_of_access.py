"""Visibility of events about access: they need the permission for the access list of the project."""

import json
from datetime import UTC, datetime

import pytest

from rules.access import digest
from sql.access import authenticate
from sql.database import Connection, rows
from sql.event_stream import Stream
from sql.events import VisibleEvents
from sql.people import groups, roles
from tests.support import fixtures, records
from tests.support.deprecated_event_search import PATH as DEPRECATED
from tests.support.deprecated_event_search import page as deprecated_page
from tests.support.event_rows import fill_weeks
from tests.support.event_search import PATH, Log, page
from tests.support.world import Caller, World

ACCESS_TYPES = [
    type
    for type in records.SCHEMAS["eventType"]["enum"]
    if type.startswith(("project-access-", "project-user-", "project-group-"))
]


def visible_to(caller: Caller, conn: Connection) -> VisibleEvents | None:
    """What a caller sees of the log.

    A stream waits for open transactions, such as that of this test, so it is read without a request.
    """
    found = authenticate(
        conn,
        key=digest(caller.key or ""),
        session=None,
        permissions=(),
        project=None,
        environment=None,
        list_projects=True,
    )
    assert found is not None
    return None if found["is_admin"] else VisibleEvents(found["visible"], found["readable"])


def access_events(caller: Caller, log: Log) -> set[str | None]:
    """The projects whose access events a caller finds, which must be the same in every form of the search."""
    ids, total = page(caller.get(PATH))
    assert (ids, total) == deprecated_page(caller.post(DEPRECATED, json={}))
    # Ids that earlier tests used up are not given back, so that one batch may be too short.
    newest = rows(log.conn, "SELECT max(id) AS id FROM events")[0]["id"]
    stream, lines = Stream({}, after=0, until=newest), []
    while not stream.is_over:
        lines += stream.read(log.conn, visible_to(caller, log.conn)).splitlines()
    assert [json.loads(line)["id"] for line in lines] == sorted(ids)
    assert total == len(ids)
    kept = {row["id"]: row for row in rows(log.conn, "SELECT id, type, project FROM events")}
    found = [(kept[id]["project"], kept[id]["type"]) for id in ids if kept[id]["type"] in ACCESS_TYPES]
    # All types of a project, or none.
    assert sorted(found) == sorted(
        (project, type) for project in {project for project, _ in found} for type in ACCESS_TYPES
    )
    for project in ("apollo", "hermes", "default"):
        words = {"project": f"IS:{project}", "type": f"IS_ANY_OF:{','.join(ACCESS_TYPES)}"}
        asked = page(caller.get(PATH, query_string=words))
        assert asked[1] == len(asked[0]) == sum(project == its for its, _ in found)
    return {project for project, _ in found}


@pytest.fixture(params=[False, True], ids=["counted", "kept"])
def access_log(request: pytest.FixtureRequest, world: World, conn: Connection, apollo: str) -> Log:
    """A log in which each project has an event of each type that says who has which role there, and another event.

    kept: they are of a week whose totals are kept.
    """
    world.project("hermes")
    log = Log(conn)
    at = datetime(2026, 1, 2, tzinfo=UTC) if request.param else None
    for project in (apollo, "hermes", "default"):
        log.add("project-updated", project=project, at=at)
        for type in ACCESS_TYPES:
            log.add(type, project=project, at=at)
    if request.param:
        fill_weeks(conn)
        assert rows(conn, "SELECT number, of_access FROM event_weeks WHERE kind = 'all'") == [
            {"number": 39, "of_access": 36}
        ]
    return log


@pytest.mark.usefixtures("access_log")
def test_a_filter_for_a_type_opens_nothing_and_hides_nothing(max: Caller, olga: Caller) -> None:
    for caller, number in ((max, 0), (olga, 1)):
        for words, total in (
            ("IS:project-access-added", number),
            ("IS_ANY_OF:project-access-added,project-updated", number + 3),
        ):
            assert page(caller.get(PATH, query_string={"type": words}))[1] == total
    assert page(max.get(PATH, query_string={"type": "IS:project-updated"}))[1] == 3


def test_twelve_types_show_roles_of_users() -> None:
    assert len(ACCESS_TYPES) == 12


def test_events_of_an_access_list_need_the_permission_of_the_list(
    access_log: Log, world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller
) -> None:
    expected = [
        (alice, {"apollo", "hermes", "default"}),
        (eve, {"default"}),
        (olga, {"apollo"}),
        (max, set()),
        (victor, set()),
    ]
    for caller, projects in [*expected, (world.api_key(), {"apollo", "hermes", "default"})]:
        assert access_events(caller, access_log) == projects
        for project in ("apollo", "hermes", "default"):
            # As the list itself.
            is_readable = caller.get(f"/api/admin/projects/{project}/access").status_code == 200
            assert is_readable == (project in projects), (caller.email, project)


@pytest.mark.parametrize("permission", ["UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ"])
@pytest.mark.parametrize("way", ["role", "group", "root role of a group", "root role in one project"])
def test_either_permission_is_enough_from_any_role(
    access_log: Log, world: World, victor: Caller, permission: str, way: str
) -> None:
    assert access_events(victor, access_log) == set()
    role = roles.insert(world.conn, "Reader", type="root-custom" if way.startswith("root") else "custom")
    group = groups.insert(world.conn, "Crew", root_role=role if way == "root role of a group" else None)
    fixtures.add_group_user(world.conn, group, victor.id)
    if way == "root role in one project":
        world.conn.execute(
            "INSERT INTO role_permissions (role_id, permission, project_id) VALUES (3, %s, 'hermes')", [permission]
        )
    else:
        fixtures.allow(world.conn, role, permission)
    if way == "role":
        world.member("hermes", victor, role=role)
    elif way == "group":
        fixtures.add_project_group(world.conn, "hermes", group, role)
    everywhere = way == "root role of a group"
    assert access_events(victor, access_log) == ({"apollo", "hermes", "default"} if everywhere else {"hermes"})


def test_a_permission_in_one_environment_is_not_that_of_the_list(access_log: Log, world: World, victor: Caller) -> None:
    grant = (
        "INSERT INTO role_permissions (role_id, permission, environment) "
        "VALUES (3, 'PROJECT_USER_ACCESS_READ', 'development')"
    )
    world.conn.execute(grant)
    assert access_events(victor, access_log) == set()


def test_event_creators_are_those_of_events_that_the_caller_finds(
    access_log: Log, world: World, victor: Caller, olga: Caller
) -> None:
    world.conn.execute("DELETE FROM events")
    access_log.add("project-access-added", project="apollo")
    world.conn.execute("UPDATE events SET created_by_user_id = %s", [olga.id])
    world.member("apollo", victor)
    assert [user["id"] for user in olga.get("/api/admin/event-creators").json] == [olga.id]
    assert victor.get("/api/admin/event-creators").json == []
