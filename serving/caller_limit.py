"""Limit each caller to half of a worker's database connections.

A caller is a user, an API token, or the address of a client without valid credentials.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from threading import Semaphore

from flask import Flask, g, has_request_context, request

from rules.access import credentials
from serving.client_address import client_address
from sql import access
from sql.database import database
from validators.errors import RateLimited


def init_app(app: Flask) -> None:
    """Count each request toward the share of its caller before it takes a database connection."""
    size, threads, wait = (app.config[name] for name in ("DATABASE_POOL_SIZE", "THREADS", "WAIT_SECONDS"))

    @lru_cache(10_000)
    def shares_of(_caller: str) -> tuple[Semaphore, Semaphore]:
        # Waiting requests hold threads, and other callers need threads too.
        return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

    @contextmanager
    def held(caller: str) -> Iterator[None]:
        with ExitStack() as taken:
            for share, patience in zip(shares_of(caller), (0, wait), strict=True):
                if not share.acquire(timeout=patience):
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                taken.callback(share.release)
            yield

    @lru_cache(10_000)  # A credential always belongs to the same caller. Unknown credentials are not cached.
    def name_of(key: bytes | None, session: bytes | None) -> str:
        g.is_looked_up = True
        with held(client_address()), database().connection() as conn:
            none = {"permissions": (), "project": None, "environment": None}
            caller = access.authenticate(conn, key=key, session=session, **none)
        g.is_looked_up = False
        if caller is None:
            raise LookupError
        return f"user:{caller['user_id']}" if caller["user_id"] else f"api-token:{caller['key_id']}"

    def place() -> AbstractContextManager[None]:
        if not has_request_context() or request.endpoint == "health.get_readiness" or g.get("is_looked_up"):
            return nullcontext()
        g.sharer, given = None, credentials(request)
        with suppress(LookupError):
            g.sharer = name_of(*given) if any(given) else None
        g.setdefault("caller", g.sharer)  # For the log, if the request is refused here.
        return held(g.sharer or client_address())

    app.extensions["database"].share = place
