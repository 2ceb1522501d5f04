"""Opens pools, and measures how long they wait."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest

from sql.database import connect_options, value
from sql.database.connections import DatabaseUnavailable
from sql.database.pool import Database

# What a busy machine may add, in seconds.
MARGIN = 2.0


@contextmanager
def opened(
    url: str,
    size: int = 1,
    *,
    wait: float = 5,
    deadline: float = 30,
    revive: Callable[[], None] | None = None,
    **more: Any,
) -> Iterator[Database]:
    """A database as a process has it."""
    database = Database(
        url, size, "none", lambda: connect_options(url) | more, wait=wait, deadline=deadline, revive=revive
    )
    try:
        yield database
    finally:
        database.close()


def ask(database: Database) -> Any:
    """Return 1, from the database."""
    with database.connection() as conn:
        return value(conn, "SELECT 1")


def is_answered(database: Database) -> bool:
    """Whether the database answers."""
    with suppress(psycopg.OperationalError):
        return ask(database) == 1
    return False


def seconds_until_refused(act: Callable[[], object]) -> float:
    """How long it takes until the database counts as unavailable."""
    began = time.monotonic()
    with pytest.raises(DatabaseUnavailable):
        act()
    return time.monotonic() - began
