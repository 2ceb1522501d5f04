"""Service accounts: users that are programs."""

from typing import Any

import pytest

from sql.database import one, rows, value
from sql.people import roles
from tests.support.login import HASH, log_in
from tests.support.sessions import ANY_PAGE
from tests.support.world import Caller, World, refused

PATH = "/api/admin/service-account"
TOKEN = {"description": "nightly", "expiresAt": "2099-12-31T23:59:59.000Z"}


def make(caller: Caller, **fields: Any):
    """Ask for a service account; a field of ... is left out."""
    body = {"username": "terraform", "name": "Terraform", "rootRole": 2} | fields
    return caller.post(PATH, json={field: word for field, word in body.items() if word is not ...})


def state(world: World) -> list[Any]:
    """All users and tokens, and the newest event."""
    tokens = rows(world.conn, "SELECT id, user_id, description FROM personal_tokens ORDER BY id")
    return [rows(world.conn, "SELECT * FROM users ORDER BY id"), tokens, world.last_event_id()]


@pytest.fixture
def robot(world: World) -> Caller:
    """A service account with a token."""
    return world.user("Robot", email=None, account_type="Service Account")


def logged(robot: Caller, **change: Any) -> dict[str, Any]:
    """What the log says of the robot."""
    return {"id": robot.id, "name": "Robot", "username": "robot", "rootRole": 3} | change


def test_the_whole_record_is_returned_and_recorded(world, alice, conn):
    since = world.last_event_id()
    response = make(alice)
    assert response.status_code == 201
    account_id = value(conn, "SELECT max(id) FROM users")
    assert response.headers["Location"] == f"service-account/{account_id}"
    assert response.json == {
        "id": account_id,
        "isAPI": False,
        "name": "Terraform",
        "username": "terraform",
        "rootRole": 2,
        "accountType": "Service Account",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
        "tokens": [],
    }
    row = one(
        conn, "SELECT account_type, email, password_hash, root_role_id FROM users WHERE id = %(id)s", {"id": account_id}
    )
    assert row == {"account_type": "Service Account", "email": None, "password_hash": None, "root_role_id": 2}
    (event,) = world.events(since)
    assert event["type"] == "service-account-created"
    assert event["data"] == {"id": account_id, "name": "Terraform", "username": "terraform", "rootRole": 2}
    assert event["pre_data"] is None
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)


def test_the_list_has_accounts_tokens_and_root_roles(alice, robot, conn):
    created = make(alice).json
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [make(alice, username="gone").json["id"]])
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    answer = alice.get(PATH).json
    assert [account["id"] for account in answer["serviceAccounts"]] == [robot.id, created["id"]]
    assert answer["serviceAccounts"][1] == created
    (token,) = answer["serviceAccounts"][0]["tokens"]
    assert (token["description"], token["userId"]) == ("test", robot.id)
    assert "secret" not in token
    assert [role["id"] for role in answer["rootRoles"]] == [1, 2, 3, fiddler]
    assert [account["rootRole"] for account in answer["serviceAccounts"]] == [3, 2]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        *(({field: ...}, field) for field in ("username", "name", "rootRole")),
        *(({"username": wrong}, "username") for wrong in ("", "robot@home")),
        *(({"name": wrong}, "name") for wrong in ("", "a" * 256)),
        *(({"rootRole": wrong}, "rootRole") for wrong in (None, "Editor", 4, 999)),
        ({"email": "robot@example.org"}, "email"),
        ({"password": "a password"}, "password"),
    ],
)
def test_a_body_that_does_not_fit_makes_nothing(world, alice, fields, named):
    before = state(world)
    assert f"{named}: " in refused(make(alice, **fields))
    assert state(world) == before


@pytest.mark.usefixtures("robot", "victor")
def test_a_user_name_that_is_taken_makes_nothing(world, alice):
    before = state(world)
    for username in ("robot", "victor"):
        assert refused(make(alice, username=username), 409, "NameExistsError").startswith("username: ")
    assert state(world) == before


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"name": "R2"}, {"name": "R2"}),
        ({"rootRole": 1}, {"rootRole": 1}),
        ({"name": "R2", "rootRole": 2}, {"name": "R2", "rootRole": 2}),
    ],
)
def test_a_change_is_returned_and_recorded(world, alice, robot, change, after):
    since = world.last_event_id()
    response = alice.put(f"{PATH}/{robot.id}", json=change)
    assert response.status_code == 200
    assert {key: response.json[key] for key in logged(robot)} == logged(robot, **after)
    assert len(response.json["tokens"]) == 1
    (event,) = world.events(since)
    assert event["type"] == "service-account-updated"
    assert (event["pre_data"], event["data"]) == (logged(robot), logged(robot, **after))
    assert event["created_by_user_id"] == alice.id


def test_an_update_without_a_difference_records_nothing(world, alice, robot):
    before = state(world)
    for same in ({}, {"name": "Robot"}, {"rootRole": 3}):
        assert alice.put(f"{PATH}/{robot.id}", json=same).status_code == 200
    assert state(world) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        *(({"name": wrong}, "name") for wrong in ("", "a" * 256)),
        *(({"rootRole": wrong}, "rootRole") for wrong in ("Editor", 4)),
        ({"username": "r2"}, "username"),
    ],
)
def test_a_change_that_does_not_fit_changes_nothing(world, alice, robot, change, named):
    before = state(world)
    assert f"{named}: " in refused(alice.put(f"{PATH}/{robot.id}", json=change))
    assert state(world) == before


def test_a_deleted_one_and_its_tokens_open_nothing_and_its_name_is_free(world, alice, robot, conn):
    since = world.last_event_id()
    response = alice.delete(f"{PATH}/{robot.id}")
    assert response.status_code == 200
    assert response.get_data() == b""
    refused(robot.get(ANY_PAGE), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE user_id = %(id)s", {"id": robot.id}) == 0
    assert value(conn, "SELECT deleted_at = now() FROM users WHERE id = %(id)s", {"id": robot.id})
    (event,) = world.events(since)
    assert event["type"] == "service-account-deleted"
    assert (event["pre_data"], event["data"]) == (logged(robot), None)
    assert event["created_by_user_id"] == alice.id
    assert make(alice, username="robot").status_code == 201


def test_the_last_service_account_that_administers_may_go(world, alice):
    robot = world.user("Robot", root_role=1, email=None, account_type="Service Account")
    assert robot.delete(f"{PATH}/{robot.id}").status_code == 200
    assert alice.get(PATH).json["serviceAccounts"] == []


@pytest.mark.parametrize(
    ("method", "suffix", "body"),
    [
        ("PUT", "", {"name": "R2"}),
        ("DELETE", "", None),
        ("GET", "/token", None),
        ("POST", "/token", TOKEN),
        ("DELETE", "/token/{token}", None),
    ],
)
def test_other_users_are_404(world, alice, victor, conn, method, suffix, body):
    gone = world.user("Gone", account_type="Service Account")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    before = state(world)
    tokens = {row["user_id"]: row["id"] for row in before[1]}
    for user_id in (victor.id, gone.id, 2**31 - 1, 2**40):
        path = f"{PATH}/{user_id}{suffix.format(token=tokens.get(user_id, 1))}"
        refused(alice.request(method, path, **({"json": body} if body else {})), 404, "NotFoundError")
    for user_id in ("0", "x", "-1"):
        refused(
            alice.request(method, f"{PATH}/{user_id}{suffix.format(token=1)}", **({"json": body} if body else {})), 400
        )
    assert state(world) == before


def test_a_service_account_cannot_log_in(world, stranger):
    world.user("Robot", email=None, account_type="Service Account", password_hash=HASH)
    refused(log_in(stranger, "robot"), 401, "AuthenticationRequired")


def test_a_token_is_shown_once_and_acts_as_the_service_account(world, app, alice, robot, conn):
    since = world.last_event_id()
    response = alice.post(f"{PATH}/{robot.id}/token", json=TOKEN)
    assert response.status_code == 201
    created = response.json
    assert response.headers["Location"] == f"token/{created['id']}"
    secret = created.pop("secret")
    assert created == {
        "id": value(conn, "SELECT max(id) FROM personal_tokens"),
        **TOKEN,
        "createdAt": value(conn, "SELECT iso(now())"),
        "seenAt": None,
        "userId": robot.id,
    }
    (event,) = world.events(since)
    assert event["type"] == "pat-created"
    assert event["data"] == {"id": created["id"], **TOKEN, "userId": robot.id}
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    listed = alice.get(f"{PATH}/{robot.id}/token")
    assert [token["id"] for token in listed.json["pats"]] == [
        token["id"] for token in alice.get(PATH).json["serviceAccounts"][0]["tokens"]
    ]
    assert listed.json["pats"][1] == created
    assert secret not in listed.text
    assert Caller(app, secret).get("/api/admin/user").json["user"]["id"] == robot.id


def test_tokens_of_a_service_account_have_the_limits_of_any_user(app, world, alice, robot, monkeypatch):
    assert alice.post(f"{PATH}/{robot.id}/token", json=TOKEN).status_code == 201
    before = state(world)
    refused(alice.post(f"{PATH}/{robot.id}/token", json=TOKEN), 409, "NameExistsError")
    refused(alice.post(f"{PATH}/{robot.id}/token", json=TOKEN | {"expiresAt": "2020-01-01T00:00:00Z"}))
    monkeypatch.setitem(app.config, "MAX_PERSONAL_TOKENS", 2)
    refused(alice.post(f"{PATH}/{robot.id}/token", json=TOKEN | {"description": "another"}), 409, "ConflictError")
    assert state(world) == before


def test_a_token_is_deleted_and_the_others_stay(world, app, alice, robot, victor):
    created = alice.post(f"{PATH}/{robot.id}/token", json=TOKEN).json
    other = make(alice).json["id"]
    before = state(world)
    for account_id in (other, victor.id):
        refused(alice.delete(f"{PATH}/{account_id}/token/{created['id']}"), 404, "NotFoundError")
    for token_id in (next(row["id"] for row in before[1] if row["user_id"] == victor.id), 2**40):
        refused(alice.delete(f"{PATH}/{robot.id}/token/{token_id}"), 404, "NotFoundError")
    refused(alice.delete(f"{PATH}/{robot.id}/token/x"))
    assert state(world) == before
    response = alice.delete(f"{PATH}/{robot.id}/token/{created['id']}")
    assert response.status_code == 200
    assert response.get_data() == b""
    refused(Caller(app, created["secret"]).get(ANY_PAGE), 401, "AuthenticationRequired")
    assert robot.get(ANY_PAGE).status_code == 200
    (event,) = world.events(before[2])
    assert event["type"] == "pat-deleted"
    assert event["data"] == {"id": created["id"], **TOKEN, "userId": robot.id}
    assert event["created_by_user_id"] == alice.id


def test_only_administrators_manage_service_accounts(world, eve, robot, stranger):
    before = state(world)
    for caller in (eve, robot, world.api_key("client")):
        refused(caller.get(PATH), 403, "NoAccessError")
        refused(make(caller), 403, "NoAccessError")
        refused(caller.post(f"{PATH}/{robot.id}/token", json=TOKEN), 403, "NoAccessError")
    refused(make(stranger), 401, "AuthenticationRequired")
    assert state(world) == before


def test_a_change_is_rolled_back_if_its_event_fails(world, alice, robot, conn):
    before = state(world)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type !~ '^(service|pat)') NOT VALID")
    refused(make(alice), 500, "InternalError")
    refused(alice.put(f"{PATH}/{robot.id}", json={"name": "R2"}), 500, "InternalError")
    refused(alice.delete(f"{PATH}/{robot.id}"), 500, "InternalError")
    refused(alice.post(f"{PATH}/{robot.id}/token", json=TOKEN), 500, "InternalError")
    assert state(world) == before
