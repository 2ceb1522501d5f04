"""Limit each caller to half of a worker's database connections.

A caller is a user, an API token, or the address of a client without valid credentials. The place of a user or API token
is kept until the response is built, because that can take longer than the statements. An address keeps its place only
while a connection is lent, because many people can share it, and a login takes most of its time without a connection.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from threading import Semaphore

from flask import Flask, current_app, g, has_request_context, request

from rules.access import credentials
from serving.body_limits import held
from serving.client_address import client_address
from sql import access
from sql.database import database
from validators.errors import RateLimited


def init_app(app: Flask) -> None:
    """Make requests acquire the semaphores of their caller before they get a database connection."""
    size, threads, wait = (app.config[name] for name in ("DATABASE_POOL_SIZE", "THREADS", "WAIT_SECONDS"))

    @lru_cache(10_000)
    def semaphores_of(_caller: str) -> tuple[Semaphore, Semaphore]:
        # The first limits the requests of a caller, because waiting requests occupy threads that other callers need.
        # The second limits the connections.
        return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

    @contextmanager
    def acquired(caller: str) -> Iterator[None]:
        with ExitStack() as stack:
            for semaphore, timeout in zip(semaphores_of(caller), (0, wait), strict=True):
                if not semaphore.acquire(timeout=timeout):
                    # 503 while the database does not respond: then the caller has not sent too much.
                    database().require_response()
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                stack.callback(semaphore.release)
            yield

    @lru_cache(10_000)  # A credential always belongs to the same caller. Unknown credentials are not cached.
    def caller_of(key: bytes | None, session: bytes | None) -> str:
        g.is_authenticating = True
        with acquired(client_address()), database().connection() as conn:
            none = {"permissions": (), "project": None, "environment": None}
            caller = access.authenticate(conn, key=key, session=session, **none)
        g.is_authenticating = False
        if caller is None:
            raise LookupError
        return f"user:{caller['user_id']}" if caller["user_id"] else f"api-token:{caller['key_id']}"

    def limit_caller() -> AbstractContextManager[None]:
        if not has_request_context() or request.endpoint == "health.get_readiness":
            return nullcontext()
        if g.get("is_authenticating") or g.get("is_client") or g.get("has_place"):
            return nullcontext()
        g.limited_caller, keys = None, credentials(request)
        with suppress(LookupError):
            g.limited_caller = caller_of(*keys) if any(keys) else None
        g.setdefault("caller", g.limited_caller)  # For the log, if the limit refuses the request.
        place = acquired(g.limited_caller or client_address())
        if not g.get("places") or not g.limited_caller:
            return place
        g.places.enter_context(place)
        g.has_place = True
        return nullcontext()

    app.extensions["database"].limit_caller = limit_caller
    app.extensions["validations_of"] = lru_cache(10_000)(lambda _caller: Semaphore())


@contextmanager
def kept_places() -> Iterator[None]:
    """Keep the place that the request takes until the end of the block."""
    with ExitStack() as places:
        g.places, g.has_place = places, False
        try:
            yield
        finally:
            # Streams continue after their response is built. They take a place for each batch.
            g.places, g.has_place = None, False


def one_validation() -> AbstractContextManager[None]:
    """Validate one import of the caller at a time in this worker. It takes much CPU time, and needs no permission."""
    message = "You have too many validations at the same time. Wait until some of them finish."
    return held(current_app.extensions["validations_of"](g.get("limited_caller")), RateLimited(message, 1))
