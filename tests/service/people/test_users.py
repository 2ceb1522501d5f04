"""Users: read, searched, created, updated and deleted, and their passwords."""

from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection, one, rows, value
from sql.people import groups, reset_tokens, roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.login import HASH, log_in
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.signup import invitation, sign_up
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user-admin"


def robot(world: World, name: str = "Robot", **fields: Any) -> Caller:
    """A service account with a token."""
    return world.user(name, email=None, account_type="Service Account", **fields)


def gone(world: World, name: str = "Gone", **fields: Any) -> Caller:
    """A deleted user."""
    user = world.user(name, **fields)
    world.conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [user.id])
    return user


def record(conn: Connection, user_id: int | None, **fields: Any) -> dict[str, Any]:
    """The record of a new user."""
    return {
        "id": user_id,
        "isAPI": False,
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    } | fields


def logged(user: Caller, **change: Any) -> dict[str, Any]:
    """The user Victor as events show it."""
    person = {"name": "Victor", "username": "victor", "email": "victor@example.org", "rootRole": 3}
    return {"id": user.id} | person | change


def make(caller: Caller, **fields: Any):
    """Create Ada, with other fields if given; a field of ... is left out."""
    body = {"rootRole": 3, "email": "ada@example.org"} | fields
    return caller.post(PATH, json={field: word for field, word in body.items() if word is not ...})


def put(caller: Caller, user: Caller, **change: Any):
    """Update a user."""
    return caller.put(f"{PATH}/{user.id}", json=change)


def set_password(caller: Caller, user: Caller, password: Any = PASSWORD, **fields: Any):
    """Give a user a password."""
    return caller.post(f"{PATH}/{user.id}/change-password", json={"password": password} | fields)


# Reading


def test_unset_fields_are_omitted_or_null(world, alice, victor, conn):
    ada, bob = world.user("Ada", username=None), world.user("Bob", email=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = ANY(%s)", [[ada.id, bob.id]])
    conn.execute(
        "UPDATE users SET image_url = 'https://example.org/v.png', scim_id = 's7', login_attempts = 2,"
        " seen_at = '2026-02-03T04:05:06.789Z' WHERE id = %s",
        [victor.id],
    )
    more = {"imageUrl": "https://example.org/v.png", "scimId": "s7", "loginAttempts": 2}
    expected = [
        record(conn, ada.id, email="ada@example.org"),
        record(conn, bob.id, username="bob"),
        record(conn, victor.id, **logged(victor), **more, seenAt="2026-02-03T04:05:06.789Z"),
    ]
    assert [alice.get(f"{PATH}/{user.id}").json for user in (ada, bob, victor)] == expected
    listed = {user["id"]: user for user in alice.get(PATH).json["users"]}
    assert [listed[user.id] for user in (ada, bob, victor)] == [user | {"inviteLink": ""} for user in expected]


def test_the_list_has_users_and_root_roles(world, alice, victor, conn):
    robot(world)
    gone(world)
    fiddler = roles.insert(conn, "Fiddler", type="root-custom", description="Fiddles.")
    roles.insert(conn, "Of projects")
    answer = alice.get(PATH).json
    administrator = value(conn, "SELECT min(id) FROM users")
    assert [user["id"] for user in answer["users"]] == [administrator, alice.id, victor.id]
    assert [user["rootRole"] for user in answer["users"]] == [1, 1, 3]
    assert [role["id"] for role in answer["rootRoles"]] == [1, 2, 3, fiddler]
    admin = {"id": 1, "type": "root", "name": "Admin", "description": "May do everything.", "project": None}
    custom = {"id": fiddler, "type": "root-custom", "name": "Fiddler", "description": "Fiddles.", "project": None}
    assert [answer["rootRoles"][0], answer["rootRoles"][3]] == [admin, custom]


@pytest.mark.parametrize(
    ("method", "suffix", "body"),
    [
        ("GET", "", {}),
        ("PUT", "", {"json": {"name": "Another"}}),
        ("DELETE", "", {}),
        ("POST", "/change-password", {"json": {"password": "a new password"}}),
    ],
)
def test_unknown_users_are_404(world, alice, conn, method, suffix, body):
    unknown = [robot(world).id, gone(world).id, 2**31 - 1, 2**31, 10**40]
    before = fingerprint(conn)
    for user_id in unknown:
        message = refused(alice.request(method, f"{PATH}/{user_id}{suffix}", **body), 404, "NotFoundError")
        # An id that no user can have is not looked up.
        assert message == ("No user has that id." if user_id < 2**31 else "Not found.")
    for user_id in ("0", "-1", "1.0", "x", "01", "%31%20", "٧"):
        refused(alice.request(method, f"{PATH}/{user_id}{suffix}", **body))
    assert fingerprint(conn) == before


def found(caller: Caller, text: str) -> list[str]:
    """The names of the users that a search finds."""
    return [hit["name"] for hit in caller.get(f"{PATH}/search", query_string={"q": text}).json]


def test_search_ignores_case_and_takes_no_wildcards(world, victor, conn):
    ada = world.user("Ada", username=None, email="lovelace@example.com")
    world.user("Álvaro", username="al_50%", email=None)
    robot(world, "Adam")
    gone(world, "Adalbert")
    for text in ("ada", "ADA", "lace@", "LOVE"):
        assert found(victor, text) == ["Ada"], text
    assert found(victor, "ÁLVARO") == found(victor, "_5") == found(victor, "0%") == found(victor, "AL_") == ["Álvaro"]
    assert found(victor, "a_a") == found(victor, "%%") == found(victor, "\\\\") == []
    assert found(victor, "example.org") == ["Victor"]
    hit = {"id": ada.id, "name": "Ada", "email": "lovelace@example.com", "accountType": "User"}
    assert victor.get(f"{PATH}/search?q=ada").json == [hit]
    conn.execute("UPDATE users SET image_url = 'https://example.org/a.png' WHERE id = %s", [ada.id])
    assert victor.get(f"{PATH}/search?q=ada").json[0]["imageUrl"] == "https://example.org/a.png"


def test_a_search_needs_two_characters(victor):
    for query in ("", "?q=", "?q=v", "?Q=vi", "?q=%F0%9F%90%98"):
        assert victor.get(f"{PATH}/search{query}").json == [], query
    for query in ("?q=vi&q=ct", "?q=vi%00", "?q=%ff%ff"):
        refused(victor.get(f"{PATH}/search{query}"))


def test_users_service_accounts_and_groups_are_listed_for_access(world, victor, conn):
    machine, deleted = robot(world), world.user("Gone")
    zoo, band = groups.insert(conn, "zoo", root_role=2), groups.insert(conn, "band")
    for member in (victor, machine, deleted):
        fixtures.add_group_user(conn, zoo, member.id)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [deleted.id])
    conn.execute("UPDATE users SET image_url = 'https://example.org/v.png' WHERE id = %s", [victor.id])
    listed = victor.get(f"{PATH}/access").json
    person = {"id": victor.id, "name": "Victor", "username": "victor", "email": "victor@example.org"}
    assert listed["users"][1:] == [
        person | {"imageUrl": "https://example.org/v.png", "accountType": "User"},
        {"id": machine.id, "name": "Robot", "username": "robot", "accountType": "Service Account"},
    ]
    assert listed["users"][0]["id"] == value(conn, "SELECT min(id) FROM users")
    assert listed["groups"] == [
        {"id": band, "name": "band", "userCount": 0, "rootRole": None},
        {"id": zoo, "name": "zoo", "userCount": 2, "rootRole": 2},
    ]


def test_administrators_are_counted_by_kind(world, alice, conn):
    conn.execute("UPDATE users SET root_role_id = 3 WHERE id <> %s", [alice.id])
    assert alice.get(f"{PATH}/admin-count").json == {"password": 0, "noPassword": 1, "service": 0}
    custom = roles.insert(conn, "Boss", type="root-custom")
    fixtures.allow(conn, custom, "ADMIN")
    for name in ("Ada", "Bob"):
        world.user(name, root_role=1, password_hash="a hash")
    world.user("Cid", root_role=custom)
    robot(world, root_role=1)
    gone(world, root_role=1, password_hash="a hash")
    # By a group.
    group = groups.insert(conn, "administrators", root_role=1)
    fixtures.add_group_user(conn, group, world.user("Dan").id or 0)
    world.user("Eva", root_role=2)
    assert alice.get(f"{PATH}/admin-count").json == {"password": 2, "noPassword": 2, "service": 1}


@pytest.mark.parametrize("word", ["access", "admin-count", "search"])
def test_words_win_over_ids(alice, word):
    assert alice.get(f"{PATH}/{word}").status_code == 200
    refused(alice.delete(f"{PATH}/{word}"), 404, "NotFoundError")


# Operations of other versions, and of none.
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "user-admin/inactive"),
        ("GET", "user-admin/scim-users"),
        ("DELETE", "user-admin/inactive"),
        ("POST", "user-admin/inactive/delete"),
        ("GET", "groups/scim-groups"),
        ("GET", "roles/default"),
        ("GET", "segments/active"),
        ("GET", "segments/active/strategies"),
        ("GET", "projects/roles/default/access"),
        ("GET", "service-account/inactive/token"),
        ("DELETE", "service-account/inactive"),
        ("DELETE", "service-account/1/token/all"),
        ("DELETE", "user/tokens/all"),
        ("DELETE", "projects/default/users/all/roles"),
        ("DELETE", "projects/default/groups/all/roles"),
    ],
)
def test_an_unknown_operation_is_404_and_not_an_invalid_id(alice, method, path):
    refused(alice.request(method, f"/api/admin/{path}"), 404, "NotFoundError")


# Creating


def test_a_new_user_is_returned_and_recorded(world, alice, conn):
    since = world.last_event_id()
    body = {"name": "Ada Lovelace", "username": "ada", "email": "Ada@Example.org", "rootRole": 2}
    response = make(alice, **body, password=PASSWORD, sendEmail=True)
    user_id = value(conn, "SELECT max(id) FROM users")
    assert (response.status_code, response.headers["Location"]) == (201, f"user-admin/{user_id}")
    person = body | {"email": "ada@example.org"}
    assert response.json == record(conn, user_id, **person, inviteLink="", emailSent=False)
    stored = 'SELECT name, username, email, root_role_id AS "rootRole" FROM users WHERE id = %(id)s'
    assert one(conn, stored, {"id": user_id}) == person
    assert events(world, since) == [event("user-created", alice, data={"id": user_id} | person)]


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
    created = make(alice, **fields).json
    assert {"name", "username", "email"} - created.keys() == unset
    assert alice.get(f"{PATH}/{created['id']}").json | {"emailSent": False} == {
        key: word for key, word in created.items() if key != "inviteLink"
    }
    (row,) = world.events(since)
    assert {"name", "username", "email"} - row["data"].keys() == unset


def test_a_root_role_is_an_id_or_a_name_in_any_case(alice, conn):
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    expected = [(1, 1), ("Editor", 2), ("viewer", 3), ("ADMIN", 1), (fiddler, fiddler), ("fiddler", fiddler)]
    for number, (role, role_id) in enumerate(expected):
        created = make(alice, rootRole=role, email=f"{number}@example.org")
        assert (created.status_code, created.json["rootRole"]) == (201, role_id)
    roles.insert(conn, "Of projects")
    before = fingerprint(conn)
    for role in (4, 5, "Owner", "Of projects", 999, 2**31, 2**63 - 1, "nobody", "", "3", "Viewer ", 3.0, True):
        assert refused(make(alice, rootRole=role)) == "rootRole: must be the id or the name of a root role"
    assert fingerprint(conn) == before


PERSON = {"name": "Augusta Ada", "username": "countess", "email": "augusta@example.org"}
OWN_NAME = "password: must not be the user's own name, user name or email"


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"email": ...}, 400, "username: is required, unless email is given"),
        ({"email": None}, 400, "username: is required, unless email is given"),
        *(
            (PERSON | {"password": known}, 400, OWN_NAME)
            for known in ("augusta ada", "COUNTESS", "Augusta@example.org")
        ),
        ({"password": "shorter"}, 400, "password: must be at least 8 characters long"),
        ({"email": "BOB@example.org"}, 409, "email: a user with this email already exists"),
        ({"username": "bob"}, 409, "username: a user with this user name already exists"),
        ({"username": "robot"}, 409, "username: a user with this user name already exists"),
    ],
)
def test_an_invalid_user_is_not_created(world, alice, conn, fields, status, message):
    world.user("Bob")
    robot(world)
    before = fingerprint(conn)
    assert refused(make(alice, **fields), status, {400: "ValidationError", 409: "NameExistsError"}[status]) == message
    assert fingerprint(conn) == before


def test_user_names_are_case_sensitive_and_those_of_deleted_users_are_free(world, alice):
    world.user("Bob")
    gone(world)
    assert make(alice, username="Bob").status_code == 201
    assert make(alice, username="gone", email="gone@example.org").status_code == 201


def test_a_new_user_logs_in_with_a_password_only(alice, stranger, conn):
    make(alice, username="ada", password=PASSWORD)
    assert value(conn, "SELECT password_hash FROM users WHERE username = 'ada'").startswith("$2b$")
    for name in ("ada", "ADA@example.org"):
        assert log_in(stranger, name).status_code == 200
    make(alice, email="bob@example.org")
    for guess in ("", PASSWORD, "null"):
        refused(log_in(stranger, "bob@example.org", guess), 401, "AuthenticationRequired")


# Updating


def test_an_update_is_returned_and_recorded(world, alice, victor, conn):
    since = world.last_event_id()
    response = put(alice, victor, name="Viktor", email="VIKTOR@example.org", rootRole=2)
    after = logged(victor, name="Viktor", email="viktor@example.org", rootRole=2)
    assert (response.status_code, response.json) == (200, record(conn, victor.id, **after))
    assert alice.get(f"{PATH}/{victor.id}").json == response.json
    assert events(world, since) == [event("user-updated", alice, data=after, pre_data=logged(victor))]


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
def test_omitted_fields_keep_their_values(world, alice, victor, change, after):
    since = world.last_event_id()
    response = put(alice, victor, **change)
    expected = {key: word for key, word in logged(victor, **after).items() if word is not None}
    assert {key: word for key, word in response.json.items() if key in logged(victor)} == expected
    assert events(world, since) == [event("user-updated", alice, data=expected, pre_data=logged(victor))]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": "", "email": "", "rootRole": ""},
        {"name": "Victor", "email": "Victor@EXAMPLE.org", "rootRole": "VIEWER"},
        {"rootRole": 3},
    ],
)
def test_an_update_without_a_difference_records_nothing(alice, victor, conn, change):
    before = fingerprint(conn)
    assert put(alice, victor, **change).json["rootRole"] == 3
    assert fingerprint(conn) == before


def test_an_invalid_update_changes_nothing(alice, victor, eve, conn):
    before = fingerprint(conn)
    for role in (4, "Owner", 999):
        message = "rootRole: must be the id or the name of a root role"
        assert refused(put(alice, victor, rootRole=role, name="Viktor")) == message
    message = refused(put(alice, victor, name="Viktor", email=eve.email.upper()), 409, "NameExistsError")
    assert message == "email: a user with this email already exists"
    for change in ({"username": "viktor"}, {"password": PASSWORD}, {"name": "Viktor", "email": "nonsense"}):
        refused(put(alice, victor, **change))
    assert fingerprint(conn) == before


@pytest.fixture
def only_alice(alice, conn) -> Caller:
    """Alice, the only administrator by her own role."""
    conn.execute("UPDATE users SET root_role_id = 2 WHERE root_role_id = 1 AND id <> %s", [alice.id])
    return alice


def test_the_last_administrator_stays(world, only_alice, conn):
    # Service accounts, deleted users and administrators by a group do not count.
    robot(world, root_role=1)
    gone(world, root_role=1)
    fixtures.add_group_user(conn, groups.insert(conn, "administrators", root_role=1), world.user("Member").id)
    almost = roles.insert(conn, "Almost", type="root-custom")
    before, key = fingerprint(conn), world.api_key()
    last = "This user is the last administrator. Make another user an administrator first."
    for caller in (only_alice, key):
        for role in (2, "Viewer", almost):
            assert refused(put(caller, only_alice, rootRole=role, name="Alicia"), 409, "ConflictError") == last
        assert refused(caller.delete(f"{PATH}/{only_alice.id}"), 409, "ConflictError") == last
    conn.execute("DELETE FROM api_keys WHERE name = 'a key'")
    assert fingerprint(conn) == before
    for change in ({"name": "Alicia"}, {"rootRole": 1, "email": "alicia@example.org"}, {"rootRole": "admin"}):
        assert put(only_alice, only_alice, **change).status_code == 200


def test_one_of_two_administrators_can_go(world, only_alice):
    grace = world.user("Grace", root_role=1)
    assert put(only_alice, only_alice, rootRole=2).status_code == 200
    refused(put(only_alice, grace, rootRole=2), 403, "NoAccessError")
    refused(put(grace, grace, rootRole=2), 409, "ConflictError")
    assert put(grace, only_alice, rootRole=1).status_code == 200
    assert grace.delete(f"{PATH}/{grace.id}").status_code == 200
    refused(grace.get(PATH), 401, "AuthenticationRequired")


# Passwords


def test_a_password_is_set_and_all_sessions_of_the_user_end(world, alice, victor, stranger, conn):
    for owner, session in ((victor, "one"), (victor, "two"), (alice, "Alice's")):
        sessions.insert(conn, digest(session), owner.id, 48)
    conn.execute("UPDATE users SET password_hash = %s WHERE id = %s", [HASH, victor.id])
    since = world.last_event_id()
    response = set_password(alice, victor, "another password")
    assert (response.status_code, response.get_data()) == (200, b"")
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    refused(stranger.get(ANY_PAGE, headers=with_session("one")), 401, "AuthenticationRequired")
    assert log_in(stranger, "victor", "another password").status_code == 200
    refused(log_in(stranger, "victor"), 401, "AuthenticationRequired")
    past = rows(conn, "SELECT user_id, password_hash FROM past_passwords")
    assert past == [{"user_id": victor.id, "password_hash": HASH}]
    assert events(world, since) == [event("user-updated", alice, data=logged(victor), pre_data=logged(victor))]
    # Administrators can set one of the last five, and may send more than the password.
    assert set_password(alice, victor, confirmPassword=PASSWORD, oldPassword="whatever").status_code == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"password": "shorter"}, "password: must be at least 8 characters long"),
        ({"password": "é" * 37}, "password: must be at most 72 bytes long"),
        ({"password": "victor@EXAMPLE.org"}, OWN_NAME),
        ({"password": "the robot VICTOR"}, OWN_NAME),
        ({"password": PASSWORD, "confirmPassword": "a slip"}, "confirmPassword: must be the same as password"),
    ],
)
def test_an_invalid_password_changes_nothing(alice, victor, conn, fields, message):
    sessions.insert(conn, digest("Victor's"), victor.id, 48)
    conn.execute("UPDATE users SET name = 'The robot Victor' WHERE id = %s", [victor.id])
    before = fingerprint(conn)
    assert refused(set_password(alice, victor, **fields)) == message
    assert fingerprint(conn) == before


def test_the_minimum_length_is_a_setting(app, alice, victor, conn, monkeypatch):
    check = f"{PATH}/validate-password"
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 10)
    before = fingerprint(conn)
    assert victor.post(check, json={"password": "ten chars!"}).status_code == 200
    for refusal in (victor.post(check, json={"password": "nine char"}), make(alice, password="nine char")):
        assert refused(refusal) == "password: must be at least 10 characters long"
    assert refused(set_password(alice, victor, "nine char")) == "password: must be at least 10 characters long"
    assert fingerprint(conn) == before
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 2)
    assert set_password(alice, victor, "ab").status_code == 200


# Deleting

OWNED = (
    "sessions",
    "reset_tokens",
    "personal_tokens",
    "past_passwords",
    "project_user_roles",
    "group_users",
    "project_favorites",
    "flag_favorites",
)


def settle(world: World, user: Caller) -> None:
    """Give a user one of everything that a user can have."""
    assert user.id is not None
    world.conn.execute("UPDATE users SET password_hash = %s WHERE id = %s", [HASH, user.id])
    sessions.insert(world.conn, digest(f"session of {user.id}"), user.id, 48)
    world.conn.execute("INSERT INTO past_passwords VALUES (%s, %s)", [user.id, HASH])
    reset_tokens.insert(world.conn, user.id, "alice")
    fixtures.add_project_user(world.conn, "default", user.id, 5)
    fixtures.add_group_user(world.conn, groups.insert(world.conn, f"group of {user.id}"), user.id)
    world.conn.execute("INSERT INTO project_favorites (user_id, project_id) VALUES (%s, 'default')", [user.id])
    world.conn.execute(
        "INSERT INTO flag_favorites (user_id, flag_id) VALUES (%s, %s)", [user.id, world.flag(f"flag-of-{user.id}")]
    )


def owned(conn: Connection, user: Caller) -> dict[str, int]:
    """How much of each a user has."""
    return {
        table: value(conn, f"SELECT count(*) FROM {table} WHERE user_id = %(id)s", {"id": user.id}) for table in OWNED
    }


def test_a_deletion_deletes_the_records_of_the_user_and_no_others(world, alice, victor, eve, conn):
    for user in (victor, eve):
        settle(world, user)
    since = world.last_event_id()
    # Any body is ignored.
    response = alice.delete(f"{PATH}/{victor.id}", data="nonsense", content_type="text/plain")
    assert (response.status_code, response.get_data()) == (200, b"")
    assert owned(conn, victor) == dict.fromkeys(OWNED, 0)
    assert owned(conn, eve) == dict.fromkeys(OWNED, 1)
    row = one(conn, "SELECT deleted_at = now() AS now, password_hash FROM users WHERE id = %(id)s", {"id": victor.id})
    assert row == {"now": True, "password_hash": None}
    assert events(world, since) == [event("user-deleted", alice, pre_data=logged(victor))]
    for table in ("past_project_user_roles", "past_group_users"):
        past = rows(conn, f"SELECT user_id, ended_at = now() AS now FROM {table}")
        assert past == [{"user_id": victor.id, "now": True}]
    refused(victor.get(ANY_PAGE), 401, "AuthenticationRequired")


def test_a_deleted_user_leaves_the_signup_token(world, alice, stranger, conn):
    secret = invitation(world)
    grace = sign_up(stranger, secret).json
    assert alice.delete(f"{PATH}/{grace['id']}").status_code == 200
    assert rows(conn, "SELECT * FROM signup_token_users") == []
    assert sign_up(stranger, secret).status_code == 200


@pytest.mark.parametrize("kind", ["User", "Service Account"])
def test_a_deletion_also_deletes_tokens_of_users_deleted_before(world, alice, victor, conn, kind):
    before = gone(world, account_type=kind)
    assert alice.delete(f"{PATH}/{victor.id}").status_code == 200
    assert owned(conn, before)["personal_tokens"] == 0
