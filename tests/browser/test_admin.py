"""The pages of administrators in Chromium: create people, roles and links, and find the events of these changes."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.browser import Browser
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.service import Service
from tests.support.window import Window

# Fill in the fields of the form that contains a button with this text, and press it.
SEND = """
const [label, fields] = arguments;
const button = [...document.querySelectorAll('main form button')].find((one) => one.textContent.trim() === label);
for (const [name, value] of Object.entries(fields)) {
  const field = button.form.querySelector(`[name="${name}"]`);
  if (field.type === 'checkbox') field.checked = value; else field.value = value;
}
button.form.requestSubmit(button);
"""
CLICK = """
const found = [...document.querySelectorAll('main a, main button, main summary')].find(
    (element) => element.textContent.trim().startsWith(arguments[0]) && element.checkVisibility());
found?.click();
return Boolean(found);
"""
TEXT = "return document.querySelector('main')?.innerText ?? ''"
# The dialog on top: its text, or null without one.
DIALOG = "return [...document.querySelectorAll('dialog[open]')].at(-1)?.innerText ?? null"


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start a new instance under a path."""
    with Service(make_database(), tmp_path_factory.mktemp("service"), path="/flags") as service:
        yield service


@pytest.fixture
def browser(service: Service, session_window: Window) -> Window:
    """A browser in which the administrator is logged in."""
    login = {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
    cookie = service.request("POST", "/auth/simple/login", login).headers["Set-Cookie"].partition(";")[0]
    name, _, value = cookie.partition("=")
    browser = session_window
    browser.forget()
    browser.open(f"{service.origin}/health")
    browser.call("POST", f"/session/{browser.session}/cookie", {"cookie": {"name": name, "value": value}})
    return browser


def click(browser: Browser, text: str) -> None:
    """Click a link, a button or a summary as soon as it is visible."""
    browser.wait_for(CLICK, bool, text)


def shows(browser: Browser, *texts: str) -> None:
    """Wait until the page shows these texts, and no dialog is open."""
    browser.wait_for(TEXT, lambda text: all(part in text for part in texts))
    browser.wait_for(DIALOG, lambda text: text is None)


def press(browser: Browser, selector: str) -> None:
    """Click an element with the mouse. Browsers let only people copy to the clipboard, and not scripts."""
    body = {"using": "css selector", "value": selector}
    [element] = browser.call("POST", f"/session/{browser.session}/element", body).values()
    browser.call("POST", f"/session/{browser.session}/element/{element}/click", {})


def read_secret(browser: Browser) -> str:
    """Copy the secret of the dialog, close it, and return the secret. The page does not show it again."""
    browser.wait_for(DIALOG, lambda text: text is not None and "Copy" in text)
    assert browser.run("return document.querySelectorAll('dialog[open]').length") == 1
    secret = browser.run("return [...document.querySelectorAll('dialog[open] .secret')].at(-1).textContent")
    press(browser, "dialog[open]:has(.secret) [data-copy]")
    browser.wait_for(DIALOG, lambda text: "Copied" in text)
    browser.run("[...document.querySelectorAll('dialog[open] [data-close]')].at(-1).click()")
    browser.wait_for(DIALOG, lambda text: text is None)
    return secret


@pytest.mark.slow
def test_an_administrator_manages_people_and_reads_what_happened(service: Service, browser: Browser) -> None:
    home = f"{service.origin}/flags"
    # A role, with a permission in one environment.
    browser.open(f"{home}/admin")
    click(browser, "Roles")
    click(browser, "Create root role")
    browser.wait_for(
        "return document.readyState + location.pathname", lambda at: at == "complete/flags/admin/roles/new"
    )
    browser.run("document.querySelector('[value*=UPDATE_FEATURE_ENVIRONMENT][value*=production]').checked = true")
    browser.run(SEND, "Create role", {"name": "Releaser", "description": "Releases"})
    shows(browser, "Releaser")

    # A user, who gets a link.
    browser.open(f"{home}/admin/users")
    click(browser, "Create user")
    browser.run(SEND, "Create user", {"name": "Ada", "username": "admin"})
    browser.wait_for(DIALOG, lambda text: "User name: a user with this user name already exists" in text)
    [refusal] = browser.complaints()
    assert "409" in refusal
    browser.run(SEND, "Create user", {"username": "", "email": "ada@example.org"})
    link = read_secret(browser)
    assert link.startswith(f"{home}/new-user?token=")
    shows(browser, "Ada", "ada@example.org")
    role = browser.run("return [...document.querySelectorAll('option')].find((one) => one.text === 'Releaser').value")
    press(browser, "tbody [data-open]")
    browser.run(SEND, "Save user", {"name": "Ada King", "rootRole": role})
    shows(browser, "Ada King", "Releaser")

    # A group with that user. From here on, the console stays empty.
    browser.open(f"{home}/admin/groups")
    click(browser, "Create group")
    browser.run(SEND, "Create group", {"name": "Payments"})
    click(browser, "Add member")
    browser.run("""
        const select = document.querySelector('[data-item] select');
        select.value = [...select.options].find((one) => one.text === 'Ada King').value;
    """)
    click(browser, "Save group")
    browser.wait_for("return document.querySelector('[data-item] span')?.textContent ?? ''", lambda text: "Ada" in text)

    # A service account with a token.
    browser.open(f"{home}/admin/service-accounts")
    click(browser, "Create service account")
    browser.run(SEND, "Create service account", {"name": "Terraform", "username": "terraform", "rootRole": role})
    shows(browser, "Terraform", "No tokens.")
    click(browser, "Create token")
    browser.run(SEND, "Create token", {"description": "plan", "expiresAt": "2099-12-31T12:00"})
    token = read_secret(browser)
    assert service.get("/flags/api/admin/projects", headers={"Authorization": token}).status == 200

    # A signup token that is disabled, and enabled again.
    browser.open(f"{home}/admin/signup-tokens")
    click(browser, "Create signup token")
    browser.run(SEND, "Create signup token", {"name": "Interns"})
    invitation = read_secret(browser)
    shows(browser, "Interns", "enabled", invitation)
    headers = {"Authorization": ADMIN_KEY}
    [signup_token] = service.get("/flags/api/admin/invite-link/tokens", headers=headers).json["tokens"]
    left = datetime.fromisoformat(signup_token["expiresAt"]) - datetime.now(UTC)
    assert timedelta(days=7) - timedelta(minutes=5) < left < timedelta(days=7)
    shown = browser.run("return new Date(document.querySelector('section [name=expiresAt]').value).toISOString()")
    assert shown == signup_token["expiresAt"]
    click(browser, "Disable")
    shows(browser, "disabled")
    click(browser, "Enable")
    shows(browser, "enabled")
    press(browser, "section [data-copy]")
    shows(browser, "Copied")

    # The log says all of it. It can be filtered, and an event can be opened.
    browser.open(f"{home}/events")
    shows(browser, "created the role Releaser", "changed the user Ada King", "changed the signup token Interns")
    browser.run(SEND, "Search", {"type": "user-updated"})
    browser.wait_for("return location.search", lambda text: "type=user-updated" in text)
    shows(browser, "1 event", "changed the user Ada King")
    click(browser, "2 properties")
    shows(browser, "name", "Ada", "rootRole")
    assert link.partition("token=")[2] not in browser.run("return document.documentElement.outerHTML")
    assert browser.complaints() == []
