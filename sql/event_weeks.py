"""Totals of finished weeks of the event log (event_weeks in schema.sql).

The first request that needs the totals of a week computes and stores them.
"""

import time
from contextlib import suppress
from typing import LiteralString
from weakref import WeakKeyDictionary

import psycopg

from sql.database import Connection, Params, run, value
from sql.database.connections import DeadlineConnection, Responsive

# Seconds in which a process does not check again whether a week has ended. The check takes longer than a short search.
CHECK_PAUSE = 60.0
# When a process found last that no week is due, by database. Times of time.monotonic().
checked_at: WeakKeyDictionary[Responsive, float] = WeakKeyDictionary()


def body(conn: Connection, statement: LiteralString, params: Params, *, prepare: bool | None = None) -> str | None:
    """Run a statement and return its column body, or None without a row. Then add up weeks, if some have ended."""
    text = value(conn, statement, params, prepare=prepare)
    database = conn.database if isinstance(conn, DeadlineConnection) else None
    if database is None or time.monotonic() > checked_at.get(database, float("-inf")) + CHECK_PAUSE:
        if value(conn, "SELECT event_weeks_are_due()"):
            # If this fails, requests go on counting the events of these weeks.
            with suppress(psycopg.Error), conn.transaction():
                run(conn, "SELECT fill_event_weeks()")
        elif database is not None:
            checked_at[database] = time.monotonic()
    return text
