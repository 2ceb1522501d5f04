"""Groups: read, made, changed and deleted, and what becomes of their members."""

import pytest

from sql.database import value
from sql.people import roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.groups import LONG_AGO, PATH, ids, make, members
from tests.support.world import Caller, World, refused


@pytest.fixture
def ada(world: World) -> Caller:
    """Ada, who is to be a member."""
    return world.user("Ada")


@pytest.fixture
def bob(world: World) -> Caller:
    """Bob, who is to be another."""
    return world.user("Bob")


# Reading


def test_groups_are_listed_by_name_with_members_and_projects(world, alice, ada, bob, conn):
    created = {name: make(alice, name, users=members(ada)) for name in ("Zebras", "Ants", "Moles")}
    for project in ("hermes", "ares"):
        fixtures.add_project_group(conn, world.project(project), created["Ants"]["id"], 5)
    fixtures.add_project_group(conn, "ares", created["Ants"]["id"], 4)
    fixtures.add_group_user(conn, created["Ants"]["id"], bob.id, created_at=LONG_AGO)
    listed = alice.get(PATH)
    assert listed.status_code == 200
    assert [group["name"] for group in listed.json["groups"]] == ["Ants", "Moles", "Zebras"]
    ants = listed.json["groups"][0]
    assert (ants["projects"], ants["userCount"], ids(ants)) == (["ares", "hermes"], 2, [bob.id, ada.id])
    assert [(member["joinedAt"], member["createdBy"]) for member in ants["users"]] == [
        ("2024-02-29T12:34:56.789Z", None),
        (value(conn, "SELECT iso(now())"), alice.email),
    ]
    for group in listed.json["groups"]:
        assert group == alice.get(f"{PATH}/{group['id']}").json


def test_the_list_is_empty_without_groups(alice):
    assert alice.get(PATH).json == {"groups": []}


def test_a_deleted_user_is_no_member(alice, ada, bob, conn):
    group = make(alice, users=members(ada, bob))["id"]
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    found = alice.get(f"{PATH}/{group}").json
    assert (ids(found), found["userCount"]) == ([bob.id], 1)


def test_a_group_that_is_not_there_is_not_found_and_an_id_is_a_number(alice, conn):
    before = fingerprint(conn)
    for call in (alice.get, alice.delete, lambda path: alice.put(path, json={"name": "x"})):
        for unknown in (999, 2**31):
            refused(call(f"{PATH}/{unknown}"), 404, "NotFoundError")
        for path in ("0", "-1", "x", "1.0", "%201", "٣"):
            refused(call(f"{PATH}/{path}"))
    assert fingerprint(conn) == before


def test_groups_are_for_administrators(alice, eve, victor, conn):
    group = make(alice)["id"]
    for caller in (eve, victor):
        before = fingerprint(conn)
        refused(caller.get(PATH), 403, "NoAccessError")
        for path in (group, 999, "x"):
            refused(caller.get(f"{PATH}/{path}"), 403, "NoAccessError")
            refused(caller.put(f"{PATH}/{path}", data=b"x"), 403, "NoAccessError")
            refused(caller.delete(f"{PATH}/{path}"), 403, "NoAccessError")
        refused(caller.post(PATH, json={"name": "x"}), 403, "NoAccessError")
        assert fingerprint(conn) == before


# Making one


def test_a_group_is_created_with_all_its_fields(world, alice, ada, bob, conn):
    since = world.last_event_id()
    body = {
        "name": " Payments ",
        "description": "The team",
        "mappingsSSO": ["pay", "bill"],
        "rootRole": 2,
        "users": members(bob, ada),
    }
    answer = alice.post(PATH, json=body)
    assert answer.status_code == 201
    record = answer.json
    group = record["id"]
    assert answer.headers["Location"] == f"groups/{group}"
    now = value(conn, "SELECT iso(now())")
    members_by_id = {member["user"]["id"]: member for member in record.pop("users")}
    assert record == {
        "id": group,
        "name": "Payments",
        "description": "The team",
        "mappingsSSO": ["pay", "bill"],
        "rootRole": 2,
        "scimId": None,
        "createdBy": alice.email,
        "createdAt": now,
        "projects": [],
        "userCount": 2,
    }
    assert list(members_by_id) == [bob.id, ada.id]
    assert {(member["joinedAt"], member["createdBy"]) for member in members_by_id.values()} == {(now, alice.email)}
    assert members_by_id[ada.id]["user"]["email"] == "ada@example.org"
    data = {"id": group, "name": "Payments", "description": "The team", "mappingsSSO": ["pay", "bill"], "rootRole": 2}
    assert events(world, since) == [event("group-created", alice, data=data | {"users": sorted([ada.id, bob.id])})]


def test_fields_that_the_terraform_provider_omits_are_unset(world, alice):
    since = world.last_event_id()
    group = make(alice, description=None, rootRole=None, mappingsSSO=[], users=[])
    nothing = {"description": None, "rootRole": None, "mappingsSSO": []}
    assert {key: group[key] for key in (*nothing, "users", "projects")} == nothing | {"users": [], "projects": []}
    assert [row["data"] for row in world.events(since)] == [
        {"id": group["id"], "name": "Payments", "users": []} | nothing
    ]
    bare = make(alice, "Bare")
    assert {key: bare[key] for key in nothing} == nothing


def test_members_have_the_order_in_which_they_were_sent(world, alice, ada, bob):
    cid = world.user("Cid")
    group = make(alice, users=members(bob, cid, ada))
    path = f"{PATH}/{group['id']}"
    assert ids(group) == ids(alice.get(path).json) == [bob.id, cid.id, ada.id]
    # A member who stays, and one who joins.
    for order in ([cid, ada], [ada, bob, cid], [cid, ada, bob]):
        expected = [caller.id for caller in order]
        assert ids(alice.put(path, json={"name": "Payments", "users": members(*order)}).json) == expected
        assert ids(alice.get(path).json) == ids(alice.get(PATH).json["groups"][0]) == expected
    # null changes nothing.
    assert ids(alice.put(path, json={"name": "Payments", "users": None}).json) == [cid.id, ada.id, bob.id]


def test_a_user_who_is_named_twice_is_a_member_once(alice, ada):
    assert ids(make(alice, users=members(ada, ada))) == [ada.id]


def test_the_root_role_of_a_group_counts_for_its_users_at_once(alice, ada, conn):
    refused(ada.get("/api/admin/roles"), 403, "NoAccessError")
    role = roles.insert(conn, "Reader", type="root-custom")
    fixtures.allow(conn, role, "READ_ROLE")
    group = make(alice, rootRole=role, users=members(ada))["id"]
    assert ada.get("/api/admin/roles").status_code == 200
    assert alice.put(f"{PATH}/{group}", json={"name": "Payments", "rootRole": role}).status_code == 200
    refused(ada.get("/api/admin/roles"), 403, "NoAccessError")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "name: is required"),
        ({"name": ""}, "name: must not be empty"),
        ({"name": "x" * 256}, "name: must be at most 255 characters long"),
        ({"name": "x", "description": 5}, "description: must be a string"),
        ({"name": "x", "mappingsSSO": [5]}, "mappingsSSO.0: must be a string"),
        ({"name": "x", "rootRole": "2"}, "rootRole: must be a whole number, without quotes"),
        ({"name": "x", "rootRole": 4}, "rootRole: must be the id of a root role"),
        ({"name": "x", "rootRole": 999}, "rootRole: must be the id of a root role"),
        ({"name": "x", "users": [{"user": {}}]}, "users.0.user.id: is required"),
        ({"name": "x", "users": [{}]}, "users.0.user: is required"),
        ({"name": "x", "users": [{"user": {"id": "1"}}]}, "users.0.user.id: must be a whole number, without quotes"),
        ({"name": "x", "users": [{"user": {"id": 1, "nick": "x"}}]}, "users.0.user.nick: unknown property"),
        (
            {"name": "x", "users": [{"user": {"id": 888}}, {"user": {"id": 999}}]},
            "users: unknown users: 888, 999",
        ),
        (
            {"name": "x", "rootRole": 5, "users": [{"user": {"id": 999}}]},
            "rootRole: must be the id of a root role; users: unknown users: 999",
        ),
        ({"name": "x", "ids": 1}, "ids: unknown property"),
    ],
)
def test_an_invalid_body_is_refused(alice, ada, conn, body, message):
    group = make(alice, users=members(ada))["id"]
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json=body)) == message
    assert refused(alice.put(f"{PATH}/{group}", json=body)) == message
    assert fingerprint(conn) == before


@pytest.mark.parametrize(
    "body", [{"name": None}, {"users": {}}, {"users": [5]}, {"mappingsSSO": "x"}, {"rootRole": True}]
)
def test_a_value_of_the_wrong_type_is_refused(alice, conn, body):
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json={"name": "x"} | body)).startswith(next(iter(body)))
    assert fingerprint(conn) == before


def test_a_deleted_user_cannot_become_a_member(alice, ada, conn):
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    before = fingerprint(conn)
    assert str(ada.id) in refused(alice.post(PATH, json={"name": "x", "users": members(ada)}))
    assert fingerprint(conn) == before


def test_a_name_can_be_taken_once(alice, conn):
    make(alice, "Payments")
    other = make(alice, "payments")["id"]
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json={"name": " Payments"}), 409, "NameExistsError").startswith("name: ")
    refused(alice.put(f"{PATH}/{other}", json={"name": "Payments"}), 409, "NameExistsError")
    assert fingerprint(conn) == before
