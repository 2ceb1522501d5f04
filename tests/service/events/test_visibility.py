"""Visibility of events: the same in both searches, and totals count the visible ones (decisions.md, Permissions)."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection, rows
from sql.people import groups, roles
from tests.support import fixtures, records
from tests.support.deprecated_event_search import PATH as DEPRECATED
from tests.support.deprecated_event_search import page as deprecated_page
from tests.support.event_rows import fill_weeks
from tests.support.event_search import PATH, Log, page
from tests.support.world import Caller, World

Sight = Callable[..., set[str]]
PUBLIC = {"default", "hermes", "athena"}
ALL_PROJECTS = PUBLIC | {"apollo", "hades", "kronos"}
EVERYTHING = ALL_PROJECTS | {"troy", "none", "*"}


@pytest.fixture
def project_of(world: World, conn: Connection, apollo: str) -> dict[int, str]:
    """By its id, what each event of the log is of: a project, no project, or a project that is no more."""
    world.project("hermes", mode="open")
    world.project("athena", mode="protected")
    world.project("hades", mode="private")
    world.project("kronos", mode="private", archived_at=datetime(2024, 1, 1, tzinfo=UTC))
    log = Log(conn)
    projects = {
        log.add(project=project): project
        for project in (apollo, "hermes", "athena", "hades", "kronos", "troy", "default")
    }
    return projects | {log.add(): "none", log.add(project="*"): "*"}


def streamed(caller: Caller, **headers: str) -> list[int]:
    """The ids in a stream of all events."""
    response = caller.get(PATH, headers=headers | {"Accept": "application/x-ndjson"})
    assert response.status_code == 200
    return [json.loads(line)["id"] for line in response.get_data().splitlines()]


@pytest.fixture(params=["GET", "POST"])
def sees(request: pytest.FixtureRequest, project_of: dict[int, str]) -> Sight:
    """What a caller sees of the log in either form of the search, which must be what the total counts, page by page
    too.
    """

    def sees(caller: Caller, **headers: str) -> set[str]:
        if request.param == "GET":
            ids, total = page(caller.get(PATH, headers=headers))
            first = page(caller.get(PATH, query_string={"limit": 1}, headers=headers))
            assert streamed(caller, **headers) == sorted(ids)
        else:
            ids, total = deprecated_page(caller.post(DEPRECATED, json={}, headers=headers))
            first = deprecated_page(caller.post(DEPRECATED, json={"limit": 1}, headers=headers))
        assert first == (ids[:1], total)
        assert total == len(ids)
        return {project_of[event] for event in ids}

    return sees


def test_each_caller_sees_the_events_of_their_projects(
    sees: Sight, world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller
) -> None:
    auditor = world.user("Ada", root_role=roles.insert(world.conn, "Auditor", type="root-custom"))
    users = [
        (alice, EVERYTHING),
        (eve, ALL_PROJECTS),
        (auditor, ALL_PROJECTS),
        (victor, PUBLIC),
        (olga, PUBLIC | {"apollo"}),
        (max, PUBLIC | {"apollo"}),
    ]
    for user, seen in users:
        sessions.insert(world.conn, digest(f"session of {user.id}"), user.id, 48)
        assert sees(user) == sees(Caller(world.app), Cookie=f'session="session of {user.id}"') == seen
    assert sees(world.api_key()) == EVERYTHING


def test_role_in_a_project_shows_it_alone(sees: Sight, world: World, victor: Caller) -> None:
    gardener = roles.insert(world.conn, "Gardener")
    fixtures.allow(world.conn, gardener, "UPDATE_PROJECT")
    world.member("hermes", victor, role=gardener)
    assert sees(victor) == PUBLIC
    # Also a role without any permission.
    world.member("hades", victor, role=roles.insert(world.conn, "Guest"))
    assert sees(victor) == PUBLIC | {"hades"}


def test_root_role_of_a_group_counts_as_ones_own(sees: Sight, world: World, victor: Caller) -> None:
    for name, role, seen in (
        ("Viewers", 3, PUBLIC),
        ("Auditors", roles.insert(world.conn, "Auditor", type="root-custom"), ALL_PROJECTS),
        ("Editors", 2, ALL_PROJECTS),
        ("Administrators", 1, EVERYTHING),
    ):
        group = groups.insert(world.conn, name, root_role=role)
        assert sees(victor) == PUBLIC
        fixtures.add_group_user(world.conn, group, victor.id)
        assert sees(victor) == seen, name
        fixtures.remove_group_user(world.conn, group, victor.id)


def test_former_members_do_not_see_the_events_of_the_project(
    sees: Sight, world: World, max: Caller, victor: Caller
) -> None:
    world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [max.id])
    assert sees(max) == PUBLIC
    group = groups.insert(world.conn, "Crew")
    fixtures.add_project_group(world.conn, "apollo", group, 5)
    assert sees(victor) == PUBLIC
    fixtures.add_group_user(world.conn, group, victor.id)
    assert sees(victor) == PUBLIC | {"apollo"}
    assert sees(max) == PUBLIC
    world.conn.execute("DELETE FROM project_group_roles WHERE group_id = %s", [group])
    assert sees(victor) == PUBLIC
    world.conn.execute("UPDATE projects SET mode = 'private' WHERE id = 'hermes'")
    assert sees(victor) == PUBLIC - {"hermes"}


def test_filter_opens_nothing(project_of: dict[int, str], victor: Caller) -> None:
    for project in ("apollo", "hades", "troy", "*", "apollo,hades,troy"):
        assert page(victor.get(PATH, query_string={"project": f"IS:{project}"})) == ([], 0), project
        assert deprecated_page(victor.post(DEPRECATED, json={"project": project})) == ([], 0), project
    hidden = next(event for event, project in project_of.items() if project == "apollo")
    assert hidden not in deprecated_page(victor.post(DEPRECATED, json={"offset": hidden}))[0]
    assert hidden not in page(victor.get(PATH, query_string={"query": "", "type": "IS:feature-created"}))[0]


# Events about access need the permission for the access list of their project.
ACCESS_TYPES = [
    type
    for type in records.SCHEMAS["eventType"]["enum"]
    if type.startswith(("project-access-", "project-user-", "project-group-"))
]


def access_events(caller: Caller, log: Log) -> set[str | None]:
    """The projects whose access events a caller finds, which must be the same in every form of the search."""
    ids, total = page(caller.get(PATH))
    assert (ids, total) == deprecated_page(caller.post(DEPRECATED, json={}))
    assert streamed(caller) == sorted(ids)
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
def test_filter_for_a_type_opens_nothing_and_hides_nothing(max: Caller, olga: Caller) -> None:
    for caller, number in ((max, 0), (olga, 1)):
        for words, total in (
            ("IS:project-access-added", number),
            ("IS_ANY_OF:project-access-added,project-updated", number + 3),
        ):
            assert page(caller.get(PATH, query_string={"type": words}))[1] == total
    assert page(max.get(PATH, query_string={"type": "IS:project-updated"}))[1] == 3


def test_events_of_an_access_list_need_the_permission_of_the_list(
    access_log: Log, world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller
) -> None:
    assert len(ACCESS_TYPES) == 12
    everywhere = {"apollo", "hermes", "default"}
    expected = [(alice, everywhere), (eve, {"default"}), (olga, {"apollo"}), (max, set()), (victor, set())]
    for caller, projects in [*expected, (world.api_key(), everywhere)]:
        assert access_events(caller, access_log) == projects
        for project in everywhere:
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


def test_permission_in_one_environment_is_not_that_of_the_list(access_log: Log, world: World, victor: Caller) -> None:
    fixtures.allow(world.conn, 3, "PROJECT_USER_ACCESS_READ", environment="development")
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
