"""What insights say of the past of an environment whose type has changed, or that is no more."""

from datetime import datetime, timedelta

import pytest

from rules.access import Actor
from sql.database import Connection, value
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.environments import URL
from tests.support.world import Caller, World

WEEK = timedelta(days=7)


@pytest.fixture
def weeks_ago(conn: Connection) -> datetime:
    """An instant four weeks before now."""
    return value(conn, "SELECT now()") - 4 * WEEK


def happen(world: World, at: datetime, environment: str = "staging") -> None:
    """Something happens in an environment."""
    fixtures.record(world.conn, "feature-environment-enabled", Actor("system"), environment=environment, created_at=at)


def trends(caller: Caller, since: datetime) -> list[tuple[str, int]]:
    """Types with their updates, oldest first, since an instant until now."""
    found = caller.get(f"/api/admin/insights?from={since.date()}").json["environmentTypeTrends"]
    return [(entry["environmentType"], entry["totalUpdates"]) for entry in found]


def test_past_updates_keep_the_type_that_the_environment_had(world, alice, conn, weeks_ago):
    environments.insert(conn, "staging", "preproduction")
    happen(world, weeks_ago)
    happen(world, weeks_ago)
    assert trends(alice, weeks_ago) == [("preproduction", 2)]
    alice.put(f"{URL}/update/staging", json={"type": "test"})
    # The change itself belongs to what it ended.
    assert trends(alice, weeks_ago) == [("preproduction", 2), ("preproduction", 1)]
    move_the_past(conn, weeks_ago + WEEK)
    happen(world, weeks_ago + 2 * WEEK)
    alice.delete(f"{URL}/staging")
    assert trends(alice, weeks_ago)[:2] == [("preproduction", 2), ("test", 1)]
    assert trends(alice, weeks_ago)[2:] == [("test", 2)]


def test_an_environment_of_the_same_name_begins_anew(world, alice, conn, weeks_ago):
    environments.insert(conn, "staging", "preproduction")
    happen(world, weeks_ago)
    alice.delete(f"{URL}/staging")
    move_the_past(conn, weeks_ago + WEEK)
    conn.execute("DELETE FROM events WHERE type <> 'feature-environment-enabled'")
    environments.insert(conn, "staging", "load")
    happen(world, weeks_ago + 2 * WEEK)
    assert trends(alice, weeks_ago) == [("preproduction", 1), ("load", 1)]


def test_a_change_of_another_field_records_no_past_type(alice, conn):
    for change in ({"sortOrder": 8}, {"type": "production"}):
        alice.put(f"{URL}/update/production", json=change)
    alice.post(f"{URL}/production/off")
    assert value(conn, "SELECT count(*) FROM past_environment_types") == 0


def move_the_past(conn: Connection, at: datetime) -> None:
    """Let what has ended in this test have ended then."""
    conn.execute(
        "UPDATE past_environment_types SET ended_at = %s WHERE ended_at >= date_trunc('milliseconds', now())", [at]
    )
