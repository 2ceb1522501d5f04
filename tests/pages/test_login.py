"""The login form, its throttle, and logout."""

import pytest
from flask import Flask

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.login import ada
from tests.support.login_throttle import blocked, fail, from_address
from tests.support.page import Page, open_page, send_form
from tests.support.sessions import with_session
from tests.support.world import PASSWORD, Caller, World

WRONG = "not the password"


def session_in(response) -> str:
    """The secret of the session that a response begins."""
    return response.headers["Set-Cookie"].split("session=")[1].split(";")[0]


def test_a_login_sets_the_session_and_opens_the_start_page(world: World, stranger: Caller) -> None:
    ada(world)
    form = open_page(stranger, "/login")
    assert form.heading == "Log in"
    assert form.fields().keys() == {"username", "password"}
    assert form.all(".//noscript") == []
    assert [field.get("name") for field in form.all(".//input[@autofocus]")] == ["username"]
    response = send_form(stranger, "/login", username="ada", password=PASSWORD)
    assert response.headers["Location"] == "/"
    assert response.headers["Cache-Control"] == "no-store"
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    page = stranger.get("/", headers=with_session(session_in(response)))
    assert page.status_code == 200
    assert "Ada" in Page(page).links


def test_a_login_ends_the_session_before_it(world: World, stranger: Caller, conn: Connection) -> None:
    user = ada(world)
    sessions.insert(conn, digest("before"), user.id or 0, 1)
    send_form(stranger, "/login", headers=with_session("before"), username="ada", password=PASSWORD)
    assert stranger.get("/profile", headers=with_session("before")).status_code == 302


def test_a_wrong_password_keeps_the_name_and_not_the_password(world: World, stranger: Caller) -> None:
    ada(world)
    response = send_form(stranger, "/login", 401, username="ada", password=WRONG)
    page = Page(response)
    assert page.texts(".//*[@role='alert']") == ["Wrong user name or password."]
    assert page.fields() == {"username": "ada", "password": ""}
    assert [field.get("name") for field in page.all(".//input[@autofocus]")] == ["password"]
    assert WRONG not in response.text
    assert "Set-Cookie" not in response.headers
    assert Page(send_form(stranger, "/login", 401, username="nobody", password=WRONG)).text == page.text


def test_a_missing_field_is_named_beside_it(stranger: Caller) -> None:
    page = Page(send_form(stranger, "/login", 400, username="ada"))
    assert page.texts(".//*[@id='password-problem']") == ["Password is required."]
    assert page.all(".//input[@id='password'][@aria-invalid='true'][@aria-describedby='password-problem']")
    assert page.all(".//*[@role='alert']") == []


def test_a_throttled_name_is_told_how_long_to_wait(world: World, stranger: Caller, conn: Connection) -> None:
    ada(world)
    blocked(conn, stranger, "ada")
    response = send_form(stranger, "/login", 429, username="ada", password=PASSWORD)
    wait = response.headers["Retry-After"]
    assert Page(response).texts(".//*[@role='alert']") == [f"Too many login attempts. Try again in {wait} seconds."]


def test_an_address_has_one_limit_for_the_form_and_the_api(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    ada(world)
    assert fail(stranger, "a", 1, **from_address("127.0.0.1")) + fail(stranger, "b", 1) == [401, 401]
    send_form(stranger, "/login", 429, username="ada", password=PASSWORD)


@pytest.mark.parametrize("path", ["/events?days=7", "/projects/a%20b", "/é"])
def test_a_login_opens_the_page_that_the_user_came_for(world: World, stranger: Caller, path: str) -> None:
    ada(world)
    wanted = {"/é": "/%C3%A9"}.get(path, path)
    address = "/login?next=" + path.replace("%", "%25").replace("?", "%3F").replace("=", "%3D")
    assert send_form(stranger, address, username="ada", password=PASSWORD).headers["Location"] == wanted


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "/%5Cevil.example",
        "https://evil.example",
        "evil",
        "",
        "/%09/evil.example",
        "/%0D%0Ax",
        "%5C%5Ce",
    ],
)
def test_a_login_leads_to_no_other_site(world: World, stranger: Caller, target: str) -> None:
    ada(world)
    response = send_form(stranger, f"/login?next={target}", username="ada", password=PASSWORD)
    assert response.headers["Location"] == "/"


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
def test_forms_of_other_sites_are_refused(world: World, stranger: Caller, path: str, headers: dict[str, str]) -> None:
    ada(world)
    response = send_form(stranger, path, 403, headers, username="ada", password=PASSWORD)
    assert "This form works only at http://localhost. Open it there." in Page(response).text
    assert "Set-Cookie" not in response.headers


def test_users_who_are_logged_in_skip_the_form(world: World, alice: Caller, conn: Connection) -> None:
    assert alice.get("/login?next=/events").headers["Location"] == "/events"
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    assert alice.get("/login", headers={"Authorization": "wrong"}).status_code == 200


@pytest.mark.parametrize("notice", ["password-set", "password-changed"])
def test_the_form_says_why_one_has_to_log_in(stranger: Caller, notice: str) -> None:
    [text] = open_page(stranger, f"/login?notice={notice}").texts(".//*[@role='status']")
    assert text.startswith("Your password is")
    assert open_page(stranger, "/login?notice=other").all(".//*[@role='status']") == []


def test_the_menu_logs_out_by_a_plain_form(world: World, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    page = Page(stranger.get("/profile", headers=with_session("Ada")))
    [form] = page.all(".//header//form")
    assert (form.get("method"), form.get("action")) == ("post", "/logout")
    response = send_form(stranger, "/logout", 302, with_session("Ada"))
    assert response.headers["Location"] == "/"
    assert "session=;" in response.headers["Set-Cookie"]
    # The session has ended. A browser that logs out again, in another tab, sees the login form and not an error.
    assert send_form(stranger, "/logout", 302, with_session("Ada")).headers["Location"] == "/"
    assert stranger.post("/logout", headers=with_session("Ada")).status_code == 401
    assert stranger.get("/", headers=with_session("Ada")).headers["Location"] == "/login?next=/"
