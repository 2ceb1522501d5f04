"""The change of a user, and a password set by an administrator."""

from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection, one, rows, value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.login import HASH, log_in
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user-admin"


def put(caller: Caller, user: Caller, **change: Any):
    """Ask for a change of a user."""
    return caller.put(f"{PATH}/{user.id}", json=change)


def state(world: World) -> list[Any]:
    """All users, and how many events."""
    return [rows(world.conn, "SELECT * FROM users ORDER BY id"), world.last_event_id()]


def logged(user: Caller, **change: Any) -> dict[str, Any]:
    """What the log says of Victor."""
    return {
        "id": user.id,
        "name": "Victor",
        "username": "victor",
        "email": "victor@example.org",
        "rootRole": 3,
    } | change


def test_all_fields_change_and_are_recorded(world, alice, victor, conn):
    since = world.last_event_id()
    response = put(alice, victor, name="Viktor", email="VIKTOR@example.org", rootRole=2)
    assert response.status_code == 200
    assert response.json == {
        "id": victor.id,
        "isAPI": False,
        "name": "Viktor",
        "username": "victor",
        "email": "viktor@example.org",
        "rootRole": 2,
        "accountType": "User",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    }
    row = one(conn, "SELECT name, email, root_role_id FROM users WHERE id = %(id)s", {"id": victor.id})
    assert row == {"name": "Viktor", "email": "viktor@example.org", "root_role_id": 2}
    (event,) = world.events(since)
    assert event["type"] == "user-updated"
    assert event["pre_data"] == logged(victor)
    assert event["data"] == logged(victor, name="Viktor", email="viktor@example.org", rootRole=2)
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    assert event["project"] is event["environment"] is event["feature_name"] is None


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"name": "Viktor"}, {"name": "Viktor"}),
        ({"email": "v@example.org"}, {"email": "v@example.org"}),
        ({"rootRole": "editor"}, {"rootRole": 2}),
        ({"rootRole": 1}, {"rootRole": 1}),
        ({"name": "", "email": "", "rootRole": 2}, {"rootRole": 2}),
        ({"name": None, "email": None, "rootRole": None}, {"name": None}),
    ],
)
def test_omitted_fields_stay(world, alice, victor, change, after):
    since = world.last_event_id()
    response = put(alice, victor, **change)
    expected = {key: word for key, word in logged(victor, **after).items() if word is not None}
    assert {key: word for key, word in response.json.items() if key in logged(victor)} == expected
    (event,) = world.events(since)
    assert (event["pre_data"], event["data"]) == (logged(victor), expected)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": "", "email": "", "rootRole": ""},
        {"name": "Victor", "email": "Victor@EXAMPLE.org", "rootRole": "VIEWER"},
        {"rootRole": 3},
    ],
)
def test_an_update_without_a_difference_records_nothing(world, alice, victor, change):
    before = state(world)
    response = put(alice, victor, **change)
    assert response.status_code == 200
    assert response.json["rootRole"] == 3
    assert state(world) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        *(({"name": wrong}, "name") for wrong in ("a" * 256,)),
        *(({"email": wrong}, "email") for wrong in ("victor",)),
        *(({"rootRole": wrong}, "rootRole") for wrong in (3.0, 4, "Owner", 999)),
        ({"username": "viktor"}, "username"),
        ({"password": PASSWORD}, "password"),
        ({"name": "Viktor", "email": "nonsense"}, "email"),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(world, alice, victor, change, named):
    before = state(world)
    assert f"{named}: " in refused(put(alice, victor, **change))
    assert state(world) == before


def test_an_address_that_is_taken_changes_nothing(world, alice, victor, eve):
    before = state(world)
    assert refused(put(alice, victor, name="Viktor", email=eve.email.upper()), 409, "NameExistsError").startswith(
        "email: "
    )
    assert state(world) == before


def test_the_record_has_no_null_for_what_is_unset(world, alice, conn):
    ada = world.user("Ada", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = %s", [ada.id])
    since = world.last_event_id()
    assert put(alice, ada, rootRole=2).json.keys() & {"name", "username"} == set()
    (event,) = world.events(since)
    assert event["pre_data"] == {"id": ada.id, "email": "ada@example.org", "rootRole": 3}


def test_a_new_role_counts_at_once(alice, victor):
    refused(victor.get(PATH), 403, "NoAccessError")
    put(alice, victor, rootRole="Admin")
    assert victor.get(PATH).status_code == 200


def one_administrator(conn: Connection, alice: Caller) -> None:
    """Have Alice alone administer by her own role."""
    conn.execute("UPDATE users SET root_role_id = 2 WHERE root_role_id = 1 AND id <> %s", [alice.id])


@pytest.mark.parametrize("role", [2, "Viewer"])
def test_the_last_administrator_stays_one(world, alice, conn, role):
    one_administrator(conn, alice)
    # Neither a service account, nor who is gone, nor who administers by a group is another one.
    world.user("Robot", root_role=1, email=None, account_type="Service Account")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [world.user("Gone", root_role=1).id])
    fixtures.add_group_user(conn, groups.insert(conn, "administrators", root_role=1), world.user("Member").id)
    before = state(world)
    for caller in (alice, world.api_key()):
        refused(put(caller, alice, rootRole=role, name="Alicia"), 409, "ConflictError")
    assert state(world) == before


def test_the_last_administrator_may_change_otherwise(alice, conn):
    one_administrator(conn, alice)
    for change in ({"name": "Alicia"}, {"rootRole": 1, "email": "alicia@example.org"}, {"rootRole": "admin"}):
        assert put(alice, alice, **change).status_code == 200


def test_one_of_two_administrators_may_cease_to_be_one(world, alice, conn):
    one_administrator(conn, alice)
    other = world.user("Grace", root_role=1)
    assert put(alice, alice, rootRole=2).status_code == 200
    refused(put(alice, other, rootRole=2), 403, "NoAccessError")
    refused(put(other, other, rootRole=2), 409, "ConflictError")


def test_a_custom_role_does_not_administer(alice, conn):
    one_administrator(conn, alice)
    refused(put(alice, alice, rootRole=roles.insert(conn, "Almost", type="root-custom")), 409, "ConflictError")


def set_password(caller: Caller, user: Caller, password: Any = PASSWORD):
    """Give a user a password."""
    return caller.post(f"{PATH}/{user.id}/change-password", json={"password": password})


def test_a_password_is_set_and_all_sessions_of_that_user_end(world, alice, victor, stranger, conn):
    for owner, session in ((victor, "one"), (victor, "two"), (alice, "Alice's")):
        sessions.insert(conn, digest(session), owner.id, 48)
    since = world.last_event_id()
    response = set_password(alice, victor)
    assert response.status_code == 200
    assert response.get_data() == b""
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    refused(stranger.get(ANY_PAGE, headers=with_session("one")), 401, "AuthenticationRequired")
    assert log_in(stranger, "victor").status_code == 200
    (event,) = world.events(since)
    assert event["type"] == "user-updated"
    assert event["data"] == event["pre_data"] == logged(victor)
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    assert PASSWORD not in value(conn, "SELECT string_agg(events::text, ' ') FROM events")


def test_the_former_password_no_longer_works_and_is_remembered(world, alice, stranger, conn):
    ada = world.user("Ada", password_hash=HASH)
    assert set_password(alice, ada, "another password").status_code == 200
    refused(log_in(stranger, "ada"), 401, "AuthenticationRequired")
    assert rows(conn, "SELECT user_id, password_hash FROM past_passwords") == [
        {"user_id": ada.id, "password_hash": HASH}
    ]
    # An administrator is not held to the last five.
    assert set_password(alice, ada).status_code == 200


@pytest.mark.parametrize("password", [..., None, "", "shorter", "é" * 37, 12345678, "victor@EXAMPLE.org"])
def test_an_invalid_password_changes_nothing(world, alice, victor, conn, password):
    sessions.insert(conn, digest("Victor's"), victor.id, 48)
    before = state(world)
    body = {} if password is ... else {"password": password}
    assert "password: " in refused(alice.post(f"{PATH}/{victor.id}/change-password", json=body))
    assert state(world) == before
    assert value(conn, "SELECT count(*) FROM sessions") == 1


def test_the_password_may_come_twice_and_with_an_old_one(world, alice, victor):
    url, body = f"{PATH}/{victor.id}/change-password", {"password": PASSWORD, "oldPassword": "whatever"}
    before = state(world)
    assert "confirmPassword: " in refused(alice.post(url, json=body | {"confirmPassword": "a slip"}))
    assert state(world) == before
    assert alice.post(url, json=body | {"confirmPassword": PASSWORD}).status_code == 200


def test_the_least_length_is_the_setting(app, alice, victor, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 30)
    refused(set_password(alice, victor))
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 2)
    assert set_password(alice, victor, "ab").status_code == 200


def test_a_password_cannot_be_a_name_of_the_user(world, alice):
    user = world.user("Augusta Ada", username="countess-ada", email="augusta@example.org")
    for known in ("augusta ADA", "Countess-Ada", "augusta@example.org"):
        assert "password: " in refused(set_password(alice, user, known))


def test_a_change_is_rolled_back_if_its_event_fails(world, alice, victor, conn):
    sessions.insert(conn, digest("Victor's"), victor.id, 48)
    before = state(world)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'user-updated') NOT VALID")
    refused(put(alice, victor, name="Viktor"), 500, "InternalError")
    refused(set_password(alice, victor), 500, "InternalError")
    assert state(world) == before
    assert value(conn, "SELECT count(*) FROM sessions") == 1
