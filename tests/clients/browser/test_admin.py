"""The pages of administrators in Chromium: create people, roles and links, and find the events of these changes."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.demo import ADMIN
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.window import DIALOG, QUESTION, SEND, Window

TOAST = "return document.querySelector('.toast')?.textContent ?? ''"
# The value of the option with this text.
OPTION = "return [...document.querySelectorAll('option')].find((one) => one.text === arguments[0]).value"


def shows(window: Window, *texts: str) -> None:
    """Wait until the page shows these texts, and no dialog is open."""
    window.wait_for_text(*texts)
    window.wait_for(DIALOG, lambda text: text is None)


def opens(window: Window, path: str) -> None:
    """Wait until a page whose path begins like this is loaded."""
    window.wait_for("return document.readyState + location.pathname", lambda at: at.startswith(f"complete/flags{path}"))


def read_secret(window: Window) -> str:
    """Copy the secret of the dialog, close it, and return the secret. The page does not show it again."""
    window.wait_for(DIALOG, lambda text: text is not None and "Copy" in text)
    assert window.run("return document.querySelectorAll('dialog[open]').length") == 1
    secret = window.run("return [...document.querySelectorAll('dialog[open] .secret')].at(-1).textContent")
    # Browsers let only people copy to the clipboard, and not scripts.
    window.click("button", "Copy")
    window.wait_for(DIALOG, lambda text: "Copied" in text)
    window.click("button", "Close")
    window.wait_for(DIALOG, lambda text: text is None)
    return secret


@pytest.mark.slow
def test_administrator_manages_people_and_reads_what_happened(demo: Service, demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    # A role, with a permission in one environment.
    window.visit("/admin")
    window.click("link", "Roles")
    window.click("link", "Create root role")
    opens(window, "/admin/roles/new")
    window.run("document.querySelector('[value*=UPDATE_FEATURE_ENVIRONMENT][value*=production]').checked = true")
    window.run(SEND, "Create role", {"name": "Night watch", "description": "Switches"})
    shows(window, "Night watch")

    # A user, who gets a link.
    window.visit("/admin/users?query=ada@")
    window.click("button", "Create user")
    window.run(SEND, "Create user", {"name": "Ada", "username": "admin"})
    window.expect("status of 409")
    window.wait_for(DIALOG, lambda text: "A user with this user name already exists" in text)
    window.run(SEND, "Create user", {"username": "", "email": "ada@example.org"})
    link = read_secret(window)
    assert link.startswith(f"{demo.origin}/flags/new-user?token=")
    shows(window, "Ada", "ada@example.org")
    shows(window, "Ada", "ada@example.org")
    role = window.run(OPTION, "Night watch")
    # Administrators are asked before they change their own role.
    window.visit("/admin/users?query=nora")
    window.click("button", "Edit Nora Lindqvist")
    window.run(SEND, "Save user", {"rootRole": window.run(OPTION, "Viewer")})
    window.wait_for(QUESTION, lambda text: "You lose the permissions of your role" in text)
    window.press("Enter")
    window.visit("/admin/users?query=ada@")
    window.click("button", "Edit Ada")
    window.run(SEND, "Save user", {"name": "Ada King", "rootRole": role})
    shows(window, "Ada King", "Night watch")

    # A group with that user.
    window.visit("/admin/groups")
    window.click("button", "Create group")
    window.run(SEND, "Create group", {"name": "Night team"})
    opens(window, "/admin/groups/")
    window.type("Add a member", "ada king", role="combobox")
    window.press("Enter")
    window.find("button", "Remove Ada King")
    window.click("button", "Save group")
    window.wait_for(TOAST, lambda text: text == "Group saved.")
    window.find("button", "Remove Ada King")

    # A service account with a token.
    window.visit("/admin/service-accounts?query=night")
    window.click("button", "Create service account")
    window.run(SEND, "Create service account", {"name": "Night job", "username": "night-job", "rootRole": role})
    shows(window, "Night job", "No tokens.")
    window.click("button", "Create token of Night job")
    window.run(SEND, "Create token", {"description": "plan", "expiresAt": "2099-12-31T12:00"})
    token = read_secret(window)
    assert demo.get("/flags/api/admin/projects", headers={"Authorization": token}).status == 200

    # A signup token that is disabled, and enabled again.
    window.visit("/admin/signup-tokens?query=interns")
    window.click("button", "Create signup token")
    window.run(SEND, "Create signup token", {"name": "Interns"})
    invitation = read_secret(window)
    shows(window, "Interns", "enabled", invitation)
    tokens = demo.get("/flags/api/admin/invite-link/tokens", headers={"Authorization": ADMIN_KEY}).json["tokens"]
    [signup_token] = [token for token in tokens if token["name"] == "Interns"]
    left = datetime.fromisoformat(signup_token["expiresAt"]) - datetime.now(UTC)
    assert timedelta(days=7) - timedelta(minutes=5) < left < timedelta(days=7)
    shown = window.run("return new Date(document.querySelector('section [name=expiresAt]').value).toISOString()")
    assert shown[:16] == signup_token["expiresAt"][:16]
    for button, state in (("Disable", "disabled"), ("Enable", "enabled")):
        window.click("button", f"{button} Interns")
        shows(window, state)

    # The log has all of it, and can be filtered.
    window.visit("/events")
    shows(window, "created the role Night watch", "changed the user Ada King", "changed the signup token Interns")
    window.visit("/events?query=Ada+King&type=user-updated")
    shows(window, "1 event", "changed the user Ada King", "Ada → Ada King", "rootRole")
    assert link.partition("token=")[2] not in window.run("return document.documentElement.outerHTML")


@pytest.mark.slow
def test_a_banner_appears_until_it_is_switched_off(demo_url: str, window: Window) -> None:
    window.log_in(demo_url, ADMIN)
    window.visit("/admin/banners")
    window.click("button", "Create banner")
    window.run(SEND, "Create banner", {"message": "No changes before Monday.", "link": "/events", "variant": "warning"})
    shows(window, "No changes before Monday. More info")
    assert window.run(TOAST) == "The banner is created."
    window.click("switch", "No changes before Monday.")
    window.wait_for("return document.querySelector('.banners').textContent", lambda text: text == "")
    shows(window, "No changes before Monday.")
