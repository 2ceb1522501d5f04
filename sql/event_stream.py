"""Read the event log in batches as lines of JSON, oldest first, up to the newest event at the beginning."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from typing import Any, LiteralString, cast

from psycopg.rows import DictRow

from sql.database import Connection, one, timing, value
from sql.events import FILTERS, READABLE, RECORD, VISIBLE, VisibleEvents

# The maximum number of ids and of lines that one statement reads. Without an index, a text search reads the payloads of
# MAX_IDS events in about a second.
MAX_IDS = 65_536
MAX_LINES = 1000
# A batch ends with the line with which it reaches this many bytes, because events can be large.
MAX_BYTES = 1 << 20
# Seconds between two checks of the running transactions.
PAUSE = 0.05

# An event gets its id before its transaction commits, so it can appear after an event with a higher id. But its
# transaction gets a transaction id first (see INSERT in sql/events.py). So each open transaction with an event id below
# the newest visible one has a transaction id below the next one that the server will assign. pg_snapshot_xmax() is
# older: it follows the last transaction that has ended. age() returns how many ids were assigned since then.
NEWEST = """
    SELECT (SELECT max(id) FROM events) AS newest,
           pg_snapshot_xmax(now)::text::bigint + age(pg_snapshot_xmax(now)::xid) AS next_transaction
      FROM pg_current_snapshot() AS now
"""
HAVE_ENDED = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= %(next_transaction)s"

# psycopg returns a generator, although it does not declare one. Closing it early cancels the statement.
Rows = Generator[DictRow]


class OpenTransaction(Exception):
    """An open transaction can still commit events with lower ids than the newest event."""

    def __init__(self) -> None:
        super().__init__(
            "An open transaction in PostgreSQL can still write events with lower ids than the newest event. "
            "Try again after it has ended."
        )


def newest(connect: Callable[[], AbstractContextManager[Connection]], after: int, patience: float) -> int:
    """Wait until no transaction can commit an event with a lower id than the newest event, and return that id.

    Returns `after` at once if no event has a higher id. connect: lends a connection for each check, so that none is
    occupied during the wait. Raises OpenTransaction after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    with connect() as conn:
        snapshot = one(conn, NEWEST) or {}
    if (snapshot["newest"] or 0) <= after:
        return after
    while True:
        with connect() as conn:
            if value(conn, HAVE_ENDED, snapshot):
                return snapshot["newest"]
        if time.monotonic() >= deadline:
            raise OpenTransaction
        time.sleep(PAUSE)


class Stream:
    """The events with ids above `after`, up to `until` (see newest()), with at most `limit` lines.

    after: all events up to this id were returned or do not match. lines: the number of returned lines.
    """

    def __init__(self, filters: Mapping[str, Any], *, after: int, until: int, limit: int | None = None) -> None:
        self.filters = filters
        self.after = after
        self.until = until
        self.limit = limit
        self.lines = 0

    @property
    def is_over(self) -> bool:
        """Return whether there are no more lines."""
        return self.after >= self.until or self.lines == self.limit

    def read(self, conn: Connection, visible: VisibleEvents | None) -> bytes:
        """Return the next lines, which can be none before the end. visible: as in event_search.search()."""
        until = min(self.after + MAX_IDS, self.until)
        max_lines = MAX_LINES if self.limit is None else min(MAX_LINES, self.limit - self.lines)
        seen = {"visible": visible and list(visible.projects), "readable": visible and list(visible.access)}
        params = {**self.filters, **seen, "after": self.after, "until": until, "max_lines": max_lines}
        text, count = bytearray(), 0
        # Read row by row, so that memory never contains more than a batch. The statement is not prepared, because the
        # best index depends on the range.
        query = statement(self.filters, visible is None)
        with conn.cursor() as cursor, timing.of(query), closing(cast(Rows, cursor.stream(query, params))) as rows:
            for row in rows:
                text += row["line"].encode()
                text += b"\n"
                count += 1
                self.after = row["id"]
                if len(text) >= MAX_BYTES:
                    break
            else:
                if count < max_lines:
                    self.after = until
        self.lines += count
        return bytes(text)


def statement(filters: Mapping[str, Any], sees_all: bool) -> LiteralString:
    """Return the statement of a batch, with the conditions of these filters: constant fragments, chosen by key."""
    conditions: LiteralString = "true" if sees_all else f"{VISIBLE} AND {READABLE}"
    for key, fragment in FILTERS.items():
        if key in filters:
            conditions = f"{conditions} AND {fragment}"
    # Limited to a range of ids, so that no filter makes one statement read the whole log. Line breaks in JSON are white
    # space.
    return f"""
        SELECT id, translate(({RECORD})::text, E'\\n\\r', '  ') AS line
          FROM (SELECT *
                  FROM events
                 WHERE id > %(after)s
                   AND id <= %(until)s
                   AND {conditions}
                 ORDER BY id
                 LIMIT %(max_lines)s) AS batch
         ORDER BY id
    """
