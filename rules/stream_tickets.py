"""Tickets that open an event stream for a web page. Browsers send no header Authorization to it, only an address.

A ticket is the id of a frontend token, the number of a 12-hour window, and a signature. The key of the signature is the
digest of the token, which only the server has, so a ticket ends with its token. It is the same for all pages of a token
until the window ends, and valid for 12 to 24 hours.
"""

import hmac
import re
import time

from rules.client_access import ClientToken, client_access

WINDOW_SECONDS = 12 * 3600
FORM = re.compile(r"(\d{1,18})\.(\d{1,9})\.([0-9a-f]{32})", re.ASCII)


def ticket(token: ClientToken) -> str:
    """Return the current ticket of a frontend token."""
    end = int(time.time()) // WINDOW_SECONDS + 2
    return f"{token.id}.{end}.{signature(token.digest, token.id, end)}"


def token_of(ticket: str) -> ClientToken | None:
    """Return the frontend token of a ticket, or None if the ticket or the token is invalid or has expired."""
    matched = FORM.fullmatch(ticket)
    if matched is None:
        return None
    token_id, end = int(matched[1]), int(matched[2])
    if end <= time.time() // WINDOW_SECONDS:
        return None
    digest = client_access().digest_of(token_id)
    if digest is None or not hmac.compare_digest(signature(digest, token_id, end), matched[3]):
        return None
    return client_access().find(digest)


def signature(digest: bytes, token_id: int, end: int) -> str:
    """Return the signature of a ticket, 32 hexadecimal characters."""
    return hmac.new(digest, f"{token_id}.{end}".encode(), "sha256").hexdigest()[:32]
