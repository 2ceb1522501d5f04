"""The key with which this instance signs cookies. Its first start creates it."""

from sql.database import Connection, value

GET = "SELECT key FROM instance_key"


def get(conn: Connection) -> bytes:
    """Return the key."""
    return value(conn, GET)
