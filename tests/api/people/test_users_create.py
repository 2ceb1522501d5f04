"""A user whom an administrator makes."""

from typing import Any

import pytest

from sql.database import Connection, one, rows, value
from sql.people import roles
from tests.support.login import log_in
from tests.support.world import PASSWORD, Caller, refused

PATH = "/api/admin/user-admin"


def make(caller: Caller, **fields: Any):
    """Ask for a user; Ada, unless the fields say otherwise. A field of ... is left out."""
    body = {"rootRole": 3, "email": "ada@example.org"} | fields
    return caller.post(PATH, json={field: word for field, word in body.items() if word is not ...})


def count(conn: Connection) -> int:
    """How many users there are, deleted ones and service accounts included."""
    return value(conn, "SELECT count(*) FROM users")


def test_the_whole_record_is_returned_and_recorded(world, alice, conn):
    since = world.last_event_id()
    response = make(
        alice,
        username="ada",
        name="Ada Lovelace",
        email="Ada@Example.org",
        rootRole=2,
        password=PASSWORD,
        sendEmail=True,
    )
    assert response.status_code == 201
    user_id = value(conn, "SELECT max(id) FROM users")
    assert response.headers["Location"] == f"user-admin/{user_id}"
    assert response.json == {
        "id": user_id,
        "isAPI": False,
        "name": "Ada Lovelace",
        "username": "ada",
        "email": "ada@example.org",
        "rootRole": 2,
        "accountType": "User",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
        "inviteLink": "",
        "emailSent": False,
    }
    row = one(conn, "SELECT * FROM users WHERE id = %(id)s", {"id": user_id})
    assert (row["name"], row["username"], row["email"], row["root_role_id"]) == (
        "Ada Lovelace",
        "ada",
        "ada@example.org",
        2,
    )
    assert row["account_type"] == "User"
    (event,) = world.events(since)
    assert event["type"] == "user-created"
    assert event["data"] == {
        "id": user_id,
        "name": "Ada Lovelace",
        "username": "ada",
        "email": "ada@example.org",
        "rootRole": 2,
    }
    assert event["pre_data"] is None
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    assert event["project"] is event["environment"] is event["feature_name"] is None
    assert event["tags"] == []


@pytest.mark.parametrize(
    ("fields", "unset"),
    [
        ({}, {"name", "username"}),
        ({"email": ..., "username": "ada"}, {"name", "email"}),
        ({"name": "", "password": ""}, {"name", "username"}),
        ({"name": "Ada"}, {"username"}),
        ({"name": None, "username": None, "password": None, "sendEmail": None}, {"name", "username"}),
    ],
)
def test_unset_fields_are_omitted_in_the_record_and_the_event(world, alice, fields, unset):
    since = world.last_event_id()
    created = make(alice, **fields)
    assert created.status_code == 201
    assert {"name", "username", "email"} - created.json.keys() == unset
    assert alice.get(f"{PATH}/{created.json['id']}").json == {
        key: word for key, word in created.json.items() if key not in ("inviteLink", "emailSent")
    }
    (event,) = world.events(since)
    assert {"name", "username", "email"} - event["data"].keys() == unset


def test_a_role_is_named_by_its_id_or_its_name_and_answered_as_an_integer(alice, conn):
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    asked: list[tuple[int | str, int]] = [
        (1, 1),
        ("Editor", 2),
        ("viewer", 3),
        ("ADMIN", 1),
        (fiddler, fiddler),
        ("fiddler", fiddler),
    ]
    for number, (role, role_id) in enumerate(asked):
        created = make(alice, rootRole=role, email=f"{number}@example.org")
        assert created.status_code == 201
        assert created.json["rootRole"] == role_id
        assert value(conn, "SELECT root_role_id FROM users WHERE id = %(id)s", {"id": created.json["id"]}) == role_id


@pytest.mark.parametrize("role", [4, 5, "Owner", "Of projects", 999, 2**31, 2**63 - 1, "nobody", "", "3", "Viewer "])
def test_an_unknown_role_or_one_of_projects_makes_nothing(world, alice, conn, role):
    roles.insert(conn, "Of projects")
    before, since = count(conn), world.last_event_id()
    assert "rootRole: " in refused(make(alice, rootRole=role))
    assert count(conn) == before
    assert world.events(since) == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"rootRole": ...}, "rootRole"),
        *(({"rootRole": wrong}, "rootRole") for wrong in (None, 3.0, 0)),
        ({"email": ...}, "username"),
        ({"email": None}, "username"),
        *(({"email": wrong}, "email") for wrong in ("ada",)),
        *(({"username": wrong}, "username") for wrong in ("", "ada@home", "a" * 256)),
        *(({"name": wrong}, "name") for wrong in ("a" * 256,)),
        *(({"password": wrong}, "password") for wrong in ("shorter", "é" * 37)),
        *(({"sendEmail": wrong}, "sendEmail") for wrong in ("true",)),
        ({"permissions": []}, "permissions"),
    ],
)
def test_a_body_that_does_not_fit_makes_nothing(world, alice, conn, fields, named):
    before, since = count(conn), world.last_event_id()
    assert f"{named}: " in refused(make(alice, **fields))
    assert count(conn) == before
    assert world.events(since) == []


@pytest.mark.parametrize("known", ["augusta ada", "COUNTESS", "Augusta@example.org"])
def test_a_password_cannot_be_a_name_of_the_user(alice, conn, known):
    before = count(conn)
    person = {"name": "Augusta Ada", "username": "countess", "email": "augusta@example.org"}
    assert "password: " in refused(make(alice, **person, password=known))
    assert count(conn) == before


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"email": "BOB@example.org"}, "email"),
        ({"username": "bob"}, "username"),
        ({"username": "robot"}, "username"),
    ],
)
def test_an_address_or_user_name_that_is_taken_makes_nothing(world, alice, conn, fields, named):
    world.user("Bob")
    world.user("Robot", email=None, account_type="Service Account")
    before, since = count(conn), world.last_event_id()
    assert refused(make(alice, **fields), 409, "NameExistsError").startswith(f"{named}: ")
    assert count(conn) == before
    assert world.events(since) == []


def test_user_names_differ_by_case_and_those_of_the_deleted_are_free(world, alice, conn):
    world.user("Bob")
    assert make(alice, username="Bob").status_code == 201
    gone = world.user("Gone")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    assert make(alice, username="gone", email="gone@example.org").status_code == 201


def test_a_new_user_can_log_in_by_either_name(alice, stranger):
    make(alice, username="ada", password=PASSWORD)
    assert log_in(stranger, "ada").status_code == 200
    assert log_in(stranger, "ADA@example.org").status_code == 200
    assert log_in(stranger, "ada", "something else").status_code == 401


def test_a_user_without_a_password_cannot_log_in(alice, stranger):
    user_id = make(alice).json["id"]
    for guess in ("", PASSWORD, "null"):
        refused(log_in(stranger, "ada@example.org", guess), 401, "AuthenticationRequired")
    assert alice.post(f"{PATH}/{user_id}/change-password", json={"password": PASSWORD}).status_code == 200
    assert log_in(stranger, "ada@example.org").status_code == 200


def test_the_password_is_stored_as_a_hash_only(alice, conn, capsys):
    response = make(alice, password=PASSWORD)
    assert PASSWORD not in response.text
    kept = value(conn, "SELECT password_hash FROM users WHERE email = 'ada@example.org'")
    assert kept.startswith("$2b$")
    assert PASSWORD not in value(conn, "SELECT string_agg(events::text, ' ') FROM events")
    assert kept not in value(conn, "SELECT string_agg(events::text, ' ') FROM events")
    assert PASSWORD not in capsys.readouterr().out


def test_only_administrators_make_users(world, eve, olga, stranger, conn):
    before = count(conn)
    for caller in (eve, olga, world.api_key("client")):
        refused(caller.post(PATH, json={"nonsense": True}), 403, "NoAccessError")
    refused(stranger.post(PATH, json={"nonsense": True}), 401, "AuthenticationRequired")
    assert count(conn) == before
    since = world.last_event_id()
    assert make(world.api_key(name="terraform")).status_code == 201
    (event,) = world.events(since)
    assert (event["created_by"], event["created_by_user_id"]) == ("terraform", None)


def test_a_new_user_is_rolled_back_if_the_event_fails(alice: Caller, conn: Connection) -> None:
    before = rows(conn, "SELECT * FROM users ORDER BY id")
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'user-created') NOT VALID")
    refused(make(alice), 500, "InternalError")
    assert rows(conn, "SELECT * FROM users ORDER BY id") == before
