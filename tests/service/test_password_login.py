"""The setting PASSWORD_LOGIN: who can still log in with a password, and what everybody else gets instead."""

from collections.abc import Callable

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from sql.people import groups
from tests.support import fixtures
from tests.support.login import HASH, ada, log_in
from tests.support.login_throttle import WRONG, blocked
from tests.support.page import Page, open_page, send_form
from tests.support.reset_links import CREATE
from tests.support.signup import counts, guest, invitation, sign_up
from tests.support.wire import watched
from tests.support.world import PASSWORD, Caller, World, refused

CLOSED = "Password login is off. Use single sign-on."
USERS = "/api/admin/user-admin"
NEW = {"email": "grace@example.org", "sendEmail": False}
Limit = Callable[[str], None]
LIMITED = pytest.mark.parametrize("mode", ["admins", "off"])


@pytest.fixture
def limit(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Limit:
    """limit(mode): set PASSWORD_LOGIN."""
    return lambda mode: monkeypatch.setitem(app.config, "PASSWORD_LOGIN", mode)


def shape(response: TestResponse) -> tuple[object, ...]:
    """What a stranger can tell from a refused login."""
    refused(response, 401, "AuthenticationRequired")
    assert "Set-Cookie" not in response.headers
    return response.json["message"], response.content_length, frozenset(name for name, _ in response.headers)


# --- Logins -----------------------------------------------------------------------------------------------------------


def test_only_own_root_roles_make_administrators(
    world: World, stranger: Caller, conn: Connection, limit: Limit
) -> None:
    world.user("Root", root_role=1, password_hash=HASH)
    member = world.user("Member", password_hash=HASH)
    fixtures.add_group_user(conn, groups.insert(conn, "Keepers", root_role=1), member.id or 0)
    limit("admins")
    assert [log_in(stranger, name).status_code for name in ("root", "member")] == [200, 401]
    limit("off")
    assert log_in(stranger, "root").status_code == 401


@LIMITED
def test_a_right_password_of_somebody_else_looks_like_a_wrong_one(
    world: World, stranger: Caller, conn: Connection, limit: Limit, mode: str
) -> None:
    user = ada(world)
    limit(mode)
    assert shape(log_in(stranger, "ada")) == shape(log_in(stranger, "ada", WRONG)) == shape(log_in(stranger, "nobody"))
    # Both count as failures, so the throttle tells nothing either.
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == 2
    assert value(conn, "SELECT count(*) FROM sessions") == value(conn, "SELECT count(*) FROM known_logins") == 0
    blocked(conn, stranger, "ada@example.org")
    refused(log_in(stranger, "ada@example.org"), 429, "RateLimitError")


def test_a_right_password_of_somebody_else_costs_as_much_as_a_wrong_one(
    world: World, stranger: Caller, conn: Connection, limit: Limit
) -> None:
    ada(world)
    limit("admins")
    log_in(stranger, "ada", WRONG)
    taken: list[list[str]] = []
    for name, password in (("ada", PASSWORD), ("ada", WRONG), ("nobody", WRONG)):
        with watched(conn) as wire:
            log_in(stranger, name, password)
        taken.append(wire.statements)
    assert taken[0] == taken[1] == taken[2]


def test_the_settings_and_the_login_form_say_that_password_login_is_off(
    alice: Caller, stranger: Caller, limit: Limit
) -> None:
    for mode, is_off in (("on", False), ("admins", False), ("off", True)):
        limit(mode)
        assert alice.get("/api/admin/auth/simple/settings").json == {"disabled": is_off}
        assert alice.get("/api/admin/ui-config").json["disablePasswordAuth"] is is_off
        assert stranger.get("/api/admin/user").json["defaultHidden"] is is_off


# --- The login page ---------------------------------------------------------------------------------------------------


def test_the_form_of_administrators_is_behind_a_click(world: World, stranger: Caller, limit: Limit) -> None:
    world.user("Root", root_role=1, password_hash=HASH)
    assert open_page(stranger, "/login").all(".//details") == []
    assert CLOSED not in open_page(stranger, "/login").text
    limit("admins")
    page = open_page(stranger, "/login")
    assert CLOSED in page.text
    [details] = page.all(".//details")
    assert page.texts(".//details/summary") == ["Log in with a password"]
    assert details.get("open") is None
    assert "signup link" not in page.text
    assert "Only administrators can use a password." in page.text
    page = Page(send_form(stranger, "/login", 401, username="root", password=WRONG))
    assert page.texts(".//*[@role='alert']") == ["Wrong user name or password."]
    assert page.all(".//details[@open]//form")
    assert send_form(stranger, "/login", username="root", password=PASSWORD).headers["Location"] == "/"


def test_the_form_is_absent_if_nobody_can_use_it(world: World, stranger: Caller, limit: Limit) -> None:
    ada(world, root_role=1)
    limit("off")
    pages = open_page(stranger, "/login"), Page(send_form(stranger, "/login", 401, username="ada", password=PASSWORD))
    for page in pages:
        assert CLOSED in page.text
        assert page.all(".//form") == page.all(".//details") == []


# --- Links ------------------------------------------------------------------------------------------------------------


def test_there_are_reset_links_only_for_users_who_can_use_them(
    world: World, alice: Caller, conn: Connection, limit: Limit
) -> None:
    world.user("Root", root_role=1)
    ada(world)
    for mode, statuses in (("on", [200, 200]), ("admins", [200, 409]), ("off", [409, 409])):
        limit(mode)
        assert [alice.post(CREATE, json={"id": name}).status_code for name in ("root", "ada")] == statuses
    conn.execute("DELETE FROM reset_tokens")
    response = alice.post(CREATE, json={"id": "ada"})
    refused(response, 409, "ConflictError")
    assert response.json["message"] == CLOSED
    assert rows(conn, "SELECT * FROM reset_tokens") == []


def test_new_users_get_a_link_only_if_they_can_use_it(alice: Caller, conn: Connection, limit: Limit) -> None:
    for mode, role, has_link in (("admins", 3, False), ("admins", 1, True), ("off", 1, False)):
        limit(mode)
        response = alice.post(USERS, json=NEW | {"rootRole": role, "email": f"{mode}{role}@example.org"})
        assert response.status_code == 201
        assert bool(response.json["inviteLink"]) is has_link
    assert value(conn, "SELECT count(*) FROM reset_tokens") == 1


@LIMITED
def test_sign_up_links_lead_to_the_other_door(world: World, stranger: Caller, limit: Limit, mode: str) -> None:
    secret = invitation(world)
    limit(mode)
    before = counts(world)
    for response in (stranger.get(f"/invite/{secret}/validate"), sign_up(stranger, secret)):
        refused(response, 403, "NoAccessError")
        assert response.json["message"] == CLOSED
    for page in (
        open_page(stranger, f"/new-user?invite={secret}", 403),
        Page(send_form(stranger, f"/new-user?invite={secret}", 403, **guest())),
    ):
        assert CLOSED in page.text
        assert "disabled or has expired" not in page.text
    assert counts(world) == before


@LIMITED
def test_the_page_of_users_promises_no_links(alice: Caller, limit: Limit, mode: str) -> None:
    form = ".//dialog[@id='create-user']/form"
    page = open_page(alice, "/admin/users")
    assert page.all(form)[0].get("data-show") == "invite-link"
    assert "signup token" in page.links
    limit(mode)
    page = open_page(alice, "/admin/users")
    assert page.all(form)[0].get("data-show") is None
    assert "The user logs in with single sign-on." in page.text
    assert "signup token" not in page.links
