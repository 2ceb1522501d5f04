"""The forms for visitors: log in, sign up by an invitation, and set a password by a link. Logout, and the throttle."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.login import ada, log_in
from tests.support.login_throttle import blocked, fail, from_address
from tests.support.page import Page, open_page, send_form
from tests.support.reset_links import NEW, new_link
from tests.support.sessions import with_session
from tests.support.signup import counts, guest, invitation
from tests.support.world import PASSWORD, Caller, World

WRONG = "not the password"
UNUSABLE = "This link does not exist, was used or has expired. Ask an administrator for a new one."
EMAIL = "ada@example.org"


def begun_session(response: TestResponse) -> dict[str, str]:
    """Return the headers of a request with the session that a response begins."""
    assert response.headers["Location"] == "/"
    return with_session(response.headers["Set-Cookie"].split("session=")[1].split(";")[0])


# --- Log in and out ---------------------------------------------------------------------------------------------------


def test_login_sets_the_session_and_opens_the_start_page(world: World, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("before"), ada(world).id or 0, 1)
    form = open_page(stranger, "/login")
    assert form.heading == "Log in"
    assert form.fields().keys() == {"username", "password"}
    assert form.all(".//noscript") == []
    assert [field.get("name") for field in form.all(".//input[@autofocus]")] == ["username"]
    response = send_form(stranger, "/login", headers=with_session("before"), username="ada", password=PASSWORD)
    assert response.headers["Cache-Control"] == "no-store"
    assert {"HttpOnly", "SameSite=Lax"} <= set(response.headers["Set-Cookie"].split("; "))
    assert "Ada: profile and tokens" in Page(stranger.get("/", headers=begun_session(response))).links
    # The session before has ended.
    assert stranger.get("/profile", headers=with_session("before")).status_code == 302


def test_wrong_password_keeps_the_name_and_not_the_password(world: World, stranger: Caller) -> None:
    ada(world)
    response = send_form(stranger, "/login", 401, username="ada", password=WRONG)
    page = Page(response)
    assert page.texts(".//*[@role='alert']") == ["Wrong user name or password."]
    assert page.fields() == {"username": "ada", "password": ""}
    assert [field.get("name") for field in page.all(".//input[@autofocus]")] == ["password"]
    assert WRONG not in response.text
    assert "Set-Cookie" not in response.headers
    assert Page(send_form(stranger, "/login", 401, username="nobody", password=WRONG)).text == page.text


def test_missing_field_is_named_beside_it(stranger: Caller) -> None:
    page = Page(send_form(stranger, "/login", 400, username="ada"))
    assert page.texts(".//*[@id='password-problem']") == ["Password is required."]
    assert page.all(".//input[@id='password'][@aria-invalid='true'][@aria-describedby='password-problem']")
    assert page.all(".//*[@role='alert']") == []


def test_throttled_name_is_told_how_long_to_wait(world: World, stranger: Caller, conn: Connection) -> None:
    ada(world)
    blocked(conn, stranger, "ada")
    response = send_form(stranger, "/login", 429, username="ada", password=PASSWORD)
    wait = response.headers["Retry-After"]
    assert Page(response).texts(".//*[@role='alert']") == [f"Too many login attempts. Try again in {wait} seconds."]


def test_address_has_one_limit_for_the_form_and_the_api(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    ada(world)
    assert fail(stranger, "a", 1, **from_address("127.0.0.1")) + fail(stranger, "b", 1) == [401, 401]
    send_form(stranger, "/login", 429, username="ada", password=PASSWORD)


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/events%3Fdays%3D7", "/events?days=7"),
        ("/projects/a%2520b", "/projects/a%20b"),
        ("/é", "/%C3%A9"),
        ("", "/"),
        # Other sites.
        *((target, "/") for target in ("//evil.example", "/%5Cevil.example", "https://evil.example", "evil")),
        *((target, "/") for target in ("/%09/evil.example", "/%0D%0Ax", "%5C%5Ce")),
    ],
)
def test_login_opens_the_page_of_this_site_that_the_user_came_for(
    world: World, stranger: Caller, target: str, location: str
) -> None:
    ada(world)
    response = send_form(stranger, f"/login?next={target}", username="ada", password=PASSWORD)
    assert response.headers["Location"] == location


def test_next_is_below_the_base_path(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "BASE_PATH", "/flags")
    ada(world)
    response = send_form(stranger, "/login?next=/events", username="ada", password=PASSWORD)
    assert response.headers["Location"] == "/flags/events"
    assert "Path=/flags" in response.headers["Set-Cookie"]


@pytest.mark.parametrize("path", ["/login", "/new-user?invite=x", "/new-user?token=x", "/reset-password?token=x"])
@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_form_of_another_site_is_refused(world: World, stranger: Caller, path: str, headers: dict[str, str]) -> None:
    ada(world)
    response = send_form(stranger, path, 403, headers, username="ada", password=PASSWORD)
    assert "This form works only at http://localhost. Open it there." in Page(response).text
    assert "Set-Cookie" not in response.headers


def test_users_who_are_logged_in_skip_the_form(world: World, alice: Caller, conn: Connection) -> None:
    assert alice.get("/login?next=/events").headers["Location"] == "/events"
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    assert alice.get("/login", headers={"Authorization": "wrong"}).status_code == 200


def test_form_says_why_one_has_to_log_in(stranger: Caller) -> None:
    for notice in ("password-set", "password-changed"):
        [text] = open_page(stranger, f"/login?notice={notice}").texts(".//*[@role='status']")
        assert text.startswith("Your password is")
    assert open_page(stranger, "/login?notice=other").all(".//*[@role='status']") == []


def test_menu_logs_out_by_a_plain_form(world: World, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    page = Page(stranger.get("/profile", headers=with_session("Ada")))
    [form] = page.frame(".//header//form[@method='post']")
    assert (form.get("method"), form.get("action")) == ("post", "/logout")
    response = send_form(stranger, "/logout", 302, with_session("Ada"))
    assert response.headers["Location"] == "/"
    assert "session=;" in response.headers["Set-Cookie"]
    # The session has ended. A browser that logs out again, in another tab, sees the login form and not an error.
    assert send_form(stranger, "/logout", 302, with_session("Ada")).headers["Location"] == "/"
    assert stranger.post("/logout", headers=with_session("Ada")).status_code == 401
    assert stranger.get("/", headers=with_session("Ada")).headers["Location"] == "/login?next=/"


# --- Sign up ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def invite(world: World) -> str:
    """The address of a form to sign up."""
    return f"/new-user?invite={invitation(world)}"


def test_guest_signs_up_and_is_logged_in(world: World, stranger: Caller, invite: str) -> None:
    form = open_page(stranger, invite)
    assert form.heading == "Sign up"
    assert form.fields().keys() == guest().keys()
    since = world.last_event_id()
    # The user name is optional.
    response = send_form(stranger, invite, **guest(username=""))
    profile = Page(stranger.get("/profile", headers=begun_session(response)))
    assert "Grace Hopper: profile and tokens" in profile.links
    assert "grace@example.org" in profile.text
    assert "User name" not in profile.texts(".//dt")
    assert [event["type"] for event in world.events(since)] == ["user-created", "public-signup-token-user-added"]


def test_password_policy_is_beside_the_field(app: Flask, stranger: Caller, invite: str, monkeypatch) -> None:
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 11)
    page = open_page(stranger, invite)
    [hint] = page.texts(".//*[@id='password-hint']")
    assert hint.startswith("At least 11 characters and at most 72 bytes. Not your own name")
    assert page.all(".//input[@id='password'][@aria-describedby='password-hint'][@minlength='11']")


def test_each_invalid_field_is_named_and_the_typed_values_stay(world: World, stranger: Caller, invite: str) -> None:
    before = counts(world)
    page = Page(send_form(stranger, invite, 400, **guest(email="grace", username="a@b", password="short")))
    assert page.texts(".//*[@id='email-problem']") == ["Email must be an email address such as ada@example.org."]
    [problem] = page.texts(".//*[@id='username-problem']")
    assert problem.startswith("User name must")
    assert page.texts(".//*[@id='password-problem']") == ["Password must be at least 8 characters long."]
    assert page.fields() == {"name": "Grace Hopper", "email": "grace", "username": "a@b", "password": ""}
    assert counts(world) == before


@pytest.mark.parametrize(
    ("field", "changes", "status", "sentence"),
    [
        ("email", {"username": "grace2"}, 409, "A user with this email already exists."),
        ("username", {"email": "grace2@example.org"}, 409, "A user with this user name already exists."),
        (
            "password",
            {"name": "Grace Hop", "password": "Grace Hop"},
            400,
            "Password must not be the user's own name, user name or email.",
        ),
    ],
)
def test_refusal_of_a_sign_up_is_beside_its_field(
    world: World, stranger: Caller, invite: str, field: str, changes: dict[str, str], status: int, sentence: str
) -> None:
    if status == 409:
        world.user("Grace")
    page = Page(send_form(stranger, invite, status, **guest(**changes)))
    assert page.texts(f".//*[@id='{field}-problem']") == [sentence]
    assert [control.get("name") for control in page.all(".//*[@autofocus]")] == [field]


@pytest.mark.parametrize(
    ("ends", "status", "sentence"),
    [
        ({"expires_in": timedelta(0)}, 403, "This signup link is disabled or has expired."),
        ({"enabled": False}, 403, "This signup link is disabled or has expired."),
        (None, 404, "This signup link does not exist. Check that you opened the whole link,"),
    ],
)
def test_invitation_that_does_not_work_is_explained(
    world: World, stranger: Caller, ends: dict[str, Any] | None, status: int, sentence: str
) -> None:
    address = f"/new-user?invite={'unknown' if ends is None else invitation(world, **ends)}"
    before = counts(world)
    for page in (open_page(stranger, address, status), Page(send_form(stranger, address, status, **guest()))):
        assert page.heading == "This link does not work"
        assert sentence in page.text
        assert page.links["log in"] == "/login"
    assert counts(world) == before
    for path, refusal in (("/new-user", 401), ("/new-user?invite=", 404)):
        assert open_page(stranger, path, refusal).heading == "This link does not work"


def test_guesses_at_invitations_are_throttled(
    app: Flask, stranger: Caller, invite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "SIGNUP_ATTEMPTS_PER_MINUTE", 2)
    for _ in range(2):
        open_page(stranger, "/new-user?invite=guess", 404)
    page = open_page(stranger, invite, 429)
    wait = page.response.headers["Retry-After"]
    assert page.text == f"Too many attempts Too many sign-up attempts. Try again in {wait} seconds."
    page = Page(send_form(stranger, invite, 429, **guest()))
    assert page.texts(".//*[@role='alert']")[0].startswith("Too many sign-up attempts. Try again in ")
    assert page.fields()["name"] == "Grace Hopper"


# --- Set a password ---------------------------------------------------------------------------------------------------


@pytest.fixture
def reset(world: World, alice: Caller) -> str:
    """The address of a form on which Ada sets a password."""
    ada(world)
    return f"/reset-password?token={new_link(alice)}"


def test_invited_user_sets_a_first_password_and_is_logged_in(alice: Caller, stranger: Caller) -> None:
    body = {"username": "grace", "email": "grace@example.org", "name": "Grace", "rootRole": "Editor"}
    link = alice.post("/api/admin/user-admin", json=body).json["inviteLink"]
    address = link.removeprefix("http://localhost")
    assert address.startswith("/new-user?token=")
    page = open_page(stranger, address)
    assert page.heading == "Set your password"
    assert "Hello Grace!" in page.text
    assert "other devices" not in page.text
    assert page.fields() == {"account": "grace@example.org", "password": ""}
    response = send_form(stranger, address, account="grace@example.org", password="amazing grace")
    assert stranger.get("/profile", headers=begun_session(response)).status_code == 200


def test_user_sets_a_password_and_is_logged_in(stranger: Caller, reset: str, conn: Connection) -> None:
    conn.execute(
        "INSERT INTO sessions (digest, user_id, expires_at) SELECT %s, max(id), 'tomorrow' FROM users", [digest("old")]
    )
    page = open_page(stranger, reset)
    assert page.heading == "Set your password"
    assert page.fields() == {"account": EMAIL, "password": ""}
    assert "Not one of your last 5 passwords." in page.text
    assert "you are logged in here, and logged out on all other devices" in page.text
    response = send_form(stranger, reset, account=EMAIL, password=NEW)
    assert stranger.get("/profile", headers=begun_session(response)).status_code == 200
    assert stranger.get("/profile", headers=with_session("old")).status_code == 302
    assert [log_in(stranger, "ada", password).status_code for password in (PASSWORD, NEW)] == [401, 200]
    # The link was used.
    for page in (open_page(stranger, reset, 401), Page(send_form(stranger, reset, 401, password=NEW))):
        assert page.heading == "This link does not work"
        assert UNUSABLE in page.text


def test_expired_and_unknown_links_are_explained(stranger: Caller, reset: str, conn: Connection) -> None:
    conn.execute("UPDATE reset_tokens SET expires_at = now()")
    for link in (reset, "/reset-password?token=unknown", "/reset-password", "/reset-password?token=%00"):
        assert UNUSABLE in open_page(stranger, link, 401).text


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("short", "Password must be at least 8 characters long."),
        (PASSWORD, "Password must not be one of your last 5 passwords."),
        ("", "Password is required."),
    ],
)
def test_refused_password_is_explained_and_the_link_still_works(
    stranger: Caller, reset: str, password: str, sentence: str
) -> None:
    page = Page(send_form(stranger, reset, 400, account=EMAIL, password=password))
    assert page.texts(".//*[@id='password-problem']") == [sentence]
    assert page.fields() == {"account": EMAIL, "password": ""}
    assert page.all(".//input[@name='password'][@autofocus]")
    send_form(stranger, reset, password=NEW)


def test_user_whose_name_has_to_wait_logs_in_later(stranger: Caller, reset: str, conn: Connection) -> None:
    blocked(conn, stranger, EMAIL)
    response = send_form(stranger, reset, password=NEW)
    assert response.headers["Location"] == "/login?notice=password-set"
    assert "Set-Cookie" not in response.headers


def test_guesses_at_links_are_throttled(
    app: Flask, stranger: Caller, reset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    open_page(stranger, "/reset-password?token=guess", 401)
    page = open_page(stranger, reset, 429)
    assert f"Try again in {page.response.headers['Retry-After']} seconds." in page.text
