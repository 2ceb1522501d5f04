"""Hash and compare passwords with bcrypt, two at a time in a process, in the same time for known and unknown names."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

import bcrypt
from flask import Flask, current_app

# bcrypt raises above 72 bytes.
MAX_BYTES = 72
# Our choice: known and unknown names take the same time. A comparison with this hash takes as long as with a real one.
DUMMY = b"abcdefghijklmnopqrstuu5Lh1wXxXqXxXqXxXqXxXqXxXqXxXqXx"
# The nice value of hashing threads. At 19, the lowest priority, logins would hardly finish on a busy machine.
NICENESS = 10

Result = TypeVar("Result")


class Busy(Exception):
    """Too many passwords are being hashed. One more would take the thread of another request."""


class Passwords:
    """Hashes and compares passwords.

    rounds: the cost of bcrypt. queue: the most passwords that are hashed or wait at a time.
    """

    def __init__(self, rounds: int, queue: int) -> None:
        self.rounds = rounds
        # The highest cost of a hash that was compared. Above rounds if the setting was lowered.
        self._highest_cost = rounds
        self._queue = threading.BoundedSemaphore(max(2, queue))
        self._hashing = threading.BoundedSemaphore(2)
        # The executor starts its threads at first use: threads do not survive a fork.
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
        """Return the bcrypt hash of a password of at most MAX_BYTES bytes. Raises Busy if the queue is full."""
        return self._in_turn(lambda: bcrypt.hashpw(password.encode(), bcrypt.gensalt(self.rounds))).decode()

    def matches(self, password: str, kept: str | None) -> bool:
        """Return whether the password matches the hash. None and too long passwords never match, in the same time."""
        given = password.encode()
        if kept is not None:
            self._highest_cost = max(self._highest_cost, cost_of(kept))
        # A comparison of cost n takes 2^n. With dummies of n to m-1 it takes 2^m, as an unknown name does.
        dummies = [self._highest_cost] if kept is None else range(cost_of(kept), self._highest_cost)

        def compare() -> bool:
            same = kept is not None and bcrypt.checkpw(given[:MAX_BYTES], kept.encode())
            for cost in () if same else dummies:
                bcrypt.checkpw(given[:MAX_BYTES], b"$2b$%02d$" % cost + DUMMY)
            return same

        return self._in_turn(compare) and len(given) <= MAX_BYTES

    def is_dated(self, kept: str) -> bool:
        """Return whether the hash has another cost than the setting."""
        return cost_of(kept) != self.rounds


def yield_to_others() -> None:
    """Lower the priority of this thread: a hash takes as long as hundreds of other requests."""
    # On other systems, the priority is that of the whole process.
    if sys.platform == "linux":
        # A sandbox may forbid it, such as systemd with SystemCallFilter=~@resources. Logins work all the same.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def cost_of(kept: str) -> int:
    """Return the cost in a hash."""
    return int(kept.split("$")[2])


def init_app(app: Flask) -> None:
    """Attach the hasher. Passwords take at most half of the threads, so that logins cannot starve other requests."""
    app.extensions["passwords"] = Passwords(app.config["BCRYPT_ROUNDS"], app.config["THREADS"] // 2)


def passwords() -> Passwords:
    """Return the hasher of the current app."""
    return current_app.extensions["passwords"]
