"""The settings of e-mail."""

from collections.abc import Iterator, Mapping
from email.utils import parseaddr
from typing import Any

from serving.setting_values import Setting, ascii_text, host, is_local, number, one_of
from validators.fields import EMAIL


def sender(text: str) -> str:
    """Read the sender of e-mails, with or without a name."""
    if not EMAIL.fullmatch(parseaddr(text)[1]) or not text.isprintable():
        raise ValueError("must look like Flags <flags@example.org>")
    return text


SETTINGS = (
    Setting("SMTP_HOST", host, None, "mail server for invitations and forgotten passwords; default: no e-mail"),
    Setting("SMTP_PORT", number(1, 65535), "587", "port of the mail server"),
    Setting(
        "SMTP_SECURITY",
        one_of("starttls", "tls", "none"),
        "starttls",
        "`starttls`, `tls` (often with port 465), or `none`: without encryption",
    ),
    Setting("SMTP_USERNAME", ascii_text, None, "user name for the mail server"),
    Setting("SMTP_PASSWORD", ascii_text, None, "password for the mail server", secret=True),
    Setting("SMTP_FROM", sender, None, "sender of e-mails, such as `Flags <flags@example.org>`"),
)


def conflicts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the setting that switches e-mail on, and why it cannot be on with the others."""
    if not found["SMTP_HOST"]:
        return
    if not found["SMTP_FROM"]:
        yield "SMTP_HOST", "The setting SMTP_FROM is required with SMTP_HOST."
    if (found["SMTP_USERNAME"] is None) != (found["SMTP_PASSWORD"] is None):
        yield "SMTP_HOST", "Set both SMTP_USERNAME and SMTP_PASSWORD, or none of them."
    if found["SMTP_SECURITY"] == "none" and found["SMTP_PASSWORD"] and not is_local(found["SMTP_HOST"]):
        yield "SMTP_HOST", "The setting SMTP_SECURITY must be starttls or tls, because SMTP_PASSWORD is sent."
