"""How many there are of what is limited, counted under a lock: two requests at once cannot both take the last place."""

from typing import LiteralString

from sql.database import Connection, run, value

# The most that the contents of one response may take. The text of it is there several times while it is built and sent.
PAGE_BYTES = 64 << 20

# By setting. Archived flags hold their names, so they count; archived projects do not.
COUNTS: dict[str, LiteralString] = {
    "MAX_FLAGS": "SELECT count(*) FROM flags WHERE deleted_at IS NULL",
    "MAX_PROJECTS": "SELECT count(*) FROM projects WHERE archived_at IS NULL",
    "MAX_ENVIRONMENTS": "SELECT count(*) FROM environments",
    "MAX_SEGMENTS": "SELECT count(*) FROM segments",
    "MAX_API_TOKENS": "SELECT count(*) FROM api_keys",
}

HOLD = "SELECT pg_advisory_xact_lock(hashtext('limit'), hashtext(%(setting)s))"


def count(conn: Connection, setting: str) -> int:
    """How many there are of what this setting limits. Until the transaction ends, nobody else who counts them goes on."""
    run(conn, HOLD, {"setting": setting})
    return value(conn, COUNTS[setting])
