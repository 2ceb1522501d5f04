"""The time of the database."""

from datetime import datetime

from sql.database import Connection, value

NOW = "SELECT clock_timestamp()"


def now(conn: Connection) -> datetime:
    """Return the time of the database."""
    return value(conn, NOW)
