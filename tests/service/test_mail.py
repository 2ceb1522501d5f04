"""E-mail: invitations and forgotten passwords, with a real mail server."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from flask import Flask

from serving import mail
from tests.support.certificate import OPENSSL, certify
from tests.support.login import HASH, ada
from tests.support.mail_server import LOGIN, Inbox, mail_server
from tests.support.page import Page, open_page, send_form
from tests.support.reset_links import CREATE, check
from tests.support.world import Caller, World, refused

USERS = "/api/admin/user-admin"
FORGOT = "/auth/reset/password-email"
NEW = {"rootRole": 3, "email": "grace@example.org"}


def configure(app: Flask, monkeypatch: pytest.MonkeyPatch, inbox: Inbox) -> None:
    """Let the service use the mail server."""
    for name, setting in inbox.settings.items():
        monkeypatch.setitem(app.config, name, setting)


@pytest.fixture
def inbox(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """A mail server that the service uses, and an empty queue."""
    mail.forgotten.queue.clear()
    with mail_server() as inbox:
        configure(app, monkeypatch, inbox)
        yield inbox


def send_all(app: Flask) -> None:
    """Send what waits, as the thread does."""
    with app.app_context():
        while not mail.forgotten.empty():
            mail.send_next()


def test_a_new_user_gets_the_link(alice: Caller, inbox: Inbox) -> None:
    response = alice.post(USERS, json=NEW)
    assert (response.status_code, response.json["emailSent"]) == (201, True)
    assert inbox.recipients == [["grace@example.org"]]
    message = inbox.take()
    assert (message["From"], message["To"]) == ("Flags <flags@example.org>", "grace@example.org")
    assert message["Subject"] == "Your account for Flags"
    assert (message.get_content_type(), message["Date"] is None, message["Message-ID"] is None) == (
        "text/plain",
        False,
        False,
    )
    link = response.json["inviteLink"]
    assert message.get_content() == (
        f"alice@example.org created an account for you. Choose a password:\n\n{link}\n\n"
        "The link works once, for 24 hours.\n"
    )


def test_the_page_of_users_says_that_links_are_sent(alice: Caller, inbox: Inbox) -> None:  # noqa: ARG001
    assert "Users with an email address get it by e-mail too." in open_page(alice, "/admin/users").text


@pytest.mark.parametrize(
    "more", [{"sendEmail": False}, {"password": "correct horse"}, {"email": None, "username": "grace"}]
)
def test_other_users_get_no_e_mail(alice: Caller, inbox: Inbox, more: dict[str, object]) -> None:
    assert alice.post(USERS, json=NEW | more).json["emailSent"] is False
    assert inbox.messages == []


def test_without_a_mail_server_nothing_is_sent(alice: Caller, app: Flask) -> None:
    assert alice.post(USERS, json=NEW).json["emailSent"] is False
    assert alice.get("/api/admin/ui-config").json["emailEnabled"] is False
    refused(Caller(app).post(FORGOT, json={"email": "ada@example.org"}), 409, "ConflictError")
    assert "Forgot your password?" not in open_page(Caller(app), "/login").links
    assert "This service sends no e-mail." in open_page(Caller(app), "/forgot-password").text
    page = Page(send_form(Caller(app), "/forgot-password", 409, email="ada@example.org"))
    assert "This service sends no e-mail." in page.text


def test_a_user_who_is_refused_exists_with_a_link(
    alice: Caller, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    inbox.refuses = "grace@example.org"
    response = alice.post(USERS, json=NEW)
    assert (response.status_code, response.json["emailSent"]) == (201, False)
    assert check(alice, response.json["inviteLink"].split("=")[1]).status_code == 200
    assert caplog.messages == ["The mail server did not accept an e-mail (invitation): 550"]


@pytest.mark.usefixtures("inbox")
def test_a_mail_server_that_is_away_or_hangs_fails_the_message(
    alice: Caller, app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        monkeypatch.setitem(app.config, "SMTP_PORT", hanging.getsockname()[1])
        assert alice.post(USERS, json=NEW).json["emailSent"] is False
    assert alice.post(USERS, json=NEW | {"email": "max@example.org"}).json["emailSent"] is False
    assert caplog.messages[1:] == ["The mail server did not accept an e-mail (invitation): ConnectionRefusedError"]


@pytest.mark.usefixtures("inbox")
def test_a_mail_server_that_answers_slowly_does_not_hold_the_request(
    alice: Caller, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = Event()

    def greet(server: socket.socket) -> None:
        """Send a greeting that takes five seconds."""
        with server.accept()[0] as connection:
            for _ in range(100):
                if finished.wait(0.05):
                    return
                connection.sendall(b"2")

    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        server.settimeout(20)
        monkeypatch.setitem(app.config, "SMTP_PORT", server.getsockname()[1])
        greeting = thread.submit(greet, server)
        assert alice.post(USERS, json=NEW).json["emailSent"] is False
        assert not greeting.done()
        finished.set()


def test_no_password_is_sent_to_a_server_without_starttls(
    alice: Caller, app: Flask, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, setting in (LOGIN | {"SMTP_SECURITY": "starttls"}).items():
        monkeypatch.setitem(app.config, name, setting)
    assert alice.post(USERS, json=NEW).json["emailSent"] is False
    assert (inbox.logins, inbox.messages) == ([], [])
    assert caplog.messages[0].endswith(": SMTPNotSupportedError")


@pytest.mark.skipif(not OPENSSL, reason="there is no openssl")
@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_the_service_logs_in_over_tls_with_a_valid_certificate_only(
    alice: Caller, app: Flask, tmp_path, monkeypatch: pytest.MonkeyPatch, security: str
) -> None:
    trusting = certify(tmp_path)
    with mail_server(security, tmp_path) as inbox:
        configure(app, monkeypatch, inbox)
        assert alice.post(USERS, json=NEW).json["emailSent"] is False
        assert (inbox.logins, inbox.messages) == ([], [])
        monkeypatch.setattr(mail, "create_default_context", lambda: trusting)
        assert alice.post(USERS, json=NEW | {"email": "max@example.org"}).json["emailSent"] is True
        assert [login.login for login in inbox.logins] == [b"flags"]
        assert inbox.take()["To"] == "max@example.org"


def test_an_administrator_sends_a_link_for_a_password(world: World, app: Flask, alice: Caller, inbox: Inbox) -> None:
    ada(world)
    assert alice.post(CREATE, json={"id": "ada"}).json.keys() == {"resetPasswordUrl"}
    assert inbox.messages == []
    response = alice.post(CREATE, json={"id": "ada", "sendEmail": True}).json
    assert response["emailSent"] is True
    assert response["resetPasswordUrl"] in inbox.take().get_content()
    # The user need not wait before they ask for another one.
    alice.post(FORGOT, json={"email": "ada@example.org"})
    send_all(app)
    assert inbox.take()["To"] == "ada@example.org"


def test_a_forgotten_password_gets_one_link_in_five_minutes(
    world: World, app: Flask, stranger: Caller, inbox: Inbox
) -> None:
    user = ada(world)
    for _ in range(2):
        response = stranger.post(FORGOT, json={"email": "Ada@example.org"})
        assert (response.status_code, response.data, inbox.messages) == (200, b"", [])
    send_all(app)
    assert inbox.recipients == [["ada@example.org"]]
    message = inbox.take()
    assert message["Subject"] == "Reset your password for Flags"
    text = message.get_content()
    [token] = re.findall(r"^http://localhost/reset-password[?]token=([0-9a-f]{64})$", text, re.MULTILINE)
    assert text.endswith("\n\nThe link works once, for 24 hours. If it was not you, ignore this message.\n")
    assert check(stranger, token).json["createdBy"] == "system"
    world.conn.execute(
        "UPDATE reset_tokens SET expires_at = expires_at - interval '5 min' WHERE user_id = %s", [user.id]
    )
    stranger.post(FORGOT, json={"email": "ada@example.org"})
    send_all(app)
    assert inbox.take()["To"] == "ada@example.org"


def test_unknown_addresses_get_the_same_response_and_no_e_mail(
    world: World, app: Flask, stranger: Caller, inbox: Inbox
) -> None:
    # No password yet, a service account, and a name that is no address.
    world.user("Grace")
    world.user("Robot", account_type="Service Account", email="robot@example.org")
    for email in ("grace@example.org", "robot@example.org", "unknown@example.org"):
        response = stranger.post(FORGOT, json={"email": email})
        assert (response.status_code, response.data) == (200, b"")
    send_all(app)
    assert inbox.messages == []


@pytest.mark.usefixtures("inbox")
def test_the_queue_has_a_hundred_places(app: Flask, stranger: Caller, monkeypatch) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1000)
    assert {stranger.post(FORGOT, json={"email": "ada@example.org"}).status_code for _ in range(102)} == {200}
    assert mail.forgotten.qsize() == 100
    mail.forgotten.queue.clear()


@pytest.mark.usefixtures("inbox")
def test_forgotten_passwords_are_throttled(app: Flask, stranger: Caller, monkeypatch) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    statuses = [stranger.post(FORGOT, json={"email": "ada@example.org"}).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_the_page_asks_for_the_address(world: World, app: Flask, stranger: Caller, inbox: Inbox) -> None:
    ada(world)
    assert open_page(stranger, "/login").links["Forgot your password?"] == "/forgot-password"
    assert open_page(stranger, "/forgot-password").fields().keys() == {"email"}
    page = Page(send_form(stranger, "/forgot-password", 400, email="ada"))
    assert page.texts(".//p[@class='problem']") == ["Email must be an email address such as ada@example.org."]
    assert page.fields() == {"email": "ada"}
    response = send_form(stranger, "/forgot-password", email="ada@example.org")
    notice = open_page(stranger, response.headers["Location"]).texts(".//p[@role='status']")
    assert notice == ["If a user has this address, an e-mail with a link is on its way."]
    send_all(app)
    assert inbox.take()["To"] == "ada@example.org"
    other_site = {"Origin": "https://evil.example"}
    send_form(stranger, "/forgot-password", 403, headers=other_site, email="ada@example.org")


def test_forgotten_passwords_are_for_those_who_can_log_in_with_one(
    app: Flask, world: World, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.user("Root", root_role=1, password_hash=HASH)
    ada(world)
    monkeypatch.setitem(app.config, "PASSWORD_LOGIN", "admins")
    for name in ("root", "ada"):
        assert Caller(app).post(FORGOT, json={"email": f"{name}@example.org"}).status_code == 200
    send_all(app)
    assert inbox.recipients == [["root@example.org"]]
    monkeypatch.setitem(app.config, "PASSWORD_LOGIN", "off")
    response = Caller(app).post(FORGOT, json={"email": "root@example.org"})
    assert refused(response, 409, "ConflictError") == "Password login is off. Use single sign-on."
    assert mail.forgotten.empty()
