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
        # The first limits the requests of a caller, because waiting requests hold threads that other callers need. The
        # second limits the connections.
        return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

    @contextmanager
    def shares_held(caller: str) -> Iterator[None]:
        with ExitStack() as taken:
            for share, timeout in zip(shares_of(caller), (0, wait), strict=True):
                if not share.acquire(timeout=timeout):
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                taken.callback(share.release)
            yield

    @lru_cache(10_000)  # A credential always belongs to the same caller. Unknown credentials are not cached.
    def caller_of(key: bytes | None, session: bytes | None) -> str:
        g.is_authenticating = True
        with shares_held(client_address()), database().connection() as conn:
            none = {"permissions": (), "project": None, "environment": None}
            caller = access.authenticate(conn, key=key, session=session, **none)
        g.is_authenticating = False
        if caller is None:
            raise LookupError
        return f"user:{caller['user_id']}" if caller["user_id"] else f"api-token:{caller['key_id']}"

    def share_of_caller() -> AbstractContextManager[None]:
        if not has_request_context() or request.endpoint == "health.get_readiness" or g.get("is_authenticating"):
            return nullcontext()
        g.sharer, keys = None, credentials(request)
        with suppress(LookupError):
            g.sharer = caller_of(*keys) if any(keys) else None
        g.setdefault("caller", g.sharer)  # For the log, if the limit refuses the request.
        return shares_held(g.sharer or client_address())

    app.extensions["database"].share = share_of_caller
