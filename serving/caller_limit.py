"""Limit each caller to half of a worker's database connections.

A caller is a user, an API token, or the address of a client without valid credentials. A user or API token keeps its
place until the response is built, because that can take longer than the statements. An address keeps its place only
while a connection is lent, because many people can share it, and a login takes most of its time without a connection.
So does a user in the first request with new credentials, because only the database knows whose they are.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from threading import Semaphore

from flask import Flask, current_app, g, has_request_context, request

from rules.access import Caller, credentials
from serving.body_limits import held
from serving.client_address import client_address
from sql import access
from sql.database import connection, database
from validators.errors import RateLimited

# Applications have a limit of their own (rules/client_access.py). Health checks have none.
EXEMPT = ("/api/client", "/api/frontend", "/ofrep", "/health", "/ready")
# Known credentials at most.
MAX_KNOWN = 10_000
Credentials = tuple[bytes | None, bytes | None]
# Whether this thread holds a place.
holds_place: ContextVar[bool] = ContextVar("holds_place", default=False)


class CallerLimit:
    """The places of all callers in this worker."""

    def __init__(self, size: int, threads: int, wait: float) -> None:
        """Limit callers. size: connections of the worker. threads: of the worker. wait: seconds for a connection."""
        self.wait = wait
        # The caller of credentials never changes.
        self.known: dict[Credentials, Caller] = {}

        @lru_cache(MAX_KNOWN)
        def semaphores_of(_account: str) -> tuple[Semaphore, Semaphore]:
            # The first limits the requests of a caller, because waiting requests occupy threads that other callers
            # need. The second limits the connections.
            return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

        self.semaphores_of = semaphores_of

    @contextmanager
    def place(self, caller: Caller | None) -> Iterator[None]:
        """Hold a place of the caller, or of the client's address, in the block, or raise RateLimited."""
        with ExitStack() as stack:
            semaphores = self.semaphores_of(caller.account if caller else client_address())
            for semaphore, timeout in zip(semaphores, (0, self.wait), strict=True):
                if not semaphore.acquire(timeout=timeout):
                    g.setdefault("caller", caller)  # For the log.
                    # 503 while the database does not respond: then the caller has not sent too much.
                    database().require_response()
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                stack.callback(semaphore.release)
            token = holds_place.set(True)
            stack.callback(holds_place.reset, token)
            yield

    def caller_of(self, keys: Credentials) -> Caller | None:
        """Return the caller with these credentials, or None if they are invalid."""
        caller = self.known.get(keys)
        if caller is None and any(keys):
            none = {"permissions": (), "project": None, "environment": None}
            with self.place(None), connection() as conn:
                found = access.authenticate(conn, key=keys[0], session=keys[1], **none)
            if found is not None:
                if len(self.known) >= MAX_KNOWN:
                    self.known.clear()
                caller = self.known[keys] = Caller(found["via"], found["user_id"] or found["key_id"])
        return caller


def init_app(app: Flask) -> None:
    """Begin without known callers."""
    app.extensions["caller_limit"] = CallerLimit(
        app.config["DATABASE_POOL_SIZE"], app.config["THREADS"], app.config["WAIT_SECONDS"]
    )
    app.extensions["validations_of"] = lru_cache(MAX_KNOWN)(lambda _account: Semaphore())


def caller_limit() -> CallerLimit:
    """Return the places of the current app."""
    return current_app.extensions["caller_limit"]


def place_of_known_caller() -> AbstractContextManager[None]:
    """Hold the place of the request's user or API token during the block, if their credentials are known."""
    caller = None if request.path.startswith(EXEMPT) else caller_limit().known.get(credentials(request))
    return nullcontext() if caller is None else caller_limit().place(caller)


def place_while_lent() -> AbstractContextManager[None]:
    """Hold the place of the request's caller during the block, unless it holds one already."""
    if holds_place.get() or not has_request_context():
        return nullcontext()
    limit = caller_limit()
    return limit.place(limit.caller_of(credentials(request)))


def account() -> str | None:
    """Return the user or API token of the request, or None if there is none."""
    return g.caller.account if g.get("caller") else None


def one_validation() -> AbstractContextManager[None]:
    """Validate one import of the caller at a time in this worker. It takes much CPU time, and needs no permission."""
    message = "You have too many validations at the same time. Wait until some of them finish."
    return held(current_app.extensions["validations_of"](account()), RateLimited(message, 1))
