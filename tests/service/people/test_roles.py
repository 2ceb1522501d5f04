"""Roles and permissions: read, checked, created, updated and deleted, alone and at once."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.errors import ForeignKeyViolation

from sql.database import rows, value
from sql.people import groups, roles, users
from sql.people.permissions import WITHOUT_EFFECT
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.page import open_page
from tests.support.races import at_once, at_the_gate, wait_for
from tests.support.roles import PATH, PREDEFINED, allowed, make
from tests.support.service import ROOT
from tests.support.world import refused

# Permissions


def test_the_tree_has_every_permission_with_its_label(alice, conn):
    answer = alice.get("/api/admin/permissions").json
    tree = answer["permissions"]
    assert (answer["version"], tree.keys()) == (1, {"root", "project", "environments"})
    for type, number in (("root", 27), ("project", 17)):
        statement = "SELECT id, name, display_name, type FROM permissions WHERE type = %(type)s ORDER BY id"
        kept = [row for row in rows(conn, statement, {"type": type}) if row["name"] not in WITHOUT_EFFECT]
        assert tree[type] == [{"displayName": row.pop("display_name")} | row for row in kept]
        assert len(kept) == number
    assert tree["root"][0]["name"] == "ADMIN"
    for environment in tree["environments"]:
        names = [(item["name"], item["type"], item["environment"]) for item in environment["permissions"]]
        assert len(names) == 8
        assert ("UPDATE_FEATURE_ENVIRONMENT", "environment", environment["name"]) in names
        assert {name[1:] for name in names} == {("environment", environment["name"])}
    statement = """
        SELECT count(*) = count(DISTINCT (type, display_name)) AND NOT bool_or(display_name IN ('', name))
          FROM permissions
    """
    assert value(conn, statement)


def test_the_tree_lists_all_environments_in_order(alice, conn):
    conn.execute(
        "INSERT INTO environments (name, type, sort_order, enabled) "
        "VALUES ('z', 'test', 0, false), ('a', 'test', 9, true)"
    )
    tree = alice.get("/api/admin/permissions").json["permissions"]
    assert [environment["name"] for environment in tree["environments"]] == ["z", "development", "production", "a"]
    conn.execute("DELETE FROM environments")
    assert alice.get("/api/admin/permissions").json["permissions"]["environments"] == []


def test_permissions_without_an_effect_are_kept_but_not_offered(alice):
    held = [{"name": name} for name in sorted(WITHOUT_EFFECT)]
    role = make(alice, "Old", type="root-custom", permissions=held)
    record = alice.get(f"{PATH}/{role}").json
    assert sorted(item["name"] for item in record["permissions"]) == sorted(WITHOUT_EFFECT)
    assert alice.put(f"{PATH}/{role}", json=record | {"name": "Older"}).status_code == 200
    assert alice.get(f"{PATH}/{role}").json["permissions"] == record["permissions"]

    def names(path: str, boxes: str) -> set[str]:
        """The permissions of the checkboxes of a page."""
        return {json.loads(box.get("value", ""))["name"] for box in open_page(alice, path).all(boxes)}

    offered = names("/admin/roles/new?type=root-custom", ".//input[@data-type='objects']")
    assert len(offered) == 51
    assert offered & WITHOUT_EFFECT == set()
    assert names(f"/admin/roles/{role}", ".//input[@checked]") == WITHOUT_EFFECT


def test_the_code_names_every_permission_with_an_effect(conn):
    code = "".join(path.read_text() for name in ("blueprints", "rules") for path in (ROOT / name).rglob("*.py"))
    known = {row["name"] for row in rows(conn, "SELECT name FROM permissions")}
    verbs = ("CREATE", "READ", "UPDATE", "DELETE")
    composed = {f"{verb}_{kind}_API_TOKEN" for verb in verbs for kind in ("CLIENT", "FRONTEND")}
    assert {name for name in known - composed if f'"{name}"' not in code} == WITHOUT_EFFECT


# Reading


def test_roles_are_listed_by_id(alice):
    created = [make(alice, "Zoologist"), make(alice, "Auditor", type="root-custom")]
    answer = alice.get(PATH).json
    assert answer["version"] == 1
    assert [(role["id"], role["name"], role["type"]) for role in answer["roles"]] == [
        (1, "Admin", "root"),
        (2, "Editor", "root"),
        (3, "Viewer", "root"),
        (4, "Owner", "project"),
        (5, "Member", "project"),
        (created[0], "Zoologist", "custom"),
        (created[1], "Auditor", "root-custom"),
    ]
    assert all(isinstance(role["description"], str) and role["project"] is None for role in answer["roles"])


def test_predefined_roles_list_what_they_allow_everywhere(alice):
    names = {role: [item["name"] for item in alice.get(f"{PATH}/{role}").json["permissions"]] for role in PREDEFINED}
    assert (names[1], names[3]) == (["ADMIN"], [])
    assert {"CREATE_PROJECT", "READ_CLIENT_API_TOKEN"} <= set(names[2])
    # Editor may do these in project default alone.
    assert not {"UPDATE_PROJECT", "CREATE_FEATURE_STRATEGY"} & set(names[2])
    assert set(names[4]) - set(names[5]) == {"UPDATE_PROJECT", "DELETE_PROJECT", "MOVE_FEATURE_TOGGLE"}


def test_unknown_roles_are_404_and_ids_are_numbers(alice, conn):
    before = fingerprint(conn)
    projects = "/api/admin/projects/roles/{}/access"
    calls = [
        lambda role: alice.get(f"{PATH}/{role}"),
        lambda role: alice.get(projects.format(role)),
        lambda role: alice.delete(f"{PATH}/{role}"),
        lambda role: alice.put(f"{PATH}/{role}", json={"name": "x"}),
    ]
    for call in calls:
        for unknown in (999, 2**31):
            refused(call(unknown), 404, "NotFoundError")
        for word in ("0", "-1", "x", "1.0", "%201", "٣"):
            refused(call(word))
    assert fingerprint(conn) == before


def test_the_projects_of_a_role_are_counted_by_kind_of_holder(world, alice, apollo, conn):
    auditor, other = roles.insert(conn, "Auditor"), roles.insert(conn, "Other")
    ada, crew = world.user("Ada"), groups.insert(conn, "crew")
    for user in (ada, world.user("Bob"), world.user("Robot", account_type="Service Account")):
        world.member("default", user, auditor)
    world.member(apollo, ada, other)
    for project in ("default", apollo):
        fixtures.add_project_group(conn, project, crew, auditor)
    assert alice.get(f"/api/admin/projects/roles/{auditor}/access").json == {
        "projects": [
            {"project": "apollo", "role": auditor, "userCount": 0, "groupCount": 1, "serviceAccountCount": 0},
            {"project": "default", "role": auditor, "userCount": 2, "groupCount": 1, "serviceAccountCount": 1},
        ]
    }
    assert alice.get("/api/admin/projects/roles/1/access").json == {"projects": []}


# Creating and updating


def test_a_new_role_is_returned_with_200_and_recorded(world, alice, conn):
    since = world.last_event_id()
    permissions = [
        {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"},
        {"name": "UPDATE_FEATURE"},
        {"id": 28, "name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"},
        {"id": 27},
        # The same again.
        {"id": 7},
        {"name": "UPDATE_FEATURE", "environment": None},
    ]
    body = {"name": " Releaser ", "description": "Switches.", "type": "custom", "permissions": permissions}
    response = alice.post(PATH, json=body)
    role = response.json["roles"]["id"]
    record = {"id": role, "type": "custom", "name": "Releaser", "description": "Switches.", "project": None}
    assert (response.status_code, response.json) == (200, {"version": 1, "roles": record})
    assert allowed(conn, role) == [
        ("DELETE_FEATURE_STRATEGY", None),
        ("UPDATE_FEATURE", None),
        ("UPDATE_FEATURE_ENVIRONMENT", "development"),
        ("UPDATE_FEATURE_ENVIRONMENT", "production"),
    ]
    switch = {"id": 28, "name": "UPDATE_FEATURE_ENVIRONMENT", "displayName": "Switch flags on and off"}
    remove = {"id": 27, "name": "DELETE_FEATURE_STRATEGY", "displayName": "Remove strategies from flags"}
    listed = [
        {"id": 7, "name": "UPDATE_FEATURE", "displayName": "Change flags", "type": "project"},
        remove | {"type": "environment"},
        switch | {"type": "environment", "environment": "development"},
        switch | {"type": "environment", "environment": "production"},
    ]
    assert alice.get(f"{PATH}/{role}").json == record | {"permissions": listed}
    logged = [{key: item[key] for key in ("name", "environment") if key in item} for item in listed]
    assert events(world, since) == [event("role-created", alice, data=record | {"permissions": logged})]


def test_omitted_fields_have_defaults_in_a_new_role_and_stay_in_an_update(alice, conn):
    bare = make(alice, "Bare")
    record = {"id": bare, "type": "custom", "name": "Bare", "description": "", "project": None, "permissions": []}
    assert alice.get(f"{PATH}/{bare}").json == record
    role = make(alice, "Auditor", description="Looks.", type="root-custom", permissions=[{"name": "READ_ROLE"}])
    assert alice.put(f"{PATH}/{role}", json={"name": "Reader"}).json["roles"]["description"] == "Looks."
    assert allowed(conn, role) == [("READ_ROLE", None)]
    assert alice.put(f"{PATH}/{role}", json={"name": "Reader", "permissions": []}).status_code == 200
    assert allowed(conn, role) == []
    updated = alice.put(f"{PATH}/{role}", json={"name": "reader", "description": ""}).json["roles"]
    assert (updated["name"], updated["description"]) == ("reader", "")


def test_an_update_replaces_what_a_role_allows(world, alice, conn):
    kept = [{"name": "UPDATE_FEATURE"}, {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"}]
    role = make(alice, "Auditor", description="Before", permissions=[*kept, {"name": "CREATE_FEATURE"}])
    since = world.last_event_id()
    body = {"name": "Reviser", "description": "After", "type": "custom"}
    response = alice.put(f"{PATH}/{role}", json=body | {"permissions": [*kept, {"name": "DELETE_FEATURE_STRATEGY"}]})
    after = {"id": role, "project": None} | body
    assert (response.status_code, response.json) == (200, {"version": 1, "roles": after})
    assert allowed(conn, role) == [
        ("DELETE_FEATURE_STRATEGY", "production"),
        ("DELETE_FEATURE_STRATEGY", None),
        ("UPDATE_FEATURE", None),
    ]
    before = after | {"name": "Auditor", "description": "Before", "permissions": [{"name": "CREATE_FEATURE"}, *kept]}
    permissions = [{"name": "UPDATE_FEATURE"}, {"name": "DELETE_FEATURE_STRATEGY"}, kept[1]]
    data = after | {"permissions": permissions}
    assert events(world, since) == [event("role-updated", alice, data=data, pre_data=before)]


def test_an_update_without_a_difference_records_nothing(world, alice):
    permissions = [{"name": "UPDATE_FEATURE"}, {"id": 27, "environment": "production"}]
    role = make(alice, description="Same", permissions=permissions)
    since = world.last_event_id()
    for body in ({}, {"description": "Same"}, {"type": "custom"}, {"permissions": permissions[::-1]}):
        assert alice.put(f"{PATH}/{role}", json={"name": "Auditor"} | body).status_code == 200
    assert world.events(since) == []


def test_an_update_counts_at_once(world, alice):
    role = make(alice, type="root-custom", permissions=[{"name": "READ_ROLE"}])
    ada = world.user("Ada", root_role=role)
    assert ada.get(PATH).status_code == ada.get(f"{PATH}/1").status_code == 200
    refused(ada.post(PATH, json={"name": "x"}), 403, "NoAccessError")
    assert alice.put(f"{PATH}/{role}", json={"name": "Auditor", "permissions": []}).status_code == 200
    refused(ada.get(PATH), 403, "NoAccessError")


def test_a_root_role_holds_all_kinds_of_permissions_in_every_project(world, alice, apollo):
    flag = world.flag("a-flag", apollo)
    strategies = {environment: world.strategy(flag, environment) for environment in ("development", "production")}
    place = "/api/admin/projects/apollo/features/a-flag/environments/{}/strategies/{}"
    permissions = [
        {"name": "PROJECT_USER_ACCESS_READ"},
        {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"},
    ]
    ada = world.user("Ada", root_role=make(alice, type="root-custom", permissions=permissions))
    # A private project without this user.
    assert ada.get("/api/admin/projects/apollo/access").status_code == 200
    refused(ada.delete(place.format("development", strategies["development"])), 403, "NoAccessError")
    assert ada.delete(place.format("production", strategies["production"])).status_code == 200


def test_a_permission_without_environment_holds_in_new_ones(world, alice, conn):
    ada = world.user("Ada")
    world.member(world.project("hermes"), ada, make(alice, permissions=[{"name": "DELETE_FEATURE_STRATEGY"}]))
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('staging', 'test', 3)")
    conn.execute("INSERT INTO project_environments (project_id, environment) VALUES ('hermes', 'staging')")
    strategy = world.strategy(world.flag("a-flag", "hermes"), "staging")
    place = f"/api/admin/projects/hermes/features/a-flag/environments/staging/strategies/{strategy}"
    assert ada.delete(place).status_code == 200


UNKNOWN = "permissions.0: must be an existing permission"
ONLY_ADMIN = "permissions.0: must not be ADMIN, which only the role Admin has"
NO_ENVIRONMENT = "permissions.0: must not name an environment, because the permission does not depend on one"
UNKNOWN_ENVIRONMENT = "permissions.0: must be an existing environment"


@pytest.mark.parametrize(
    ("type", "permission", "message"),
    [
        ("custom", {"name": "FLY"}, UNKNOWN),
        ("custom", {"name": "update_feature"}, UNKNOWN),
        ("custom", {"id": 999}, UNKNOWN),
        ("custom", {"id": 7, "name": "CREATE_FEATURE"}, UNKNOWN),
        ("custom", {"name": "CREATE_PROJECT"}, "permissions.0: must not be a root permission in a project role"),
        ("custom", {"name": "ADMIN"}, ONLY_ADMIN),
        ("root-custom", {"id": 1}, ONLY_ADMIN),
        ("custom", {"id": 27, "environment": "moon"}, UNKNOWN_ENVIRONMENT),
        ("custom", {"id": 27, "environment": ""}, UNKNOWN_ENVIRONMENT),
        ("custom", {"id": 7, "environment": "production"}, NO_ENVIRONMENT),
        ("root-custom", {"name": "READ_ROLE", "environment": "production"}, NO_ENVIRONMENT),
        ("custom", {"environment": "production"}, "permissions.0.name: is required, unless id is given"),
    ],
)
def test_a_permission_that_a_role_cannot_have_is_refused(alice, conn, type, permission, message):
    role = make(alice, "Other", type=type)
    before = fingerprint(conn)
    body = {"name": "Auditor", "permissions": [permission, {"name": "UPDATE_FEATURE"}]}
    assert refused(alice.put(f"{PATH}/{role}", json=body)) == message
    for path in (PATH, f"{PATH}/validate"):
        assert refused(alice.post(path, json=body | {"type": type})) == message
    assert fingerprint(conn) == before


def test_all_invalid_permissions_are_named_at_once(alice):
    body = {"name": "Auditor", "permissions": [{"name": "FLY"}, {"name": "UPDATE_FEATURE"}, {"name": "ADMIN"}]}
    assert refused(alice.post(PATH, json=body)) == f"{UNKNOWN}; {ONLY_ADMIN.replace('0', '2')}"


@pytest.mark.parametrize("name", ["Owner", "OWNER", "auditor", " Auditor "])
def test_a_name_is_taken_in_any_case(alice, conn, name):
    make(alice, "Auditor")
    other = make(alice, "Other")
    before, taken = fingerprint(conn), "name: a role with this name already exists"
    for path in (PATH, f"{PATH}/validate"):
        assert refused(alice.post(path, json={"name": name}), 409, "NameExistsError") == taken
    assert refused(alice.put(f"{PATH}/{other}", json={"name": name}), 409, "NameExistsError") == taken
    assert fingerprint(conn) == before


def test_a_valid_role_with_a_free_name_passes_the_check_and_is_not_created(alice, conn):
    before = fingerprint(conn)
    for more in (
        {},
        {"permissions": [{"name": "UPDATE_FEATURE"}]},
        {"type": "root-custom", "permissions": [{"id": 12}]},
    ):
        response = alice.post(f"{PATH}/validate", json={"name": "Release manager"} | more)
        assert (response.status_code, response.get_data()) == (200, b"")
    assert fingerprint(conn) == before


def test_the_type_and_predefined_roles_cannot_change(alice, conn):
    custom = {type: make(alice, type, type=type) for type in ("custom", "root-custom")}
    before = fingerprint(conn)
    for type, other in (("custom", "root-custom"), ("root-custom", "custom")):
        message = refused(alice.put(f"{PATH}/{custom[type]}", json={"name": "x", "type": other}))
        assert message == f"type: cannot change, and must be {type}"
    for role in PREDEFINED:
        refused(alice.put(f"{PATH}/{role}", json={"name": "Mine", "permissions": []}), 409, "ConflictError")
        refused(alice.delete(f"{PATH}/{role}"), 409, "ConflictError")
    assert fingerprint(conn) == before


# Deleting


def test_a_deleted_role_is_gone_and_recorded(world, alice, conn):
    role = make(alice, description="Looks.", permissions=[{"name": "UPDATE_FEATURE"}])
    since = world.last_event_id()
    response = alice.delete(f"{PATH}/{role}")
    assert (response.status_code, response.data) == (200, b"")
    refused(alice.get(f"{PATH}/{role}"), 404, "NotFoundError")
    assert allowed(conn, role) == []
    before = {"id": role, "type": "custom", "name": "Auditor", "description": "Looks.", "project": None}
    before["permissions"] = [{"name": "UPDATE_FEATURE"}]
    assert events(world, since) == [event("role-deleted", alice, pre_data=before)]


def test_an_assigned_role_stays_and_the_message_counts_its_holders(world, alice, conn):
    root, custom = make(alice, "Root", type="root-custom"), make(alice, "Custom")

    def refusal(role: int) -> str:
        since, before = world.last_event_id(), fingerprint(conn)
        message = refused(alice.delete(f"{PATH}/{role}"), 409, "ConflictError")
        assert (world.events(since), fingerprint(conn)) == ([], before)
        return message

    world.user("Ada", root_role=root)
    assert refusal(root) == "The role is assigned to 1 user."
    world.user("Bob", root_role=root)
    groups.insert(conn, "crew", root_role=root)
    fixtures.signup_token(conn, name="x", expires_at="2099-01-01T00:00:00Z", created_by="x", root_role_id=root)
    assert refusal(root) == "The role is assigned to 2 users, 1 group and 1 signup token."
    for project in ("hermes", "ares"):
        world.project(project)
        fixtures.add_project_group(conn, project, groups.insert(conn, f"crew of {project}"), custom)
    assert refusal(custom) == "The role is assigned to 2 groups."
    cid = world.user("Cid")
    for project in ("hermes", "ares"):
        world.member(project, cid, custom)
    assert refusal(custom) == "The role is assigned to 1 user and 2 groups."


def test_a_role_whose_last_holder_was_deleted_can_go(world, alice, conn):
    role = make(alice, type="root-custom")
    ada = world.user("Ada", root_role=role)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ada.id])
    assert alice.delete(f"{PATH}/{role}").status_code == 200
    assert value(conn, "SELECT root_role_id FROM users WHERE id = %(id)s", {"id": ada.id}) == 3


# At once


def test_of_eight_roles_of_one_name_one_is_created(committed):
    admin = committed.api_key()
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json={"name": "The one"})] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert [row["type"] for row in committed.events(since)] == ["role-created"]


def test_updates_at_once_are_recorded_one_after_the_other(committed, gate):
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
    states = [[], *(row["data"]["permissions"] for row in log)]
    assert (len(log), [row["pre_data"]["permissions"] for row in log]) == (len(names), states[:-1])


def test_a_role_that_is_assigned_during_its_deletion_stays(committed, gate):
    admin, role = committed.api_key(), roles.insert(committed.conn, "Given", type="root-custom")
    since, unnamed = committed.last_event_id(), {"name": None, "email": None, "password_hash": None}
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            user = users.insert(gate, username="given", root_role=role, **unnamed)
            deletion = thread.submit(admin.delete, f"{PATH}/{role}")
            wait_for(committed.conn, [deletion])
        refused(deletion.result(), 409, "ConflictError")
    assert committed.events(since) == []
    committed.conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [user["id"]])
    assert admin.delete(f"{PATH}/{role}").status_code == 200
    with pytest.raises(ForeignKeyViolation):
        users.insert(committed.conn, username="late", root_role=role, **unnamed)


def test_an_environment_under_deletion_gets_no_permissions(committed, gate):
    committed.conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('brief', 'test', 9)")
    admin, body = committed.api_key(), {"name": "Brief", "permissions": [{"id": 27, "environment": "brief"}]}
    statement = "DELETE FROM environments WHERE name = 'brief'"
    refused(at_the_gate(committed.conn, gate, statement, lambda: admin.post(PATH, json=body))[0])
