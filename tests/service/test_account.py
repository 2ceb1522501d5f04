"""The account of the caller: its record, permissions and roles, and a new password."""

from itertools import pairwise

import bcrypt
import pytest

from rules.access import digest
from rules.login import name_digest
from sql import login_throttle, sessions
from sql.database import rows, value
from sql.people import groups, roles
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.login import HASH, ada, log_in
from tests.support.sessions import ANY_PAGE, NEW, change, with_session
from tests.support.sessions import PATH as PASSWORD_PATH
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user"
PROFILE, ROLES = f"{PATH}/profile", f"{PATH}/roles"
VIEWER = {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None}


def me(caller: Caller) -> dict:
    """The record of the caller."""
    response = caller.get(PATH)
    assert (response.status_code, response.headers["Cache-Control"]) == (200, "no-store")
    return response.json


def rights(caller: Caller) -> set[tuple[str, str | None, str | None]]:
    """Permission, project and environment of all that the caller may do. Each is listed once."""
    found = me(caller)["permissions"]
    permissions = {(right["permission"], right.get("project"), right.get("environment")) for right in found}
    assert len(permissions) == len(found)
    return permissions


# The record


def test_users_get_their_record_and_api_tokens_their_name(world, app, alice, conn):
    now = value(conn, "SELECT iso(now())")
    user = {"isAPI": False, "loginAttempts": 0, "seenAt": None, "createdAt": now, "scimId": None}
    names = {"name": "Alice", "username": "alice", "email": "alice@example.org"}
    assert me(alice) == {
        "user": user | {"id": alice.id, "accountType": "User"} | names,
        "permissions": [{"permission": "ADMIN"}],
        "feedback": [],
        "splash": {},
    }
    key = me(world.api_key(name="the pipeline"))
    assert key["user"] == user | {"id": -42, "isAPI": True, "username": "the pipeline", "seenAt": now}
    assert key["permissions"] == [{"permission": "ADMIN"}]
    api_tokens.insert(conn, "a-key-of-the-operator", name="of the operator")
    assert me(Caller(app, "Bearer a-key-of-the-operator"))["user"]["username"] == "of the operator"
    nameless = world.user("Ada", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = %s", [nameless.id])
    assert me(nameless)["user"].keys() & {"name", "username", "imageUrl", "rootRole"} == set()
    robot = me(world.user("Robot", email=None, account_type="Service Account"))["user"]
    assert (robot["accountType"], "email" in robot) == ("Service Account", False)


def test_deleted_users_are_401(alice, conn):
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [alice.id])
    refused(alice.get(PATH), 401, "AuthenticationRequired")


def test_the_401_describes_the_login_form_and_no_other_answer_does(stranger, make_app, shared_url, world):
    form = {"type": "password", "path": "/auth/simple/login", "defaultHidden": False, "options": []}
    for headers in ({}, {"Authorization": "forged"}, {"Cookie": "session=forged"}):
        body = stranger.get(PATH, headers=headers).json
        assert list(body) == ["id", "name", "message", *form]
        assert {name: body[name] for name in form} == form
    below = Caller(make_app(shared_url, BASE_URL="https://example.org/flags", BASE_PATH="/flags"))
    assert below.get(f"/flags{PATH}").json["path"] == "/flags/auth/simple/login"
    for response in (
        stranger.get(f"{PATH}/tokens"),
        stranger.get("/api/admin/projects"),
        stranger.get(f"{PATH}/"),
        stranger.post(PATH),
        stranger.post(f"{PATH}/change-password"),
        log_in(stranger, "nobody"),
        world.api_key("client").get(PATH),
    ):
        assert response.status_code >= 400
        assert response.json.keys() == {"id", "name", "message"}


# Permissions and roles


def test_permissions_are_those_of_the_roles(eve, victor, max):
    assert me(victor)["permissions"] == []
    of_member, of_editor = rights(max), rights(eve)
    assert ("CREATE_FEATURE", "apollo", None) in of_member
    assert {project for _, project, _ in of_member} == {"apollo"}
    assert "UPDATE_PROJECT" not in {permission for permission, _, _ in of_member}
    assert {("CREATE_PROJECT", None, None), ("UPDATE_PROJECT", "default", None)} <= of_editor
    assert ("UPDATE_PROJECT", None, None) not in of_editor


def test_rights_of_groups_and_of_custom_roles_add_up(victor, max, olga, apollo, conn):
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    fixtures.allow(conn, fiddler, "CREATE_SEGMENT")
    switcher = roles.insert(conn, "Switcher")
    fixtures.allow(conn, switcher, "UPDATE_FEATURE_ENVIRONMENT", environment="development")
    # What a role holds in one project alone it does not hold in another.
    fixtures.allow(conn, switcher, "DELETE_FEATURE", project="default")
    band = groups.insert(conn, "band", root_role=fiddler)
    fixtures.add_group_user(conn, band, victor.id)
    fixtures.add_project_group(conn, apollo, band, switcher)
    assert rights(victor) == {("CREATE_SEGMENT", None, None), ("UPDATE_FEATURE_ENVIRONMENT", "apollo", "development")}
    # A role that is held twice.
    before, again = rights(max), groups.insert(conn, "members")
    fixtures.add_group_user(conn, again, max.id)
    fixtures.add_project_group(conn, apollo, again, 5)
    assert rights(max) == before
    fixtures.add_group_user(conn, groups.insert(conn, "administrators", root_role=1), olga.id)
    assert me(olga)["permissions"] == [{"permission": "ADMIN"}]


def test_a_profile_has_the_root_role_and_the_projects(world, alice, victor, olga, apollo, conn):
    assert victor.get(PROFILE).json == {"rootRole": VIEWER, "projects": [], "features": [], "subscriptions": []}
    group = groups.insert(conn, "band")
    fixtures.add_group_user(conn, group, victor.id)
    for role in (5, 4):
        fixtures.add_project_group(conn, apollo, group, role)
    world.member("default", victor)
    assert victor.get(PROFILE).json["projects"] == ["apollo", "default"]
    assert olga.get(PROFILE).json["projects"] == ["apollo"]
    world.project("past", archived_at="2026-01-01T00:00:00Z")
    fixtures.add_group_user(conn, groups.insert(conn, "admins", root_role=1), olga.id)
    for admin in (alice, olga):
        assert admin.get(PROFILE).json["projects"] == ["apollo", "default"]


def held(caller: Caller, project: str) -> list[int]:
    """The ids of the caller's roles in a project."""
    found = caller.get(ROLES, query_string={"projectId": project}).json
    assert found["version"] == 1
    return [role["id"] for role in found["roles"]]


def test_roles_in_a_project_are_those_of_the_user_of_the_groups_and_the_root_role(world, victor, apollo, conn):
    other, auditor = roles.insert(conn, "Other"), roles.insert(conn, "Auditor")
    group, strange = groups.insert(conn, "band", root_role=2), groups.insert(conn, "strangers", root_role=1)
    fixtures.add_project_group(conn, apollo, strange, other)
    # A hidden project is like an unknown one.
    assert held(victor, apollo) == held(victor, "nowhere") == [3]
    world.member(apollo, victor, 5)
    world.member("default", victor, other)
    fixtures.add_group_user(conn, group, victor.id)
    for role in (auditor, 5):
        fixtures.add_project_group(conn, apollo, group, role)
    assert held(victor, apollo) == [2, 3, 5, auditor]
    assert held(victor, "default") == [2, 3, other]
    found = victor.get(ROLES, query_string={"projectId": apollo}).json["roles"]
    assert found[-1] == {"id": auditor, "type": "custom", "name": "Auditor", "description": "", "project": apollo}
    assert [role["project"] for role in found] == [None, None, apollo, apollo]
    for query in ("", "?projectid=default", "?projectId=default&projectId=apollo"):
        assert "projectId: " in refused(victor.get(f"{ROLES}{query}"))


def test_service_accounts_have_roles_and_api_tokens_have_none(world):
    robot = world.user("Robot", email=None, account_type="Service Account")
    for path in (PROFILE, f"{ROLES}?projectId=default"):
        assert robot.get(path).status_code == 200
        refused(world.api_key().get(path), 403, "NoAccessError")


# A new password


def begin(world: World, user: Caller, session: str = "Ada") -> Caller:
    """Log the user in."""
    sessions.insert(world.conn, digest(session), user.id or 0, 48)
    return user


@pytest.fixture
def user(world: World) -> Caller:
    """Ada, who has logged in."""
    return begin(world, ada(world))


def test_a_new_password_ends_all_sessions(app, world, stranger, user, alice, conn):
    begin(world, user, "elsewhere")
    begin(world, alice, "Alice's")
    since = world.last_event_id()
    assert change(stranger).status_code == 200
    for session in ("Ada", "elsewhere"):
        refused(stranger.get(ANY_PAGE, headers=with_session(session)), 401, "AuthenticationRequired")
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    assert [log_in(stranger, "ada", password).status_code for password in (PASSWORD, NEW)] == [401, 200]
    # A personal token is no session.
    assert user.get(ANY_PAGE).status_code == 200
    assert world.events(since) == []
    kept = value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id})
    assert int(kept.split("$")[2]) == app.config["BCRYPT_ROUNDS"]


@pytest.mark.usefixtures("user")
def test_wrong_old_passwords_are_counted_and_throttled_like_logins(app, stranger, conn, monkeypatch):
    before = fingerprint(conn)
    # Nor does the response tell an earlier password.
    for guess in range(5):
        message = refused(change(stranger, PASSWORD, old="a guess"), 401, "AuthenticationRequired")
        assert message.startswith("oldPassword: must be your current password")
        assert value(conn, "SELECT login_attempts FROM users WHERE username = 'ada'") == guess + 1
    # Nothing is compared for a blocked caller.
    monkeypatch.setattr(app.extensions["passwords"], "matches", None)
    for response in (change(stranger, old="a guess"), change(stranger), log_in(stranger, "ada@example.org")):
        refused(response, 429, "RateLimitError")
        assert int(response.headers["Retry-After"]) >= 1
    assert fingerprint(conn) == before
    monkeypatch.undo()
    conn.execute("UPDATE login_throttle SET blocked_until = now()")
    assert change(stranger).status_code == 200


def test_users_without_an_email_are_throttled_by_user_name(world, stranger):
    begin(world, ada(world, email=None))
    for _ in range(5):
        refused(change(stranger, old="a guess"), 401, "AuthenticationRequired")
    refused(log_in(stranger, "ada"), 429, "RateLimitError")


@pytest.mark.usefixtures("user")
def test_a_right_password_waits_after_failures_meanwhile(app, stranger, conn, monkeypatch):
    hasher = app.extensions["passwords"]
    compare = type(hasher).matches

    def others_fail(password: str, kept: str | None) -> bool:
        for _ in range(6):
            login_throttle.fail(conn, name_digest("ada@example.org"), login_throttle.Limits(5, 900))
        return compare(hasher, password, kept)

    monkeypatch.setattr(hasher, "matches", others_fail)
    before = fingerprint(conn)
    refused(change(stranger), 429, "RateLimitError")
    assert fingerprint(conn) == before


def test_the_last_five_passwords_are_refused_and_older_ones_accepted(world, stranger, user, conn):
    last = [PASSWORD, *(f"password number {number}" for number in range(5))]
    for old, new in pairwise(last):
        assert change(stranger, new, old).status_code == 200
        begin(world, user)
    for known in last[1:]:
        assert "last 5" in refused(change(stranger, known, last[-1]))
    assert change(stranger, PASSWORD, last[-1]).status_code == 200
    begin(world, user)
    refused(change(stranger, last[2], PASSWORD))
    assert change(stranger, last[1], PASSWORD).status_code == 200
    assert value(conn, "SELECT count(*) FROM past_passwords WHERE user_id = %(id)s", {"id": user.id}) == 4


@pytest.mark.usefixtures("user")
def test_the_passwords_of_others_do_not_count(world, stranger, conn):
    kept = bcrypt.hashpw(NEW.encode(), bcrypt.gensalt(4)).decode()
    conn.execute("INSERT INTO past_passwords VALUES (%s, %s)", [world.user("Bob", password_hash=kept).id, kept])
    assert change(stranger).status_code == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"confirmPassword": NEW.upper()}, "confirmPassword: must be the same as password"),
        ({"confirmPassword": None}, "confirmPassword: must not be null"),
        ({"password": "elevenchars"}, "password: must be at least 12 characters long"),
        ({"password": "é" * 37}, "password: must be at most 72 bytes long"),
        *(
            ({"password": name}, "password: must not be the user's own name, user name or email")
            for name in ("AUGUSTA ada byron", "countess-ada", "augusta@Example.org")
        ),
    ],
)
def test_an_invalid_password_changes_nothing(app, world, stranger, conn, monkeypatch, fields, message):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    names = {"username": "countess-ada", "email": "augusta@example.org"}
    begin(world, world.user("Augusta Ada Byron", password_hash=HASH, **names))
    before = fingerprint(conn)
    assert refused(change(stranger, **fields)) == message
    assert fingerprint(conn) == before
    assert change(stranger, "twelve chars").status_code == 200


def test_only_a_session_on_our_own_pages_can_change_the_password(world, stranger, user, alice, conn):
    body = {"password": NEW, "confirmPassword": NEW, "oldPassword": PASSWORD}
    callers = (alice, user, world.api_key())
    before = fingerprint(conn)
    for caller in callers:
        refused(caller.post(PASSWORD_PATH, json=body), 403, "NoAccessError")
    refused(stranger.post(PASSWORD_PATH, json=body), 401, "AuthenticationRequired")
    headers = with_session("Ada", Origin="http://evil.example")
    refused(stranger.post(PASSWORD_PATH, json=body, headers=headers), 403, "NoAccessError")
    assert fingerprint(conn) == before
