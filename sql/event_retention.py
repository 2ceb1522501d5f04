"""Delete old events: whole days in UTC, in batches with one transaction each."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import LiteralString

from sql import locks
from sql.database import Connection, one, run, value

# The number of events that one batch deletes, in a fraction of a second.
BATCH_SIZE = 10_000

# The clock of the database, because it dates the events too.
FIRST_KEPT_DAY = "SELECT (now() AT TIME ZONE 'UTC')::date - %(days)s::integer"

COUNT = "SELECT count(*) FROM events WHERE created_at < %(first_day)s::date::timestamp AT TIME ZONE 'UTC'"

FIRST_DAY = "SELECT (min(created_at) AT TIME ZONE 'UTC')::date FROM events"

# Two prune commands take turns, batch by batch. Otherwise they would wait for each other's rows.
LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.EVENT_WEEKS})"

# Each batch starts where the last one ended, because the index contains the deleted rows until a VACUUM.
DELETE = """
    WITH old AS MATERIALIZED (
        SELECT id
          FROM events
         WHERE created_at < %(first_day)s::date::timestamp AT TIME ZONE 'UTC'
           AND (created_at, id) > (%(created_at)s::timestamptz, %(id)s::bigint)
         ORDER BY created_at, id
         LIMIT %(batch_size)s
    ),
    removed AS (
        DELETE FROM events
         USING old
         WHERE events.id = old.id
     RETURNING events.created_at, events.id
    )
    SELECT count(*) OVER () AS number, created_at, id
      FROM removed
     ORDER BY created_at DESC, id DESC
     LIMIT 1
"""


@dataclass
class Prune:
    """The state of a prune: the position of the last batch, and the number of deleted events."""

    first_day: date
    number: int = 0
    created_at: datetime | None = None
    id: int = 0

    def delete_some(self, conn: Connection) -> int:
        """Delete a batch in the caller's transaction, oldest first. Return its size, 0 at the end."""
        run(conn, LOCK)
        position = {"created_at": self.created_at or "-infinity", "id": self.id}
        last = one(conn, DELETE, {"first_day": self.first_day, "batch_size": BATCH_SIZE, **position})
        if last is None:
            return 0
        self.created_at, self.id = last["created_at"], last["id"]
        self.number += last["number"]
        return last["number"]


def first_kept_day(conn: Connection, days: int) -> date:
    """Return the first day (UTC) that is kept: today minus the number of days."""
    return value(conn, FIRST_KEPT_DAY, {"days": days})


def count(conn: Connection, first_day: date) -> int:
    """Return the number of events before the day."""
    return value(conn, COUNT, {"first_day": first_day})


def first_day(conn: Connection) -> date | None:
    """Return the day (UTC) of the first event, or None if the log is empty."""
    return value(conn, FIRST_DAY)
