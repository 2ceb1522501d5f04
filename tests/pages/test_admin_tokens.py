"""The pages of service accounts and of signup tokens."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from sql.database import Connection
from sql.people import personal_tokens
from sql.tokens import signup_tokens
from tests.support.fixtures import update
from tests.support.page import Page, open_page
from tests.support.world import Caller, World


def in_days(days: int) -> datetime:
    """Return this time on another day."""
    return datetime.now(UTC) + timedelta(days=days)


@pytest.fixture
def robot(world: World) -> Caller:
    """A service account with a token."""
    return world.user("Robot", account_type="Service Account", email=None)


def test_service_accounts_are_shown_with_their_tokens(alice: Caller, robot: Caller, conn: Connection) -> None:
    assert robot.id
    personal_tokens.insert(conn, robot.id, "old", in_days(-1))
    page = open_page(alice, "/admin/service-accounts?query=ROBOT")
    assert page.texts(".//section//h2") == ["Robot"]
    assert page.texts(".//tbody/tr/td[1]") == ["test", "old"]
    assert "expired" in page.texts(".//tbody/tr/td[2]")[1]
    assert robot.key not in page.response.text
    assert "No service account has this text" in open_page(alice, "/admin/service-accounts?query=x").text


def test_without_service_accounts_the_page_says_what_they_are_for(alice: Caller) -> None:
    assert "Create one for each program" in open_page(alice, "/admin/service-accounts").text


def test_the_forms_create_accounts_and_show_tokens_once(alice: Caller) -> None:
    page = open_page(alice, "/admin/service-accounts")
    assert ("POST", "/api/admin/service-account") in page.requests
    assert page.fields(".//dialog/form").keys() == {"name", "username", "rootRole"}
    created = alice.post("/api/admin/service-account", json={"name": "CI", "username": "ci", "rootRole": 2})
    assert created.status_code == 201
    path = f"/api/admin/service-account/{created.json['id']}"
    page = open_page(alice, "/admin/service-accounts")
    assert {("POST", f"{path}/token"), ("PUT", path), ("DELETE", path)} <= page.requests
    [form] = page.all(f".//form[@data-path='{path}/token']")
    assert page.fields(f".//form[@data-path='{path}/token']").keys() == {"description", "expiresAt"}
    token = alice.post(f"{path}/token", json={"description": "build", "expiresAt": in_days(1).isoformat()})
    [shown] = page.all(f".//dialog[@id='{form.get('data-show')}']//*[@data-field]")
    assert token.json[shown.get("data-field", "")].startswith("user:")
    page = open_page(alice, "/admin/service-accounts")
    assert ("DELETE", f"{path}/token/{token.json['id']}") in page.requests
    assert alice.delete(f"{path}/token/{token.json['id']}").status_code == 200
    assert page.fields(".//form[@data-send='PUT']").keys() == {"name", "rootRole"}
    assert alice.put(path, json={"name": "CI", "rootRole": 3}).status_code == 200
    assert alice.delete(path).status_code == 200


def sign_up_token(conn: Connection, name: str, expires_at: datetime) -> str:
    """Insert a signup token and return its secret."""
    secret = signup_tokens.generate()
    signup_tokens.insert(conn, secret, {"name": name, "expiresAt": expires_at}, created_by="alice")
    return secret


def states(page: Page) -> dict[str, str]:
    """Return the state of each signup token by its name."""
    return dict(text.rsplit(" ", 1) for text in page.texts(".//section//h2"))


def test_signup_tokens_show_their_link_their_state_and_who_used_them(
    alice: Caller, victor: Caller, conn: Connection
) -> None:
    assert "Create one to invite people" in open_page(alice, "/admin/signup-tokens").text
    secret = sign_up_token(conn, "Interns", in_days(1))
    sign_up_token(conn, "Old", in_days(-1))
    row = signup_tokens.get_row(conn, secret)
    assert row
    signup_tokens.add_user(conn, row["id"], victor.id or 0)
    page = open_page(alice, "/admin/signup-tokens")
    assert states(page) == {"Interns": "enabled", "Old": "expired"}
    # The fields of the expired token, of the other one, and of a new one begin with these times.
    in_a_week = datetime.now(UTC) + timedelta(days=7)
    for field, expected in zip(page.all(".//input[@data-time]"), (in_a_week, in_days(1), in_a_week), strict=True):
        assert abs(datetime.fromisoformat(field.get("data-time", "")) - expected) < timedelta(minutes=1)
    assert any(link.endswith(f"/new-user?invite={secret}") for link in page.texts(".//code"))
    assert any(text.startswith("1 user Victor victor@example.org") for text in page.texts(".//section/details"))
    assert page.text.count("No user has signed up with it.") == 1
    assert states(open_page(alice, "/admin/signup-tokens?query=int")) == {"Interns": "enabled"}


def test_each_link_has_a_button_that_copies_it(alice: Caller, conn: Connection) -> None:
    sign_up_token(conn, "Interns", in_days(1))
    page = open_page(alice, "/admin/signup-tokens")
    for button in page.all(".//button[@data-copy]"):
        assert len(page.all(f".//code[@id='{button.get('data-copy')}']")) == 1


def test_signup_tokens_are_created_disabled_and_enabled_by_forms(alice: Caller) -> None:
    page = open_page(alice, "/admin/signup-tokens")
    assert page.requests == {("POST", "/api/admin/invite-link/tokens")}
    assert page.fields(".//dialog/form").keys() == {"name", "expiresAt"}
    created = alice.post("/api/admin/invite-link/tokens", json={"name": "Interns", "expiresAt": in_days(1).isoformat()})
    [shown] = page.all(".//dialog[@id='new-link']//*[@data-field]")
    assert "/new-user?invite=" in created.json[shown.get("data-field", "")]
    path = f"/api/admin/invite-link/tokens/{created.json['secret']}"
    for state, label in (("disabled", "Disable"), ("enabled", "Enable")):
        page = open_page(alice, "/admin/signup-tokens")
        [form] = [form for form in page.all(".//form[@data-body]") if form.get("data-path") == path]
        assert page.texts(".//form[@data-body]/button") == [label]
        assert alice.put(path, json=json.loads(form.get("data-body", ""))).status_code == 200
        assert states(open_page(alice, "/admin/signup-tokens")) == {"Interns": state}
    assert page.fields(".//section//form[@data-send='PUT']").keys() == {"expiresAt"}
    assert alice.put(path, json={"expiresAt": in_days(-1).isoformat()}).status_code == 200
    page = open_page(alice, "/admin/signup-tokens")
    assert states(page) == {"Interns": "expired"}
    assert page.all(".//form[@data-body]") == []


def test_names_are_texts(alice: Caller, conn: Connection, world: World) -> None:
    name = "<img src=x onerror=alert(1)>\"'"
    sign_up_token(conn, name, in_days(1))
    robot = world.user("Robot", account_type="Service Account", email=None)
    update(conn, "users", robot.id or 0, name=name)
    for path in ("service-accounts", "signup-tokens"):
        page = open_page(alice, f"/admin/{path}")
        assert page.all(".//img") == []
        assert name in page.text
