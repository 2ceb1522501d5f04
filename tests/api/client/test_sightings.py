"""When applications report flags: what is kept of that, and what the admin API shows of it."""

from datetime import timedelta
from typing import Any

import pytest

from serving import body_limits
from sql.database import Connection, rows, value
from tests.support.reports import METRICS, counts, hour, metrics, report
from tests.support.world import Caller, World, refused

YES = {"yes": 1, "no": 0}
FLAG = "/api/admin/projects/default/features/f"


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for development, and the flag f of last week."""
    world.flag("f", created_at=hour(days=7))
    return world.api_key("client")


def sightings(conn: Connection) -> list[tuple[Any, ...]]:
    """Return (environment, application, first_at, last_at) of all flags. None: now."""
    statement = """
        SELECT environment, app_name, nullif(first_at, now()) AS first_at, nullif(last_at, now()) AS last_at
          FROM flag_sightings ORDER BY environment, app_name
    """
    return [tuple(row.values()) for row in rows(conn, statement)]


def test_a_report_shows_in_the_record_of_the_flag(client: Caller, alice: Caller, conn: Connection) -> None:
    report(client, {"f": {"yes": 2, "no": 1}})
    record = alice.get(FLAG).json
    now = value(conn, "SELECT iso(now())")
    [development, production] = record["environments"]
    assert (record["lastSeenAt"], development["lastSeenAt"], production["lastSeenAt"]) == (now, now, None)
    assert (development["yes"], development["no"]) == (2, 1)
    assert record["lifecycle"] == {"stage": "pre-live", "enteredStageAt": now}
    overview = alice.get("/api/admin/projects/default/overview").json
    assert overview["onboardingStatus"] == {"status": "onboarded"}


def test_each_application_is_seen_now_or_at_the_end_of_a_past_hour(client: Caller, conn: Connection) -> None:
    report(client, {"f": YES}, app="now")
    report(client, {"f": YES}, app="past", start=hour(hours=5).isoformat())
    past = hour(hours=4)
    assert sightings(conn) == [("development", "now", None, None), ("development", "past", past, past)]
    report(client, {"f": YES}, app="past", start=hour(hours=9).isoformat())
    report(client, {"f": YES}, app="past")
    assert sightings(conn)[1] == ("development", "past", hour(hours=8), None)


def test_a_sighting_is_written_once_a_minute(client: Caller, conn: Connection) -> None:
    report(client, {"f": YES})
    for seconds, is_written in ((59, False), (61, True)):
        conn.execute("UPDATE flag_sightings SET last_at = now() - %s * interval '1 second'", [seconds])
        report(client, {"f": YES})
        assert (sightings(conn)[0][3] is None) == is_written


def test_usage_from_before_the_flag_is_no_sighting(world: World, client: Caller, conn: Connection) -> None:
    world.flag("new", created_at=hour(hours=2) + timedelta(minutes=59))
    report(client, {"new": YES}, start=hour(hours=3).isoformat())
    assert sightings(conn) == []
    assert counts(conn) == {"new": (1, 0)}
    report(client, {"new": YES}, start=hour(hours=2).isoformat())
    assert len(sightings(conn)) == 1


def test_a_worker_reads_one_large_report_at_a_time(
    client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(client.app.config, "WAIT_SECONDS", 0.01)
    small = metrics({"f": YES})
    large = b" " * (2 << 20)
    with body_limits.LARGE_REPORTS:
        message = refused(client.post(METRICS, data=large), 503, "UnavailableError")
        assert message == "Too many large requests. Try again later."
        assert client.post(METRICS, json=small).status_code == 202
    assert client.post(METRICS, data=large).status_code == 202
    assert counts(conn) == {"f": (1, 0)}
