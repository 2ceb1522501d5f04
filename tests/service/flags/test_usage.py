"""The usage of a flag (/api/admin/client-metrics)."""

from datetime import timedelta

from sql.database import value
from sql.flags import usage
from tests.support import fixtures
from tests.support.world import refused

PATH = "/api/admin/client-metrics/features/f"
HEAD = {"version": 1, "maturity": "stable", "featureName": "f"}


def hour(conn, number=0):
    """The beginning of the present hour, or of one before it."""
    return value(conn, "SELECT date_trunc('hour', now())") - timedelta(hours=number)


def text(instant):
    """An instant as responses have it."""
    return instant.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def report(conn, at, yes=1, no=0, app="shop", environment="production", project="default", name="f"):
    """Let usage of a flag be reported."""
    columns = {"project": project, "flag": name, "environment": environment, "app": app, "at": at}
    fixtures.report_usage(conn, [columns | {"yes": yes, "no": no}])


def choose(conn, at, variant, count, project="default", app="shop"):
    """Let a variant be reported with that usage."""
    columns = {"project_id": project, "flag_name": "f", "environment": "production", "app_name": app, "hour": at}
    fixtures.insert(conn, "usage_variants", **columns, variant=variant, count=count)


def row(at, yes=1, no=0, app="shop", environment="production", **variants):
    """A row of a response."""
    usage = {"timestamp": text(at), "yes": yes, "no": no, "variants": variants}
    return {"featureName": "f", "appName": app, "environment": environment} | usage


def test_the_summary_adds_up_the_present_hour(world, alice, conn):
    now = hour(conn)
    world.flag("f", created_at=now - timedelta(days=90))
    report(conn, now, 3, 4)
    report(conn, now, 30, 40, app="billing")
    report(conn, now, 1, 0, environment="development")
    report(conn, hour(conn, 1), 500)
    report(conn, now, 500, name="other")
    usage = [
        {"environment": "development", "timestamp": text(now), "yes": 1, "no": 0},
        {"environment": "production", "timestamp": text(now), "yes": 33, "no": 44},
    ]
    assert alice.get(PATH).json == HEAD | {"lastHourUsage": usage, "seenApplications": ["billing", "shop"]}
    world.flag("unused")
    unused = HEAD | {"featureName": "unused", "lastHourUsage": [], "seenApplications": []}
    assert alice.get("/api/admin/client-metrics/features/unused").json == unused


def test_applications_count_for_thirty_days(world, alice, conn):
    flag_id = world.flag("f")
    now = value(conn, "SELECT now()")
    for name, age in (("new", timedelta(days=29, hours=23)), ("old", timedelta(days=30))):
        columns = {"flag_id": flag_id, "environment": "production", "app_name": name}
        fixtures.insert(conn, "flag_sightings", **columns, first_at=now - 2 * age, last_at=now - age)
    assert alice.get(PATH).json["seenApplications"] == ["new"]


def test_the_raw_usage_has_the_hours_asked_for(world, alice, conn, monkeypatch):
    world.flag("f", created_at=hour(conn, 100))
    for number in (0, 1, 47, 48, 99, 101):
        report(conn, hour(conn, number))
    report(conn, hour(conn), 0, 5, app="billing", environment="development")
    newest = row(hour(conn), 0, 5, "billing", "development")
    rows = [row(hour(conn, number)) for number in (0, 1, 47, 48, 99)]
    assert alice.get(f"{PATH}/raw").json == HEAD | {"data": [newest, *rows[:3]]}
    assert alice.get(f"{PATH}/raw?hoursBack=1").json["data"] == [newest, rows[0]]
    # Usage from before its creation is that of an earlier flag.
    assert alice.get(f"{PATH}/raw?hoursBack=2160").json["data"] == [newest, *rows]
    for hours in ("0", "2161", "x"):
        refused(alice.get(f"{PATH}/raw?hoursBack={hours}"))
    monkeypatch.setattr(usage, "MAX_ROWS", 2)
    assert alice.get(f"{PATH}/raw").json["data"] == [newest, rows[0]]


def test_the_raw_usage_has_variants(world, alice, conn):
    world.project("hermes")
    world.flag("f", created_at=hour(conn, 9))
    # The flag moved during the hour.
    for project in ("default", "hermes"):
        report(conn, hour(conn), 5, 1, project=project)
        choose(conn, hour(conn), "red", 2, project)
    choose(conn, hour(conn), "blue", 3)
    report(conn, hour(conn), app="billing")
    choose(conn, hour(conn), "green", 1, app="billing")
    rows = [row(hour(conn), app="billing", green=1), row(hour(conn), 10, 2, blue=3, red=4)]
    response = alice.get(f"{PATH}/raw")
    assert response.json["data"] == rows
    # With the spaces of all responses.
    assert '"variants" : {"blue" : 3, "red" : 4}}' in response.text


def test_only_flags_that_exist_and_are_seen_have_usage(world, alice, conn):
    victor = world.user("Victor")
    world.project("apollo", mode="private")
    flag_id = world.flag("f", "apollo")
    for path in (PATH, f"{PATH}/raw"):
        assert alice.get(path).status_code == 200
        refused(victor.get(path), 404, "NotFoundError")
    fixtures.update(conn, "flags", flag_id, archived_at=hour(conn))
    assert alice.get(PATH).status_code == 200
    fixtures.update(conn, "flags", flag_id, deleted_at=hour(conn))
    for path in (PATH, f"{PATH}/raw"):
        refused(alice.get(path), 404, "NotFoundError")
