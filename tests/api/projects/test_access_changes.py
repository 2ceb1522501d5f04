"""Roles in a project, given and taken away for many at once."""

from time import process_time

import pytest

from sql.database import Connection
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.project_access import DAY, held, logged, past, put, url
from tests.support.world import World, refused

pytestmark = pytest.mark.usefixtures("gemini")


@pytest.fixture
def gemini(world: World) -> None:
    """An open project without roles."""
    world.project("gemini")


@pytest.fixture
def people(world: World) -> list[int]:
    """The ids of three users, in order."""
    return [world.user(name).id or 0 for name in ("Ada", "Bob", "Cid")]


@pytest.fixture
def crew(conn: Connection) -> int:
    """The id of a group."""
    return groups.insert(conn, "crew")


@pytest.fixture
def auditor(conn: Connection) -> int:
    """A custom role for projects, which allows nothing yet."""
    return roles.insert(conn, "Auditor")


# --- Adding -----------------------------------------------------------------------------------------------------------


def test_every_user_and_group_gets_every_role(world, alice, conn, people, crew, auditor):
    ada, bob, _ = people
    since = world.last_event_id()
    asked = {"roles": [auditor, 4, 4], "users": [bob, ada, bob], "groups": [crew]}
    answer = alice.post(url(), json=asked)
    assert (answer.status_code, answer.text) == (200, "")
    assert held(conn) == {
        (*holder, role) for holder in (("user", ada), ("user", bob), ("group", crew)) for role in (4, auditor)
    }
    data = {"roles": [{"roleId": role, "userIds": [ada, bob], "groupIds": [crew]} for role in (4, auditor)]}
    assert logged(world, since, alice) == [("project-access-added", data, None)]
    assert held(conn, "default") == set()


def test_roles_are_added_and_only_new_ones_recorded(world, alice, conn, people):
    ada, bob, _ = people
    fixtures.add_project_user(conn, "gemini", ada, 4, DAY.format(1))
    fixtures.add_project_user(conn, "gemini", bob, 5, DAY.format(2))
    since = world.last_event_id()
    assert alice.post(url(), json={"roles": [4, 5], "users": [ada, bob], "groups": []}).status_code == 200
    assert held(conn) == {("user", user, role) for user in (ada, bob) for role in (4, 5)}
    data = {"roles": [{"roleId": 4, "userIds": [bob], "groupIds": []}, {"roleId": 5, "userIds": [ada], "groupIds": []}]}
    assert logged(world, since, alice) == [("project-access-added", data, None)]
    found = {user["id"]: user for user in alice.get(url()).json["users"]}
    assert (found[ada]["roleId"], found[ada]["addedAt"], found[ada]["roles"]) == (4, "2026-01-01T00:00:00.000Z", [4, 5])
    assert past(conn) == []


def test_adding_what_is_there_is_no_event(world, alice, conn, people, crew):
    asked = {"roles": [5], "users": people, "groups": [crew]}
    alice.post(url(), json=asked)
    since, before = world.last_event_id(), held(conn)
    nothing = ({"roles": [], "users": people, "groups": []}, {"roles": [4], "users": [], "groups": []})
    for repeat in (asked, *nothing):
        assert alice.post(url(), json=repeat).status_code == 200
    assert (held(conn), world.events(since)) == (before, [])


@pytest.mark.timing
def test_ids_that_stand_there_ten_thousand_times_cost_nothing(alice, conn, people):
    began = process_time()
    assert (
        alice.post(url(), json={"roles": [5] * 10_000, "users": people[:1] * 10_000, "groups": []}).status_code == 200
    )
    assert process_time() - began < 3
    assert held(conn) == {("user", people[0], 5)}


# --- Replacing --------------------------------------------------------------------------------------------------------


def test_the_whole_list_is_replaced_and_unchanged_roles_keep_their_dates(world, alice, conn, people, crew, auditor):
    ada, bob, cid = people
    for user, role, day in ((ada, 4, 1), (ada, 5, 2), (bob, 5, 3)):
        fixtures.add_project_user(conn, "gemini", user, role, DAY.format(day))
    fixtures.add_project_group(conn, "gemini", crew, 4, DAY.format(4))
    fixtures.add_project_user(conn, "default", bob, 5)
    since = world.last_event_id()
    answer = put(alice, (auditor, [cid, bob, bob], []), (5, [ada], [crew]), (5, [cid], []), (4, [], []))
    assert (answer.status_code, answer.text) == (200, "")
    assert held(conn) == {
        ("user", bob, auditor),
        ("user", cid, auditor),
        ("user", ada, 5),
        ("user", cid, 5),
        ("group", crew, 5),
    }
    before = {"roles": [{"id": 4, "users": [ada], "groups": [crew]}, {"id": 5, "users": [ada, bob], "groups": []}]}
    after = {
        "roles": [{"id": 5, "users": [ada, cid], "groups": [crew]}, {"id": auditor, "users": [bob, cid], "groups": []}]
    }
    assert logged(world, since, alice) == [("project-access-updated", after, before)]
    found = {user["id"]: user["addedAt"] for user in alice.get(url()).json["users"]}
    assert found[ada] == "2026-01-02T00:00:00.000Z"
    assert past(conn) == [("group", crew, 4), ("user", ada, 4), ("user", bob, 5)]
    assert held(conn, "default") == {("user", bob, 5)}


def test_the_list_is_read_as_it_was_put(alice, people, crew, auditor):
    ada, bob, cid = people
    asked = [(4, [ada], []), (5, [ada, cid], [crew]), (auditor, [bob], [crew])]
    assert put(alice, *asked).status_code == 200
    read = alice.get(url()).json
    assert {"users", "groups", "roles"} == read.keys()
    found = {role["id"]: (role["id"], [], []) for role in read["roles"]}
    for place, entries in ((1, read["users"]), (2, read["groups"])):
        for entry in entries:
            for role in entry["roles"]:
                found[role][place].append(entry["id"])
    assert [(role, sorted(users), sorted(of_groups)) for role, users, of_groups in found.values()] == asked


def test_replacing_the_access_list_by_the_same_records_no_event(world, alice, conn, people, crew):
    entries = (4, people[:1], []), (5, people[1:], [crew])
    put(alice, *entries)
    since, before = world.last_event_id(), held(conn)
    assert put(alice, *reversed(entries)).status_code == 200
    assert (held(conn), world.events(since), past(conn)) == (before, [], [])


@pytest.mark.parametrize("left_out", [{}, {"users": None, "groups": None}])
def test_lists_without_entries_can_be_left_out(alice, conn, people, crew, left_out):
    ada = people[0]
    assert alice.put(url(), json={"roles": [left_out | {"id": 4, "users": [ada]}]}).status_code == 200
    assert held(conn) == {("user", ada, 4)}
    assert alice.put(url(), json={"roles": [left_out | {"id": 4, "groups": [crew]}]}).status_code == 200
    assert alice.post(url(), json=left_out | {"roles": [5], "users": [ada]}).status_code == 200
    assert held(conn) == {("group", crew, 4), ("user", ada, 5)}
    assert alice.post(url(), json=left_out | {"roles": [4]}).status_code == 200
    assert alice.put(url(), json={"roles": [left_out | {"id": 5}]}).status_code == 200
    assert held(conn) == set()


def test_a_group_is_not_mistaken_for_the_user_of_its_id(alice, conn, people):
    ada = people[0]
    conn.execute("INSERT INTO groups (id, name) VALUES (%s, 'namesakes')", [ada])
    for users, of_groups in (([ada], []), ([], [ada]), ([ada], [ada]), ([ada], []), ([ada], [ada]), ([], [ada])):
        assert put(alice, (4, users, of_groups)).status_code == 200
        assert held(conn) == {*(("user", user, 4) for user in users), *(("group", group, 4) for group in of_groups)}


def test_a_project_needs_no_owner(world, alice, conn, people):
    put(alice, (4, people, []))
    since = world.last_event_id()
    assert put(alice).status_code == 200
    assert held(conn) == set()
    before = {"roles": [{"id": 4, "users": people, "groups": []}]}
    assert logged(world, since, alice) == [("project-access-updated", {"roles": []}, before)]


def test_roles_of_a_deleted_user_are_let_be(world, alice, conn, people):
    put(alice, (4, people, []))
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [people[0]])
    since = world.last_event_id()
    assert put(alice, (4, people[1:], [])).status_code == 200
    assert world.events(since) == []


def test_the_access_to_an_archived_project_can_be_changed(world, alice, conn, people):
    world.project("old", archived_at=DAY.format(1))
    assert put(alice, (4, people, []), project="old").status_code == 200
    assert len(held(conn, "old")) == 3


# --- What does not fit ------------------------------------------------------------------------------------------------

UNKNOWN = (10**6, 2**31, 2**63 - 1)


@pytest.mark.parametrize("field", ["roles", "users", "groups"])
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_one_unknown_user_refuses_the_whole_change(world, alice, conn, people, crew, field, unknown):
    since = world.last_event_id()
    asked = {"roles": [5], "users": people, "groups": [crew]}
    assert refused(alice.post(url(), json=asked | {field: [*asked[field], unknown]})).startswith(f"{field}: ")
    assert refused(alice.post(url(), json={"roles": [], "users": [], "groups": [], field: [unknown]})).startswith(
        f"{field}: "
    )
    entry = {"id": 5, "users": people, "groups": [crew]}
    wrong = entry | ({"id": unknown} if field == "roles" else {field: [*entry[field], unknown]})
    assert refused(alice.put(url(), json={"roles": [{"id": 4, "users": people, "groups": []}, wrong]})).startswith(
        f"{field}: "
    )
    empty = {"id": unknown, "users": [], "groups": []}
    assert refused(alice.put(url(), json={"roles": [empty]})).startswith("roles: ")
    assert (held(conn), world.events(since)) == (set(), [])


def test_all_invalid_roles_and_users_are_named(world, alice, conn, people):
    root = roles.insert(conn, "Boss", type="root-custom")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [people[0]])
    since = world.last_event_id()
    for role in (1, 2, 3, root):
        assert refused(alice.post(url(), json={"roles": [role], "users": people[1:], "groups": []})).startswith(
            "roles: "
        )
        assert refused(put(alice, (role, people[1:], []))).startswith("roles: ")
    message = refused(alice.post(url(), json={"roles": [1], "users": people, "groups": [10**6]}))
    assert [part.split(":")[0] for part in message.split("; ")] == ["roles", "users", "groups"]
    assert (held(conn), world.events(since)) == (set(), [])


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"users": [], "groups": []},
        {"roles": 5, "users": [], "groups": []},
        {"roles": [0], "users": [], "groups": []},
        {"roles": ["5"], "users": [], "groups": []},
        {"roles": [5.0], "users": [], "groups": []},
        {"roles": [True], "users": [], "groups": []},
        {"roles": [2**63], "users": [], "groups": []},
        {"roles": None, "users": [], "groups": []},
        {"roles": [5], "users": [], "groups": [], "other": 1},
        [],
    ],
)
def test_an_invalid_body_adds_nothing(world, alice, conn, asked):
    since = world.last_event_id()
    refused(alice.post(url(), json=asked))
    assert (held(conn), world.events(since)) == (set(), [])


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"roles": None},
        {"roles": [5]},
        {"roles": [{"users": [], "groups": []}]},
        {"roles": [{"id": "5", "users": [], "groups": []}]},
        {"roles": [{"id": 5, "users": [{"id": 1}], "groups": []}]},
        {"roles": [{"id": 5, "users": [], "groups": [], "other": 1}]},
    ],
)
def test_an_invalid_body_replaces_nothing(world, alice, conn, people, asked):
    put(alice, (4, people, []))
    since, before = world.last_event_id(), held(conn)
    refused(alice.put(url(), json=asked))
    assert (held(conn), world.events(since)) == (before, [])
