"""One caller holds at most half of a worker's database connections: a user, an API token, or the address of a stranger."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from threading import Semaphore

from flask import Flask, g, has_request_context, request

from blueprints.access import credentials
from blueprints.client import client_address
from sql import access, database
from validators.errors import RateLimited

TOO_MANY = "Too many requests at the same time. Wait until some of yours are finished."


def init_app(app: Flask) -> None:
    """Make each request of this app take a place of its caller's share before it takes a database connection."""
    size, threads, wait = (app.config[name] for name in ("DATABASE_POOL_SIZE", "THREADS", "WAIT_SECONDS"))

    @lru_cache(10_000)
    def share_of(_caller: str) -> tuple[Semaphore, Semaphore]:
        # Requests that wait hold threads, and other callers need some too.
        return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

    @contextmanager
    def held(caller: str) -> Iterator[None]:
        requests, connections = share_of(caller)
        if not requests.acquire(blocking=False):
            raise RateLimited(TOO_MANY, 1)
        try:
            if not connections.acquire(timeout=wait):
                raise RateLimited(TOO_MANY, 1)
            try:
                yield
            finally:
                connections.release()
        finally:
            requests.release()

    @lru_cache(10_000)  # A credential always belongs to the same caller. Unknown ones are not kept.
    def name_of(key: bytes | None, session: bytes | None) -> str:
        g.is_looked_up = True
        with held(client_address()), database().connection() as conn:
            found = access.authenticate(conn, key=key, session=session, permissions=(), project=None, environment=None)
        g.is_looked_up = False
        if found is None:
            raise LookupError
        return f"user:{found['user_id']}" if found["user_id"] else f"api-key:{found['key_id']}"

    def place() -> AbstractContextManager[None]:
        if not has_request_context() or request.endpoint == "health.get_ready" or g.get("is_looked_up"):
            return nullcontext()
        given = credentials(request)
        with suppress(LookupError):
            g.caller = name_of(*given) if any(given) else None
        return held(g.get("caller") or client_address())

    app.extensions["database"].share = place
