"""The lifecycle stages of a flag, and its completion."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import refused

FLAGS = "/api/admin/projects/default/features"
LIFECYCLE = f"{FLAGS}/f/lifecycle"
BORN = datetime(2026, 3, 1, 10, tzinfo=UTC)
COMPLETE = f"{LIFECYCLE}/complete"
UNCOMPLETE = f"{LIFECYCLE}/uncomplete"


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


def test_a_new_flag_is_initial(world, alice):
    world.flag("f", created_at=BORN)
    assert alice.get(LIFECYCLE).json == [{"stage": "initial", "enteredStageAt": day(0)}]
    assert alice.get(f"{FLAGS}/f").json["lifecycle"] == {"stage": "initial", "enteredStageAt": day(0)}


def test_the_first_report_of_any_application_makes_a_flag_pre_live(world, alice, conn):
    flag = world.flag("f", created_at=BORN)
    sight(conn, flag, "development", 3)
    sight(conn, flag, "development", 2, app="b")
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2))]


def test_the_first_report_from_production_makes_an_enabled_flag_live(world, alice, conn):
    flag = world.flag("f", created_at=BORN, enabled_in=("production",), first_in_production_at=BORN + timedelta(days=1))
    sight(conn, flag, "development", 2)
    sight(conn, flag, "production", 4)
    sight(conn, flag, "production", 3, 9, app="b")
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2)), ("live", day(3))]
    assert alice.get(f"{FLAGS}/f").json["lifecycle"] == {"stage": "live", "enteredStageAt": day(3)}


def test_a_flag_that_production_reports_first_is_never_pre_live(world, alice, conn):
    flag = world.flag("f", created_at=BORN, enabled_in=("production",))
    sight(conn, flag, "production", 3)
    sight(conn, flag, "development", 4)
    assert stages(alice) == [("initial", day(0)), ("live", day(3))]


def test_a_flag_is_live_only_after_it_was_enabled_in_production(world, alice, conn):
    flag = world.flag("f", created_at=BORN)
    sight(conn, flag, "production", 2, 6)
    assert stages(alice)[-1] == ("pre-live", day(2))
    fixtures.update(conn, "flags", flag, first_in_production_at=BORN + timedelta(days=5))
    assert stages(alice) == [("initial", day(0)), ("pre-live", day(2)), ("live", day(5))]
    # The application stopped before the flag was enabled.
    fixtures.update(conn, "flags", flag, first_in_production_at=BORN + timedelta(days=7))
    assert stages(alice)[-1] == ("pre-live", day(2))


def test_a_live_flag_that_is_disabled_stays_live(world, alice, conn):
    flag = world.flag("f", created_at=BORN, enabled_in=("production",), first_in_production_at=BORN)
    sight(conn, flag, "production", 3)
    conn.execute("UPDATE flag_environments SET enabled = false")
    assert stages(alice)[-1] == ("live", day(3))


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
    assert stage == "initial"
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
    flag = world.flag("f")
    fixtures.tag(conn, flag, "simple", "beta")
    since = world.last_event_id()
    response = alice.post(COMPLETE, json=body)
    assert (response.status_code, response.data) == (200, b"")
    row = "SELECT completed_at = now() AS at, completed_status AS status, completed_value AS value FROM flags"
    assert rows(conn, row) == [{"at": True, "status": body["status"], "value": body.get("statusValue")}]
    now = value(conn, "SELECT iso(now())")
    assert alice.get(LIFECYCLE).json[-1] == {"stage": "completed", "enteredStageAt": now, "status": body["status"]}
    [event] = world.events(since)
    assert (event["type"], event["project"], event["feature_name"]) == ("feature-completed", "default", "f")
    assert (event["data"], event["pre_data"]) == (data, None)
    assert event["tags"] == [{"type": "simple", "value": "beta"}]


def test_another_completion_keeps_the_beginning_of_the_stage(world, alice):
    world.flag("f", completed_at=BORN, completed_status="kept")
    since = world.last_event_id()
    assert alice.post(COMPLETE, json={"status": "kept"}).status_code == 200
    assert world.events(since) == []
    assert alice.post(COMPLETE, json={"status": "discarded"}).status_code == 200
    assert [event["data"]["status"] for event in world.events(since)] == ["discarded"]
    assert alice.get(LIFECYCLE).json[-1] == {"stage": "completed", "enteredStageAt": day(0), "status": "discarded"}


def test_a_completion_is_undone(world, alice, conn):
    world.flag("f", completed_at=BORN, completed_status="kept", completed_value="red")
    since = world.last_event_id()
    for _ in range(2):
        response = alice.post(UNCOMPLETE)
        assert (response.status_code, response.data) == (200, b"")
    [event] = world.events(since)
    assert (event["type"], event["project"], event["feature_name"]) == ("feature-uncompleted", "default", "f")
    assert event["data"] is event["pre_data"] is None
    assert [stage["stage"] for stage in alice.get(LIFECYCLE).json] == ["initial"]
    row = "SELECT completed_at, completed_status, completed_value FROM flags"
    assert rows(conn, row) == [dict.fromkeys(("completed_at", "completed_status", "completed_value"))]


@pytest.mark.parametrize(
    "body", [{}, {"status": "done"}, {"status": "kept", "statusValue": 5}, {"status": "kept", "statusValue": "x" * 256}]
)
def test_another_status_is_refused(world, alice, conn, body):
    world.flag("f")
    before = fingerprint(conn)
    refused(alice.post(COMPLETE, json=body))
    assert fingerprint(conn) == before


def test_an_archived_flag_cannot_be_completed(world, alice, conn):
    world.flag("f", archived_at=BORN, completed_at=BORN, completed_status="kept")
    before = fingerprint(conn)
    refused(alice.post(COMPLETE, json={"status": "discarded"}), 404, "NotFoundError")
    refused(alice.post(UNCOMPLETE), 404, "NotFoundError")
    assert fingerprint(conn) == before
