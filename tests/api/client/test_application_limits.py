"""How many applications, instances and names of unknown flags are kept, and for how long."""

import pytest

from sql.client import applications
from sql.database import Connection, rows, value
from tests.support.reports import BULK, instances, names, register, report, unknown
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
