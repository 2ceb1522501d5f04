"""Identify the application that sends a request, by its client or frontend token."""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, Semaphore
from typing import Any

import psycopg
from flask import Flask, current_app, g, request
from psycopg.rows import DictRow
from psycopg_pool import PoolTimeout
from werkzeug.exceptions import Forbidden, Unauthorized

from rules.access import Caller, credentials
from rules.shared_calls import SharedCalls
from sql import access
from sql.client import tokens
from sql.database import Connection, connection
from sql.database.connections import deadline

# The kinds of tokens for server SDKs and for browser SDKs. Admin tokens can do both.
SERVER_KINDS = ("client", "backend", "admin")
FRONTEND_KINDS = ("frontend", "admin")
# Tokens that a worker knows at most. The one that was looked up first is forgotten first.
MAX_KNOWN = 10_000
# Seconds between two warnings that flags are served from memory.
WARNING_PAUSE = 60.0
# What is raised while the database cannot be reached, or is too slow.
UNREACHABLE = (psycopg.OperationalError, TimeoutError)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientToken:
    """The token of an application.

    digest: its SHA-256. environment, projects: None for all. origins: of a frontend token, None for those of the
    setting FRONTEND_ORIGINS. revision: grows with every change that can alter the flags of the token. mark: a random
    number that each of these changes draws, because the same revision can come again after a failover or a restore.
    default_environment: the one that a token for all environments gets if the request names none. changed_at: when this
    worker first saw its version, as time.monotonic(). is_stale: the database could not be asked.
    """

    id: int
    digest: bytes = field(repr=False)
    name: str
    kind: str
    environment: str | None
    projects: tuple[str, ...] | None
    origins: tuple[str, ...] | None
    revision: int
    mark: int
    default_environment: str | None
    changed_at: float
    is_stale: bool = False

    @property
    def version(self) -> tuple[int, int]:
        """Return what changes with each change of the flags of the token."""
        return self.revision, self.mark


@dataclass(frozen=True)
class KnownToken:
    """A token, when the database was asked for it, and when it expires (both times of time.monotonic())."""

    token: ClientToken
    asked_at: float
    expires_at: float


class ClientAccess:
    """The tokens that a worker knows, and its share of the database for applications."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.keep = config["CLIENT_KEEP_MS"] / 1000
        self.stale = config["CLIENT_STALE_SECONDS"]
        self.wait = config["WAIT_SECONDS"]
        # Applications are not limited one by one, because all instances of one have the same token. Together, they use
        # at most half of the connections.
        self._slots = Semaphore(max(1, config["DATABASE_POOL_SIZE"] // 2))
        self._known: OrderedDict[bytes, KnownToken] = OrderedDict()
        self._lock = Lock()
        self._calls: SharedCalls[KnownToken | None] = SharedCalls()
        self._warned_at = float("-inf")

    def find(self, digest: bytes, *, is_now: bool = False) -> ClientToken | None:
        """Return the token with this SHA-256, or None if it is unknown or has expired.

        What the database said in the last CLIENT_KEEP_MS is used again, unless is_now. While the database cannot be
        reached, a token is known for CLIENT_STALE_SECONDS, but not after its expiry. After that, raises what the
        database raised.
        """
        now = time.monotonic()
        keep = 0.0 if is_now else self.keep
        known = self._known.get(digest)
        if known is not None and now < min(known.asked_at + keep, known.expires_at):
            return known.token
        try:
            found = self._calls.call(digest, lambda: self._ask(digest), now - keep, self.wait)
        except UNREACHABLE:
            known = self._known.get(digest)
            if known is None or time.monotonic() > min(known.asked_at + self.stale, known.expires_at):
                raise
            return replace(known.token, is_stale=True)
        return found and found.token

    def digest_of(self, token_id: int) -> bytes | None:
        """Return the SHA-256 of a frontend token, or None if it does not exist."""
        with self._lock:
            for digest, known in self._known.items():
                if known.token.id == token_id and known.token.kind == "frontend":
                    return digest
        with self.connection() as conn, deadline(conn, self.wait):
            return tokens.get_digest(conn, token_id)

    def _ask(self, digest: bytes) -> KnownToken | None:
        asked_at = time.monotonic()
        # Kept flags soon are better than current flags late.
        with self.connection() as conn, deadline(conn, self.wait):
            row = tokens.find(conn, digest)
            if row is not None and not row["is_marked_seen"]:
                access.mark_seen(conn, {"user_id": None, "key_id": row["id"]})
        with self._lock:
            if row is None:
                self._known.pop(digest, None)
                return None
            expires_at = float("inf") if row["expires_in"] is None else asked_at + row["expires_in"]
            # find() reads without the lock, so the token must not be missing even for a moment.
            token, before = as_token(row, asked_at), self._known.get(digest)
            if before is not None and before.token.version == token.version:
                token = replace(token, changed_at=before.token.changed_at)
            known = self._known[digest] = KnownToken(token, asked_at, expires_at)
            self._known.move_to_end(digest)
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return known

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to an application."""
        if not self._slots.acquire(timeout=self.wait):
            raise PoolTimeout("The connections for applications are in use.")
        try:
            with connection(limited=False) as conn:
                yield conn
        finally:
            self._slots.release()

    def warn(self, age: float) -> None:
        """Log that flags are served from memory, at most once a minute."""
        with self._lock:
            is_due = time.monotonic() > self._warned_at + WARNING_PAUSE
            if is_due:
                self._warned_at = time.monotonic()
        if is_due:
            log.warning("The database is unavailable. Applications get flags from memory, which are %d s old.", age)


def as_token(row: DictRow, changed_at: float) -> ClientToken:
    """Return the token of a row of tokens.find()."""
    return ClientToken(
        id=row["id"],
        digest=row["digest"],
        name=row["name"],
        kind=row["kind"],
        environment=row["environment"],
        projects=None if row["projects"] is None else tuple(row["projects"]),
        origins=None if row["origins"] is None else tuple(row["origins"]),
        revision=row["revision"],
        mark=row["mark"],
        default_environment=row["default_environment"],
        changed_at=changed_at,
    )


def init_app(app: Flask) -> None:
    """Begin without known tokens."""
    app.extensions["client_access"] = ClientAccess(app.config)


def client_access() -> ClientAccess:
    """Return the known tokens of the current app."""
    return current_app.extensions["client_access"]


def require_client(*kinds: str) -> ClientToken:
    """Return the token of the request. Raise 401, 403 for another kind, or 503 if it cannot be looked up."""
    # Our choice: sessions are not for applications, so a cookie is ignored.
    digest, _ = credentials(request)
    g.caller = None
    # SDKs stop for ever after 401 or 403, so both are only for tokens that are certainly wrong.
    token = None if digest is None else client_access().find(digest)
    if token is None:
        raise Unauthorized("A valid client or frontend token is required in the header Authorization.")
    g.caller = Caller(f"{'personal' if token.kind == 'personal' else 'api'}-token", token.id)
    if token.kind not in kinds:
        raise Forbidden(f"A {token.kind} token cannot do this. Use a {' or '.join(kinds[:-1])} token.")
    return token


def environment_of(token: ClientToken, requested: str | None) -> str:
    """Return the environment of the token. If it is for all: the requested one, else default or development."""
    return token.environment or requested or token.default_environment or "development"
