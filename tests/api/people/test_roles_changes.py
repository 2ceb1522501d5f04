"""Roles: changed and deleted, alone and at once, and what the log says of it."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from psycopg.errors import ForeignKeyViolation

from sql.database import Connection, connect, rows, value
from sql.people import groups, roles, users
from sql.people.permissions import WITHOUT_EFFECT
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.page import open_page
from tests.support.races import at_once, at_the_gate, wait_for
from tests.support.roles import PATH, PREDEFINED, allowed, make
from tests.support.service import ROOT
from tests.support.world import World, refused

# Changing one


def test_a_change_replaces_what_a_role_allows(world, alice, conn):
    kept = [{"name": "UPDATE_FEATURE"}, {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"}]
    role = make(alice, "Auditor", description="Before", permissions=[*kept, {"name": "CREATE_FEATURE"}])
    since = world.last_event_id()
    new = [*kept, {"name": "DELETE_FEATURE_STRATEGY"}]
    answer = alice.put(
        f"{PATH}/{role}", json={"name": "Reviser", "description": "After", "type": "custom", "permissions": new}
    )
    assert answer.status_code == 200
    after = {"id": role, "type": "custom", "name": "Reviser", "description": "After", "project": None}
    assert answer.json == {"version": 1, "roles": after}
    assert allowed(conn, role) == [
        ("DELETE_FEATURE_STRATEGY", "production"),
        ("DELETE_FEATURE_STRATEGY", None),
        ("UPDATE_FEATURE", None),
    ]
    before = after | {"name": "Auditor", "description": "Before", "permissions": [{"name": "CREATE_FEATURE"}, *kept]}
    permissions = [{"name": "UPDATE_FEATURE"}, {"name": "DELETE_FEATURE_STRATEGY"}, kept[1]]
    assert events(world, since) == [
        event("role-updated", alice, data=after | {"permissions": permissions}, pre_data=before)
    ]


def test_omitted_fields_stay_and_an_empty_list_removes_all_permissions(alice, conn):
    role = make(alice, "Auditor", description="Looks.", type="root-custom", permissions=[{"name": "READ_ROLE"}])
    assert alice.put(f"{PATH}/{role}", json={"name": "Reader"}).json["roles"]["description"] == "Looks."
    assert allowed(conn, role) == [("READ_ROLE", None)]
    assert alice.put(f"{PATH}/{role}", json={"name": "Reader", "permissions": []}).status_code == 200
    assert allowed(conn, role) == []
    assert alice.put(f"{PATH}/{role}", json={"name": "reader", "description": ""}).json["roles"]["name"] == "reader"


def test_a_change_counts_at_once(world, alice):
    role = make(alice, type="root-custom", permissions=[{"name": "READ_ROLE"}])
    ada = world.user("Ada", root_role=role)
    assert ada.get(PATH).status_code == 200
    assert alice.put(f"{PATH}/{role}", json={"name": "Auditor", "permissions": []}).status_code == 200
    refused(ada.get(PATH), 403, "NoAccessError")


def test_a_change_that_changes_nothing_records_nothing(world, alice):
    permissions = [{"name": "UPDATE_FEATURE"}, {"id": 27, "environment": "production"}]
    role = make(alice, description="Same", permissions=permissions)
    since = world.last_event_id()
    for body in ({}, {"description": "Same"}, {"type": "custom"}, {"permissions": permissions[::-1]}):
        assert alice.put(f"{PATH}/{role}", json={"name": "Auditor"} | body).status_code == 200
    assert world.events(since) == []


def test_a_type_cannot_change(alice, conn):
    for type, other in (("custom", "root-custom"), ("root-custom", "custom")):
        role = make(alice, type, type=type)
        before = fingerprint(conn)
        assert (
            refused(alice.put(f"{PATH}/{role}", json={"name": "x", "type": other}))
            == f"type: cannot change, and must be {type}"
        )
        assert fingerprint(conn) == before


@pytest.mark.parametrize("role", PREDEFINED)
def test_a_predefined_role_cannot_be_changed(alice, conn, role):
    before = fingerprint(conn)
    refused(alice.put(f"{PATH}/{role}", json={"name": "Mine", "permissions": []}), 409, "ConflictError")
    refused(alice.delete(f"{PATH}/{role}"), 409, "ConflictError")
    assert fingerprint(conn) == before


def test_an_unknown_role_is_neither_changed_nor_deleted(alice, conn):
    before = fingerprint(conn)
    refused(alice.put(f"{PATH}/999", json={"name": "x"}), 404, "NotFoundError")
    refused(alice.delete(f"{PATH}/999"), 404, "NotFoundError")
    assert fingerprint(conn) == before


# Deleting one


def test_a_deleted_role_is_gone_and_recorded(world, alice, conn):
    role = make(alice, description="Looks.", permissions=[{"name": "UPDATE_FEATURE"}])
    since = world.last_event_id()
    answer = alice.delete(f"{PATH}/{role}")
    assert (answer.status_code, answer.data) == (200, b"")
    refused(alice.get(f"{PATH}/{role}"), 404, "NotFoundError")
    assert allowed(conn, role) == []
    before = {"id": role, "type": "custom", "name": "Auditor", "description": "Looks.", "project": None}
    assert events(world, since) == [
        event("role-deleted", alice, pre_data=before | {"permissions": [{"name": "UPDATE_FEATURE"}]})
    ]


def test_a_role_that_is_held_stays_and_the_message_counts_the_holders(world, alice, conn):
    root, custom = make(alice, "Root", type="root-custom"), make(alice, "Custom")
    world.user("Ada", root_role=root)
    assert refused(alice.delete(f"{PATH}/{root}"), 409, "ConflictError") == "The role is assigned to 1 user."
    world.user("Bob", root_role=root)
    groups.insert(conn, "crew", root_role=root)
    fixtures.signup_token(conn, name="x", expires_at="2099-01-01T00:00:00Z", created_by="x")
    conn.execute("UPDATE signup_tokens SET root_role_id = %s", [root])
    since, before = world.last_event_id(), fingerprint(conn)
    assert (
        refused(alice.delete(f"{PATH}/{root}"), 409, "ConflictError")
        == "The role is assigned to 2 users, 1 group and 1 signup token."
    )
    assert (world.events(since), fingerprint(conn)) == ([], before)
    for project in ("hermes", "ares"):
        world.project(project)
        fixtures.add_project_group(conn, project, groups.insert(conn, f"crew of {project}"), custom)
    assert refused(alice.delete(f"{PATH}/{custom}"), 409, "ConflictError") == "The role is assigned to 2 groups."
    cid = world.user("Cid")
    for project in ("hermes", "ares"):
        world.member(project, cid, custom)
    assert (
        refused(alice.delete(f"{PATH}/{custom}"), 409, "ConflictError")
        == "The role is assigned to 1 user and 2 groups."
    )
    assert {role["id"] for role in alice.get(PATH).json["roles"]} == {*PREDEFINED, root, custom}


def test_a_role_whose_last_holder_was_deleted_can_go(world, alice, conn):
    role = make(alice, type="root-custom")
    ada = world.user("Ada", root_role=role)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    assert alice.delete(f"{PATH}/{role}").status_code == 200
    assert value(conn, "SELECT root_role_id FROM users WHERE id = %(id)s", {"id": ada.id}) == 3


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


def test_of_eight_roles_of_one_name_one_is_made(committed):
    admin = committed.api_key()
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json={"name": "The one"})] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert [row["type"] for row in committed.events(since)] == ["role-created"]


def test_eight_changes_at_once_are_recorded_one_after_the_other(committed, gate):
    admin = committed.api_key()
    role = make(admin, "Many times changed")
    names = ["CREATE_FEATURE", "UPDATE_FEATURE", "DELETE_FEATURE", "UPDATE_PROJECT"]
    calls = [
        lambda name=name: admin.put(
            f"{PATH}/{role}", json={"name": "Many times changed", "permissions": [{"name": name}]}
        )
        for name in names
    ]
    since = committed.last_event_id()
    at_the_gate(committed.conn, gate, f"SELECT FROM roles WHERE id = {role} FOR UPDATE", *calls)
    log = committed.events(since)
    assert len(log) == len(names)
    states = [[], *(row["data"]["permissions"] for row in log)]
    assert [row["pre_data"]["permissions"] for row in log] == states[:-1]


def test_a_role_that_is_assigned_during_its_deletion_stays(committed, gate):
    admin, role = committed.api_key(), roles.insert(committed.conn, "Given", type="root-custom")
    since = committed.last_event_id()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            users.insert(gate, name=None, username="given", email=None, password_hash=None, root_role=role)
            deletion = thread.submit(admin.delete, f"{PATH}/{role}")
            wait_for(committed.conn, [deletion])
        refused(deletion.result(), 409, "ConflictError")
    assert committed.events(since) == []


def test_a_deleted_role_cannot_be_given(committed):
    admin, role = committed.api_key(), roles.insert(committed.conn, "Gone", type="root-custom")
    assert admin.delete(f"{PATH}/{role}").status_code == 200
    with pytest.raises(ForeignKeyViolation):
        users.insert(committed.conn, name=None, username="late", email=None, password_hash=None, root_role=role)


def test_an_environment_under_deletion_gets_no_permissions(committed, gate):
    committed.conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('brief', 'test', 9)")
    admin, body = committed.api_key(), {"name": "Brief", "permissions": [{"id": 27, "environment": "brief"}]}
    statement = "DELETE FROM environments WHERE name = 'brief'"
    refused(at_the_gate(committed.conn, gate, statement, lambda: admin.post(PATH, json=body))[0])


# Permissions without an effect


def test_permissions_without_an_effect_are_kept_but_not_offered(alice):
    held = [{"name": name} for name in sorted(WITHOUT_EFFECT)]
    body = {"name": "Old", "type": "root-custom", "permissions": held}
    role = alice.post(PATH, json=body).json["roles"]
    record = alice.get(f"{PATH}/{role['id']}").json
    assert sorted(item["name"] for item in record["permissions"]) == sorted(WITHOUT_EFFECT)
    assert alice.put(f"{PATH}/{role['id']}", json=record | {"name": "Older"}).status_code == 200
    assert alice.get(f"{PATH}/{role['id']}").json["permissions"] == record["permissions"]

    def names(path: str, boxes: str) -> set[str]:
        """The permissions of the checkboxes of a page."""
        return {json.loads(box.get("value", ""))["name"] for box in open_page(alice, path).all(boxes)}

    offered = names("/admin/roles/new?type=root-custom", ".//input[@data-type='objects']")
    assert len(offered) == 44
    assert offered & WITHOUT_EFFECT == set()
    assert names(f"/admin/roles/{role['id']}", ".//input[@checked]") == WITHOUT_EFFECT


def test_what_has_an_effect_is_asked_for(conn):
    code = "".join(path.read_text() for name in ("blueprints", "rules") for path in (ROOT / name).rglob("*.py"))
    known = {row["name"] for row in rows(conn, "SELECT name FROM permissions")}
    verbs = ("CREATE", "READ", "UPDATE", "DELETE")
    composed = {f"{verb}_{kind}_API_TOKEN" for verb in verbs for kind in ("CLIENT", "FRONTEND")}
    assert {name for name in known - composed if f'"{name}"' not in code} == WITHOUT_EFFECT
