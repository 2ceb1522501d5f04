"""Start requests at the same moment, or hold them at a lock, and count their statuses."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection
from tests.support.lock_waiters import lock_waiters
from tests.support.world import refused

Call = Callable[[], TestResponse]


def at_once(*calls: Call) -> list[TestResponse]:
    """Make calls that begin at the same moment, and return their responses, in their order."""
    start = Barrier(len(calls))

    def run(call: Call) -> TestResponse:
        start.wait(10)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def at_the_gate(conn: Connection, gate: Connection, statement: str, *calls: Call) -> list[TestResponse]:
    """Make calls that all wait for a lock, release it, and return their responses. The statement takes the lock."""
    with ThreadPoolExecutor(len(calls)) as threads:
        with gate.transaction():
            gate.execute(statement)
            futures = [threads.submit(call) for call in calls]
            wait_for(conn, futures)
        return [future.result() for future in futures]


def wait_for(conn: Connection, futures: list[Future]) -> None:
    """Return when each call waits for a lock or has its response."""
    deadline = time.monotonic() + 20
    while len(lock_waiters(conn)) + sum(future.done() for future in futures) < len(futures):
        assert time.monotonic() < deadline
        conn.execute("SELECT pg_sleep(0.005)")


@contextmanager
def while_hashing(app: Flask, conn: Connection, call: Call) -> Iterator[Future[TestResponse]]:
    """Yield the future response of a call that waits to hash its password. The hash is computed after the block."""
    hasher = app.extensions["passwords"]
    free = hasher._queue._value
    with ThreadPoolExecutor(1) as thread, hasher._slot(), hasher._slot():
        future = thread.submit(call)
        deadline = time.monotonic() + 20
        while hasher._queue._value > free - 3:
            assert time.monotonic() < deadline
            conn.execute("SELECT pg_sleep(0.005)")
        yield future


def statuses(answers: list[TestResponse]) -> Counter:
    """Return the number of responses by status. Assert that all refusals have the error body."""
    for answer in answers:
        if answer.status_code >= 400:
            refused(answer, answer.status_code, answer.json["name"])
    return Counter(answer.status_code for answer in answers)
