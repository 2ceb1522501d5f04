"""Groups: changed and deleted, alone and at once, and what becomes of their members."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from sql.database import Connection, connect, rows, value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.groups import LONG_AGO, PATH, ids, make, members
from tests.support.races import at_once, at_the_gate, wait_for
from tests.support.world import Caller, World, refused


@pytest.fixture
def ada(world: World) -> Caller:
    """Ada, who is to be a member."""
    return world.user("Ada")


@pytest.fixture
def bob(world: World) -> Caller:
    """Bob, who is to be another."""
    return world.user("Bob")


# Changing one


def test_a_change_replaces_everything(world, alice, ada, bob):
    cid = world.user("Cid")
    group = make(alice, description="Before", mappingsSSO=["pay"], rootRole=2, users=members(ada, bob))["id"]
    since = world.last_event_id()
    answer = alice.put(
        f"{PATH}/{group}",
        json={
            "name": "Billing",
            "description": "After",
            "mappingsSSO": ["b"],
            "rootRole": 3,
            "users": members(cid, bob),
        },
    )
    assert answer.status_code == 200
    assert {key: answer.json[key] for key in ("id", "name", "description", "mappingsSSO", "rootRole", "userCount")} == {
        "id": group,
        "name": "Billing",
        "description": "After",
        "mappingsSSO": ["b"],
        "rootRole": 3,
        "userCount": 2,
    }
    assert ids(answer.json) == [cid.id, bob.id]
    before = {
        "id": group,
        "name": "Payments",
        "description": "Before",
        "mappingsSSO": ["pay"],
        "rootRole": 2,
        "users": sorted([ada.id, bob.id]),
    }
    after = {
        "id": group,
        "name": "Billing",
        "description": "After",
        "mappingsSSO": ["b"],
        "rootRole": 3,
        "users": sorted([bob.id, cid.id]),
    }
    assert events(world, since) == [event("group-updated", alice, data=after, pre_data=before)]


def test_fields_that_a_change_omits_are_unset(alice, ada):
    group = make(alice, description="Before", mappingsSSO=["pay"], rootRole=2, users=members(ada))["id"]
    answer = alice.put(f"{PATH}/{group}", json={"name": "Payments"}).json
    assert (answer["description"], answer["mappingsSSO"], answer["rootRole"], answer["users"], answer["userCount"]) == (
        None,
        [],
        None,
        [],
        0,
    )


def test_null_unsets_what_can_be_null_and_leaves_lists(alice, ada):
    group = make(alice, description="Before", mappingsSSO=["pay"], rootRole=2, users=members(ada))["id"]
    nulls = dict.fromkeys(("description", "mappingsSSO", "rootRole", "users"))
    changed = alice.put(f"{PATH}/{group}", json={"name": "Payments"} | nulls).json
    assert {key: changed[key] for key in ("description", "mappingsSSO", "rootRole", "userCount")} == {
        "description": None,
        "mappingsSSO": ["pay"],
        "rootRole": None,
        "userCount": 1,
    }


def test_staying_members_keep_their_date_and_former_ones_are_kept(world, alice, ada, bob, conn):
    group = groups.insert(conn, "Payments")
    for caller in (ada, bob):
        fixtures.add_group_user(conn, group, caller.id, created_by="somebody", created_at=LONG_AGO)
    cid = world.user("Cid")
    answer = alice.put(f"{PATH}/{group}", json={"name": "Payments", "users": members(cid, ada)}).json
    assert [(member["user"]["id"], member["joinedAt"], member["createdBy"]) for member in answer["users"]] == [
        (cid.id, value(conn, "SELECT iso(now())"), alice.email),
        (ada.id, "2024-02-29T12:34:56.789Z", "somebody"),
    ]
    past = rows(conn, "SELECT *, ended_at = now() AS now FROM past_group_users WHERE group_id = %(id)s", {"id": group})
    assert [(row["user_id"], row["started_at"], row["now"]) for row in past] == [(bob.id, LONG_AGO, True)]


def test_a_change_that_changes_nothing_records_nothing(world, alice, ada, bob):
    body = {
        "name": "Payments",
        "description": "x",
        "mappingsSSO": ["a", "b"],
        "rootRole": 3,
        "users": members(ada, bob),
    }
    group = alice.post(PATH, json=body).json
    since = world.last_event_id()
    assert alice.put(f"{PATH}/{group['id']}", json=body).json == group
    # Another order is no change of the group.
    assert alice.put(f"{PATH}/{group['id']}", json=body | {"users": members(bob, ada)}).status_code == 200
    assert world.events(since) == []


def test_the_roles_of_a_group_in_projects_stay(alice, ada, apollo, conn):
    group = make(alice, users=members(ada))["id"]
    fixtures.add_project_group(conn, apollo, group, 5)
    answer = alice.put(f"{PATH}/{group}", json={"name": "Other", "users": members(ada)}).json
    assert answer["projects"] == [apollo]
    assert ada.get(f"/api/admin/projects/{apollo}/overview").status_code == 200


# Deleting one


def test_a_deleted_group_is_gone_with_its_roles_in_projects(world, alice, ada, apollo, conn):
    group = make(alice, description="x", rootRole=2, users=members(ada))["id"]
    fixtures.add_project_group(conn, apollo, group, 5, created_at=LONG_AGO)
    assert ada.get(f"/api/admin/projects/{apollo}/overview").status_code == 200
    since = world.last_event_id()
    answer = alice.delete(f"{PATH}/{group}")
    assert (answer.status_code, answer.data) == (200, b"")
    refused(alice.get(f"{PATH}/{group}"), 404, "NotFoundError")
    refused(ada.get(f"/api/admin/projects/{apollo}/overview"), 404, "NotFoundError")
    before = {"id": group, "name": "Payments", "description": "x", "mappingsSSO": [], "rootRole": 2, "users": [ada.id]}
    assert events(world, since) == [event("group-deleted", alice, pre_data=before)]
    for table in ("group_users", "project_group_roles"):
        assert conn.execute(f"SELECT FROM {table} WHERE group_id = %s", [group]).fetchall() == []
        # That they were there is kept.
        kept = conn.execute(f"SELECT ended_at = now() AS now FROM past_{table} WHERE group_id = %s", [group]).fetchall()
        assert [row["now"] for row in kept] == [True]
    assert value(conn, "SELECT count(*) FROM users WHERE id = %(id)s AND deleted_at IS NULL", {"id": ada.id}) == 1


# At once


@pytest.fixture(scope="module")
def own_url(make_database: Callable[..., str]) -> str:
    """A database that commits."""
    return make_database()


@pytest.fixture
def committed(own_url: str, make_app: Callable[..., Flask]) -> Iterator[World]:
    """What there is in it."""
    with connect(own_url) as own:
        yield World(make_app(own_url), own)


@pytest.fixture
def gate(own_url: str) -> Iterator[Connection]:
    """A connection that holds what others must wait for."""
    with connect(own_url) as gate:
        yield gate


def test_of_eight_groups_of_one_name_one_is_made(committed):
    admin = committed.api_key()
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json={"name": "The one"})] * 8)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    assert [row["type"] for row in committed.events(since)] == ["group-created"]


def test_changes_at_once_are_recorded_one_after_the_other(committed, gate):
    admin = committed.api_key()
    people = [committed.user(f"Member{number}") for number in range(4)]
    group = make(admin, "Changed")["id"]
    since = committed.last_event_id()
    calls = [
        lambda user=user: admin.put(f"{PATH}/{group}", json={"name": "Changed", "users": members(user)})
        for user in people
    ]
    answers = at_the_gate(committed.conn, gate, f"SELECT FROM groups WHERE id = {group} FOR UPDATE", *calls)
    assert {answer.status_code for answer in answers} == {200}
    log = committed.events(since)
    states = [[], *(row["data"]["users"] for row in log)]
    assert (len(log), [row["pre_data"]["users"] for row in log]) == (4, states[:-1])
    assert ids(admin.get(f"{PATH}/{group}").json) == states[-1]


def test_of_eight_deletions_one_succeeds(committed):
    admin = committed.api_key()
    group = make(admin, "Deleted")["id"]
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.delete(f"{PATH}/{group}")] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] + [404] * 7
    assert [row["type"] for row in committed.events(since)] == ["group-deleted"]


def test_a_user_who_is_being_deleted_does_not_become_a_member(committed, gate):
    admin, ada = committed.api_key(), committed.user("Deleted")
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
            answer = thread.submit(admin.post, PATH, json={"name": "Of the deleted", "users": members(ada)})
            wait_for(committed.conn, [answer])
        refused(answer.result())


def test_a_root_role_that_is_being_deleted_is_given_to_no_group(committed, gate):
    admin, role = committed.api_key(), roles.insert(committed.conn, "Deleted meanwhile", type="root-custom")
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("DELETE FROM roles WHERE id = %s", [role])
            answer = thread.submit(admin.post, PATH, json={"name": "Of the role", "rootRole": role})
            wait_for(committed.conn, [answer])
        refused(answer.result())
