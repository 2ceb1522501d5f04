"""What workers do by the clock."""

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from serving import clock
from sql.database import Connection, value
from tests.support.world import Caller, World


def days_ago(number: int) -> datetime:
    """Return a time in the past. Flags of the type release should get 40 days old."""
    return datetime.now(UTC) - timedelta(days=number)


@pytest.fixture
def due(app: Flask):
    """Do what is due."""

    def run() -> None:
        with app.app_context():
            clock.run_jobs()

    return run


def test_a_flag_that_is_too_old_has_one_event(world: World, conn: Connection, due) -> None:
    world.project("apollo", mode="private")
    flag = world.flag("old", "apollo", created_at=days_ago(41))
    conn.execute("INSERT INTO flag_tags SELECT %s, type, value FROM tags", [flag])
    world.flag("young")
    world.flag("permanent", type="permission", created_at=days_ago(41))
    world.flag("stale", created_at=days_ago(41), stale_since=days_ago(41))
    world.flag("archived", created_at=days_ago(41), archived_at=days_ago(41))
    version, since = value(conn, "SELECT version FROM flags WHERE id = %(id)s", {"id": flag}), world.last_event_id()
    due()
    due()
    [event] = world.events(since)
    found = {name: event[name] for name in ("type", "created_by", "created_by_user_id", "project", "feature_name")}
    assert found == {
        "type": "feature-potentially-stale-on",
        "created_by": "system",
        "created_by_user_id": None,
        "project": "apollo",
        "feature_name": "old",
    }
    assert (event["environment"], event["pre_data"]) == (None, None)
    assert event["data"] == {"type": "release", "lifetimeDays": 40}
    assert value(conn, "SELECT version FROM flags WHERE id = %(id)s", {"id": flag}) == version


def test_a_revived_flag_can_have_the_event_again(world: World, alice: Caller, due) -> None:
    world.flag("old", created_at=days_ago(41))
    due()
    alice.delete("/api/admin/projects/default/features/old")
    alice.post("/api/admin/projects/default/revive", json={"features": ["old"]})
    since = world.last_event_id()
    due()
    assert [event["type"] for event in world.events(since)] == ["feature-potentially-stale-on"]


def test_applications_do_not_read_their_flags_again(conn: Connection) -> None:
    assert value(conn, "SELECT alters_client_flags('feature-potentially-stale-on')") is False
