"""Signing up by a link, logging in and out, and the page of one's own account, in Chromium."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from sql.database import connect
from sql.tokens import signup_tokens
from tests.support.browser import Browser, missing_programs
from tests.support.service import Service, wait_until

PASSWORD = "amazing grace 1906"


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The address of a database."""
    return make_database()


@pytest.fixture(scope="module")
def service(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start the service under a path."""
    with Service(url, tmp_path_factory.mktemp("service"), path="/flags") as service:
        yield service


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser with an empty profile."""
    if missing := missing_programs():
        pytest.skip(f"needs {missing} (on Debian: apt-get install chromium chromium-driver)")
    with Browser(tmp_path) as browser:
        yield browser


def invite(url: str) -> str:
    """Create a signup token, and return its secret."""
    secret = signup_tokens.generate()
    with connect(url) as conn:
        token = {"name": "friends", "expiresAt": datetime.now(UTC) + timedelta(days=1)}
        signup_tokens.insert(conn, secret, token, created_by="alice@example.org")
    return secret


def command(browser: Browser, method: str, path: str, body: Any = None) -> Any:
    """Send a command of WebDriver to the session."""
    return browser.call(method, f"/session/{browser.session}{path}", body)


def element(browser: Browser, selector: str) -> str:
    """Return the path of an element for further commands."""
    found = command(browser, "POST", "/element", {"using": "css selector", "value": selector})
    return f"/element/{next(iter(found.values()))}"


def send(browser: Browser, **fields: str) -> None:
    """Type into the fields of the form, and press its button."""
    for name, text in fields.items():
        command(browser, "POST", f"{element(browser, f'main form [name={name}]')}/value", {"text": text})
    click(browser, "main form button")


def text(browser: Browser, selector: str) -> str:
    """Return the text of an element, or an empty string while the page is loading."""
    try:
        return command(browser, "GET", f"{element(browser, selector)}/text")
    except HTTPError:
        # There is no such element, or it has just been replaced.
        return ""


def wait_for_page(browser: Browser, address: str, heading: str, alert: str = "") -> None:
    """Wait until the browser shows the page at this address, with this h1 and this alert."""

    def shown() -> tuple[str, str, str]:
        return command(browser, "GET", "/url"), text(browser, "h1"), text(browser, "[role=alert]")

    wait_until(lambda: shown() == (address, heading, alert), f"{address} showed {heading}")


@pytest.mark.slow
@pytest.mark.parametrize("script", ["with JavaScript", "without"])
def test_a_guest_signs_up_by_a_link_logs_out_and_logs_in(
    browser: Browser, service: Service, url: str, script: str
) -> None:
    if script == "without":
        body = {"cmd": "Emulation.setScriptExecutionDisabled", "params": {"value": True}}
        command(browser, "POST", "/goog/cdp/execute", body)
    name = script.split()[0]
    browser.open(f"{service.origin}/flags/new-user?invite={invite(url)}")
    assert command(browser, "GET", f"{element(browser, 'html')}/attribute/class") == (
        "script" if name == "with" else None
    )
    send(browser, name="Grace Hopper", email=f"{name}@example.org", username=name, password=PASSWORD)
    wait_for_page(browser, f"{service.origin}/flags/", "Projects")

    click(browser, "header form button")
    wait_for_page(browser, f"{service.origin}/flags/login?next=/", "Log in")
    if name == "with":
        # The page before is loaded again. Without JavaScript, Chromium shows it from memory in spite of no-store.
        command(browser, "POST", "/back", {})
        wait_for_page(browser, f"{service.origin}/flags/login?next=/", "Log in")

    browser.open(f"{service.origin}/flags/profile")
    send(browser, username=name, password="wrong password")
    wait_for_page(browser, f"{service.origin}/flags/login?next=/profile", "Log in", "Wrong user name or password.")
    send(browser, password=PASSWORD)
    wait_for_page(browser, f"{service.origin}/flags/profile", "Your account")
    assert [text for text in browser.complaints() if "401" not in text] == []


def fill(browser: Browser, form: str, **fields: str) -> None:
    """Replace the texts of the fields of a form, and press its button."""
    for name, text in fields.items():
        field = element(browser, f"{form} [name={name}]")
        command(browser, "POST", f"{field}/clear", {})
        command(browser, "POST", f"{field}/value", {"text": text})
    click(browser, f"{form} button")


def click(browser: Browser, selector: str) -> None:
    """Click an element."""
    command(browser, "POST", f"{element(browser, selector)}/click", {})


@pytest.mark.slow
def test_a_user_creates_and_deletes_a_token_and_changes_the_password(
    browser: Browser, service: Service, url: str
) -> None:
    account = f"{service.origin}/flags/profile"
    browser.open(f"{service.origin}/flags/new-user?invite={invite(url)}")
    click(browser, "[data-reveal=password]")
    assert command(browser, "GET", f"{element(browser, '#password')}/property/type") == "text"
    send(browser, name="Ida Rhodes", email="ida@example.org", password=PASSWORD)
    wait_for_page(browser, f"{service.origin}/flags/", "Projects")

    browser.open(account)
    tokens, passwords = "form[data-show=new-token]", "form[data-then]"
    fill(browser, tokens, description="nightly job")
    wait_until(lambda: text(browser, "#new-token-secret").startswith("user:"), "the secret was shown")
    secret = text(browser, "#new-token-secret")
    assert service.get("/flags/api/admin/user", headers={"Authorization": secret}).json["user"]["name"] == "Ida Rhodes"
    click(browser, "#new-token [data-close]")
    wait_until(lambda: text(browser, "td").startswith("nightly job"), "the token was listed")
    assert secret not in command(browser, "GET", "/source")

    fill(browser, tokens, description="nightly job")
    refusal = "description: a token with this description already exists"
    wait_until(lambda: text(browser, f"{tokens} .refusal") == refusal, "the refusal was shown")

    click(browser, "td button")
    assert command(browser, "GET", "/alert/text").startswith("Delete the token “nightly job”?")
    command(browser, "POST", "/alert/accept", {})
    wait_until(lambda: text(browser, ".empty") == "You have no personal access tokens.", "the token was deleted")
    assert service.get("/flags/api/admin/user", headers={"Authorization": secret}).status == 401

    new = "another password"
    fill(browser, passwords, oldPassword="wrong password", password=new, confirmPassword=new)
    refusal = "oldPassword: must be your current password"
    wait_until(lambda: text(browser, f"{passwords} .refusal") == refusal, "the refusal was shown")
    fill(browser, passwords, oldPassword=PASSWORD, password=new, confirmPassword=new)
    wait_for_page(browser, f"{service.origin}/flags/login?notice=password-changed", "Log in")
    send(browser, username="ida@example.org", password=new)
    wait_for_page(browser, f"{service.origin}/flags/", "Projects")
