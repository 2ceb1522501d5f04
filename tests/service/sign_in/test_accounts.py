"""Whose account a login of the identity provider opens, and the groups that it sets."""

from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection, rows, value
from sql.people import groups, roles
from tests.support.identity_provider import Browser, IdentityProvider
from tests.support.login import HASH, log_in
from tests.support.page import open_page
from tests.support.sessions import ANY_PAGE, login_lines, with_session
from tests.support.sign_in import refusal, sign_in
from tests.support.wire import watched
from tests.support.world import PASSWORD, Caller, World, refused

UNCONFIRMED = "Acme does not confirm that your e-mail address is yours. Ask an administrator."
TAKEN = (
    "An account with your e-mail address exists, but Acme does not confirm that the address is yours. "
    "Ask an administrator to connect it."
)
OF_ANOTHER = "Your e-mail address belongs to another account. Ask an administrator."
NO_ACCOUNT = "There is no account for you here."


def found(conn: Connection) -> list[dict[str, Any]]:
    """The identities, oldest user first."""
    return rows(conn, "SELECT user_id, issuer, subject FROM user_identities ORDER BY user_id")


def user_of(provider: IdentityProvider, session: str) -> dict[str, Any]:
    """The user of a session, as the API returns them."""
    return Caller(provider.app).get("/api/admin/user", headers=with_session(session)).json["user"]


def recorded(world: World, since: int) -> list[tuple[str, str, Any, Any]]:
    """Type, author, data and preData of the events since then. They have no project."""
    events = world.events(since)
    assert {event["project"] for event in events} <= {None}
    return [(event["type"], event["created_by"], event["data"], event["pre_data"]) for event in events]


# --- The seven rows ---------------------------------------------------------------------------------------------------


def test_first_login_creates_a_user_without_a_password(
    provider: IdentityProvider, world: World, alice: Caller, conn: Connection
) -> None:
    since = world.last_event_id()
    user = user_of(provider, sign_in(provider, email="Ida@Example.org"))
    record = alice.get(f"/api/admin/user-admin/{user['id']}").json
    assert record["seenAt"] == record["createdAt"]
    assert (
        record.items()
        >= {
            **{"id": user["id"], "name": "Ida", "email": "ida@example.org", "rootRole": 3},
            **{"accountType": "User", "scimId": None, "isAPI": False, "loginAttempts": 0},
        }.items()
    )
    assert found(conn) == [{"user_id": user["id"], "issuer": provider.url, "subject": "sub-ida"}]
    data = {"id": user["id"], "name": "Ida", "email": "ida@example.org", "rootRole": 3}
    assert recorded(world, since) == [("user-created", "system", data | {"identity": provider.url}, None)]


def test_user_without_a_password_gets_the_response_of_a_wrong_one(provider: IdentityProvider, world: World) -> None:
    sign_in(provider)
    world.user("Bob", password_hash=HASH)
    wrong = refused(log_in(Caller(provider.app), "bob", "wrong"), 401, "AuthenticationRequired")
    for password in ("", "None", PASSWORD):
        own = log_in(Caller(provider.app), "ida@example.org", password)
        assert refused(own, 401, "AuthenticationRequired") == wrong


def test_known_identity_is_the_user_whatever_the_address(
    provider: IdentityProvider, world: World, conn: Connection
) -> None:
    others = [world.user(f"Other{number}", email=f"other{number}@example.org").id for number in range(3)]
    user = user_of(provider, sign_in(provider))
    since = world.last_event_id()
    # The provider gives her another name, and the address of somebody else, not even verified.
    for number in range(3):
        address = {"email": f"other{number}@example.org", "email_verified": number == 0}
        again = user_of(provider, sign_in(provider, name="Ida B.", **address))
        assert (again["id"], again["name"], again["email"]) == (user["id"], "Ida B.", "ida@example.org")
    before = {"id": user["id"], "name": "Ida", "email": "ida@example.org", "rootRole": 3}
    assert recorded(world, since) == [("user-updated", "system", before | {"name": "Ida B."}, before)]
    since = world.last_event_id()
    for name in ("Ida B.", None, "", "x" * 256, "a\0"):
        assert user_of(provider, sign_in(provider, name=name))["name"] == "Ida B."
    assert (recorded(world, since), len(found(conn))) == ([], 1)
    assert user["id"] not in others


def test_verified_address_links_the_user_who_keeps_the_password(
    provider: IdentityProvider, world: World, conn: Connection
) -> None:
    ida = world.user("Ida", root_role=2, password_hash=HASH)
    log_in(Caller(provider.app), "ida", "wrong")
    since = world.last_event_id()
    assert user_of(provider, sign_in(provider, email="IDA@example.org"))["id"] == ida.id
    assert found(conn) == [{"user_id": ida.id, "issuer": provider.url, "subject": "sub-ida"}]
    before = {"id": ida.id, "name": "Ida", "username": "ida", "email": "ida@example.org", "rootRole": 2}
    assert recorded(world, since) == [("user-updated", "system", before | {"identity": provider.url}, before)]
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": ida.id}) == 0
    assert log_in(Caller(provider.app), "ida", PASSWORD).status_code == 200


@pytest.mark.parametrize("root_role", [1, 3])
def test_unverified_address_never_links(
    provider: IdentityProvider, world: World, conn: Connection, root_role: int
) -> None:
    world.user("Ida", root_role=root_role)
    since = world.last_event_id()
    assert refusal(provider, email_verified=False) == TAKEN
    assert (found(conn), recorded(world, since), value(conn, "SELECT count(*) FROM sessions")) == ([], [], 0)


def test_unverified_address_creates_nobody_and_the_log_names_the_setting(
    provider: IdentityProvider, conn: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    before = value(conn, "SELECT count(*) FROM users")
    assert refusal(provider, email_verified=False) == UNCONFIRMED
    assert value(conn, "SELECT count(*) FROM users") == before
    assert "OIDC_EMAIL_VERIFIED" in caplog.text
    assert "ida" not in caplog.text


def test_setting_trusts_every_address(provider: IdentityProvider, world: World) -> None:
    provider.app.config["OIDC_EMAIL_VERIFIED"] = "always"
    ida = world.user("Ida")
    assert user_of(provider, sign_in(provider, email_verified=False))["id"] == ida.id


def test_user_with_another_identity_of_the_issuer_is_not_linked_again(
    provider: IdentityProvider, conn: Connection
) -> None:
    sign_in(provider)
    assert refusal(provider, sub="sub-second") == OF_ANOTHER
    assert refusal(provider, sub="sub-second", email_verified=False) == TAKEN
    assert len(found(conn)) == 1


def test_identity_of_another_issuer_is_another_one(provider: IdentityProvider, conn: Connection) -> None:
    first, other = user_of(provider, sign_in(provider)), "https://login.example.net"
    conn.execute("UPDATE user_identities SET issuer = %s", [other])
    assert refusal(provider, email_verified=False) == TAKEN
    # The address links the same user: each issuer has an identity of its own.
    assert user_of(provider, sign_in(provider))["id"] == first["id"]
    assert {row["issuer"] for row in found(conn)} == {provider.url, other}


def test_without_an_address_the_user_name_counts(provider: IdentityProvider, world: World) -> None:
    user = user_of(provider, sign_in(provider, email=None))
    assert (user["username"], "email" in user) == ("ida", False)
    world.user("Bob")
    for username in ("bob", "a@b", " x", "", None, "x" * 256, "a\0"):
        assert refusal(provider, sub="sub-2", email=None, preferred_username=username) == NO_ACCOUNT, username


def test_user_name_beside_an_invalid_address_does_not_count(provider: IdentityProvider) -> None:
    for email in (
        "ida",
        "a b@example.org",
        "a\0@example.org",
        "\ud800@example.org",
        f"{'x' * 250}@example.org",
        {"a": 1},
    ):
        assert refusal(provider, email=email) == NO_ACCOUNT


@pytest.mark.parametrize(
    ("settings", "fields", "is_created"),
    [
        ({"OIDC_CREATE_USERS": False}, {}, False),
        ({"OIDC_CREATE_USERS": False}, {"email": None}, False),
        ({"OIDC_EMAIL_DOMAINS": ("example.net", "example.org")}, {"email": "ida@EXAMPLE.org"}, True),
        ({"OIDC_EMAIL_DOMAINS": ("example.org",)}, {"email": "ida@evil.example"}, False),
        ({"OIDC_EMAIL_DOMAINS": ("example.org",)}, {"email": "ida@evil-example.org"}, False),
        ({"OIDC_EMAIL_DOMAINS": ("example.org",)}, {"email": "ida@sub.example.org"}, False),
        ({"OIDC_EMAIL_DOMAINS": ("example.org",)}, {"email": None}, False),
    ],
)
def test_settings_decide_who_is_created(
    provider: IdentityProvider,
    world: World,
    settings: dict[str, Any],
    fields: dict[str, Any],
    is_created: bool,
) -> None:
    for name, setting in settings.items():
        provider.app.config[name] = setting
    if is_created:
        assert user_of(provider, sign_in(provider, **fields))["email"] == "ida@example.org"
    else:
        assert refusal(provider, **fields) == NO_ACCOUNT
    # The settings are about new users only.
    bob = world.user("Bob", email="bob@evil.example")
    assert user_of(provider, sign_in(provider, sub="sub-bob", email="bob@evil.example"))["id"] == bob.id


def test_new_users_have_the_role_of_the_setting(provider: IdentityProvider, conn: Connection) -> None:
    custom = roles.insert(conn, "Release managers", type="root-custom")
    for name, role in {"Editor": 2, "release MANAGERS": custom}.items():
        provider.app.config["SSO_ROLE"] = name
        sign_in(provider, sub=name, email=f"{role}@example.org")
        assert value(conn, "SELECT root_role_id FROM users ORDER BY id DESC LIMIT 1") == role
    provider.app.config["SSO_ROLE"] = "Owner"
    assert refusal(provider) == "No root role has the name in SSO_ROLE."


def test_service_accounts_are_never_found(provider: IdentityProvider, world: World) -> None:
    robot = {"account_type": "Service Account", "root_role": 1}
    world.user("Robot", email=None, **robot)
    assert refusal(provider, email=None, preferred_username="robot") == NO_ACCOUNT
    world.user("Ida", **robot)
    assert refusal(provider) == OF_ANOTHER


def test_deleted_user_gets_a_new_account(provider: IdentityProvider, alice: Caller, conn: Connection) -> None:
    old = user_of(provider, sign_in(provider))
    session = sign_in(provider)
    assert alice.delete(f"/api/admin/user-admin/{old['id']}").status_code == 200
    assert found(conn) == []
    assert Caller(provider.app).get(ANY_PAGE, headers=with_session(session)).status_code == 401
    new = user_of(provider, sign_in(provider))
    assert new["id"] > old["id"]


def test_session_is_new_and_replaces_the_one_before(provider: IdentityProvider, world: World, conn: Connection) -> None:
    ida = world.user("Ida")
    sessions.insert(conn, digest("fixed"), ida.id or 0, 1)
    browser = Browser(provider.app, provider)
    browser.client.set_cookie("session", "fixed")
    assert browser.log_in(email="ida@example.org").status_code == 302
    session = browser.session() or ""
    assert session != "fixed"
    assert rows(conn, "SELECT digest FROM sessions") == [{"digest": digest(session)}]
    assert value(conn, "SELECT count(*) FROM user_seen_days WHERE user_id = %(id)s", {"id": ida.id}) == 1
    [listed] = Caller(provider.app).get("/api/admin/user/sessions", headers=with_session(session)).json["sessions"]
    assert (listed["via"], listed["address"], listed["current"]) == ("oidc", "127.0.0.1", True)


def test_each_login_is_one_line_of_the_log(provider: IdentityProvider, capsys: pytest.CaptureFixture[str]) -> None:
    user = user_of(provider, sign_in(provider))["id"]
    refusal(provider, sub="sub-2", email_verified=False)
    browser = Browser(provider.app, provider)
    assert browser.client.get("/auth/oidc/callback?code=x&state=y").status_code == 400
    provider.app.config["LOGIN_ATTEMPTS_PER_MINUTE"] = 1
    assert browser.client.get("/auth/oidc/login").status_code == 429
    lines = [(line["login"], line["user"]) for line in login_lines(capsys) if line["via"] == "oidc"]
    assert lines == [("succeeded", user), ("refused", None), ("refused", None), ("throttled", None)]


# --- Groups -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def teams(provider: IdentityProvider, conn: Connection) -> dict[str, int]:
    """Groups with these mappings, by name. The provider sends groups."""
    provider.app.config["OIDC_GROUPS_CLAIM"] = "groups"
    mappings = {"flags-admins": ["flags-admins"], "web": ["web", "frontend"], "by hand": []}
    return {name: groups.insert(conn, name, mappings_sso=names, root_role=1) for name, names in mappings.items()}


def members(conn: Connection) -> dict[str, list[int]]:
    """The ids of the members of each group that has some."""
    found = rows(
        conn, "SELECT name, user_id FROM group_users JOIN groups ON groups.id = group_id ORDER BY name, user_id"
    )
    return {name: [row["user_id"] for row in found if row["name"] == name] for name in {row["name"] for row in found}}


def test_user_is_in_exactly_the_groups_with_their_mappings(
    provider: IdentityProvider, world: World, conn: Connection, teams: dict[str, int]
) -> None:
    ida, bob = world.user("Ida"), world.user("Bob")
    for name in ("by hand", "web"):
        groups.set_users(conn, teams[name], [ida.id or 0, bob.id or 0], created_by="alice")
    sign_in(provider, groups="web")
    since = world.last_event_id()
    # Case-sensitive, and texts that the database cannot store are ignored.
    session = sign_in(provider, groups=("flags-admins", "WEB", "a\0", "\ud800", ""))
    everybody = [ida.id, bob.id]
    assert members(conn) == {"flags-admins": [ida.id], "by hand": everybody, "web": [bob.id]}
    assert Caller(provider.app).get("/api/admin/groups", headers=with_session(session)).status_code == 200
    who = {"userId": ida.id, "userName": "ida@example.org"}
    assert recorded(world, since) == [
        ("group-user-added", "system", {"groupId": teams["flags-admins"], "name": "flags-admins", **who}, None),
        ("group-user-removed", "system", None, {"groupId": teams["web"], "name": "web", **who}),
    ]
    since = world.last_event_id()
    sign_in(provider, groups=("flags-admins",))
    assert recorded(world, since) == []
    # A missing claim: rights must not survive.
    session = sign_in(provider)
    assert members(conn) == {"by hand": everybody, "web": [bob.id]}
    # The role of the group by hand.
    assert Caller(provider.app).get("/api/admin/groups", headers=with_session(session)).status_code == 200
    sign_in(provider, groups=("frontend", "web"))
    assert members(conn)["web"] == everybody


def test_groups_stay_without_a_setting(
    provider: IdentityProvider, world: World, conn: Connection, teams: dict[str, int]
) -> None:
    ida = world.user("Ida")
    groups.set_users(conn, teams["web"], [ida.id or 0], created_by="alice")
    provider.app.config["OIDC_GROUPS_CLAIM"] = None
    sign_in(provider, groups=["flags-admins"])
    assert members(conn) == {"web": [ida.id]}


def test_new_user_joins_in_the_same_login(
    provider: IdentityProvider, world: World, conn: Connection, teams: dict[str, int]
) -> None:
    since = world.last_event_id()
    user = user_of(provider, sign_in(provider, groups=("web",)))
    assert members(conn) == {"web": [user["id"]]}
    assert [event["type"] for event in world.events(since)] == ["user-created", "group-user-added"]
    shown = rows(conn, "SELECT created_by FROM group_users")
    assert shown == [{"created_by": "system"}]
    assert teams


@pytest.mark.usefixtures("teams")
def test_too_many_groups_are_refused(provider: IdentityProvider, conn: Connection) -> None:
    sign_in(provider, groups=list(map(str, range(500))))
    before = value(conn, "SELECT count(*) FROM sessions")
    assert refusal(provider, groups=list(map(str, range(501)))).startswith("You are in too many groups")
    assert value(conn, "SELECT count(*) FROM sessions") == before


def test_pages_of_groups_name_what_sets_their_members(
    provider: IdentityProvider, alice: Caller, teams: dict[str, int]
) -> None:
    sentence = "Members come from Acme at each login."
    assert open_page(alice, "/admin/groups").text.count(sentence) == 2
    assert sentence in open_page(alice, f"/admin/groups/{teams['web']}").text
    assert sentence not in open_page(alice, f"/admin/groups/{teams['by hand']}").text
    provider.app.config["OIDC_GROUPS_CLAIM"] = None
    assert sentence not in open_page(alice, "/admin/groups").text


def test_login_takes_few_statements_beside_200_users_and_50_groups(
    provider: IdentityProvider, world: World, conn: Connection
) -> None:
    ids = [world.user(f"u{number}").id or 0 for number in range(200)]
    for number in range(50):
        group = groups.insert(conn, f"g{number:02}", mappings_sso=[f"m{number}"])
        groups.set_users(conn, group, ids, created_by="alice")
    claimed = [f"m{number}" for number in range(0, 50, 2)]
    provider.app.config["OIDC_GROUPS_CLAIM"] = "groups"
    for someone in (
        {"groups": claimed},
        {"groups": claimed[:3]},
        {"sub": "7", "email": "u7@example.org", "groups": []},
    ):
        browser = Browser(provider.app, provider)
        callback = browser.begin(**{"email": "ida@example.org"} | someone)
        with watched(conn) as wire:
            assert browser.client.get(callback).status_code == 302
        statements = [text for text in wire.statements if not text.startswith(("SAVEPOINT", "RELEASE"))]
        # Three of them are about the address and the cookie.
        assert len(statements) <= 13, "\n".join(statements)
