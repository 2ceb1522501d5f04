"""Groups: read, created, updated and deleted, alone and at once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sql.database import rows, value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.races import at_once, at_the_gate
from tests.support.world import Caller, World, refused

PATH = "/api/admin/groups"
# An id that no sequence reaches.
FAR = 2_000_000_000
LONG_AGO = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("Ada")


@pytest.fixture
def bob(world: World) -> Caller:
    return world.user("Bob")


def members(*users: Caller) -> list[dict[str, Any]]:
    """Return members in the form of a request body."""
    return [{"user": {"id": user.id}} for user in users]


def make(caller: Caller, name: str = "Payments", **fields: Any) -> dict[str, Any]:
    """Create a group, and return its record."""
    response = caller.post(PATH, json={"name": name} | fields)
    assert response.status_code == 201, response.text
    return response.json


def ids(group: dict[str, Any]) -> list[int]:
    """Return the ids of the members of a group, in their order."""
    return [member["user"]["id"] for member in group["users"]]


def test_groups_are_listed_by_name_with_members_and_projects(world, alice, ada, bob, conn):
    assert alice.get(PATH).json == {"groups": []}
    created = {name: make(alice, name, users=members(ada)) for name in ("Zebras", "Ants", "Moles")}
    for project in ("hermes", "ares"):
        fixtures.add_project_group(conn, world.project(project), created["Ants"]["id"], 5)
    fixtures.add_project_group(conn, "ares", created["Ants"]["id"], 4)
    fixtures.add_group_user(conn, created["Ants"]["id"], bob.id, created_at=LONG_AGO)
    listed = alice.get(PATH).json["groups"]
    assert [group["name"] for group in listed] == ["Ants", "Moles", "Zebras"]
    ants = listed[0]
    assert (ants["projects"], ants["userCount"], ids(ants)) == (["ares", "hermes"], 2, [bob.id, ada.id])
    assert [(member["joinedAt"], member["createdBy"]) for member in ants["users"]] == [
        ("2024-02-29T12:34:56.789Z", None),
        (value(conn, "SELECT iso(now())"), alice.email),
    ]
    assert listed == [alice.get(f"{PATH}/{group['id']}").json for group in listed]
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    found = alice.get(f"{PATH}/{ants['id']}").json
    assert (ids(found), found["userCount"]) == ([bob.id], 1)


def test_unknown_groups_are_404_and_ids_are_numbers(alice, conn):
    before = fingerprint(conn)
    for call in (alice.get, alice.delete, lambda path: alice.put(path, json={"name": "x"})):
        for unknown in (FAR, 2**31):
            refused(call(f"{PATH}/{unknown}"), 404, "NotFoundError")
        for path in ("0", "-1", "x", "1.0", "%201", "٣"):
            refused(call(f"{PATH}/{path}"))
    assert fingerprint(conn) == before


# Creating and updating


def test_a_new_group_is_returned_and_recorded(world, alice, ada, bob, conn):
    since = world.last_event_id()
    fields = {"description": "The team", "mappingsSSO": ["pay", "bill"], "rootRole": 2}
    response = alice.post(PATH, json={"name": " Payments "} | fields | {"users": members(bob, ada)})
    group, now = response.json["id"], value(conn, "SELECT iso(now())")
    assert (response.status_code, response.headers["Location"]) == (201, f"groups/{group}")
    assert alice.get(f"{PATH}/{group}").json == response.json
    record = dict(response.json)
    members_by_id = {member["user"]["id"]: member for member in record.pop("users")}
    common = {"id": group, "name": "Payments"} | fields
    assert record == common | {
        "createdAt": now,
        "createdBy": alice.email,
        "scimId": None,
        "projects": [],
        "userCount": 2,
    }
    assert list(members_by_id) == [bob.id, ada.id]
    assert {(member["joinedAt"], member["createdBy"]) for member in members_by_id.values()} == {(now, alice.email)}
    assert members_by_id[ada.id]["user"]["email"] == "ada@example.org"
    assert events(world, since) == [event("group-created", alice, data=common | {"users": sorted([ada.id, bob.id])})]


def test_an_update_replaces_everything(world, alice, ada, bob):
    cid = world.user("Cid")
    before = {"name": "Payments", "description": "Before", "mappingsSSO": ["pay"], "rootRole": 2}
    after = {"name": "Billing", "description": "After", "mappingsSSO": ["b"], "rootRole": 3}
    group = make(alice, **before, users=members(ada, bob))["id"]
    since = world.last_event_id()
    response = alice.put(f"{PATH}/{group}", json=after | {"users": members(cid, bob)})
    assert response.status_code == 200
    assert {key: response.json[key] for key in ("id", "userCount", *after)} == after | {"id": group, "userCount": 2}
    assert ids(response.json) == [cid.id, bob.id]
    after |= {"id": group, "users": sorted([bob.id, cid.id])}
    before |= {"id": group, "users": sorted([ada.id, bob.id])}
    assert events(world, since) == [event("group-updated", alice, data=after, pre_data=before)]


def test_omitted_fields_are_unset(world, alice, ada):
    since = world.last_event_id()
    unset = {"description": None, "rootRole": None, "mappingsSSO": []}
    for number, body in enumerate(({}, {"description": None, "rootRole": None, "mappingsSSO": [], "users": []})):
        group = make(alice, f"Group {number}", **body)
        assert {key: group[key] for key in (*unset, "users", "projects")} == unset | {"users": [], "projects": []}
    assert world.events(since)[0]["data"] == unset | {"id": group["id"] - 1, "name": "Group 0", "users": []}
    fields = {"description": "Before", "mappingsSSO": ["pay"], "rootRole": 2, "users": members(ada)}
    # null leaves the lists as they are.
    for body, left in (
        ({}, unset | {"userCount": 0}),
        (dict.fromkeys(fields), {"mappingsSSO": ["pay"], "userCount": 1}),
    ):
        group = make(alice, "Updated" + str(len(body)), **fields)
        updated = alice.put(f"{PATH}/{group['id']}", json={"name": group["name"]} | body).json
        assert {key: updated[key] for key in (*unset, "userCount")} == unset | left


def test_members_have_the_order_of_the_request(world, alice, ada, bob):
    cid = world.user("Cid")
    # A user who is named twice is a member once.
    group = make(alice, users=members(bob, cid, ada, cid))
    path = f"{PATH}/{group['id']}"
    assert ids(group) == ids(alice.get(path).json) == [bob.id, cid.id, ada.id]
    # A member who stays, and one who joins.
    for order in ([cid, ada], [ada, bob, cid], [cid, ada, bob]):
        expected = [caller.id for caller in order]
        assert ids(alice.put(path, json={"name": "Payments", "users": members(*order)}).json) == expected
        assert ids(alice.get(path).json) == ids(alice.get(PATH).json["groups"][0]) == expected
    assert ids(alice.put(path, json={"name": "Payments", "users": None}).json) == [cid.id, ada.id, bob.id]


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


def test_an_update_without_a_difference_records_nothing(world, alice, ada, bob):
    fields = {"description": "x", "mappingsSSO": ["a", "b"], "rootRole": 3, "users": members(ada, bob)}
    group = make(alice, **fields)
    since = world.last_event_id()
    assert alice.put(f"{PATH}/{group['id']}", json={"name": "Payments"} | fields).json == group
    # Another order is no difference.
    body = {"name": "Payments"} | fields | {"users": members(bob, ada)}
    assert alice.put(f"{PATH}/{group['id']}", json=body).status_code == 200
    assert world.events(since) == []


def test_the_root_role_of_a_group_counts_for_its_users_at_once(alice, ada, conn):
    role = roles.insert(conn, "Reader", type="root-custom")
    fixtures.allow(conn, role, "READ_ROLE")
    group = make(alice, rootRole=role, users=members(ada))["id"]
    assert ada.get("/api/admin/roles").status_code == 200
    assert alice.put(f"{PATH}/{group}", json={"name": "Payments", "rootRole": role}).status_code == 200
    refused(ada.get("/api/admin/roles"), 403, "NoAccessError")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"mappingsSSO": [5]}, "mappingsSSO.0: must be a string"),
        ({"rootRole": 4}, "rootRole: must be the id of a root role"),
        ({"users": [{"user": {}}]}, "users.0.user.id: is required"),
        ({"users": [{}]}, "users.0.user: is required"),
        ({"users": [{"user": {"id": FAR}}, {"user": {"id": FAR + 1}}]}, f"users: unknown users: {FAR}, {FAR + 1}"),
        (
            {"rootRole": FAR, "users": [{"user": {"id": FAR}}]},
            f"rootRole: must be the id of a root role; users: unknown users: {FAR}",
        ),
    ],
)
def test_an_invalid_body_is_refused(alice, conn, body, message):
    group = make(alice)["id"]
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json={"name": "x"} | body)) == message
    assert refused(alice.put(f"{PATH}/{group}", json={"name": "x"} | body)) == message
    assert fingerprint(conn) == before


def test_deleted_users_and_taken_names_are_refused(alice, ada, conn):
    make(alice, "Payments")
    other = make(alice, "payments")["id"]
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json={"name": "x", "users": members(ada)})) == f"users: unknown users: {ada.id}"
    assert refused(alice.post(PATH, json={"name": " Payments"}), 409, "NameExistsError").startswith("name: ")
    refused(alice.put(f"{PATH}/{other}", json={"name": "Payments"}), 409, "NameExistsError")
    assert fingerprint(conn) == before


def test_a_group_holds_roles_in_projects_until_its_deletion(world, alice, ada, apollo, conn):
    group = make(alice, description="x", rootRole=2)["id"]
    fixtures.add_project_group(conn, apollo, group, 5, created_at=LONG_AGO)
    body = {"name": "Other", "description": "x", "rootRole": 2, "users": members(ada)}
    assert alice.put(f"{PATH}/{group}", json=body).json["projects"] == [apollo]
    assert ada.get(f"/api/admin/projects/{apollo}/overview").status_code == 200
    since = world.last_event_id()
    response = alice.delete(f"{PATH}/{group}")
    assert (response.status_code, response.data) == (200, b"")
    refused(alice.get(f"{PATH}/{group}"), 404, "NotFoundError")
    refused(ada.get(f"/api/admin/projects/{apollo}/overview"), 404, "NotFoundError")
    before = {"id": group, "name": "Other", "description": "x", "mappingsSSO": [], "rootRole": 2, "users": [ada.id]}
    assert events(world, since) == [event("group-deleted", alice, pre_data=before)]
    for table in ("group_users", "project_group_roles"):
        assert conn.execute(f"SELECT FROM {table} WHERE group_id = %s", [group]).fetchall() == []
        kept = conn.execute(f"SELECT ended_at = now() AS now FROM past_{table} WHERE group_id = %s", [group]).fetchall()
        assert kept == [{"now": True}]
    assert value(conn, "SELECT deleted_at FROM users WHERE id = %(id)s", {"id": ada.id}) is None


# At once


def test_of_eight_groups_of_one_name_one_is_created_and_deleted(committed):
    admin, since = committed.api_key(), committed.last_event_id()
    created = at_once(*[lambda: admin.post(PATH, json={"name": "The one"})] * 8)
    assert sorted(response.status_code for response in created) == [201] + [409] * 7
    [group] = admin.get(PATH).json["groups"]
    deleted = at_once(*[lambda: admin.delete(f"{PATH}/{group['id']}")] * 8)
    assert sorted(response.status_code for response in deleted) == [200] + [404] * 7
    assert [row["type"] for row in committed.events(since)] == ["group-created", "group-deleted"]


def test_updates_at_once_are_recorded_one_after_the_other(committed, gate):
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


@pytest.mark.parametrize("what", ["user", "role"])
def test_what_is_being_deleted_is_given_to_no_group(committed, gate, what):
    admin = committed.api_key()
    if what == "user":
        body = {"users": members(ada := committed.user("Deleted"))}
        statement = f"UPDATE users SET deleted_at = now() WHERE id = {ada.id}"
    else:
        body = {"rootRole": roles.insert(committed.conn, "Deleted meanwhile", type="root-custom")}
        statement = f"DELETE FROM roles WHERE id = {body['rootRole']}"
    body["name"] = "Of the deleted"
    refused(at_the_gate(committed.conn, gate, statement, lambda: admin.post(PATH, json=body))[0])
