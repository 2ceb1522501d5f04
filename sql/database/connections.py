"""Connections that are closed if the database does not respond in time.

Written for psycopg 3.3 (bounded in setup.cfg). All that we override of it is here, and not documented:
Connection.wait() and errors._WaitTimeout. A timeout of psycopg for the response to a statement would replace both.
"""

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import psycopg
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.rows import DictRow

Connection = psycopg.Connection[DictRow]
Result = TypeVar("Result")


class Responsive(Protocol):
    """A database with a deadline in seconds, and when it last responded (a time of time.monotonic())."""

    deadline: float
    answered_at: float


class DatabaseUnavailable(psycopg.OperationalError):
    """A connection cannot be opened, or the database does not respond."""


class DeadlineConnection(psycopg.Connection[DictRow]):
    """A connection that is closed if the server does not respond before the deadline.

    PostgreSQL cancels long statements itself, but not while it is frozen. TCP timeouts do not help then, because the
    kernel still acknowledges packets.
    """

    database: Responsive
    # Seconds to wait for a response, instead of the deadline of the database.
    deadline: float | None = None

    def wait(self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None) -> Result:
        """Wait for a response to a statement, commit or rollback. timeout: seconds, instead of the deadline."""
        if timeout is None:
            timeout = self.database.deadline if self.deadline is None else self.deadline
        try:
            result = super().wait(gen, interval, timeout)
        except psycopg.errors._WaitTimeout:  # pyright: ignore[reportPrivateUsage]
            self.close()
            raise DatabaseUnavailable("The database did not respond in time.") from None
        self.database.answered_at = time.monotonic()
        return result


def send(conn: Connection, command: bytes, timeout: float | None = None) -> None:
    """Run a command through libpq. psycopg does not see it, so it keeps its prepared statements."""
    conn.pgconn.send_query(command)
    conn.wait(generators.execute(conn.pgconn), timeout=timeout)


@contextmanager
def deadline(conn: Connection, seconds: float) -> Iterator[None]:
    """Wait only this long for the response to each statement of the block, if the connection is of a pool."""
    if not isinstance(conn, DeadlineConnection):
        yield
        return
    conn.deadline = seconds
    try:
        yield
    finally:
        conn.deadline = None


def discard_if_closed(conn: Connection) -> None:
    """Close an idle connection if its socket is readable, because the server has disconnected."""
    # select() does not work with descriptors above 1023.
    poll = select.poll()
    poll.register(conn.fileno(), select.POLLIN)
    if poll.poll(0):
        conn.close()
