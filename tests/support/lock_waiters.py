"""Sessions that wait for a lock."""

from typing import Any

import psycopg
from psycopg.rows import tuple_row


def lock_waiters(conn: psycopg.Connection[Any]) -> list[int]:
    """Return the PIDs of the client sessions of this database that wait for a lock.

    Autovacuum workers are left out, and so are other databases: other tests can use them at the same time.
    """
    # In a transaction, pg_stat_activity has no session that connected after the first look.
    conn.execute("SELECT pg_stat_clear_snapshot()")
    found = conn.cursor(row_factory=tuple_row).execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'"
    )
    return [pid for (pid,) in found]
