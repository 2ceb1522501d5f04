"""Limit each caller to half of a worker's database connections.

A caller is a user, an API token, or the address of a client without valid credentials. A user or API token keeps its
place until the response is built, because that can take longer than the statements. An address keeps its place only
while a connection is lent, because many people can share it, and a login takes most of its time without a connection.
Applications have a limit of their own (rules/client_access.py).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Semaphore

from flask import Flask, current_app, g, has_request_context, request

from rules.access import Caller, as_caller, credentials
from serving.body_limits import held
from serving.client_address import client_address
from sql import access
from sql.database import Connection, database
from validators.errors import RateLimited

# The maximum number of remembered credentials, and of callers with semaphores.
MAX_KNOWN = 10_000
Credentials = tuple[bytes | None, bytes | None]
# Whether this thread holds a place, and what keeps it until the response is built.
holds_place: ContextVar[bool] = ContextVar("holds_place", default=False)
kept_places: ContextVar[ExitStack | None] = ContextVar("kept_places", default=None)


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
        """Hold a place of the caller, or of the client's address, during the block.

        Raises RateLimited if none becomes free in time.
        """
        with ExitStack() as stack:
            semaphores = self.semaphores_of(caller.account if caller else client_address())
            for semaphore, timeout in zip(semaphores, (0, self.wait), strict=True):
                if not semaphore.acquire(timeout=timeout):
                    # 503 while the database does not respond: then the caller has not sent too much.
                    database().require_response()
                    if caller is not None:
                        # For the log, because no view identifies the caller.
                        g.setdefault("caller", caller)
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                stack.callback(semaphore.release)
            stack.callback(holds_place.reset, holds_place.set(True))
            yield

    def learn(self, conn: Connection, keys: Credentials) -> Caller | None:
        """Return the caller with these credentials and remember it, or return None if they are invalid."""
        none = {"permissions": (), "project": None, "environment": None}
        found = access.authenticate(conn, key=keys[0], session=keys[1], **none)
        if found is None:
            return None
        if len(self.known) >= MAX_KNOWN:
            self.known.clear()
        caller = self.known[keys] = as_caller(found)
        return caller


def init_app(app: Flask) -> None:
    """Begin without known callers."""
    app.extensions["caller_limit"] = CallerLimit(
        app.config["DATABASE_POOL_SIZE"], app.config["THREADS"], app.config["WAIT_SECONDS"]
    )
    app.extensions["validations_of"] = lru_cache(MAX_KNOWN)(lambda _account: Semaphore())


@contextmanager
def keep_place() -> Iterator[None]:
    """Keep the place that a user or an API token takes in the block until its end."""
    with ExitStack() as stack:
        token = kept_places.set(stack)
        try:
            yield
        finally:
            # Streams continue after their response is built. They take a place for each batch.
            kept_places.reset(token)


@contextmanager
def place_while_lent(lend: Callable[[], AbstractContextManager[Connection]]) -> Iterator[None]:
    """Hold the place of the request's caller, unless this thread holds one already.

    lend: lends a connection. Only the database knows the caller of credentials that are new to this worker.
    """
    if holds_place.get() or not has_request_context():
        yield
        return
    limit: CallerLimit = current_app.extensions["caller_limit"]
    keys = credentials(request)
    with ExitStack() as while_lent:
        caller = limit.known.get(keys)
        if caller is None:
            while_lent.enter_context(limit.place(None))
            # Another request with the same credentials may have been first.
            caller = limit.known.get(keys)
            if caller is None and any(keys):
                with lend() as conn:
                    caller = limit.learn(conn, keys)
        if caller is not None:
            # The connection is returned before this waits for a place. Other callers can use it meanwhile.
            while_lent.close()
            (kept_places.get() or while_lent).enter_context(limit.place(caller))
        yield


def account() -> str | None:
    """Return the user or API token of the request, or None if there is none."""
    return g.caller.account if g.get("caller") else None


def one_validation() -> AbstractContextManager[None]:
    """Validate one import of the caller at a time in this worker. It takes much CPU time, and needs no permission."""
    message = "You have too many validations at the same time. Wait until some of them finish."
    return held(current_app.extensions["validations_of"](account()), RateLimited(message, 1))
