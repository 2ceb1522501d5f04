"""A mail server that keeps what it accepts."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from tests.support.service import free_port

LOGIN = {"SMTP_USERNAME": "flags", "SMTP_PASSWORD": "the password of the service"}


class Inbox:
    """What a mail server has accepted. refuses: the address that it refuses. settings: of a service that uses it."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.refuses = ""
        self.logins: list[LoginPassword] = []
        self.settings: dict[str, Any] = {}

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address == self.refuses:
            return f"550 5.1.1 <{address}> is unknown"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.messages.append(message_from_bytes(envelope.content.replace(b"\r\n", b"\n"), policy=policy.default))
        self.recipients.append(envelope.rcpt_tos)
        return "250 Accepted"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: LoginPassword) -> AuthResult:
        self.logins.append(data)
        return AuthResult(success=data.password.decode() == LOGIN["SMTP_PASSWORD"])

    def take(self) -> EmailMessage:
        """Remove the only message and return it."""
        [message] = self.messages
        self.messages, self.recipients = [], []
        return message


@contextmanager
def mail_server(security: str = "none", folder: Path | None = None) -> Iterator[Inbox]:
    """Run a mail server. With starttls or tls, it has the certificate of the folder and requires a login."""
    inbox, port, options = Inbox(), free_port(), dict[str, Any]()
    inbox.settings = {"SMTP_PORT": port, "SMTP_SECURITY": security, "SMTP_FROM": "Flags <flags@example.org>"}
    inbox.settings |= {
        "SMTP_HOST": "localhost" if folder else "127.0.0.1",
        "SMTP_USERNAME": None,
        "SMTP_PASSWORD": None,
    }
    if folder:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "certificate", folder / "key")
        options = (
            {"tls_context": context, "require_starttls": True} if security == "starttls" else {"ssl_context": context}
        )
        options |= {
            "authenticator": inbox.authenticate,
            "auth_required": security == "starttls",
            "auth_require_tls": security == "starttls",
        }
        inbox.settings |= LOGIN
    controller = Controller(inbox, "127.0.0.1", port, **options)
    controller.start()
    try:
        yield inbox
    finally:
        # A message is sent before its connection is closed.
        for thread in threading.enumerate():
            if thread.name == "mail-delivery":
                thread.join(20)
        controller.stop()
