"""How many applications, instances and names of unknown flags are kept, and for how long."""

from typing import Any

import pytest

from sql.client import applications, quotas
from sql.database import Connection, rows, value
from tests.support import fixtures
from tests.support.reports import BULK, hour, instances, metrics, names, register, report, unknown, usage, variants
from tests.support.world import Caller, World

YES = {"yes": 1, "no": 0}


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for development."""
    return world.api_key("client", name="the shop")


def test_one_application_more_than_the_maximum_is_dropped(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.flag("f")
    monkeypatch.setattr(applications, "MAX_APPLICATIONS", 2)
    items = [{"appName": name} for name in ("c", "b", "a")]
    assert client.post(BULK, json={"applications": items}).status_code == 202
    register(client, appName="one too many")
    report(client, {"f": YES, "no such flag": YES}, app="one too many")
    assert names(conn) == ["a", "b"]
    assert value(conn, "SELECT count(*) FROM usage_metrics") == 0
    assert unknown(conn) == []
    assert caplog.text.count("'one too many': everything, because there are too many applications") == 1
    # Those that exist are still kept.
    report(client, {"f": YES}, app="b")
    assert value(conn, "SELECT count(*) FROM usage_metrics") == 1


def test_frontend_tokens_leave_room_for_servers(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applications, "MAX_APPLICATIONS", 3)
    monkeypatch.setattr(applications, "SERVER_APPLICATIONS", 1)
    page = world.api_key("frontend")
    for name in ("a", "b", "c"):
        response = page.post("/api/frontend/client/register", json={"appName": name})
        assert response.status_code == 200
    assert names(conn) == ["a", "b"]
    register(client, appName="server")
    register(client, appName="one too many")
    assert names(conn) == ["a", "b", "server"]


@pytest.fixture
def page(world: World) -> Caller:
    """A frontend token for development."""
    return world.api_key("frontend", name="the page")


def browse(page: Caller, *flags: str, app: str = "page", start: Any = None, **counts: Any) -> None:
    """Report usage of flags from a browser."""
    document = metrics(dict.fromkeys(flags, YES | counts), app, start)
    assert page.post("/api/frontend/client/metrics", json=document).status_code == 200


def test_a_frontend_token_adds_few_applications_a_day(
    world: World, client: Caller, page: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(applications, "MAX_FRONTEND_APPLICATIONS", 2)
    world.flag("f")
    browse(page, "f", app="a")
    response = page.post("/api/frontend/client/register", json={"appName": "b"})
    assert response.status_code == 200
    for name in ("crowded", "a"):
        browse(page, "f", app=name)
    assert page.post("/api/frontend/client/register", json={"appName": "dropped"}).status_code == 200
    assert names(conn) == ["a", "b"]
    assert [row[2] for row in usage(conn)] == ["a"]
    for name in ("crowded", "dropped"):
        assert f"'{name}': everything, because there are too many applications" in caplog.text
    # Other tokens have their own.
    browse(world.api_key("frontend"), "f", app="e")
    for number in range(3):
        register(client, appName=f"server-{number}")
    older = "UPDATE events SET created_at = created_at - make_interval(hours => %s) WHERE type = 'application-created'"
    conn.execute(older, [23])
    browse(page, "f", app="crowded")
    assert names(conn) == ["a", "b", "e", "server-0", "server-1", "server-2"]
    conn.execute(older, [2])
    browse(page, "f", app="crowded")
    assert "crowded" in names(conn)


def test_a_frontend_token_adds_few_rows_an_hour(
    world: World, client: Caller, page: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(quotas, "MAX_ROWS", 4)
    flags = [world.flag(f"f{number}") for number in range(5)]
    fixtures.insert_variant(conn, flags[0], "development", None, name="blue", weight=1000)
    hidden = world.flag("hidden", world.project("elsewhere"))
    assert hidden
    bound = world.api_key("frontend", projects=["default"])
    # Only rows that are really new count.
    for _ in range(3):
        browse(bound, "f0", "hidden", "unknown", variants={"blue": 1, "invented": 1})
    browse(bound, "f1", "f2", "f3", "f4")
    browse(bound, "f0", "f4", app="other", variants={"blue": 1})
    found = {(row[0], row[2]): row[4] for row in usage(conn)}
    assert found == {("f0", "page"): 3, ("f1", "page"): 1, ("f2", "page"): 1}
    assert variants(conn) == [("f0", "blue", 3)]
    assert "because a frontend token has added" in caplog.text
    # What exists still counts, and so do other tokens.
    browse(bound, "f0", variants={"blue": 1, "disabled": 1})
    browse(page, "f3")
    report(client, {"f4": YES})
    assert {(row[0], row[2]): row[4] for row in usage(conn)} == {
        ("f0", "page"): 4,
        ("f1", "page"): 1,
        ("f2", "page"): 1,
        ("f3", "page"): 1,
        ("f4", "shop"): 1,
    }
    assert variants(conn) == [("f0", "blue", 4)]
    conn.execute("UPDATE frontend_additions SET hour = hour - interval '1 hour'")
    browse(bound, "f4")
    assert [row[2] for row in usage(conn) if row[0] == "f4"] == ["page", "shop"]


@pytest.mark.parametrize(("ago", "expected"), [(0, 0), (1, 1), (2, 1), (47, 1), (-1, 0), (-50, 0)])
def test_browsers_report_this_hour_and_the_one_before(
    world: World, page: Caller, conn: Connection, ago: int, expected: int
) -> None:
    world.flag("f")
    began = hour(hours=expected)
    browse(page, "f", start=hour(hours=ago).isoformat())
    [(_, _, _, found, yes, _)] = usage(conn)
    # The hour may have changed.
    assert began <= found <= hour(hours=expected)
    assert yes == 1


def test_frontend_tokens_leave_room_for_unknown_flags_of_servers(
    client: Caller, page: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sql.client.reports.MAX_UNKNOWN", 3)
    monkeypatch.setattr("sql.client.reports.SERVER_UNKNOWN", 1)
    browse(page, "a", "b", "c")
    report(client, {"d": YES, "e": YES})
    assert [name for name, _, _ in unknown(conn)] == ["a", "b", "d"]


def test_a_new_application_removes_those_of_a_month_ago(client: Caller, conn: Connection) -> None:
    for name in ("described", "forgotten", "has an instance", "recent"):
        register(client, appName=name)
    conn.execute("DELETE FROM application_instances WHERE app_name <> 'has an instance'")
    conn.execute("UPDATE applications SET seen_at = now() - interval '31 days' WHERE name <> 'recent'")
    conn.execute("UPDATE applications SET seen_at = now() - interval '29 days' WHERE name = 'recent'")
    conn.execute("UPDATE applications SET description = 'the shop' WHERE name = 'described'")
    register(client, appName="new")
    assert names(conn) == ["described", "has an instance", "new", "recent"]


def test_one_instance_more_than_the_maximum_is_dropped(
    client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applications, "MAX_INSTANCES", 2)
    for number in range(3):
        register(client, appName="shop", instanceId=f"i-{number}")
    assert [row["instance_id"] for row in instances(conn)] == ["i-0", "i-1"]
    # One that was not seen for a week makes room.
    conn.execute("UPDATE application_instances SET seen_at = now() - interval '8 days' WHERE instance_id = 'i-0'")
    register(client, appName="shop", instanceId="i-2")
    assert [row["instance_id"] for row in instances(conn)] == ["i-1", "i-2"]


def test_a_new_instance_removes_a_hundred_old_ones(client: Caller, conn: Connection) -> None:
    register(client, appName="shop")
    conn.execute("""
        INSERT INTO application_instances (app_name, environment, connection, instance_id, seen_at)
        SELECT 'shop', 'development', 'old-' || n, 'old', now() - interval '8 days' FROM generate_series(1, 150) AS n
    """)
    register(client, appName="shop", instanceId="new")
    assert len(instances(conn)) == 52
    register(client, appName="shop", instanceId="newer")
    assert [row["instance_id"] for row in instances(conn)] == ["default", "new", "newer"]


def test_a_token_records_at_most_so_many_events_a_day(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applications, "MAX_EVENTS", 2)
    since = world.last_event_id()
    for name in ("a", "b", "c"):
        register(client, appName=name)
    register(world.api_key("client"), appName="d")
    assert names(conn) == ["a", "b", "c", "d"]
    assert [event["data"]["appName"] for event in world.events(since)] == ["a", "b", "d"]


def test_unknown_flags_are_kept_up_to_the_maximum_and_for_a_week(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sql.client.reports.MAX_UNKNOWN", 3)
    report(client, {"typo": YES, "never asked": {"yes": 0, "no": 0}})
    report(client, {"typo": YES}, app="other")
    kept = [("typo", "other", "development"), ("typo", "shop", "development")]
    assert unknown(conn) == kept
    conn.execute("UPDATE unknown_flags SET seen_at = now() - interval '2 hours'")
    report(client, {"typo": YES, "third": YES})
    assert unknown(conn) == [("third", "shop", "development"), *kept]
    renewed = "SELECT app_name FROM unknown_flags WHERE flag_name = 'typo' AND seen_at = now()"
    assert [row["app_name"] for row in rows(conn, renewed)] == ["shop"]
    report(client, {"one-too-many": YES})
    assert len(unknown(conn)) == 3
    conn.execute("UPDATE unknown_flags SET seen_at = now() - interval '8 days' WHERE app_name = 'other'")
    report(client, {"one-too-many": YES})
    assert [row[0] for row in unknown(conn)] == ["one-too-many", "third", "typo"]
    world.flag("one-too-many")
    report(client, {"one-too-many": YES})
    assert value(conn, "SELECT flag_name FROM usage_metrics") == "one-too-many"
