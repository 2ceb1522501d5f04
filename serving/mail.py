"""Send e-mail by the mail server in the settings: plain text with one link."""

import logging
import re
import smtplib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from functools import partial
from queue import Queue
from ssl import create_default_context
from threading import Thread
from typing import Any

from flask import current_app
from werkzeug.exceptions import Conflict

from rules import password_login
from rules.access import SYSTEM
from rules.reset_links import create_link, throttle
from sql.database import transaction
from sql.people import reset_tokens, users

# Of a whole message.
TIMEOUT_SECONDS = 10
# The subject, what is above the link, and what is below it. The link has a line of its own, so that no program takes a
# full stop as a part of it.
MESSAGES = {
    "invitation": ("Your account for Flags", "{author} created an account for you. Choose a password:", ""),
    "reset": (
        "Reset your password for Flags",
        "Somebody asked for a new password for this address. To choose one:",
        " If it was not you, ignore this message.",
    ),
}
OFF = "This service sends no e-mail. Ask an administrator for a link."
# The e-mail addresses of forgotten passwords, in the memory of each worker.
forgotten: Queue[str] = Queue()

log = logging.getLogger(__name__)


@contextmanager
def mail_server(config: Mapping[str, Any]) -> Iterator[smtplib.SMTP]:
    """Yield a connection to the mail server, encrypted and logged in as the settings say."""
    context, kind = create_default_context(), smtplib.SMTP
    if config["SMTP_SECURITY"] == "tls":
        kind = partial(smtplib.SMTP_SSL, context=context)
    with kind(config["SMTP_HOST"], config["SMTP_PORT"], timeout=TIMEOUT_SECONDS) as smtp:
        smtp.ehlo()
        if config["SMTP_SECURITY"] == "starttls":
            smtp.starttls(context=context)
        if config["SMTP_USERNAME"]:
            smtp.login(config["SMTP_USERNAME"], config["SMTP_PASSWORD"])
        yield smtp


def send(recipient: str, subject: str, text: str) -> None:
    """Send a message. Raises an error with the answer of the mail server, unless it accepts the message in time."""
    message, sender = EmailMessage(), current_app.config["SMTP_FROM"]
    message["From"], message["To"], message["Subject"] = sender, recipient, subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=sender.rpartition("@")[2].rstrip(">"))
    message.set_content(text, cte="7bit" if text.isascii() else None)
    # The timeout of a socket begins again with each byte, so a slow mail server could hold a request for minutes.
    sent: Future[None] = Future()
    args = (current_app.config, message, recipient, sent)
    Thread(target=deliver, args=args, name="mail-delivery", daemon=True).start()
    sent.result(TIMEOUT_SECONDS)


def deliver(config: Mapping[str, Any], message: EmailMessage, recipient: str, sent: Future[None]) -> None:
    """Send a message, and set the result or the error."""
    try:
        with mail_server(config) as smtp:
            smtp.send_message(message, to_addrs=[recipient])
            sent.set_result(None)
    except Exception as error:
        if not sent.done():
            sent.set_exception(error)


def send_link(kind: str, recipient: str | None, link: str, author: str = "") -> bool:
    """Send a link, and return whether the mail server has accepted it. If not, log its code, without addresses."""
    if not (recipient and current_app.config["SMTP_HOST"]):
        return False
    subject, above, below = MESSAGES[kind]
    text = f"{above.format(author=author)}\n\n{link}\n\nThe link works once, for 24 hours.{below}\n"
    outcome = "accepted"
    try:
        send(recipient, subject, text)
    except Exception as error:
        outcome = "failed"
        code = re.search(r"\((\d{3}), ", str(error))
        problem = code[1] if code else type(error).__name__
        log.warning("The mail server did not accept an e-mail (%s): %s", kind, problem)
    if meters := current_app.extensions.get("metrics"):
        meters.mails.labels(kind, outcome).inc()
    return outcome == "accepted"


def ask_for_reset_link(email: str, address: str) -> None:
    """Let send_next() send a link. Raise 409 without a mail server, 429 for too many attempts of the address."""
    if not current_app.config["SMTP_HOST"]:
        raise Conflict(OFF)
    if not password_login.is_permitted(is_admin=True):
        raise Conflict(password_login.closed())
    throttle("reset", address)
    # Our choice: known and unknown addresses get the same response after the same work. Nothing is looked up yet.
    if forgotten.qsize() < 100:
        forgotten.put(email)


def send_next() -> None:
    """Send the link of the next forgotten password, unless the address is unknown or has just got one."""
    email, link = forgotten.get(), None
    with transaction(limited=False) as conn:
        # Of two workers with one address, the second waits here, and then finds the link of the first.
        user = users.lock_by_login(conn, email)
        if user and reset_tokens.may_be_sent(conn, user["id"], SYSTEM.name):
            link = create_link(conn, SYSTEM, user, "reset-password")
    if link:
        send_link("reset", email, link)
