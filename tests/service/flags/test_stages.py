"""The lifecycle stages of a flag, and its completion."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import BETA, FLAGS, event, recorded
from tests.support.world import refused

LIFECYCLE = f"{FLAGS}/f/lifecycle"
COMPLETE, UNCOMPLETE = f"{LIFECYCLE}/complete", f"{LIFECYCLE}/uncomplete"
BORN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def sight(conn, flag_id, environment, first_day, last_day=None, app="a"):
    """Let an application report a flag from one day after its creation to another."""
    first, last = (BORN + timedelta(days=day) for day in (first_day, first_day if last_day is None else last_day))
    columns = {"flag_id": flag_id, "environment": environment, "app_name": app}
    fixtures.insert(conn, "flag_sightings", **columns, first_at=first, last_at=last)


def day(number):
    """An instant, that many days after the flag was created, as responses have it."""
    return (BORN + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def stages(caller):
    """The stages of the flag f, each with the day of its beginning."""
    return [(stage["stage"], stage["enteredStageAt"]) for stage in caller.get(LIFECYCLE).json]


def test_a_flag_is_initial_and_pre_live_from_the_first_report_of_any_application(world, alice, conn):
    flag = world.flag("f", created_at=BORN)
    assert alice.get(LIFECYCLE).json == [{"stage": "initial", "enteredStageAt": day(0)}]
    sight(conn, flag, "development", 3)
    sight(conn, flag, "development", 2, app="b")
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2))]


def test_a_flag_that_is_on_is_live_from_the_first_report_of_production(world, alice, conn):
    flag = world.flag("f", created_at=BORN, enabled_in=("production",), first_in_production_at=BORN + timedelta(days=1))
    sight(conn, flag, "production", 4)
    sight(conn, flag, "production", 3, 9, app="b")
    sight(conn, flag, "development", 4, app="c")
    # Production came first, so that the flag was never pre-live.
    assert stages(alice) == [("initial", day(0)), ("live", day(3))]
    sight(conn, flag, "development", 2)
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2)), ("live", day(3))]
    assert alice.get(f"{FLAGS}/f").json["lifecycle"] == {"stage": "live", "enteredStageAt": day(3)}
    conn.execute("UPDATE flag_environments SET enabled = false")
    assert stages(alice)[-1] == ("live", day(3))


def test_a_flag_is_live_only_after_it_was_enabled_in_production(world, alice, conn):
    flag = world.flag("f", created_at=BORN)
    sight(conn, flag, "production", 2, 6)
    assert stages(alice)[-1] == ("pre-live", day(2))
    fixtures.update(conn, "flags", flag, first_in_production_at=BORN + timedelta(days=5))
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2)), ("live", day(5))]
    # The application stopped before the flag was enabled.
    fixtures.update(conn, "flags", flag, first_in_production_at=BORN + timedelta(days=7))
    assert stages(alice)[-1] == ("pre-live", day(2))


def test_an_archived_flag_keeps_its_stages_and_a_deleted_one_has_none(world, alice, conn):
    flag = world.flag("f", created_at=BORN, first_in_production_at=BORN, archived_at=BORN + timedelta(days=9))
    sight(conn, flag, "development", 2)
    sight(conn, flag, "production", 3)
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2)), ("live", day(3)), ("archived", day(9))]
    fixtures.update(conn, "flags", flag, deleted_at=BORN + timedelta(days=10))
    refused(alice.get(LIFECYCLE), 404, "NotFoundError")


def test_a_revived_flag_begins_a_new_lifecycle(world, alice, conn):
    flag = world.flag("f", created_at=BORN, enabled_in=("production",), first_in_production_at=BORN)
    sight(conn, flag, "development", 1)
    sight(conn, flag, "production", 2)
    assert alice.post(COMPLETE, json={"status": "kept"}).status_code == 200
    assert alice.delete(f"{FLAGS}/f").status_code == 202
    assert alice.post("/api/admin/archive/revive/f").status_code == 200
    [(stage, revived)] = stages(alice)
    assert (stage, revived > day(0)) == ("initial", True)
    record = alice.get(f"{FLAGS}/f").json
    assert (record["lifecycle"], record["lastSeenAt"]) == ({"stage": "initial", "enteredStageAt": revived}, day(2))
    # An application goes on asking. It was first seen in the earlier life.
    conn.execute("UPDATE flag_sightings SET last_at = now() + interval '1 minute'")
    assert stages(alice) == [("initial", revived), ("pre-live", revived)]
    conn.execute("UPDATE flag_environments SET enabled = true")
    assert stages(alice) == [("initial", revived), ("live", revived)]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ({"status": "kept"}, {"status": "kept", "kept": True}),
        ({"status": "discarded", "statusValue": None}, {"status": "discarded", "kept": False}),
        ({"status": "kept", "statusValue": "red"}, {"status": "kept", "statusValue": "red", "kept": True}),
    ],
)
def test_a_flag_is_completed(world, alice, conn, body: dict[str, Any], data):
    fixtures.tag(conn, world.flag("f"), "simple", "beta")
    since = world.last_event_id()
    response = alice.post(COMPLETE, json=body)
    assert (response.status_code, response.data) == (200, b"")
    row = "SELECT completed_at = now() AS at, completed_status AS status, completed_value AS value FROM flags"
    assert rows(conn, row) == [{"at": True, "status": body["status"], "value": body.get("statusValue")}]
    now = value(conn, "SELECT iso(now())")
    assert alice.get(LIFECYCLE).json[-1] == {"stage": "completed", "enteredStageAt": now, "status": body["status"]}
    assert recorded(world, since, alice) == [event("feature-completed", data=data, tags=[BETA])]


def test_another_completion_keeps_the_beginning_of_the_stage_and_can_be_undone(world, alice, conn):
    world.flag("f", completed_at=BORN, completed_status="kept", completed_value="red")
    since = world.last_event_id()
    assert alice.post(COMPLETE, json={"status": "kept", "statusValue": "red"}).status_code == 200
    assert world.events(since) == []
    assert alice.post(COMPLETE, json={"status": "discarded"}).status_code == 200
    assert [event["data"]["status"] for event in world.events(since)] == ["discarded"]
    assert alice.get(LIFECYCLE).json[-1] == {"stage": "completed", "enteredStageAt": day(0), "status": "discarded"}
    since = world.last_event_id()
    for _ in range(2):
        response = alice.post(UNCOMPLETE)
        assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, alice) == [event("feature-uncompleted")]
    assert [stage["stage"] for stage in alice.get(LIFECYCLE).json] == ["initial"]
    row = "SELECT completed_at, completed_status, completed_value FROM flags"
    assert rows(conn, row) == [dict.fromkeys(("completed_at", "completed_status", "completed_value"))]


def test_an_invalid_status_and_an_archived_flag_are_refused(world, alice, conn):
    flag = world.flag("f", completed_at=BORN, completed_status="kept")
    before = fingerprint(conn)
    for body in ({}, {"status": "done"}, {"status": "kept", "statusValue": "x" * 256}):
        refused(alice.post(COMPLETE, json=body))
    assert fingerprint(conn) == before
    fixtures.update(conn, "flags", flag, archived_at=BORN)
    before = fingerprint(conn)
    refused(alice.post(COMPLETE, json={"status": "discarded"}), 404, "NotFoundError")
    refused(alice.post(UNCOMPLETE), 404, "NotFoundError")
    assert fingerprint(conn) == before
