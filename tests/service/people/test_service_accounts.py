"""Service accounts: users that are programs."""

from typing import Any

import pytest

from sql.database import one, value
from sql.people import roles
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.sessions import ANY_PAGE
from tests.support.world import Caller, World, refused

PATH = "/api/admin/service-account"
TOKEN = {"description": "nightly", "expiresAt": "2099-12-31T23:59:59.000Z"}


def make(caller: Caller, **fields: Any):
    """Create a service account."""
    return caller.post(PATH, json={"username": "terraform", "name": "Terraform", "rootRole": 2} | fields)


@pytest.fixture
def robot(world: World) -> Caller:
    """A service account with a token."""
    return world.user("Robot", email=None, account_type="Service Account")


def logged(robot: Caller, **change: Any) -> dict[str, Any]:
    """The service account as events show it."""
    return {"id": robot.id, "name": "Robot", "username": "robot", "rootRole": 3} | change


def test_a_new_account_is_returned_and_recorded(world, alice, conn):
    since = world.last_event_id()
    response = make(alice)
    account_id = value(conn, "SELECT max(id) FROM users")
    assert (response.status_code, response.headers["Location"]) == (201, f"service-account/{account_id}")
    data = {"id": account_id, "name": "Terraform", "username": "terraform", "rootRole": 2}
    assert response.json == data | {
        "isAPI": False,
        "accountType": "Service Account",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
        "tokens": [],
    }
    row = one(conn, "SELECT account_type, email, password_hash FROM users WHERE id = %(id)s", {"id": account_id})
    assert row == {"account_type": "Service Account", "email": None, "password_hash": None}
    assert events(world, since) == [event("service-account-created", alice, data=data)]


def test_the_list_has_accounts_tokens_and_root_roles(alice, robot, conn):
    created = make(alice).json
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [make(alice, username="gone").json["id"]])
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    answer = alice.get(PATH).json
    assert [(account["id"], account["rootRole"]) for account in answer["serviceAccounts"]] == [
        (robot.id, 3),
        (created["id"], 2),
    ]
    assert answer["serviceAccounts"][1] == created
    (token,) = answer["serviceAccounts"][0]["tokens"]
    assert (token["description"], token["userId"]) == ("test", robot.id)
    assert [role["id"] for role in answer["rootRoles"]] == [1, 2, 3, fiddler]


@pytest.mark.usefixtures("victor")
def test_unknown_roles_and_taken_names_are_refused(alice, robot, conn):
    before = fingerprint(conn)
    for role in (4, 999):
        message = "rootRole: must be the id or the name of a root role"
        assert refused(make(alice, rootRole=role)) == message
        assert refused(alice.put(f"{PATH}/{robot.id}", json={"name": "R2", "rootRole": role})) == message
    for username in ("robot", "victor"):
        assert refused(make(alice, username=username), 409, "NameExistsError").startswith("username: ")
    refused(make(alice, rootRole="Editor"))
    assert fingerprint(conn) == before


@pytest.mark.parametrize("change", [{"name": "R2"}, {"rootRole": 1}, {"name": "R2", "rootRole": 2}])
def test_an_update_is_returned_and_recorded(world, alice, robot, change):
    for same in ({}, {"name": "Robot"}, {"rootRole": 3}):
        assert alice.put(f"{PATH}/{robot.id}", json=same).status_code == 200
    since, after = world.last_event_id(), logged(robot, **change)
    response = alice.put(f"{PATH}/{robot.id}", json=change)
    assert {key: response.json[key] for key in after} == after
    assert len(response.json["tokens"]) == 1
    log = [row for row in events(world, 0) if row["type"] == "service-account-updated"]
    assert events(world, since) == log == [event("service-account-updated", alice, data=after, pre_data=logged(robot))]


def test_a_deleted_account_is_recorded_and_its_name_is_free(world, alice, robot, conn):
    since = world.last_event_id()
    response = alice.delete(f"{PATH}/{robot.id}")
    assert (response.status_code, response.get_data()) == (200, b"")
    refused(robot.get(ANY_PAGE), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE user_id = %(id)s", {"id": robot.id}) == 0
    assert value(conn, "SELECT deleted_at = now() FROM users WHERE id = %(id)s", {"id": robot.id})
    assert events(world, since) == [event("service-account-deleted", alice, pre_data=logged(robot))]
    # The last service account that administers can go too.
    again = world.user("Robot", root_role=1, email=None, account_type="Service Account")
    assert again.delete(f"{PATH}/{again.id}").status_code == 200
    assert alice.get(PATH).json["serviceAccounts"] == []


@pytest.mark.parametrize(
    ("method", "suffix", "body"),
    [
        ("PUT", "", {"json": {"name": "R2"}}),
        ("DELETE", "", {}),
        ("GET", "/token", {}),
        ("POST", "/token", {"json": TOKEN}),
        ("DELETE", "/token/{token}", {}),
    ],
)
def test_other_users_are_404(world, alice, victor, conn, method, suffix, body):
    gone = world.user("Gone", account_type="Service Account")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    before = fingerprint(conn)
    for user_id in (victor.id, gone.id, 2**31 - 1, 2**40):
        token = value(conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": user_id}) or 1
        path = f"{PATH}/{user_id}{suffix.format(token=token)}"
        refused(alice.request(method, path, **body), 404, "NotFoundError")
    for user_id in ("0", "x", "-1"):
        refused(alice.request(method, f"{PATH}/{user_id}{suffix.format(token=1)}", **body))
    assert fingerprint(conn) == before


# Tokens


def test_a_token_acts_as_the_service_account(world, app, alice, robot, conn):
    since = world.last_event_id()
    response = alice.post(f"{PATH}/{robot.id}/token", json=TOKEN)
    created = response.json
    assert (response.status_code, response.headers["Location"]) == (201, f"token/{created['id']}")
    secret = created.pop("secret")
    token_id, now = value(conn, "SELECT max(id) FROM personal_tokens"), value(conn, "SELECT iso(now())")
    assert created == {"id": token_id, **TOKEN, "createdAt": now, "seenAt": None, "userId": robot.id}
    data = {"id": token_id, **TOKEN, "userId": robot.id}
    assert events(world, since) == [event("pat-created", alice, data=data)]
    tokens = alice.get(f"{PATH}/{robot.id}/token").json["pats"]
    assert tokens == alice.get(PATH).json["serviceAccounts"][0]["tokens"]
    assert tokens[1] == created
    assert Caller(app, secret).get("/api/admin/user").json["user"]["id"] == robot.id


def test_tokens_of_a_service_account_have_the_limits_of_any_user(app, alice, robot, conn, monkeypatch):
    path = f"{PATH}/{robot.id}/token"
    assert alice.post(path, json=TOKEN).status_code == 201
    before = fingerprint(conn)
    refused(alice.post(path, json=TOKEN), 409, "NameExistsError")
    refused(alice.post(path, json=TOKEN | {"expiresAt": "2020-01-01T00:00:00Z"}))
    monkeypatch.setitem(app.config, "MAX_PERSONAL_TOKENS", 2)
    refused(alice.post(path, json=TOKEN | {"description": "another"}), 409, "ConflictError")
    assert fingerprint(conn) == before


def test_a_token_is_deleted_and_the_others_stay(world, app, alice, robot, victor, conn):
    created = alice.post(f"{PATH}/{robot.id}/token", json=TOKEN).json
    other = make(alice).json["id"]
    of_victor = value(conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": victor.id})
    before, since = fingerprint(conn), world.last_event_id()
    for account_id, token_id in (
        (other, created["id"]),
        (victor.id, created["id"]),
        (robot.id, of_victor),
        (robot.id, 2**40),
    ):
        refused(alice.delete(f"{PATH}/{account_id}/token/{token_id}"), 404, "NotFoundError")
    refused(alice.delete(f"{PATH}/{robot.id}/token/x"))
    assert fingerprint(conn) == before
    response = alice.delete(f"{PATH}/{robot.id}/token/{created['id']}")
    assert (response.status_code, response.get_data()) == (200, b"")
    refused(Caller(app, created["secret"]).get(ANY_PAGE), 401, "AuthenticationRequired")
    assert robot.get(ANY_PAGE).status_code == 200
    data = {"id": created["id"], **TOKEN, "userId": robot.id}
    assert events(world, since) == [event("pat-deleted", alice, data=data)]
