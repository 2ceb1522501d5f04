"""Invitations: sign up with a signup token, and set a first password."""

from datetime import timedelta

import pytest
from flask import Flask

from tests.support.login import ada
from tests.support.login_throttle import WRONG
from tests.support.page import Page, open_page, send_form
from tests.support.sessions import with_session
from tests.support.signup import counts, guest, invitation
from tests.support.world import Caller, World

USERS = "/api/admin/user-admin"


def session_in(response) -> str:
    """The secret of the session that a response begins."""
    return response.headers["Set-Cookie"].split("session=")[1].split(";")[0]


def test_a_guest_signs_up_and_is_logged_in(world: World, stranger: Caller) -> None:
    address = f"/new-user?invite={invitation(world)}"
    form = open_page(stranger, address)
    assert form.heading == "Sign up"
    assert form.fields().keys() == guest().keys()
    since = world.last_event_id()
    response = send_form(stranger, address, **guest())
    assert response.headers["Location"] == "/"
    profile = Page(stranger.get("/profile", headers=with_session(session_in(response))))
    assert "Grace Hopper" in profile.links
    assert "grace@example.org" in profile.text
    types = [event["type"] for event in world.events(since)]
    assert types == ["user-created", "public-signup-token-user-added"]


def test_the_user_name_is_optional(world: World, stranger: Caller) -> None:
    response = send_form(stranger, f"/new-user?invite={invitation(world)}", **guest(username=""))
    profile = stranger.get("/profile", headers=with_session(session_in(response)))
    assert "User name" not in Page(profile).texts(".//dt")


def test_the_password_policy_is_beside_the_field(app: Flask, world: World, stranger: Caller, monkeypatch) -> None:
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 11)
    page = open_page(stranger, f"/new-user?invite={invitation(world)}")
    [hint] = page.texts(".//*[@id='password-hint']")
    assert hint.startswith("At least 11 characters and at most 72 bytes. Not your own name")
    assert page.all(".//input[@id='password'][@aria-describedby='password-hint'][@minlength='11']")


def test_each_invalid_field_is_named_and_the_typed_values_stay(world: World, stranger: Caller) -> None:
    address, before = f"/new-user?invite={invitation(world)}", counts(world)
    response = send_form(stranger, address, 400, **guest(email="grace", username="a@b", password="short"))
    page = Page(response)
    assert page.texts(".//*[@id='email-problem']") == ["Email must be an email address such as ada@example.org."]
    [problem] = page.texts(".//*[@id='username-problem']")
    assert problem.startswith("User name must")
    assert page.texts(".//*[@id='password-problem']") == ["Password must be at least 8 characters long."]
    assert page.fields() == {"name": "Grace Hopper", "email": "grace", "username": "a@b", "password": ""}
    assert "short" not in page.fields().values()
    assert counts(world) == before


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("email", "A user with this email already exists."),
        ("username", "A user with this user name already exists."),
    ],
)
def test_a_taken_name_is_named_beside_its_field(world: World, stranger: Caller, field: str, sentence: str) -> None:
    world.user("Grace", **{"username": "other", "email": "other@example.org"} | {field: guest()[field]})
    page = Page(send_form(stranger, f"/new-user?invite={invitation(world)}", 409, **guest()))
    assert page.texts(f".//*[@id='{field}-problem']") == [sentence]


def test_the_own_name_is_no_password(world: World, stranger: Caller) -> None:
    page = Page(
        send_form(
            stranger, f"/new-user?invite={invitation(world)}", 400, **guest(name="Grace Hop", password="Grace Hop")
        )
    )
    [problem] = page.texts(".//*[@id='password-problem']")
    assert problem == "Password must not be the user's own name, user name or email."


def test_hostile_names_are_shown_as_text(world: World, stranger: Caller) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    page = Page(send_form(stranger, f"/new-user?invite={invitation(world)}", 400, **guest(name=evil, email=evil)))
    assert (page.fields()["name"], page.fields()["email"]) == (evil, evil)
    assert page.all(".//main//img") == []


@pytest.mark.parametrize(
    ("ends", "status", "sentence"),
    [
        ({"expires_in": timedelta(0)}, 403, "This signup link is disabled or has expired."),
        ({"enabled": False}, 403, "This signup link is disabled or has expired."),
        (None, 404, "This signup link does not exist. Check that you opened the whole link,"),
    ],
)
def test_links_that_do_not_work_are_explained(
    world: World, stranger: Caller, ends: dict | None, status: int, sentence: str
) -> None:
    secret = "unknown" if ends is None else invitation(world, **ends)
    page = open_page(stranger, f"/new-user?invite={secret}", status)
    assert page.heading == "This link does not work"
    assert sentence in page.text
    assert page.links["log in"] == "/login"
    before = counts(world)
    assert sentence in Page(send_form(stranger, f"/new-user?invite={secret}", status, **guest())).text
    assert counts(world) == before


def test_a_link_without_its_token_is_explained(stranger: Caller) -> None:
    assert open_page(stranger, "/new-user", 401).heading == "This link does not work"
    assert open_page(stranger, "/new-user?invite=", 404).heading == "This link does not work"


def test_guesses_at_tokens_are_throttled(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "SIGNUP_ATTEMPTS_PER_MINUTE", 2)
    address = f"/new-user?invite={invitation(world)}"
    for _ in range(2):
        open_page(stranger, "/new-user?invite=guess", 404)
    page = open_page(stranger, address, 429)
    wait = page.response.headers["Retry-After"]
    assert page.text == f"Too many attempts Too many sign-up attempts. Try again in {wait} seconds."
    page = Page(send_form(stranger, address, 429, **guest()))
    assert page.texts(".//*[@role='alert']")[0].startswith("Too many sign-up attempts. Try again in ")
    assert page.fields()["name"] == "Grace Hopper"


def test_somebody_whose_name_has_to_wait_logs_in_later(
    app: Flask, world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    ada(world)
    send_form(stranger, "/login", 401, username="ada", password=WRONG)
    response = send_form(stranger, f"/new-user?invite={invitation(world)}", **guest())
    assert response.headers["Location"] == "/login?notice=password-set"
    assert "Set-Cookie" not in response.headers


def test_an_invited_user_sets_a_first_password_and_is_logged_in(alice: Caller, stranger: Caller) -> None:
    body = {"username": "grace", "email": "grace@example.org", "name": "Grace", "rootRole": "Editor"}
    link = alice.post(USERS, json=body).json["inviteLink"]
    address = link.removeprefix("http://localhost")
    assert address.startswith("/new-user?token=")
    page = open_page(stranger, address)
    assert page.heading == "Set your password"
    assert "Hello Grace!" in page.text
    assert "other devices" not in page.text
    assert page.fields() == {"account": "grace@example.org", "password": ""}
    response = send_form(stranger, address, account="grace@example.org", password="amazing grace")
    assert response.headers["Location"] == "/"
    assert stranger.get("/profile", headers=with_session(session_in(response))).status_code == 200
