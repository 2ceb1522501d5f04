"""The event log as lines of JSON, oldest first: in batches of a moment each, past no event that a transaction has yet to commit."""

import time
from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from typing import Any, LiteralString, cast

from psycopg.rows import DictRow

from sql import Connection, one, rows, timing, value
from sql.events import FILTERS, RECORD, VISIBLE

# What one statement looks at, and gives, at most. A word is looked for in so many payloads in about a second, without an index.
MOST_IDS = 65_536
MOST_LINES = 1000
# When so many bytes have come, the rest of a batch is left for the next one: an event can be large.
MOST_BYTES = 1 << 20
# How long a stream waits for a transaction that may hold an id of its way, and how often it looks, in seconds.
PATIENCE = 10.0
PAUSE = 0.05

BOUNDS = "SELECT min(id) AS oldest, max(id) AS newest FROM events WHERE id > %(after)s"

# Who writes events takes this lock before his first id, and lets go of it when what he wrote can be seen, or never will be.
WRITERS = """
    SELECT virtualtransaction AS writer
      FROM pg_locks
     WHERE locktype = 'relation'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND relation = 'events'::regclass
       AND mode = 'RowExclusiveLock'
       AND granted
       AND pid IS DISTINCT FROM pg_backend_pid()
"""

# The last id before the first that is missing. As long as no id of a range is missing, each is as far from its start as it has events
# before it.
UNBROKEN = """
    SELECT %(after)s + count(*) FILTER (WHERE id = place)
      FROM (SELECT id, %(after)s + row_number() OVER (ORDER BY id) AS place
              FROM events
             WHERE id > %(after)s
               AND id <= %(until)s) AS numbered
"""

# A range of ids, whatever matches in it: no filter makes a statement walk the whole log. A line break in JSON can only be white space.
BATCH: LiteralString = """
    SELECT id, translate(row_to_json(entry)::text, E'\\n\\r', '  ') AS line
      FROM (SELECT {record}
              FROM events
             WHERE id > %(after)s
               AND id <= %(until)s
               AND {conditions}
             ORDER BY id
             LIMIT %(most)s) AS entry
     ORDER BY id
"""


# Which psycopg does not promise, but needs itself: closing it early cancels the statement.
Rows = Generator[DictRow]


class Held(Exception):
    """A transaction that does not end may still write events that belong before others: the stream cannot go on."""


class Stream:
    """One reading of the log, from an id to the newest event that there is when it begins.

    after: every event up to here has been given, or does not match. lines: how many were given. is_over: there are no more. pause: how
    long to wait before the next read(), in seconds.
    """

    def __init__(self, filters: Mapping[str, Any], *, after: int = 0, limit: int | None = None) -> None:
        self.filters = filters
        self.after = after
        self.limit = limit
        self.lines = 0
        self.is_over = False
        self.pause = 0.0
        self.newest: int | None = None
        self._writers: set[str] = set()
        self._deadline: float | None = None

    def read(self, conn: Connection, visible: Collection[str] | None) -> bytes:
        """The next lines, often none; visible: as in event_search.search(). Held: see there. A statement or two, each for itself."""
        if self.newest is None:
            self.newest = self._begin(conn)
        until = self._certain(conn, min(self.after + MOST_IDS, self.newest))
        text = self._read_up_to(conn, until, visible) if until > self.after else b""
        self.is_over = self.after >= self.newest or self.lines == self.limit
        return text

    def _begin(self, conn: Connection) -> int:
        """The id of the newest event; of the last that was given, when there is none since."""
        bounds = one(conn, BOUNDS, {"after": self.after}) or {}
        # In this order: who holds an id below the newest is seen here, or has ended, and what he wrote is seen from now on.
        self._writers = writers(conn)
        if bounds["newest"] is None:
            return self.after
        if not self._writers:
            self.after = bounds["oldest"] - 1
        return bounds["newest"]

    def _certain(self, conn: Connection, until: int) -> int:
        """The last id up to which nothing is missing that a writer of the beginning may hold; Held when he holds it for too long."""
        self.pause = 0.0
        if not self._writers:
            return until
        unbroken = value(conn, UNBROKEN, {"after": self.after, "until": until})
        if unbroken == until:
            return until
        self._writers &= writers(conn)
        if not self._writers:
            return until
        if unbroken > self.after:
            self._deadline = None
            return unbroken
        if self._deadline is None:
            self._deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > self._deadline:
            raise Held
        self.pause = PAUSE
        return self.after

    def _read_up_to(self, conn: Connection, until: int, visible: Collection[str] | None) -> bytes:
        """Lines of events up to this id; after is the last of them, or until when there are no more."""
        most = MOST_LINES if self.limit is None else min(MOST_LINES, self.limit - self.lines)
        params = {**self.filters, "visible": None if visible is None else list(visible), "after": self.after, "until": until, "most": most}
        text, count = bytearray(), 0
        # Row by row: nobody holds more than these bytes. Never prepared: the range decides which index is best.
        asked = statement(self.filters, visible is None)
        with conn.cursor() as cursor, timing.of(asked), closing(cast(Rows, cursor.stream(asked, params))) as found:
            for row in found:
                text += row["line"].encode()
                text += b"\n"
                count += 1
                self.after = row["id"]
                if len(text) >= MOST_BYTES:
                    break
            else:
                if count < most:
                    self.after = until
        self.lines += count
        return bytes(text)


def statement(filters: Mapping[str, Any], sees_all: bool) -> LiteralString:
    """BATCH with the conditions that are asked for: constant fragments, chosen by key."""
    conditions: LiteralString = "true" if sees_all else VISIBLE
    for key, fragment in FILTERS.items():
        if key in filters:
            conditions += " AND " + fragment
    return BATCH.format(conditions=conditions, record=RECORD)


def writers(conn: Connection) -> set[str]:
    """The transactions of others that may be writing events now."""
    return {row["writer"] for row in rows(conn, WRITERS)}
