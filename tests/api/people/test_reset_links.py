"""Links with which users set a password: who gets one, and what it does."""

import re
from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows, value
from tests.support.login import ada, log_in
from tests.support.reset_links import CREATE, NEW, check, new_link, token_of, use
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.world import PASSWORD, Caller, World, refused

USERS = "/api/admin/user-admin"
LINK = "http://localhost/{}[?]token=[0-9a-f]{{64}}"


@pytest.fixture
def user(world: World) -> Caller:
    """Ada, who has a password."""
    return ada(world)


def invited(caller: Caller, **fields: Any) -> str:
    """The link in the response to a new user."""
    response = caller.post(USERS, json={"rootRole": 3, "username": "grace"} | fields)
    assert response.status_code == 201
    return response.json["inviteLink"]


def links(world: World) -> list[dict[str, Any]]:
    """The stored links."""
    return rows(world.conn, "SELECT * FROM reset_tokens ORDER BY user_id")


def state(world: World) -> list[Any]:
    """All that a new password changes, and the newest event."""
    tables = [
        rows(world.conn, f"SELECT * FROM {table} ORDER BY 1, 2")
        for table in ("users", "sessions", "past_passwords", "reset_tokens")
    ]
    return [*tables, world.last_event_id()]


def test_a_link_is_stored_as_a_digest_for_a_day(world, alice, user):
    since = world.last_event_id()
    response = alice.post(CREATE, json={"id": "ada"})
    link = response.json["resetPasswordUrl"]
    assert re.fullmatch(LINK.format("reset-password"), link)
    [row] = links(world)
    assert (row["user_id"], row["digest"], row["created_by"]) == (user.id, digest(token_of(link)), "alice@example.org")
    assert value(world.conn, "SELECT expires_at = now() + interval '24 hours' FROM reset_tokens")
    assert world.events(since) == []


def test_the_user_is_found_by_user_name_or_address(world, alice, user):
    for login in ("ada", "ada@example.org", "ADA@Example.org"):
        new_link(alice, login)
    ghost, robot = world.user("Ghost"), world.user("Robot", account_type="Service Account")
    world.conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ghost.id])
    for login in ("Ada", "ghost", "nobody", "", str(user.id), robot.email):
        refused(alice.post(CREATE, json={"id": login}), 404, "NotFoundError")
    for body in ({}, {"id": user.id}, {"id": None}, {"id": "ada", "other": 1}):
        refused(alice.post(CREATE, json=body))
    assert [row["user_id"] for row in links(world)] == [user.id]


def test_a_new_user_without_a_password_gets_a_link(world, alice, stranger):
    link = invited(alice)
    assert re.fullmatch(LINK.format("new-user"), link)
    assert use(stranger, token_of(link)).status_code == 200
    assert log_in(stranger, "grace", NEW).status_code == 200
    assert invited(alice, username="bob", password=PASSWORD) == ""
    assert links(world) == []


def test_no_other_answer_has_the_link(alice):
    link = invited(alice)
    assert {user["inviteLink"] for user in alice.get(USERS).json["users"]} == {""}
    [user] = [user for user in alice.get(USERS).json["users"] if user.get("username") == "grace"]
    assert "inviteLink" not in alice.get(f"{USERS}/{user['id']}").json
    assert token_of(link) not in alice.get("/api/admin/search/events?limit=1000").text


def test_links_begin_with_the_address_of_the_service(app, alice, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_URL", "https://example.org/flags")
    assert invited(alice).startswith("https://example.org/flags/new-user?token=")
    link = alice.post(CREATE, json={"id": "grace"}).json["resetPasswordUrl"]
    assert link.startswith("https://example.org/flags/reset-password?token=")


def test_a_check_names_the_user_and_keeps_the_link(world, alice, stranger, user):
    token = new_link(alice)
    viewer = {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None}
    expected = {"id": user.id, "email": "ada@example.org", "name": "Ada", "token": token, "role": viewer}
    for _ in range(2):
        assert check(stranger, token).json == expected | {"createdBy": "alice@example.org"}
    world.conn.execute("UPDATE users SET name = NULL, email = NULL WHERE id = %s", [user.id])
    found = check(stranger, token).json
    assert (found["email"], "name" in found) == (None, False)
    for query in ("", "?token", f"?token={token}&token={token}", "?token=%00", "?Token=x"):
        assert stranger.get(f"/auth/reset/validate{query}").status_code in (400, 401)


def test_a_link_sets_the_password_once(world, alice, stranger, user):
    for owner, session in ((user, "one"), (user, "two"), (alice, "Alice's")):
        sessions.insert(world.conn, digest(session), owner.id, 48)
    token, since = new_link(alice), world.last_event_id()
    response = use(stranger, token)
    assert (response.status_code, response.get_data()) == (200, b"")
    assert log_in(stranger, "ada", NEW).status_code == 200
    assert log_in(stranger, "ada").status_code == 401
    assert stranger.get(ANY_PAGE, headers=with_session("one")).status_code == 401
    assert value(world.conn, "SELECT count(*) FROM sessions WHERE digest = %(id)s", {"id": digest("Alice's")}) == 1
    [event] = world.events(since)
    assert (event["type"], event["created_by"], event["created_by_user_id"]) == (
        "user-updated",
        "ada@example.org",
        user.id,
    )
    data = {"id": user.id, "name": "Ada", "username": "ada", "email": "ada@example.org", "rootRole": 3}
    assert event["data"] == event["pre_data"] == data
    assert links(world) == []
    before = state(world)
    refused(use(stranger, token, "one more password"), 401, "AuthenticationRequired")
    refused(check(stranger, token), 401, "AuthenticationRequired")
    assert state(world) == before


def test_without_an_address_the_event_has_the_user_name(world, alice, stranger):
    ada(world, email=None)
    token, since = new_link(alice), world.last_event_id()
    assert use(stranger, token).status_code == 200
    assert [event["created_by"] for event in world.events(since)] == ["ada"]


@pytest.mark.parametrize(
    ("password", "says"),
    [
        ("shorter", "at least 8"),
        ("é" * 37, "72 bytes"),
        (None, "null"),
        (PASSWORD, "last 5"),
        ("ADA@example.org", "own name"),
    ],
)
@pytest.mark.usefixtures("user")
def test_a_password_that_is_refused_leaves_the_link(world, alice, stranger, password, says):
    token = new_link(alice)
    before = state(world)
    assert says in refused(use(stranger, token, password))
    assert state(world) == before
    assert use(stranger, token).status_code == 200


@pytest.mark.usefixtures("user")
def test_an_earlier_password_cannot_come_again(alice, stranger):
    assert use(stranger, new_link(alice)).status_code == 200
    assert "last 5" in refused(use(stranger, new_link(alice), PASSWORD))


@pytest.mark.usefixtures("user")
def test_the_least_length_is_the_setting(app, alice, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    assert "at least 12" in refused(use(stranger, new_link(alice), "elevenchars"))
    assert "at least 12" in refused(stranger.post("/auth/reset/validate-password", json={"password": "elevenchars"}))


@pytest.mark.usefixtures("user")
def test_without_its_event_nothing_changes(world, alice, stranger):
    token = new_link(alice)
    before = state(world)
    world.conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'user-updated') NOT VALID")
    refused(use(stranger, token), 500, "InternalError")
    assert state(world) == before
