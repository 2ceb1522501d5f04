"""Totals of finished weeks of the event log (event_weeks in schema.sql). The first request that finds some missing adds them up."""

from contextlib import suppress
from typing import LiteralString

import psycopg

from sql.database import Connection, Params, one, run


def body(conn: Connection, statement: LiteralString, params: Params, *, prepare: bool | None = None) -> str | None:
    """Return the column `body` of a statement's row, or None without a row. Add up finished weeks if its column `is_due` is true."""
    found = one(conn, statement, params, prepare=prepare)
    if found is None:
        return None
    if found["is_due"]:
        # If it fails, requests go on counting.
        with suppress(psycopg.Error), conn.transaction():
            run(conn, "SELECT fill_event_weeks()")
    return found["body"]
