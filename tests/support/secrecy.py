"""The secrets that a test uses. No answer contains one, except the answer that creates it."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

# What is shorter may well stand somewhere by chance.
SHORTEST = 12
BCRYPT = re.compile(rb"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")
# Routes that return stored secrets on purpose: signup tokens, and the API tokens of clients and frontends.
SIGNUP_TOKENS, API_TOKENS = "/api/admin/invite-link/tokens", "/api-tokens"
# The page that shows their links.
SIGNUP_TOKENS_PAGE = "/admin/signup-tokens"
# Returns the token of the link that it checks.
RESET_TOKENS = "/auth/reset/validate"
LINK = re.compile(rb'"(?:inviteLink|resetPasswordUrl)"\s*:\s*"[^"]*[?]token=([^"]+)"')

Headers = Iterable[tuple[str, str]]


class SecretLeaked(AssertionError):
    """An answer contains a secret."""


class Vault:
    """The secrets of the running test: those that it sent, and those that responses contained."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        # Secrets of signup tokens, which their own answers contain.
        self.invites: set[bytes] = set()
        # Tokens of links to set a password, which the check of a link returns.
        self.links: set[bytes] = set()

    def keep(self, *secrets: object) -> None:
        """Add secrets and their digests."""
        for text in long_enough(secrets):
            self.known |= {text, hashlib.sha256(text).hexdigest().encode()}

    def look(self, path: str, sent: Any, sent_headers: Headers, headers: Headers, body: bytes) -> None:
        """Raise SecretLeaked if a response contains a known secret. Those that it gives out are known from now on."""
        sent_headers, headers = list(sent_headers), list(headers)
        self.keep(*passwords_in(sent), *credentials_in(sent_headers))
        self.invites |= set(long_enough(re.findall(r"/invite/([^/]+)/", path)))
        response = b"\n".join(
            [*(f"{name}: {text}".encode("utf-8", "replace") for name, text in headers), hidden(body, path)]
        )
        if BCRYPT.search(response):
            raise SecretLeaked(f"the answer at {path} holds the hash of a password")
        # A copy: other threads of a test may ask meanwhile.
        invites = () if SIGNUP_TOKENS in path or path == SIGNUP_TOKENS_PAGE else self.invites
        links = () if RESET_TOKENS in path else self.links
        for secret in (*self.known, *invites, *links):
            if secret in response:
                raise SecretLeaked(f"the answer at {path} holds a secret: {secret!r}")
        self.keep(*cookies_in("Set-Cookie", headers))
        self.links |= set(LINK.findall(body))
        if b'"secret"' in body:
            (self.invites.update if SIGNUP_TOKENS in path else self.known.update)(long_enough(given_out(body)))

    def forget(self) -> None:
        self.known.clear()
        self.invites.clear()
        self.links.clear()


VAULT = Vault()


class Watched(FlaskClient):
    """A client that looks at each answer before the test does."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        # One that comes bit by bit is not ours to take.
        if response.mimetype != "application/x-ndjson" or response.is_sequence:
            request = response.request
            sent = kwargs.get("json", kwargs.get("data"))
            VAULT.look(request.path, sent, request.headers.items(), response.headers.items(), response.get_data())
        return response


def passwords_in(document: Any) -> Iterator[object]:
    if isinstance(document, Mapping):
        yield from (text for name, text in document.items() if "password" in str(name).lower())


def credentials_in(headers: Headers) -> Iterator[str]:
    """The keys and session ids in the headers that are sent."""
    for name, text in headers:
        if name.lower() == "authorization":
            scheme, _, rest = text.partition(" ")
            yield (rest if scheme.lower() == "bearer" else text).strip()
    yield from cookies_in("Cookie", headers)


def cookies_in(kind: str, headers: Headers) -> Iterator[str]:
    """Return the session ids in Cookie or Set-Cookie headers."""
    for name, text in headers:
        if name.lower() == kind.lower():
            try:
                jar = SimpleCookie(text)
            except CookieError:
                continue
            if "session" in jar:
                yield jar["session"].value


def given_out(body: bytes) -> Iterator[object]:
    """The secrets that an answer gives out: those of what was made; of API tokens for clients and frontends, all can be
    read again.
    """
    try:
        document = json.loads(body)
    except ValueError:
        return
    for record in records_of(document):
        if record.get("type") in ("admin", None):
            yield record.get("secret")


def hidden(body: bytes, path: str) -> bytes:
    """A body without the secrets of API tokens that may be read again and again."""
    if path.startswith(("/admin/", "/projects/")) or API_TOKENS not in path or b'"secret"' not in body:
        return body
    document = json.loads(body)
    for record in records_of(document):
        if record.get("type") != "admin":
            record.pop("secret", None)
    return json.dumps(document, ensure_ascii=False).encode()


def records_of(document: Any) -> Iterator[dict[str, Any]]:
    """The tokens in an answer: itself, or those in its list."""
    if isinstance(document, dict):
        yield from (record for record in [document, *(document.get("tokens") or ())] if isinstance(record, dict))


def long_enough(words: Iterable[object]) -> Iterator[bytes]:
    """Return those of the words that are long enough for secrets, as bytes."""
    return (word.encode("utf-8", "replace") for word in words if isinstance(word, str) and len(word) >= SHORTEST)
