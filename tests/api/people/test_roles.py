"""Roles and permissions: read, made, changed and deleted, and what the log says of it."""

import pytest

from sql.database import rows, value
from sql.people import roles
from sql.people.permissions import WITHOUT_EFFECT
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.roles import PATH, PREDEFINED, allowed, make
from tests.support.world import refused

# Permissions


def test_every_permission_is_in_the_tree_with_its_label(alice, conn):
    answer = alice.get("/api/admin/permissions")
    assert answer.status_code == 200
    assert (answer.json["version"], answer.json["permissions"].keys()) == (1, {"root", "project", "environments"})
    tree = answer.json["permissions"]
    for type in ("root", "project"):
        kept = rows(
            conn, "SELECT id, name, display_name FROM permissions WHERE type = %(type)s ORDER BY id", {"type": type}
        )
        kept = [row for row in kept if row["name"] not in WITHOUT_EFFECT]
        assert tree[type] == [
            {"id": row["id"], "name": row["name"], "displayName": row["display_name"], "type": type} for row in kept
        ]
    assert (len(tree["root"]), len(tree["project"])) == (24, 16)
    assert tree["root"][0]["name"] == "ADMIN"
    assert [environment["name"] for environment in tree["environments"]] == ["development", "production"]
    for environment in tree["environments"]:
        names = [(item["name"], item["type"], item["environment"]) for item in environment["permissions"]]
        assert len(names) == 5
        assert ("UPDATE_FEATURE_ENVIRONMENT", "environment", environment["name"]) in names
        assert {name[1:] for name in names} == {("environment", environment["name"])}


def test_the_tree_lists_all_environments_in_order(alice, conn):
    conn.execute(
        "INSERT INTO environments (name, type, sort_order, enabled) "
        "VALUES ('z', 'test', 0, false), ('a', 'test', 9, true)"
    )
    tree = alice.get("/api/admin/permissions").json["permissions"]
    assert [environment["name"] for environment in tree["environments"]] == ["z", "development", "production", "a"]
    conn.execute("DELETE FROM environments")
    assert alice.get("/api/admin/permissions").json["permissions"]["environments"] == []


def test_each_type_has_each_label_once(conn):
    assert value(conn, "SELECT count(*) FROM permissions WHERE display_name = '' OR display_name = name") == 0
    assert value(conn, "SELECT count(*) FROM permissions") == value(
        conn, "SELECT count(DISTINCT (type, display_name)) FROM permissions"
    )


# Reading roles


def test_roles_are_listed_by_id(alice):
    created = [make(alice, "Zoologist"), make(alice, "Auditor", type="root-custom")]
    answer = alice.get(PATH)
    assert (answer.status_code, answer.json["version"]) == (200, 1)
    assert [(role["id"], role["name"], role["type"]) for role in answer.json["roles"]] == [
        (1, "Admin", "root"),
        (2, "Editor", "root"),
        (3, "Viewer", "root"),
        (4, "Owner", "project"),
        (5, "Member", "project"),
        (created[0], "Zoologist", "custom"),
        (created[1], "Auditor", "root-custom"),
    ]
    assert all(isinstance(role["description"], str) and role["project"] is None for role in answer.json["roles"])


def test_a_role_comes_with_its_permissions(alice):
    permissions = [
        {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"},
        {"name": "UPDATE_FEATURE"},
        {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"},
        {"name": "DELETE_FEATURE_STRATEGY"},
    ]
    role = make(alice, "Releaser", description="Switches.", permissions=permissions)
    switch = {
        "id": 28,
        "name": "UPDATE_FEATURE_ENVIRONMENT",
        "displayName": "Switch flags on and off",
        "type": "environment",
    }
    assert alice.get(f"{PATH}/{role}").json == {
        "id": role,
        "type": "custom",
        "name": "Releaser",
        "description": "Switches.",
        "project": None,
        "permissions": [
            {"id": 7, "name": "UPDATE_FEATURE", "displayName": "Change flags", "type": "project"},
            {
                "id": 27,
                "name": "DELETE_FEATURE_STRATEGY",
                "displayName": "Remove strategies from flags",
                "type": "environment",
            },
            switch | {"environment": "development"},
            switch | {"environment": "production"},
        ],
    }


def test_the_predefined_roles_tell_what_they_allow_everywhere(alice):
    names = {role: [item["name"] for item in alice.get(f"{PATH}/{role}").json["permissions"]] for role in PREDEFINED}
    assert (names[1], names[3]) == (["ADMIN"], [])
    assert {"CREATE_PROJECT", "READ_CLIENT_API_TOKEN"} <= set(names[2])
    # Editor may do these in project default alone.
    assert not {"UPDATE_PROJECT", "CREATE_FEATURE_STRATEGY"} & set(names[2])
    assert set(names[4]) - set(names[5]) == {"UPDATE_PROJECT", "DELETE_PROJECT", "MOVE_FEATURE_TOGGLE"}


def test_a_role_that_is_not_there_is_not_found_and_an_id_is_a_number(alice):
    refused(alice.get(f"{PATH}/999"), 404, "NotFoundError")
    refused(alice.get(f"{PATH}/{2**31}"), 404, "NotFoundError")
    for path in ("0", "-1", "x", "1.0", "%201", "٣"):
        for call in (alice.get, alice.delete, lambda path: alice.put(path, json={"name": "x"})):
            refused(call(f"{PATH}/{path}"))


def test_roles_are_read_with_read_role_and_changed_by_administrators(world, alice, eve, victor, conn):
    role = roles.insert(conn, "May read roles", type="root-custom")
    fixtures.allow(conn, role, "READ_ROLE")
    reader = world.user("Reader", root_role=role)
    for caller in (alice, reader):
        assert caller.get(PATH).status_code == caller.get(f"{PATH}/1").status_code == 200
    for caller in (eve, victor, reader):
        before = fingerprint(conn)
        if caller is not reader:
            refused(caller.get(PATH), 403, "NoAccessError")
            refused(caller.get(f"{PATH}/1"), 403, "NoAccessError")
            refused(caller.get(f"{PATH}/x"), 403, "NoAccessError")
        refused(caller.post(PATH, json={"name": "x"}), 403, "NoAccessError")
        refused(caller.put(f"{PATH}/{role}", json={"name": "x"}), 403, "NoAccessError")
        refused(caller.delete(f"{PATH}/999"), 403, "NoAccessError")
        refused(caller.delete(f"{PATH}/x"), 403, "NoAccessError")
        assert fingerprint(conn) == before


# Making one


def test_a_role_is_made_and_answered_with_200(world, alice, conn):
    since = world.last_event_id()
    permissions = [
        {"name": "UPDATE_FEATURE"},
        {"id": 27, "environment": "production"},
        {"id": 28, "name": "UPDATE_FEATURE_ENVIRONMENT"},
    ]
    answer = alice.post(
        PATH, json={"name": " Releaser ", "description": "Switches.", "type": "custom", "permissions": permissions}
    )
    assert answer.status_code == 200
    role = answer.json["roles"]["id"]
    record = {"id": role, "type": "custom", "name": "Releaser", "description": "Switches.", "project": None}
    assert answer.json == {"version": 1, "roles": record}
    assert allowed(conn, role) == [
        ("DELETE_FEATURE_STRATEGY", "production"),
        ("UPDATE_FEATURE", None),
        ("UPDATE_FEATURE_ENVIRONMENT", None),
    ]
    shown = [
        {"name": "UPDATE_FEATURE"},
        {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"},
        {"name": "UPDATE_FEATURE_ENVIRONMENT"},
    ]
    assert events(world, since) == [event("role-created", alice, data=record | {"permissions": shown})]


def test_a_new_role_has_defaults_for_omitted_fields(alice):
    role = make(alice, "Bare")
    assert alice.get(f"{PATH}/{role}").json == {
        "id": role, "type": "custom", "name": "Bare", "description": "", "project": None, "permissions": []
    }  # fmt: skip


def test_a_permission_that_is_asked_for_twice_is_held_once(alice, conn):
    twice = [{"name": "UPDATE_FEATURE"}, {"id": 7}, {"name": "UPDATE_FEATURE", "environment": None}]
    assert allowed(conn, make(alice, permissions=twice)) == [("UPDATE_FEATURE", None)]


def test_a_root_role_holds_all_kinds_of_permissions_in_every_project(world, alice, apollo):
    flag = world.flag("a-flag", apollo)
    strategies = {environment: world.strategy(flag, environment) for environment in ("development", "production")}
    place = "/api/admin/projects/apollo/features/a-flag/environments/{}/strategies/{}"
    permissions = [
        {"name": "READ_ROLE"},
        {"name": "PROJECT_USER_ACCESS_READ"},
        {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"},
    ]
    ada = world.user("Ada", root_role=make(alice, type="root-custom", permissions=permissions))
    assert ada.get(PATH).status_code == 200
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
    assert (
        ada.delete(f"/api/admin/projects/hermes/features/a-flag/environments/staging/strategies/{strategy}").status_code
        == 200
    )


@pytest.mark.parametrize("change", [False, True])
@pytest.mark.parametrize(
    ("type", "permission", "message"),
    [
        ("custom", {"name": "FLY"}, "permissions.0: must be an existing permission"),
        ("custom", {"name": "update_feature"}, "permissions.0: must be an existing permission"),
        ("custom", {"id": 999}, "permissions.0: must be an existing permission"),
        ("custom", {"id": 7, "name": "CREATE_FEATURE"}, "permissions.0: must be an existing permission"),
        ("custom", {"name": "CREATE_PROJECT"}, "permissions.0: must not be a root permission in a project role"),
        ("custom", {"name": "ADMIN"}, "permissions.0: must not be ADMIN, which only the role Admin has"),
        ("root-custom", {"id": 1}, "permissions.0: must not be ADMIN, which only the role Admin has"),
        ("custom", {"id": 27, "environment": "moon"}, "permissions.0: must be an existing environment"),
        ("custom", {"id": 27, "environment": ""}, "permissions.0: must be an existing environment"),
        (
            "custom",
            {"id": 7, "environment": "production"},
            "permissions.0: must not name an environment, because the permission does not depend on one",
        ),
        (
            "root-custom",
            {"name": "READ_ROLE", "environment": "production"},
            "permissions.0: must not name an environment, because the permission does not depend on one",
        ),
    ],
)
def test_a_permission_that_a_role_cannot_have_is_refused(alice, conn, type, permission, message, change):
    body = {"name": "Auditor", "permissions": [permission, {"name": "UPDATE_FEATURE"}]}
    role = make(alice, "Auditor", type=type) if change else None
    before = fingerprint(conn)
    answer = alice.put(f"{PATH}/{role}", json=body) if change else alice.post(PATH, json=body | {"type": type})
    assert refused(answer) == message
    assert fingerprint(conn) == before


def test_all_invalid_permissions_are_named_at_once(alice):
    body = {"name": "Auditor", "permissions": [{"name": "FLY"}, {"name": "UPDATE_FEATURE"}, {"name": "ADMIN"}]}
    message = (
        "permissions.0: must be an existing permission; permissions.2: must not be ADMIN, which only the role Admin has"
    )
    assert refused(alice.post(PATH, json=body)) == message


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "x", "description": 5}, "description"),
        ({"name": "x", "type": "root"}, "type"),
        ({"name": "x", "permissions": {}}, "permissions"),
        ({"name": "x", "permissions": ["UPDATE_FEATURE"]}, "permissions.0"),
        ({"name": "x", "permissions": [{}]}, "permissions.0.name"),
        ({"name": "x", "permissions": [{"environment": "production"}]}, "permissions.0.name"),
        ({"name": "x", "permissions": [{"id": "7"}]}, "permissions.0.id"),
        ({"name": "x", "permissions": [{"id": 2**31}]}, "permissions.0.id"),
        ({"name": "x", "permissions": [{"id": 7, "project": "default"}]}, "permissions.0.project"),
        ({"name": "x", "ids": 7}, "ids"),
    ],
)
def test_an_invalid_body_is_refused(alice, conn, body, field):
    role = make(alice)
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json=body)).startswith(f"{field}: ")
    assert refused(alice.put(f"{PATH}/{role}", json=body)).startswith(f"{field}: ")
    assert fingerprint(conn) == before


@pytest.mark.parametrize("name", ["Owner", "OWNER", "auditor", " Auditor "])
def test_a_name_is_taken_in_any_case_of_letters(alice, conn, name):
    make(alice, "Auditor")
    other = make(alice, "Other")
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json={"name": name}), 409, "NameExistsError").startswith("name: ")
    refused(alice.put(f"{PATH}/{other}", json={"name": name}), 409, "NameExistsError")
    assert fingerprint(conn) == before
