"""The web UI creates, edits, resets and deletes users, and the links that it shows work."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.walks import ADMIN, Browser

USERS = f"{ADMIN}/user-admin"
FORM = {"name": "Walter Walker", "email": "walter@example.org", "sendEmail": False, "rootRole": 2}
FIRST, SECOND, THIRD = "Walk-1-the-line!", "Walk-2-the-line!", "Walk-3-the-line!"


def create(ui: Browser) -> dict[str, Any]:
    """Fill in the form of a new user."""
    return ui.send(("POST", USERS, FORM, 201))


def token_of(link: str, page: str) -> str:
    """The token in a link to a page of the UI."""
    parts = urlsplit(link)
    assert parts.path == page
    return parse_qs(parts.query)["token"][0]


def test_the_list_of_users_has_what_its_page_needs(ui):
    create(ui)
    page = ui.send(("GET", f"{ADMIN}/invite-link/tokens", None, 200), ("GET", USERS, None, 200))
    assert {user.get("email") for user in page["users"]} >= {"walter@example.org"}
    assert {role["id"] for role in page["rootRoles"]} == {1, 2, 3}


def test_a_new_user_sets_a_password_by_the_link_and_logs_in(ui, app):
    token = token_of(create(ui)["inviteLink"], "/new-user")
    guest = Browser(app)
    shown = guest.send(("GET", f"/auth/reset/validate?token={token}", None, 200))
    assert (shown["email"], shown["name"], shown["createdBy"], shown["role"]["name"]) == (
        "walter@example.org",
        "Walter Walker",
        "admin",
        "Editor",
    )
    # The form checks the password while it is typed.
    guest.send(
        ("POST", "/auth/reset/validate-password", {"password": FIRST[:4]}, 400),
        ("POST", "/auth/reset/validate-password", {"password": FIRST}, 200),
        ("POST", "/auth/reset/password", {"token": token, "password": FIRST}, 200),
    )
    guest.log_in("walter@example.org", FIRST)
    assert guest.send(("GET", f"{ADMIN}/user", None, 200))["user"]["email"] == "walter@example.org"


def test_the_form_that_edits_a_user(ui):
    user_id = create(ui)["id"]
    # The form sends the id of the address bar, as text.
    body = FORM | {"name": "Walt Walker", "rootRole": 3, "id": str(user_id)}
    ui.send(("GET", f"{USERS}/{user_id}", None, 200), ("PUT", f"{USERS}/{user_id}", body, 200))
    user = ui.send(("GET", f"{USERS}/{user_id}", None, 200))
    assert (user["name"], user["rootRole"]) == ("Walt Walker", 3)


def test_the_menu_of_a_user_changes_the_password(ui, app):
    user_id = create(ui)["id"]
    ui.send(
        ("POST", "/auth/reset/validate-password", {"password": SECOND}, 200),
        ("POST", f"{USERS}/{user_id}/change-password", {"password": SECOND}, 200),
    )
    Browser(app).log_in("walter@example.org", SECOND)


def test_the_menu_of_a_user_makes_a_link_to_reset_the_password(ui, app):
    create(ui)
    created = ui.send(("POST", f"{USERS}/reset-password", {"id": "walter@example.org"}, 200))
    token = token_of(created["resetPasswordUrl"], "/reset-password")
    guest = Browser(app)
    guest.send(
        ("GET", f"/auth/reset/validate?token={token}", None, 200),
        ("POST", "/auth/reset/password", {"token": token, "password": SECOND}, 200),
    )
    guest.log_in("walter@example.org", SECOND)


def test_the_menu_of_a_user_removes_the_user(ui):
    user_id = create(ui)["id"]
    ui.send(("DELETE", f"{USERS}/{user_id}", None, 200), ("GET", f"{USERS}/{user_id}", None, 404))


def test_the_profile_changes_the_own_password(ui, app):
    user_id = create(ui)["id"]
    ui.send(("POST", f"{USERS}/{user_id}/change-password", {"password": SECOND}, 200))
    own = Browser(app)
    own.log_in("walter@example.org", SECOND)
    body = {"password": THIRD, "confirmPassword": THIRD, "oldPassword": "wrong"}
    path = f"{ADMIN}/user/change-password"
    own.send(
        ("GET", f"{ADMIN}/user/profile", None, 200),
        ("POST", path, body, 401),
        ("POST", path, body | {"oldPassword": SECOND}, 200),
        ("GET", f"{ADMIN}/user", None, 401),
    )
    own.log_in("walter@example.org", THIRD)
    assert own.client.post("/logout").status_code == 302
    own.send(("GET", f"{ADMIN}/user", None, 401))
