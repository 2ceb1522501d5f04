"""The event log as lines of JSON, oldest first: read in batches, from after an id up to the newest event at the beginning."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from typing import Any, LiteralString, cast

from psycopg.rows import DictRow

from sql.database import Connection, one, timing, value
from sql.events import FILTERS, READABLE, RECORD, VISIBLE, Visible

# Ids that one statement looks at, and lines that it returns, at most. Without an index, a word is searched in so many payloads in a second.
MOST_IDS = 65_536
MOST_LINES = 1000
# A batch ends at the line that reaches this size: an event can be large.
MOST_BYTES = 1 << 20
# Seconds between two looks at the running transactions.
PAUSE = 0.05

# An event gets its id before its transaction commits, so it can appear after one with a higher id. Every transaction with an id below the
# newest one that can be seen has a transaction id already (see INSERT in sql/events.py), which is lower than the next one of the server.
# pg_snapshot_xmax() is not the next one: it follows the last transaction that has ended. age() says how many were assigned since.
NEWEST = """
    SELECT (SELECT max(id) FROM events) AS newest,
           pg_snapshot_xmax(now)::text::bigint + age(pg_snapshot_xmax(now)::xid) AS next_transaction
      FROM pg_current_snapshot() AS now
"""
HAVE_ENDED = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= %(next_transaction)s"

# A range of ids, however few events match in it: no filter makes one statement read the whole log. A line break in JSON is white space.
BATCH: LiteralString = """
    SELECT id, translate(({record})::text, E'\\n\\r', '  ') AS line
      FROM (SELECT *
              FROM events
             WHERE id > %(after)s
               AND id <= %(until)s
               AND {conditions}
             ORDER BY id
             LIMIT %(most)s) AS batch
     ORDER BY id
"""

# psycopg does not promise a generator, but returns one: closing it early cancels the statement.
Rows = Generator[DictRow]


class OpenTransaction(Exception):
    """A transaction has not ended in time that may commit events with lower ids than the newest one."""

    def __init__(self) -> None:
        super().__init__(
            "An open transaction on the PostgreSQL server may still write events with lower ids than the newest one. "
            "Try again when it has ended."
        )


def newest(connect: Callable[[], AbstractContextManager[Connection]], after: int, patience: float) -> int:
    """Return the id of the newest event, as soon as no transaction can commit an event with a lower id any more.

    Return `after` at once if there is no event after it. connect: lends a connection for each look at the transactions, so that none is
    held while others run. Raises OpenTransaction if one of them takes longer than so many seconds.
    """
    deadline = time.monotonic() + patience
    with connect() as conn:
        found = one(conn, NEWEST) or {}
    if (found["newest"] or 0) <= after:
        return after
    while True:
        with connect() as conn:
            if value(conn, HAVE_ENDED, found):
                return found["newest"]
        if time.monotonic() >= deadline:
            raise OpenTransaction
        time.sleep(PAUSE)


class Stream:
    """The events with an id above `after`, up to `until` (see newest()), and `limit` lines at most.

    after: moves on; each event up to here has been returned or does not match. lines: how many were returned.
    """

    def __init__(self, filters: Mapping[str, Any], *, after: int, until: int, limit: int | None = None) -> None:
        self.filters = filters
        self.after = after
        self.until = until
        self.limit = limit
        self.lines = 0

    @property
    def is_over(self) -> bool:
        """Whether there are no more lines."""
        return self.after >= self.until or self.lines == self.limit

    def read(self, conn: Connection, visible: Visible | None) -> bytes:
        """Return the next lines, often none. visible: as in event_search.search()."""
        until = min(self.after + MOST_IDS, self.until)
        most = MOST_LINES if self.limit is None else min(MOST_LINES, self.limit - self.lines)
        params = {**self.filters, "after": self.after, "until": until, "most": most}
        if visible is not None:
            params |= {"visible": list(visible.projects), "readable": list(visible.access)}
        text, count = bytearray(), 0
        # Row by row, so that neither side holds more than a batch. Never prepared: the range decides which index is best.
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
    """Return BATCH with the conditions of these filters: constant fragments, chosen by key."""
    conditions: LiteralString = "true" if sees_all else VISIBLE + " AND " + READABLE
    for key, fragment in FILTERS.items():
        if key in filters:
            conditions += " AND " + fragment
    return BATCH.format(conditions=conditions, record=RECORD)
