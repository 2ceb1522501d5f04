"""How passwords are kept: bcrypt, at most two at a time in a process, and the same work whether there is something to compare or not."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

import bcrypt
from flask import Flask, current_app

# bcrypt looks at no more, and raises above it.
MAX_BYTES = 72
# Our choice: known and unknown names cost the same time.
# Any well-formed hash takes as long to compare as a real one of its cost.
DUMMY = b"abcdefghijklmnopqrstuu5Lh1wXxXqXxXqXxXqXxXqXxXqXxXqXx"
# Of a thread that hashes. At the lowest priority, 19, logins would hardly end on a busy machine.
NICENESS = 10

Result = TypeVar("Result")


class Busy(Exception):
    """No password can be hashed now: one more would keep other requests from being served."""


class Passwords:
    """Hashes and compares passwords. rounds: the cost of bcrypt; queue: how many may be hashed or wait for it at once."""

    def __init__(self, rounds: int, queue: int) -> None:
        self.rounds = rounds
        # Of the hashes that were compared here: more than rounds where that was lowered since.
        self._highest_cost = rounds
        self._queue = threading.BoundedSemaphore(max(2, queue))
        self._hashing = threading.BoundedSemaphore(2)
        # They start at first use: threads do not cross a fork.
        self._threads = ThreadPoolExecutor(2, "passwords", initializer=yield_to_others)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._queue.acquire(blocking=False):
            raise Busy("Too many passwords are being checked at this moment.")
        try:
            with self._hashing:
                yield
        finally:
            self._queue.release()

    def _in_turn(self, work: Callable[[], Result]) -> Result:
        with self._turn():
            return self._threads.submit(work).result()

    def hash(self, password: str) -> str:
        """The bcrypt hash of a password of at most MAX_BYTES bytes. Busy when too many wait already."""
        return self._in_turn(lambda: bcrypt.hashpw(password.encode(), bcrypt.gensalt(self.rounds))).decode()

    def matches(self, password: str, kept: str | None) -> bool:
        """Whether this is the password that was kept; None and too long a password cost the same time, and never match."""
        given = password.encode()
        if kept is not None:
            self._highest_cost = max(self._highest_cost, cost_of(kept))
        # A wrong password for a hash of a lower cost n costs 2^n; with dummies of n to m-1 that makes 2^m, as for an unknown name.
        dummies = [self._highest_cost] if kept is None else range(cost_of(kept), self._highest_cost)

        def compare() -> bool:
            same = kept is not None and bcrypt.checkpw(given[:MAX_BYTES], kept.encode())
            for cost in () if same else dummies:
                bcrypt.checkpw(given[:MAX_BYTES], b"$2b$%02d$" % cost + DUMMY)
            return same

        return self._in_turn(compare) and len(given) <= MAX_BYTES

    def is_dated(self, kept: str) -> bool:
        """Whether a hash was made at another cost than today's."""
        return cost_of(kept) != self.rounds


def yield_to_others() -> None:
    """Let other threads go before this one: a hash takes as long as hundreds of other requests."""
    # Elsewhere a priority is that of the whole process.
    if sys.platform == "linux":
        # Where a sandbox forbids it, as systemd's SystemCallFilter=~@resources does, people still log in.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def cost_of(kept: str) -> int:
    """The cost at which a hash was made."""
    return int(kept.split("$")[2])


def init_app(app: Flask) -> None:
    """Attach what app.config asks for. At most half of the threads may be busy with passwords, so that logins cannot starve the rest."""
    app.extensions["passwords"] = Passwords(app.config["BCRYPT_ROUNDS"], app.config["THREADS"] // 2)


def passwords() -> Passwords:
    """The hasher of the current app."""
    return current_app.extensions["passwords"]
