"""Hash and compare passwords with bcrypt, at most two at a time in each process.

Comparisons take the same time for known and unknown names.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import TypeVar

import bcrypt
from flask import Flask, current_app
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from sql.people import past_passwords
from validators.people.users import refuse_own_name

# bcrypt raises above 72 bytes.
MAX_BYTES = 72
# Our choice: known and unknown names take the same time. A comparison with this salt and hash takes as long as with a
# real one.
DUMMY = b"abcdefghijklmnopqrstuu5Lh1wXxXqXxXqXxXqXxXqXxXqXxXqXx"
# What is added to the nice value of the service for threads that hash, for unknown and for known callers. At 19, the
# lowest priority, logins would hardly ever finish on a busy machine. During an attack, logins with the right password
# took 6 s at 10, 2.4 s at 5, and 1.7 s at 0.
NICENESS = {False: 10, True: 5}

Result = TypeVar("Result")


class Busy(Exception):
    """The queue of passwords is full. Another password would block a thread that other requests need."""


class PasswordHasher:
    """Hashes and compares passwords.

    rounds: the cost of bcrypt. queue: the maximum number of passwords that are being hashed or waiting, at least 2.
    is_known: False for a password of anybody, such as a login with a name that has not logged in from its network.
    """

    def __init__(self, rounds: int, queue: int) -> None:
        self.rounds = rounds
        # The highest cost of the hashes compared so far. It is above rounds if the setting was lowered.
        self._highest_cost = rounds
        # Our choice: unknown callers get one of two hashing threads and half of the queue. A hundred addresses with
        # invented names had kept everybody from logging in.
        self._queue, self._unknown_queue = (threading.BoundedSemaphore(max(2, queue) // part) for part in (1, 2))
        self._hashing, self._unknown_hashing = threading.BoundedSemaphore(2), threading.BoundedSemaphore(1)
        # The executors start their threads at first use: threads do not survive a fork.
        self._threads = {
            is_known: ThreadPoolExecutor(2, "passwords", initializer=lower_priority, initargs=(niceness,))
            for is_known, niceness in NICENESS.items()
        }

    @contextmanager
    def _slot(self, is_known: bool = True) -> Iterator[None]:
        with ExitStack() as held:
            for queue in (self._queue,) if is_known else (self._unknown_queue, self._queue):
                if not queue.acquire(blocking=False):
                    raise Busy("Too many passwords are being checked at this moment. Try again later.")
                held.callback(queue.release)
            with nullcontext() if is_known else self._unknown_hashing, self._hashing:
                yield

    def _run(self, work: Callable[[], Result], is_known: bool = True) -> Result:
        with self._slot(is_known):
            return self._threads[is_known].submit(work).result()

    def hash(self, password: str, is_known: bool = True) -> str:
        """Return the bcrypt hash of a password of at most MAX_BYTES bytes. Raises Busy if the queue is full."""
        hashed = self._run(lambda: bcrypt.hashpw(password.encode(), bcrypt.gensalt(self.rounds)), is_known)
        return hashed.decode()

    def matches(self, password: str, stored: str | None, is_known: bool = True) -> bool:
        """Return whether the password matches the stored hash. Raises Busy if the queue is full.

        stored None (an unknown name) and passwords of more than MAX_BYTES bytes never match. They take the same time.
        """
        given = password.encode()
        if stored is not None:
            self._highest_cost = max(self._highest_cost, cost_of(stored))
        # A comparison of cost n takes 2^n units of time. An unknown name takes 2^m units, where m is the highest cost.
        # After a wrong password, dummies of the costs n to m-1 add the difference.
        dummies = [self._highest_cost] if stored is None else range(cost_of(stored), self._highest_cost)

        def compare() -> bool:
            same = stored is not None and bcrypt.checkpw(given[:MAX_BYTES], stored.encode())
            for cost in () if same else dummies:
                bcrypt.checkpw(given[:MAX_BYTES], b"$2b$%02d$" % cost + DUMMY)
            return same

        return self._run(compare, is_known) and len(given) <= MAX_BYTES

    def needs_rehash(self, stored: str) -> bool:
        """Return whether the hash has another cost than the setting."""
        return cost_of(stored) != self.rounds


def lower_priority(niceness: int) -> None:
    """Let other threads run before this one: a hash takes as long as hundreds of other requests."""
    # Only Linux has priorities of single threads.
    if sys.platform == "linux":
        # A sandbox may forbid this, such as systemd with SystemCallFilter=~@resources. Logins work without it.
        with suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)


def refuse_reused_password(user: DictRow, password: str) -> None:
    """Raise 400 if the password is a name of the user, or one of their last passwords. user: from find()."""
    refuse_own_name(password, user)
    if any(password_hasher().matches(password, old_hash) for old_hash in user["last_hashes"]):
        raise BadRequest(f"password: must not be one of your last {past_passwords.REMEMBERED} passwords")


def cost_of(stored: str) -> int:
    """Return the cost of a bcrypt hash."""
    return int(stored.split("$")[2])


def init_app(app: Flask) -> None:
    """Attach the hasher. Passwords take at most half of the threads, so that logins cannot starve other requests."""
    app.extensions["passwords"] = PasswordHasher(app.config["BCRYPT_ROUNDS"], app.config["THREADS"] // 2)


def password_hasher() -> PasswordHasher:
    """Return the hasher of the current app."""
    return current_app.extensions["passwords"]
