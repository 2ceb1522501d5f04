"""A log of events at known instants, and the answers of GET /api/admin/search/events."""

from datetime import UTC, datetime
from typing import Any

from werkzeug.test import TestResponse

from rules.access import SYSTEM, Actor
from sql.database import Connection, value
from tests.support import fixtures

PATH = "/api/admin/search/events"
NOON = datetime(2024, 5, 31, 12, tzinfo=UTC)


class Log:
    """The event log of a test, empty at first."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        conn.execute("DELETE FROM events")

    def add(
        self, type: str = "feature-created", *, by: Actor = SYSTEM, at: datetime | None = None, **fields: Any
    ) -> int:
        """Write one event, created at this instant; its id."""
        fixtures.record(self.conn, type, by, created_at=at, **fields)
        return value(self.conn, "SELECT max(id) FROM events")


def found(response: TestResponse) -> list[int]:
    """The ids that a search found; all of them, because the total says the same number."""
    ids, total = page(response)
    assert total == len(ids)
    return ids


def page(response: TestResponse) -> tuple[list[int], int]:
    """The ids and the total of a search that succeeded."""
    assert response.status_code == 200, response.text
    assert response.mimetype == "application/json"
    assert list(response.json) == ["events", "total"]
    return [event["id"] for event in response.json["events"]], response.json["total"]
