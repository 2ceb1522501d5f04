"""What the company did, collected to be written in one go, in the order in which it happened."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from commands.demo_company.cast import Person
from sql import Connection, events
from sql.bootstrap import System

SYSTEM = System()
BATCH = 2000


class Log:
    """Events of all kinds, in any order."""

    def __init__(self) -> None:
        self._rows: list[tuple[Person | System, dict[str, Any]]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, at: datetime, type: str, author: Person | System, **about: Any) -> None:
        """Note an event, with the words of events.row(); who did something was seen on that day."""
        self._rows.append((author, events.row(type, author, created_at=at, **about)))
        if isinstance(author, Person):
            author.seen.add(at.date())

    def write(self, conn: Connection) -> Iterator[int]:
        """Write all, oldest first; yields how many were written, batch by batch."""
        # Some did their first deeds before they were users here: a user needs a role, and a role an environment.
        in_order = sorted(self._rows, key=lambda pair: pair[1]["created_at"])
        rows = [row | {"created_by_user_id": author.user_id} for author, row in in_order]
        for first in range(0, len(rows), BATCH):
            batch = rows[first : first + BATCH]
            events.record_many(conn, batch)
            yield len(batch)
