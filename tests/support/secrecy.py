"""The secrets that a test uses. No response contains one, except the response that creates it."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

# Shorter texts can be in a response by chance.
SHORTEST = 12
BCRYPT = re.compile(rb"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")
SESSION = re.compile(r'(?:^|;) *session="?([^";]*)')
LINK = re.compile(rb'"(?:inviteLink|resetPasswordUrl)"\s*:\s*"[^"]*[?]token=([^"]+)"')
# Routes that return stored secrets on purpose: signup tokens, and the API tokens of clients and frontends.
SIGNUP_TOKENS, API_TOKENS = "/api/admin/invite-link/tokens", "/api-tokens"
# The page that shows their links.
SIGNUP_TOKENS_PAGE = "/admin/signup-tokens"
# Returns the token of the link that it checks.
RESET_TOKENS = "/auth/reset/validate"

Headers = Iterable[tuple[str, str]]


class SecretLeaked(AssertionError):
    """A response contains a secret."""


class Vault:
    """The secrets of the running test: those that it sent, and those that responses contained."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        # Secrets of signup tokens, which their own responses contain.
        self.invites: set[bytes] = set()
        # Tokens of links to set a password, which the check of a link returns.
        self.links: set[bytes] = set()

    def keep(self, secrets: Iterable[object]) -> None:
        """Add secrets and their digests."""
        for text in long_enough(secrets):
            self.known |= {text, hashlib.sha256(text).hexdigest().encode()}

    def look(self, path: str, sent: Any, sent_headers: Headers, headers: Headers, body: bytes) -> None:
        """Raise SecretLeaked if a response contains a known secret. Those that it gives out are known from now on."""
        sent_headers, headers = list(sent_headers), list(headers)
        if isinstance(sent, Mapping):
            self.keep(text for name, text in sent.items() if "password" in str(name).lower())
        self.keep(credentials_in(sent_headers))
        self.invites |= set(long_enough(re.findall(r"/invite/([^/]+)/", path)))
        lines = (f"{name}: {text}".encode("utf-8", "replace") for name, text in headers)
        response = b"\n".join([*lines, hidden(body, path)])
        if BCRYPT.search(response):
            raise SecretLeaked(f"the answer at {path} holds the hash of a password")
        # A copy: other threads of a test may ask meanwhile.
        invites = () if SIGNUP_TOKENS in path or path == SIGNUP_TOKENS_PAGE else self.invites
        links = () if RESET_TOKENS in path else self.links
        for secret in (*self.known, *invites, *links):
            if secret in response:
                raise SecretLeaked(f"the answer at {path} holds a secret: {secret!r}")
        self.keep(cookies_in("set-cookie", headers))
        self.links |= set(LINK.findall(body))
        if b'"secret"' in body:
            records = records_of(parsed(body))
            given = [record.get("secret") for record in records if record.get("type") in ("admin", None)]
            (self.invites.update if SIGNUP_TOKENS in path else self.known.update)(long_enough(given))

    def forget(self) -> None:
        for secrets in (self.known, self.invites, self.links):
            secrets.clear()


VAULT = Vault()


class Watched(FlaskClient):
    """A client that looks at each response before the test does."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        # The lines of a stream are for the test alone.
        if response.mimetype != "application/x-ndjson" or response.is_sequence:
            request = response.request
            sent = kwargs.get("json", kwargs.get("data"))
            VAULT.look(request.path, sent, request.headers.items(), response.headers.items(), response.get_data())
        return response


def credentials_in(headers: Headers) -> Iterator[str]:
    """The keys and session ids in the headers of a request."""
    for name, text in headers:
        if name.lower() == "authorization":
            scheme, _, rest = text.partition(" ")
            yield (rest if scheme.lower() == "bearer" else text).strip()
    yield from cookies_in("cookie", headers)


def cookies_in(kind: str, headers: Headers) -> list[str]:
    """The session ids in Cookie or Set-Cookie headers."""
    return [session for name, text in headers if name.lower() == kind for session in SESSION.findall(text)]


def hidden(body: bytes, path: str) -> bytes:
    """A body without the secrets of API tokens that can be read again."""
    if path.startswith(("/admin/", "/projects/")) or API_TOKENS not in path or b'"secret"' not in body:
        return body
    document = json.loads(body)
    for record in records_of(document):
        if record.get("type") != "admin":
            record.pop("secret", None)
    return json.dumps(document, ensure_ascii=False).encode()


def parsed(body: bytes) -> Any:
    """The document in a body, or None."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def records_of(document: Any) -> list[dict[str, Any]]:
    """The tokens in a response: itself, or those in its list."""
    found = [document, *(document.get("tokens") or ())] if isinstance(document, dict) else []
    return [record for record in found if isinstance(record, dict)]


def long_enough(words: Iterable[object]) -> Iterator[bytes]:
    """Those of the words that are long enough for secrets, as bytes."""
    return (word.encode("utf-8", "replace") for word in words if isinstance(word, str) and len(word) >= SHORTEST)
