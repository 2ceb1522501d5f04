"""A move of people: users with links to set a password, roles, groups and the access to projects."""

import json

import pytest
from werkzeug.exceptions import BadRequest

from rules.import_report import Conflicts
from sql.database import value
from sql.people import groups, roles
from tests.support.fingerprint import fingerprint
from tests.support.moves import contents, move, project

NOTHING = "Nothing to move: everything exists."
ADMIN = {"id": 1, "name": "Admin", "description": "", "type": "root", "permissions": []}
VIEWER = {"id": 3, "name": "Viewer", "description": "", "type": "root", "permissions": []}
OWNER = {"id": 40, "name": "Owner", "description": "", "type": "project", "permissions": []}
AUDITOR = {"id": 41, "name": "Auditor", "description": "Reads.", "type": "root-custom"}
AUDITOR["permissions"] = [{"name": "READ_ROLE", "environment": None}, {"name": "SEE_BANNERS", "environment": None}]
TESTER = {"id": 42, "name": "Tester", "description": "", "type": "custom"}
TESTER["permissions"] = [{"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"}]


def user(number, name, **more):
    record = {"id": number, "name": name, "email": f"{name}@Example.org", "username": None}
    return record | {"rootRole": 3, "isService": False} | more


def people(*users, **lists):
    known = {"roles": [ADMIN, VIEWER, OWNER, AUDITOR, TESTER]}
    return contents(users=[*users], projects=[project()], **known | lists)


def found(alice):
    """The users by e-mail or user name, with their root roles."""
    answer = alice.get("/api/admin/user-admin").json
    names = {role["id"]: role["name"] for role in answer["rootRoles"]}
    return {user.get("email") or user["username"]: names[user["rootRole"]] for user in answer["users"]}


def test_users_without_password_login_get_no_link(app, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_LOGIN", "admins")
    report = move(app, people(user(5, "anna"), user(6, "root", rootRole=1)))
    assert [login for login, _ in report.reset_links] == ["root@example.org"]


def test_users_get_their_root_role_and_a_link(app, alice, world):
    anna = user(5, "anna", rootRole=41)
    bot = user(7, "bot", email=None, username="bot", isService=True, rootRole=1)
    since = world.last_event_id()
    report = move(app, people(anna, user(6, "ben", email=None, username="ben@old.example"), bot))
    assert found(alice) == found(alice) | {"anna@example.org": "Auditor", "ben@old.example": "Viewer"}
    (account,) = alice.get("/api/admin/service-account").json["serviceAccounts"]
    assert (account["username"], account["rootRole"], account["tokens"]) == ("bot", 1, [])
    logins = [login for login, _ in report.reset_links]
    assert logins == ["anna@example.org", "ben@old.example"]
    address = report.reset_links[0][1]
    assert address.startswith("http://localhost/reset-password?token=")
    secret = address.partition("=")[2]
    assert alice.get(f"/auth/reset/validate?token={secret}").json["email"] == "anna@example.org"
    events = world.events(since)
    types = ["role-created", "role-created", "user-created", "user-created", "service-account-created"]
    assert [event["type"] for event in events] == [*types, "instance-imported"]
    assert secret not in json.dumps(events, default=str) + str(report.lines())


def test_an_existing_user_stays_as_they_are(app, alice, world, conn):
    world.user("Victor")
    before = fingerprint(conn)
    same = {"roles": [ADMIN]}
    report = move(app, people(user(5, "VICTOR", rootRole=1), user(6, "x", email=None, username="victor"), **same))
    assert fingerprint(conn) == before
    assert (found(alice)["victor@example.org"], report.reset_links) == ("Viewer", [])
    assert report.summary() == NOTHING


def test_a_service_account_with_the_name_of_a_user_refuses_the_move(app, world):
    world.user("Victor")
    bot = user(7, "bot", email=None, username="victor", isService=True)
    with pytest.raises(BadRequest, match=r"\(users_username_key\)\. Key \(username\)=\(victor\) already exists"):
        move(app, people(bot))


def test_the_first_administrator_of_the_source_is_ours(app, conn):
    before = fingerprint(conn)
    group = {"name": "admins", "description": None, "mappingsSSO": [], "rootRole": None, "users": [1]}
    admin = user(1, "admin", email=None, username="admin", rootRole=1)
    assert move(app, people(admin, roles=[])).summary() == NOTHING
    assert fingerprint(conn) == before
    move(app, people(user(1, "boss", email=None, username="boss"), groups=[group], roles=[]))
    assert value(conn, "SELECT user_id FROM group_users") == 1


def test_an_unknown_root_role_becomes_viewer(app, alice):
    report = move(app, people(user(5, "anna", rootRole=77), user(6, "ben", email=None)))
    assert found(alice)["anna@example.org"] == "Viewer"
    assert "The root role of this user is unknown. They become Viewer: anna@Example.org" in report.warnings()
    assert "This user has neither an e-mail address nor a user name: ben" in report.warnings()


def test_roles_come_with_their_permissions(app, conn):
    report = move(app, people())
    assert report.warnings() == [
        "Roles do not get this permission, which does not exist here: SEE_BANNERS (role Auditor)"
    ]
    ids = {row["name"]: row["id"] for row in conn.execute("SELECT id, name FROM roles WHERE id > 5").fetchall()}
    auditor, tester = (roles.get_logged(conn, ids[name]) for name in ("Auditor", "Tester"))
    assert (auditor["type"], auditor["permissions"]) == ("root-custom", [{"name": "READ_ROLE"}])
    assert tester["permissions"] == TESTER["permissions"]
    assert move(app, people()).summary() == NOTHING
    roles.set_permissions(conn, ids["Tester"], [])
    assert move(app, people()).differences == ["role Tester (permissions)"]


def test_a_role_of_another_type_is_a_conflict(app):
    with pytest.raises(Conflicts) as refusal:
        move(app, people(roles=[TESTER | {"name": "owner"}]))
    assert refusal.value.conflicts == ["Role owner has the type project here, not custom. Rename it first."]


def test_groups_come_with_members_and_access(app, world, alice, conn):
    team = {"name": "team", "description": "Us.", "mappingsSSO": ["sso"], "rootRole": 41, "users": [6, 5, 99]}
    grants = {"users": [{"id": 5, "roles": [40, 42, 99]}], "groups": [{"name": "team", "roles": [42]}]}
    access = [{"project": "default", **grants}, {"project": "elsewhere", **grants}]
    since = world.last_event_id()
    brought = people(user(5, "anna"), user(6, "ben"), groups=[team], access=access)
    report = move(app, brought)
    group_id = value(conn, "SELECT id FROM groups WHERE name = 'team'")
    logged = groups.get_logged(conn, group_id)
    assert (logged["description"], logged["mappingsSSO"], len(logged["users"])) == ("Us.", ["sso"], 2)
    answer = alice.get("/api/admin/projects/default/access").json
    names = {role["id"]: role["name"] for role in answer["roles"]}
    assert [[names[role] for role in user["roles"]] for user in answer["users"]] == [["Owner", "Tester"]]
    assert [[names[role] for role in group["roles"]] for group in answer["groups"]] == [["Tester"]]
    assert report.counts["project role"]["new"] == 3
    types = [event["type"] for event in world.events(since)][-3:]
    assert types == ["group-created", "project-access-added", "instance-imported"]
    assert move(app, brought).summary() == NOTHING


def test_access_that_was_taken_here_is_not_given_again(app, conn):
    access = [{"project": "default", "users": [{"id": 5, "roles": [40]}], "groups": []}]
    team = {"name": "team", "description": None, "mappingsSSO": [], "rootRole": None, "users": [5]}
    brought = people(user(5, "anna"), access=access, groups=[team])
    move(app, brought)
    conn.execute("DELETE FROM project_user_roles")
    conn.execute("DELETE FROM group_users")
    before = fingerprint(conn)
    report = move(app, brought)
    assert fingerprint(conn) == before
    assert report.differences == [
        "group team (users)",
        "project role in default (1 role not given here)",
    ]
