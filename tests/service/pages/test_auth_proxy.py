"""The header of a trusted proxy: who is trusted, which names, and what it opens and ends."""

from ipaddress import ip_network
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from rules.access import digest
from sql import sessions
from sql.database import Connection, rows, value
from sql.people import groups
from tests.support.login import ada
from tests.support.page import Page, open_page, send_form
from tests.support.sessions import ANY_PAGE, login_lines, with_session
from tests.support.world import PASSWORD, Caller, World

SECRET = "a secret of the proxy"
PROXY = "192.0.2.10"


@pytest.fixture(autouse=True)
def proxy(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a proxy at one address, with all headers."""
    for setting in ("HEADER", "EMAIL_HEADER", "NAME_HEADER", "GROUPS_HEADER"):
        name = setting.removesuffix("_HEADER").removesuffix("HEADER").title() or "User"
        monkeypatch.setitem(app.config, f"AUTH_PROXY_{setting}", f"Remote-{name}")
    monkeypatch.setitem(app.config, "AUTH_PROXY_NETWORKS", (ip_network(f"{PROXY}/32"), ip_network("2001:db8::/64")))


@pytest.fixture
def creates(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown names are created."""
    monkeypatch.setitem(app.config, "AUTH_PROXY_CREATE_USERS", True)


@pytest.fixture
def ida(world: World) -> Caller:
    """Ida has an account."""
    return world.user("Ida")


def ask(
    stranger: Caller, user: str | None = "ida", path: str = "/login", peer: str | None = PROXY, **headers: str
) -> TestResponse:
    """Ask for a page with the header of a user, from an address. Underscores of other headers mean hyphens."""
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    sent |= {} if user is None else {"Remote-User": user.encode().decode("latin-1")}
    # A server writes no REMOTE_ADDR for a Unix socket.
    return stranger.get(path, headers=sent, environ_overrides={"REMOTE_ADDR": peer or ""})


def session_of(response: TestResponse) -> str:
    """The session that a login begins."""
    assert response.status_code == 303, response.text
    return response.headers["Set-Cookie"].split("session=")[1].split(";")[0]


def user_of(stranger: Caller, response: TestResponse) -> dict[str, Any]:
    """The user who is logged in by a response."""
    return stranger.get("/api/admin/user", headers=with_session(session_of(response))).json["user"]


def is_form(response: TestResponse, status: int = 200) -> bool:
    """Return whether a response is the login form, and begins no session."""
    return (response.status_code, Page(response).heading, "Set-Cookie" in response.headers) == (status, "Log in", False)


def refused_with(response: TestResponse) -> str:
    """The sentence above the form of a refused login."""
    assert is_form(response, 403)
    return " ".join(Page(response).texts(".//*[@role='alert']"))


# --- Trusted addresses-------------------------------------------------------------------------------------------------


def test_login_goes_on_to_the_page(ida: Caller, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("fixed"), ida.id or 0, 1)
    conn.execute("DELETE FROM sessions WHERE digest = %s", [digest("fixed")])
    response = ask(stranger, path="/login?next=/events%3Fdays%3D7", Cookie="session=fixed")
    assert response.headers["Location"] == "/events?days=7"
    assert {"HttpOnly", "SameSite=Lax"} <= set(response.headers["Set-Cookie"].split("; "))
    assert rows(conn, "SELECT digest, via FROM sessions") == [{"digest": digest(session_of(response)), "via": "proxy"}]
    assert value(conn, "SELECT seen_at FROM users WHERE id = %(id)s", {"id": ida.id}) is not None
    assert ask(stranger, path="/login?next=//evil.example").headers["Location"] == "/"


@pytest.mark.parametrize("peer", ["2001:db8::7", f"::ffff:{PROXY}"])
def test_other_spellings_of_the_proxy_are_trusted(ida: Caller, stranger: Caller, peer: str) -> None:
    assert user_of(stranger, ask(stranger, peer=peer))["id"] == ida.id


@pytest.mark.parametrize("peer", ["192.0.2.11", "127.0.0.1", "2001:db8:1::7", "::ffff:192.0.2.11", None, "unknown"])
def test_header_from_elsewhere_is_ignored(
    app: Flask, ida: Caller, stranger: Caller, peer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ida.id
    # Even if the service trusts what proxies say about addresses.
    monkeypatch.setitem(app.config, "TRUSTED_PROXIES", 1)
    forged = {"X_Forwarded_For": PROXY, "X_Real_IP": PROXY, "Forwarded": f"for={PROXY}"}
    assert is_form(ask(stranger, peer=peer, **forged))


def test_address_behind_the_proxy_does_not_matter(
    app: Flask, ida: Caller, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "TRUSTED_PROXIES", 1)
    assert user_of(stranger, ask(stranger, X_Forwarded_For="203.0.113.9"))["id"] == ida.id


def test_secret_must_match(app: Flask, ida: Caller, stranger: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.config, "AUTH_PROXY_SECRET", SECRET)
    for wrong in ({}, {"X_Auth_Proxy_Secret": ""}, {"X_Auth_Proxy_Secret": SECRET[:-1]}, {"X_Auth_Proxy_Secret": "é"}):
        assert is_form(ask(stranger, **wrong)), wrong
    assert user_of(stranger, ask(stranger, X_Auth_Proxy_Secret=SECRET))["id"] == ida.id
    assert is_form(ask(stranger, peer="192.0.2.11", X_Auth_Proxy_Secret=SECRET))


def test_without_the_setting_no_header_counts(
    app: Flask, ida: Caller, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ida.id
    monkeypatch.setitem(app.config, "AUTH_PROXY_HEADER", None)
    assert is_form(ask(stranger))


def test_header_alone_opens_nothing_but_the_login(ida: Caller, stranger: Caller) -> None:
    assert ida.id
    for path in (ANY_PAGE, "/api/admin/user", "/metrics"):
        assert ask(stranger, path=path).status_code in (401, 404), path
    assert ask(stranger, path="/").headers["Location"] == "/login?next=/"
    response = stranger.post(
        "/login", headers={"Remote-User": "ida"}, environ_overrides={"REMOTE_ADDR": PROXY}, data={"username": "ida"}
    )
    assert is_form(response, 400)


# --- Names ------------------------------------------------------------------------------------------------------------


def test_name_is_an_address_in_any_case_or_a_user_name(world: World, stranger: Caller) -> None:
    user = world.user("Jörg", email="joerg@example.org")
    for name in ("jörg", "joerg@example.org", "Joerg@EXAMPLE.org"):
        assert user_of(stranger, ask(stranger, name))["id"] == user.id
    # User names are case-sensitive.
    assert refused_with(ask(stranger, "Jörg")) == "There is no account for Jörg. Ask an administrator."


@pytest.mark.parametrize(
    "name", ["", "ida,admin", "ida, ida", "id\ta", "ida\x85", "ida\x00", "ï", "x" * 256, "@", "<b>"]
)
@pytest.mark.usefixtures("creates")
def test_invalid_name_is_refused(world: World, stranger: Caller, conn: Connection, name: str) -> None:
    for username in ("ida", "ida,admin", "ida, ida"):
        world.user(username, email=None)
    # The header with the e-mail address does not replace a missing name.
    world.user("root", email="root@example.org", root_role=1)
    before = value(conn, "SELECT count(*) FROM users")
    # "ï" as Latin-1, which is not UTF-8. "<b>" is a name.
    sent = {"Remote_User": "ï"} if name == "ï" else {}
    assert is_form(ask(stranger, None if sent else name, Remote_Email="root@example.org", **sent), 403)
    response = ask(stranger, None if sent else name, Remote_Email="new@example.org", **sent)
    if name == "<b>":
        assert user_of(stranger, response)["username"] == name
    else:
        assert refused_with(response).startswith("There is no account for ")
        assert value(conn, "SELECT count(*) FROM users") == before


@pytest.mark.usefixtures("creates", "ida")
def test_repeated_header_is_refused(app: Flask) -> None:
    twice = [("Remote-User", "ida"), ("Remote-User", "ida")]
    client = app.test_client(use_cookies=False)
    assert client.get("/login", headers=twice, environ_overrides={"REMOTE_ADDR": PROXY}).status_code == 403


def test_unknown_name_is_refused_without_the_setting(stranger: Caller, conn: Connection) -> None:
    before = value(conn, "SELECT count(*) FROM users")
    for name in ("nobody", "nobody@example.org"):
        assert refused_with(ask(stranger, name)) == f"There is no account for {name}. Ask an administrator."
    assert value(conn, "SELECT count(*) FROM users") == before


@pytest.mark.usefixtures("creates")
def test_unknown_name_is_created(
    world: World, stranger: Caller, conn: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    since = world.last_event_id()
    user = user_of(stranger, ask(stranger, "ida", Remote_Email="Ida@Example.org", Remote_Name="J\xc3\xb6rg"))
    [event] = world.events(since)
    data = {"id": user["id"], "name": "Jörg", "username": "ida", "email": "ida@example.org", "rootRole": 3}
    assert (event["type"], event["created_by"], event["data"]) == ("user-created", "system", data)
    assert user_of(stranger, ask(stranger, "New@example.org"))["email"] == "new@example.org"
    created = rows(conn, "SELECT username, password_hash FROM users ORDER BY id DESC LIMIT 2")
    assert created == [{"username": None, "password_hash": None}, {"username": "ida", "password_hash": None}]
    # An invalid address is ignored. That of somebody else is not taken from them.
    assert "email" not in user_of(stranger, ask(stranger, "eva", Remote_Email="eva"))
    taken = "Your e-mail address belongs to another account. Ask an administrator."
    assert refused_with(ask(stranger, "max", Remote_Email="ida@example.org")) == taken
    assert "A login was refused because its e-mail address belongs to another account." in caplog.text


def test_each_login_is_one_line_of_the_log(ida: Caller, stranger: Caller, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ida", "nobody"):
        ask(stranger, name)
    lines = [(line["login"], line["via"], line["user"], line["address"]) for line in login_lines(capsys)]
    assert lines == [("succeeded", "proxy", ida.id, PROXY), ("refused", "proxy", None, PROXY)]


@pytest.mark.parametrize("setting", [True, False])
def test_service_account_is_refused(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch, setting: bool
) -> None:
    monkeypatch.setitem(app.config, "AUTH_PROXY_CREATE_USERS", setting)
    world.user("Robot", email=None, account_type="Service Account")
    assert refused_with(ask(stranger, "robot")) == "There is no account for robot. Ask an administrator."


@pytest.mark.usefixtures("creates")
def test_deleted_user_gets_a_new_account(alice: Caller, ida: Caller, stranger: Caller) -> None:
    assert alice.delete(f"/api/admin/user-admin/{ida.id}").status_code == 200
    assert user_of(stranger, ask(stranger))["id"] > (ida.id or 0)


def test_name_and_groups_follow_the_headers(ida: Caller, stranger: Caller, conn: Connection) -> None:
    web = groups.insert(conn, "web", mappings_sso=["web"])
    members = "SELECT user_id FROM group_users"
    assert user_of(stranger, ask(stranger, Remote_Name="Ida B.", Remote_Groups=" ops , web,"))["name"] == "Ida B."
    assert rows(conn, members) == [{"user_id": ida.id}]
    # Without the header, the user is in no group.
    assert user_of(stranger, ask(stranger))["name"] == "Ida B."
    assert rows(conn, members) == []
    groups.set_users(conn, web, [ida.id or 0], created_by="alice")
    assert is_form(ask(stranger, Remote_Groups=",".join(map(str, range(501)))), 403)
    assert len(rows(conn, members)) == 1


def test_groups_stay_without_their_setting(
    app: Flask, ida: Caller, stranger: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "AUTH_PROXY_GROUPS_HEADER", None)
    groups.set_users(conn, groups.insert(conn, "web", mappings_sso=["web"]), [ida.id or 0], created_by="alice")
    ask(stranger, Remote_Groups="")
    assert value(conn, "SELECT count(*) FROM group_users") == 1


def test_pages_of_groups_name_the_proxy(alice: Caller, conn: Connection) -> None:
    groups.insert(conn, "web", mappings_sso=["web"])
    assert "Members come from single sign-on at each login." in open_page(alice, "/admin/groups").text


# --- Another person on the same browser, and logout -------------------------------------------------------------------


@pytest.mark.parametrize("other", ["bob", "bob@example.org", "ida,bob"])
@pytest.mark.parametrize("path", ["/api/admin/user", "/profile"])
def test_session_of_the_proxy_ends_with_another_name(
    world: World, ida: Caller, stranger: Caller, conn: Connection, other: str, path: str
) -> None:
    bob = world.user("Bob")
    cookie = with_session(session_of(ask(stranger)))
    for same in ("ida", "Ida@example.org", "", None):
        assert ask(stranger, same, path, **cookie).status_code == 200
    # Not trusted.
    assert ask(stranger, other, path, peer="192.0.2.11", **cookie).status_code == 200
    assert ask(stranger, other, path, **cookie).status_code in (401, 302)
    assert value(conn, "SELECT count(*) FROM sessions") == 0
    assert ask(stranger, "ida", path, **cookie).status_code in (401, 302)
    assert user_of(stranger, ask(stranger, "bob", **cookie))["id"] == bob.id != ida.id


def test_login_with_another_name_changes_the_person(
    world: World, ida: Caller, stranger: Caller, conn: Connection
) -> None:
    bob, before = world.user("Bob"), session_of(ask(stranger))
    assert user_of(stranger, ask(stranger, "bob", **with_session(before)))["id"] == bob.id
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": bob.id}]
    assert ida.id


def test_session_by_password_stays_with_another_name(ida: Caller, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("typed"), ida.id or 0, 1)
    assert ask(stranger, "bob", "/api/admin/user", **with_session("typed")).status_code == 200
    assert ask(stranger, "bob", **with_session("typed")).headers["Location"] == "/"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_logout_does_not_log_in_again(
    app: Flask, ida: Caller, stranger: Caller, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ida.id
    monkeypatch.setitem(app.config, "AUTH_PROXY_LOGOUT_URL", "/oauth2/sign_out")
    session = session_of(ask(stranger))
    response = stranger.request(method, "/logout", headers=with_session(session))
    assert response.headers["Location"] == "/login?notice=logged-out"
    # A browser whose session has ended already, too.
    ended = stranger.request(method, "/logout", headers=with_session(session, Accept="text/html"))
    assert ended.headers["Location"] == "/login?notice=logged-out"
    shown = ask(stranger, path="/login?notice=logged-out")
    assert is_form(shown)
    page = Page(shown)
    assert page.links.items() >= {"Log in again": "/login", "log out of the proxy too": "/oauth2/sign_out"}.items()
    assert "You are logged out." in page.text
    monkeypatch.setitem(app.config, "AUTH_PROXY_LOGOUT_URL", None)
    assert "log out of the proxy too" not in Page(ask(stranger, path="/login?notice=logged-out")).links


def test_password_still_logs_in_after_a_logout(world: World, stranger: Caller) -> None:
    user = ada(world)
    response = send_form(stranger, "/login?notice=logged-out", username="ada", password=PASSWORD)
    assert user_of(stranger, response)["id"] == user.id
