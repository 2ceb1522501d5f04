"""What is deleted of the event log once it is old: whole days in UTC, a batch a transaction."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import LiteralString

from sql import locks
from sql.database import Connection, one, run, value

# A fraction of a second.
MOST_AT_ONCE = 10_000

# By the clock of the database, which dates the events.
FIRST_KEPT_DAY = "SELECT (now() AT TIME ZONE 'UTC')::date - %(days)s::integer"

COUNT = "SELECT count(*) FROM events WHERE created_at < %(first_day)s::date::timestamp AT TIME ZONE 'UTC'"

FIRST_DAY = "SELECT (min(created_at) AT TIME ZONE 'UTC')::date FROM events"

# Two prunes take turns, batch by batch: they would wait for rows of each other, and one would find nothing to delete.
LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.EVENT_WEEKS})"

# From where the batch before ended: what it deleted still lies in the index, and is not to be passed again.
DELETE = """
    WITH old AS MATERIALIZED (
        SELECT id
          FROM events
         WHERE created_at < %(first_day)s::date::timestamp AT TIME ZONE 'UTC'
           AND (created_at, id) > (%(created_at)s::timestamptz, %(id)s::bigint)
         ORDER BY created_at, id
         LIMIT %(most)s
    ),
    gone AS (
        DELETE FROM events
         USING old
         WHERE events.id = old.id
     RETURNING events.created_at, events.id
    )
    SELECT count(*) OVER () AS number, created_at, id
      FROM gone
     ORDER BY created_at DESC, id DESC
     LIMIT 1
"""


@dataclass
class Prune:
    """One walk through what is older than a day: how far it has come, and how many events it has deleted."""

    first_day: date
    number: int = 0
    created_at: datetime | None = None
    id: int = 0

    def delete_some(self, conn: Connection) -> int:
        """How many events were deleted in the caller's transaction, oldest first; 0: there are no more."""
        run(conn, LOCK)
        place = {"created_at": self.created_at or "-infinity", "id": self.id}
        last = one(conn, DELETE, {"first_day": self.first_day, "most": MOST_AT_ONCE, **place})
        if last is None:
            return 0
        self.created_at, self.id = last["created_at"], last["id"]
        self.number += last["number"]
        return last["number"]


def first_kept_day(conn: Connection, days: int) -> date:
    """The first day of which nothing goes when events are kept for so many days: today (UTC) and as many whole days before it stay."""
    return value(conn, FIRST_KEPT_DAY, {"days": days})


def count(conn: Connection, first_day: date) -> int:
    """How many events are older than a day."""
    return value(conn, COUNT, {"first_day": first_day})


def first_day(conn: Connection) -> date | None:
    """The day (UTC) with which the log begins; None: it is empty."""
    return value(conn, FIRST_DAY)
