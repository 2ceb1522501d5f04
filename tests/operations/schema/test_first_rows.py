"""What every installation starts with: permissions, roles, flag types, environments and a project."""

from sql.database import connect, rows, value
from sql.people import roles

ROOT = """
    1 ADMIN · 3 CREATE_STRATEGY · 15 UPDATE_STRATEGY · 16 DELETE_STRATEGY · 4 CREATE_ADDON · 6 UPDATE_ADDON ·
    5 DELETE_ADDON · 9 UPDATE_APPLICATION · 59 CREATE_TAG_TYPE · 10 UPDATE_TAG_TYPE · 11 DELETE_TAG_TYPE ·
    12 CREATE_PROJECT · 18 CREATE_CONTEXT_FIELD · 17 UPDATE_CONTEXT_FIELD · 19 DELETE_CONTEXT_FIELD · 20 READ_ROLE ·
    31 CREATE_SEGMENT · 32 UPDATE_SEGMENT · 33 DELETE_SEGMENT · 50 CREATE_CLIENT_API_TOKEN ·
    51 UPDATE_CLIENT_API_TOKEN · 52 DELETE_CLIENT_API_TOKEN · 53 READ_CLIENT_API_TOKEN · 54 CREATE_FRONTEND_API_TOKEN ·
    55 UPDATE_FRONTEND_API_TOKEN · 56 DELETE_FRONTEND_API_TOKEN · 57 READ_FRONTEND_API_TOKEN
"""
PROJECT = """
    2 CREATE_FEATURE · 7 UPDATE_FEATURE · 8 DELETE_FEATURE · 13 UPDATE_PROJECT · 14 DELETE_PROJECT ·
    29 UPDATE_FEATURE_VARIANTS · 30 MOVE_FEATURE_TOGGLE · 42 READ_PROJECT_API_TOKEN · 43 CREATE_PROJECT_API_TOKEN ·
    44 DELETE_PROJECT_API_TOKEN · 45 UPDATE_PROJECT_SEGMENT · 58 UPDATE_FEATURE_DEPENDENCY ·
    60 PROJECT_USER_ACCESS_READ · 64 PROJECT_USER_ACCESS_WRITE · 61 PROJECT_DEFAULT_STRATEGY_READ ·
    65 PROJECT_DEFAULT_STRATEGY_WRITE · 62 PROJECT_CHANGE_REQUEST_READ · 66 PROJECT_CHANGE_REQUEST_WRITE ·
    63 PROJECT_SETTINGS_READ · 67 PROJECT_SETTINGS_WRITE
"""
ENVIRONMENT = """
    25 CREATE_FEATURE_STRATEGY · 26 UPDATE_FEATURE_STRATEGY · 27 DELETE_FEATURE_STRATEGY ·
    28 UPDATE_FEATURE_ENVIRONMENT · 37 UPDATE_FEATURE_ENVIRONMENT_VARIANTS · 35 APPROVE_CHANGE_REQUEST ·
    36 APPLY_CHANGE_REQUEST · 38 SKIP_CHANGE_REQUEST
"""
SHARED = ("ADDON", "CONTEXT_FIELD", "STRATEGY", "SEGMENT", "TAG_TYPE")
EDITOR = {f"{verb}_{noun}" for verb in ("CREATE", "UPDATE", "DELETE") for noun in SHARED}
EDITOR |= {"UPDATE_APPLICATION", "CREATE_PROJECT", "READ_CLIENT_API_TOKEN", "READ_FRONTEND_API_TOKEN"}
MEMBER = {"CREATE_FEATURE", "UPDATE_FEATURE", "DELETE_FEATURE", "UPDATE_FEATURE_VARIANTS", "UPDATE_FEATURE_DEPENDENCY"}
MEMBER |= {"READ_PROJECT_API_TOKEN", "CREATE_PROJECT_API_TOKEN", "DELETE_PROJECT_API_TOKEN"}
MEMBER |= {"CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY"}
MEMBER |= {"UPDATE_FEATURE_ENVIRONMENT", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"}
OWNER = MEMBER | {"UPDATE_PROJECT", "DELETE_PROJECT", "MOVE_FEATURE_TOGGLE"}


def test_the_permissions_are_those_of_the_interface(conn):
    for type, listed in (("root", ROOT), ("project", PROJECT), ("environment", ENVIRONMENT)):
        expected = {tuple(entry.split()) for entry in listed.split("·")}
        found = rows(conn, "SELECT id::text, name FROM permissions WHERE type = %(type)s", {"type": type})
        assert {(row["id"], row["name"]) for row in found} == expected
    assert value(conn, "SELECT count(*) FROM permissions") == 27 + 20 + 8


def test_the_five_roles_hold_what_they_should(conn):
    found = rows(conn, "SELECT id, name, type FROM roles ORDER BY id")
    assert [(row["id"], row["name"], row["type"]) for row in found] == [
        (1, "Admin", "root"),
        (2, "Editor", "root"),
        (3, "Viewer", "root"),
        (4, "Owner", "project"),
        (5, "Member", "project"),
    ]
    held = rows(conn, "SELECT role_id, permission, project_id, environment FROM role_permissions")
    expected = {(1, "ADMIN", None)}
    for role, permissions, project in ((2, EDITOR, None), (2, OWNER, "default"), (4, OWNER, None), (5, MEMBER, None)):
        expected |= {(role, permission, project) for permission in permissions}
    assert {(row["role_id"], row["permission"], row["project_id"]) for row in held} == expected
    assert len(held) == len(expected)
    assert {row["environment"] for row in held} == {None}


def test_the_first_role_of_ones_own_comes_behind_them(make_database):
    with connect(make_database()) as conn:
        assert roles.insert(conn, "Auditor") == 6


def test_flag_types_have_their_lifetimes(conn):
    found = {row["id"]: row["lifetime_days"] for row in rows(conn, "SELECT id, lifetime_days FROM flag_types")}
    forever = {"kill-switch": None, "permission": None}
    assert found == {"release": 40, "experiment": 40, "operational": 7, "sunset": 90, **forever}


def test_a_new_database_has_two_environments_and_a_project_with_both(conn):
    found = rows(conn, "SELECT name, type, enabled FROM environments ORDER BY sort_order")
    assert [tuple(row.values()) for row in found] == [
        ("development", "development", True),
        ("production", "production", True),
    ]
    assert rows(conn, "SELECT id, mode, archived_at FROM projects") == [
        {"id": "default", "mode": "open", "archived_at": None}
    ]
    found = rows(
        conn, "SELECT project_id, environment, default_strategy FROM project_environments ORDER BY environment"
    )
    assert [tuple(row.values()) for row in found] == [("default", "development", None), ("default", "production", None)]
