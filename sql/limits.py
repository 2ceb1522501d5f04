"""Count the rows that settings limit, under a lock. Without the lock, two requests could both add the last row."""

from typing import LiteralString

from sql import locks
from sql.database import Connection, run, value

# Maximum size of one response, 64 MiB. While it is built and sent, memory contains its text several times.
PAGE_BYTES = 64 << 20

# The count for each setting. Archived flags count, because they keep their names. Archived projects do not count.
COUNTS: dict[str, LiteralString] = {
    "MAX_FLAGS": "SELECT count(*) FROM flags WHERE deleted_at IS NULL",
    "MAX_PROJECTS": "SELECT count(*) FROM projects WHERE archived_at IS NULL",
    "MAX_ENVIRONMENTS": "SELECT count(*) FROM environments",
    "MAX_SEGMENTS": "SELECT count(*) FROM segments",
    "MAX_API_TOKENS": "SELECT count(*) FROM api_keys",
}

LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.LIMIT}, {locks.of_text('%(setting)s::text')})"


def count(conn: Connection, setting: str) -> int:
    """Return the number of rows that a setting limits. Other transactions that count them wait for this one."""
    run(conn, LOCK, {"setting": setting})
    return value(conn, COUNTS[setting])
