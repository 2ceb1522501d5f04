"""One caller holds at most half of a worker's database connections: a user, an API token, or the address of a stranger."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from threading import Lock, Semaphore
from weakref import WeakValueDictionary

from flask import Flask, g, has_request_context, request

from blueprints.access import credentials
from blueprints.client import client_address
from sql import access, database
from validators.errors import RateLimited


def init_app(app: Flask) -> None:
    """Make each request of this app take a place of its caller's share before it takes a database connection."""
    size, threads, longest_wait = (app.config[name] for name in ("DATABASE_POOL_SIZE", "THREADS", "WAIT_SECONDS"))
    lock, shares = Lock(), WeakValueDictionary[tuple[str, float], Semaphore]()

    @contextmanager
    def limited(caller: str, most: int, wait: float) -> Iterator[None]:
        with lock:
            places = shares.get((caller, wait)) or shares.setdefault((caller, wait), Semaphore(most))
        if not places.acquire(timeout=wait):
            raise RateLimited("Too many requests at the same time. Wait until some of yours are finished.", 1)
        try:
            yield
        finally:
            places.release()

    @contextmanager
    def held(caller: str) -> Iterator[None]:
        # Requests that wait hold threads, and other callers need some too.
        with limited(caller, max(size, threads // 2), 0), limited(caller, max(1, size // 2), longest_wait):
            yield

    @lru_cache(10_000)  # A credential always belongs to the same caller. Unknown ones are not kept.
    def name_of(key: bytes | None, session: bytes | None) -> str:
        with held(client_address()), database().connection() as conn:
            found = access.authenticate(conn, key=key, session=session, permissions=(), project=None, environment=None)
        if found is None:
            raise LookupError
        return f"user:{found['user_id']}" if found["user_id"] else f"api-key:{found['key_id']}"

    @contextmanager
    def share() -> Iterator[None]:
        with ExitStack() as place:
            # name_of() needs a connection too, and no other place for it.
            if has_request_context() and request.endpoint != "health.get_ready" and not g.get("has_place"):
                g.has_place, caller, given = True, client_address(), credentials(request)
                place.callback(g.pop, "has_place")
                if any(given):
                    with suppress(LookupError):
                        caller = g.caller = name_of(*given)
                place.enter_context(held(caller))
            yield

    app.extensions["database"].share = share
