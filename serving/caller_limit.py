"""One caller holds at most half of a worker's database connections: a user, an API token, or the address of a stranger."""

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
    """Make each request of this app take a place of its caller's share before it takes a database connection."""
    size, threads, wait = (app.config[name] for name in ("DATABASE_POOL_SIZE", "THREADS", "WAIT_SECONDS"))

    @lru_cache(10_000)
    def shares_of(_caller: str) -> tuple[Semaphore, Semaphore]:
        # Requests that wait hold threads, and other callers need some too.
        return Semaphore(max(size, threads // 2)), Semaphore(max(1, size // 2))

    @contextmanager
    def held(caller: str) -> Iterator[None]:
        with ExitStack() as taken:
            for share, patience in zip(shares_of(caller), (0, wait), strict=True):
                if not share.acquire(timeout=patience):
                    raise RateLimited("You have too many requests at the same time. Wait until some of them finish.", 1)
                taken.callback(share.release)
            yield

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
        if not has_request_context() or request.endpoint == "health.get_readiness" or g.get("is_looked_up"):
            return nullcontext()
        g.sharer, given = None, credentials(request)
        with suppress(LookupError):
            g.sharer = name_of(*given) if any(given) else None
        g.setdefault("caller", g.sharer)  # A refusal is logged with it.
        return held(g.sharer or client_address())

    app.extensions["database"].share = place
