"""Totals of finished weeks of the event log (schema.sql, event_weeks), added up by the first request that finds them missing."""

from contextlib import suppress
from typing import LiteralString

import psycopg

from sql import Connection, Params, one, run


def body(conn: Connection, statement: LiteralString, params: Params, *, prepare: bool | None = None) -> str | None:
    """Return the body that a statement gives, if it gives a row. Its column is_due says whether finished weeks are to be added up."""
    found = one(conn, statement, params, prepare=prepare)
    if found is None:
        return None
    if found["is_due"]:
        # Where it is not possible now, all requests go on counting.
        with suppress(psycopg.Error), conn.transaction():
            run(conn, "SELECT fill_event_weeks()")
    return found["body"]
