"""Totals of finished weeks of the event log (event_weeks in schema.sql).

The first request that needs the totals of a week computes and stores them.
"""

from contextlib import suppress
from typing import LiteralString

import psycopg

from sql.database import Connection, Params, one, run


def body(conn: Connection, statement: LiteralString, params: Params, *, prepare: bool | None = None) -> str | None:
    """Run a statement and return its column body, or None without a row. Add up weeks if its column is_due is true."""
    row = one(conn, statement, params, prepare=prepare)
    if row is None:
        return None
    if row["is_due"]:
        # If this fails, requests go on counting the events of these weeks.
        with suppress(psycopg.Error), conn.transaction():
            run(conn, "SELECT fill_event_weeks()")
    return row["body"]
