"""How passwords are kept: bcrypt, at most two at a time in a process, and the same work whether there is something to compare or not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import bcrypt
from flask import Flask, current_app

# bcrypt looks at no more, and raises above it.
MAX_BYTES = 72
# Our choice: known and unknown names cost the same time.
# Any well-formed hash takes as long to compare as a real one of its cost.
DUMMY = b"abcdefghijklmnopqrstuu5Lh1wXxXqXxXqXxXqXxXqXxXqXxXqXx"


class Busy(Exception):
    """So many passwords are being hashed that one more would keep other requests from being served."""


class Passwords:
    """Hashes and compares passwords. rounds: the cost of bcrypt; queue: how many may be hashed or wait for it at once."""

    def __init__(self, rounds: int, queue: int) -> None:
        self.rounds = rounds
        self._queue = threading.BoundedSemaphore(max(2, queue))
        self._hashing = threading.BoundedSemaphore(2)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._queue.acquire(blocking=False):
            raise Busy
        try:
            with self._hashing:
                yield
        finally:
            self._queue.release()

    def hash(self, password: str) -> str:
        """The bcrypt hash of a password of at most MAX_BYTES bytes. Busy when too many wait already."""
        with self._turn():
            return bcrypt.hashpw(password.encode(), bcrypt.gensalt(self.rounds)).decode()

    def matches(self, password: str, kept: str | None) -> bool:
        """Whether this is the password that was kept; None and too long a password cost the same time, and never match."""
        given = password.encode()
        # A wrong password for a hash of a lower cost n costs 2^n; with dummies of n to m-1 that makes 2^m, as for an unknown name.
        dummies = [self.rounds] if kept is None else range(cost_of(kept), self.rounds)
        with self._turn():
            same = kept is not None and bcrypt.checkpw(given[:MAX_BYTES], kept.encode())
            for cost in () if same else dummies:
                bcrypt.checkpw(given[:MAX_BYTES], b"$2b$%02d$" % cost + DUMMY)
        return same and len(given) <= MAX_BYTES

    def is_dated(self, kept: str) -> bool:
        """Whether a hash was made at another cost than today's."""
        return cost_of(kept) != self.rounds


def cost_of(kept: str) -> int:
    """The cost at which a hash was made."""
    return int(kept.split("$")[2])


def init_app(app: Flask) -> None:
    """Attach what app.config asks for. At most half of the threads may be busy with passwords, so that logins cannot starve the rest."""
    app.extensions["passwords"] = Passwords(app.config["BCRYPT_ROUNDS"], app.config["THREADS"] // 2)


def passwords() -> Passwords:
    """The hasher of the current app."""
    return current_app.extensions["passwords"]
