"""Applications and their instances: how they become known, what is kept of them, how many, and for how long."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from rules import report_log, report_writer
from rules.report_log import ReportLog
from sql.client import applications, quotas
from sql.database import Connection, rows, value
from tests.support import fixtures
from tests.support.reports import (
    BULK,
    METRICS,
    REGISTER,
    hour,
    instances,
    metrics,
    names,
    register,
    report,
    unknown,
    usage,
    variants,
)
from tests.support.world import Caller, World, refused

PYTHON = {
    "appName": "shop",
    "instanceId": "unleash-python-sdk",
    "connectionId": "4f2b7a10",
    "strategies": ["default", "flexibleRollout"],
    "sdkVersion": "unleash-python-sdk:6.9.1",
    "platformName": "CPython",
    "platformVersion": "3.11.7",
    "specVersion": "6.1.0",
    "yggdrasilVersion": None,
    "started": "2026-05-31T12:00:00.880779193Z",
    "interval": 60,
}
YES = {"yes": 1, "no": 0}


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for development."""
    return world.api_key("client", name="the shop")


@pytest.fixture
def page(world: World) -> Caller:
    """A frontend token for development."""
    return world.api_key("frontend", name="the page")


def test_registration_is_kept_with_its_event(world: World, client: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    register(client, **PYTHON)
    [application] = rows(conn, "SELECT name, strategies, created_at = now() AS new FROM applications")
    assert application == {"name": "shop", "strategies": ["default", "flexibleRollout"], "new": True}
    assert instances(conn) == [
        {
            "app_name": "shop",
            "environment": "development",
            "connection": "4f2b7a10",
            "instance_id": "unleash-python-sdk",
            "sdk_version": "unleash-python-sdk:6.9.1",
            "platform": "CPython 3.11.7",
            "spec_version": "6.1.0",
            "address": "127.0.0.1",
        }
    ]
    [event] = world.events(since)
    assert (event["type"], event["created_by"]) == ("application-created", "system")
    columns = ("created_by_user_id", "project", "environment", "feature_name")
    assert [event[column] for column in columns] == [None] * 4
    assert event["data"] == {
        "appName": "shop",
        "strategies": ["default", "flexibleRollout"],
        "environment": "development",
        "tokenId": value(conn, "SELECT id FROM api_keys WHERE name = 'the shop'"),
        "tokenName": "the shop",
    }


def test_second_registration_changes_the_strategies_and_records_no_event(
    world: World, client: Caller, conn: Connection
) -> None:
    register(client, **PYTHON)
    since = world.last_event_id()
    strategies = ["default", 'with "quotes", and \\', "ünïcode", "{}", "NULL"]
    register(client, appName="shop", connectionId="other", strategies=strategies)
    register(client, appName="shop")
    assert value(conn, "SELECT strategies FROM applications") == strategies
    assert [row["connection"] for row in instances(conn)] == ["4f2b7a10", "default", "other"]
    assert world.events(since) == []


def test_invalid_registration_is_refused(client: Caller, conn: Connection) -> None:
    for body in (b"", b"garbage", b"[]", b"null", b'"a"', b"[" * 100_000, b"\xff", b" " * (10 << 20)):
        message = refused(client.post(REGISTER, data=body))
        assert message == "The body must be a JSON object of at most 10485760 bytes."
    for named in ({}, *({"appName": wrong} for wrong in ("", 5, [], {}, True, "a\0b", "\ud800", "x" * 256))):
        assert refused(client.post(REGISTER, json={"instanceId": "i"} | named)).startswith("appName: ")
    assert names(conn) == []


@pytest.mark.parametrize("wrong", [None, "", 5, True, [], {}, [None], "a\0b", "\ud800", "x" * 300, [["a"]], 10**400])
def test_other_properties_are_never_refused(client: Caller, conn: Connection, wrong: Any) -> None:
    register(client, **{name: wrong for name in (*PYTHON, "environment", "unknown")} | {"appName": "shop"})
    assert names(conn) == ["shop"]
    assert value(conn, "SELECT strategies FROM applications") == []
    [instance] = instances(conn)
    assert (instance["instance_id"], instance["connection"]) == ("default", "default")
    assert (instance["sdk_version"], instance["platform"], instance["spec_version"]) == (None, None, None)


def test_body_comes_before_headers_and_has_any_content_type(client: Caller, conn: Connection) -> None:
    strategies = [f"s{number:03}" for number in range(101)]
    body = json.dumps({"appName": "shop", "sdkVersion": "sdk:1", "strategies": strategies})
    response = client.post(REGISTER, data=body, content_type="text/plain", headers={"Unleash-Sdk": "other:1"})
    assert value(conn, "SELECT strategies FROM applications") == strategies[:100]
    assert response.status_code == 202
    assert [row["sdk_version"] for row in instances(conn)] == ["sdk:1"]


def test_usage_makes_an_application_and_its_instance_known(world: World, client: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    headers = {"Unleash-Connection-Id": "c-1", "Unleash-Sdk": "unleash-node-sdk:6.12.1", "Unleash-InstanceId": "other"}
    assert client.post(METRICS, json=metrics({}, app="quiet"), headers=headers).status_code == 202
    [instance] = instances(conn)
    assert (instance["connection"], instance["instance_id"]) == ("c-1", "i-1")
    assert instance["sdk_version"] == "unleash-node-sdk:6.12.1"
    assert [event["data"]["appName"] for event in world.events(since)] == ["quiet"]


def test_instance_is_written_once_a_minute_unless_it_names_more(client: Caller, conn: Connection) -> None:
    def aged(seconds: int) -> None:
        statement = "UPDATE {} SET seen_at = now() - %s * interval '1 second'"
        for table in ("applications", "application_instances"):
            conn.execute(statement.format(table), [seconds])  # pyright: ignore

    fresh = "SELECT (SELECT seen_at FROM {}) = now()"
    seen = [fresh.format("applications"), fresh.format("application_instances")]
    report(client, {})
    aged(59)
    report(client, {})
    assert [value(conn, each) for each in seen] == [False, False]  # pyright: ignore
    # The registration can come after the first usage.
    for more in ({"sdkVersion": "sdk:1"}, {"specVersion": "5.0.0"}, {"platformName": "Node"}):
        aged(59)
        register(client, appName="shop", instanceId="i-1", **more)
        assert value(conn, seen[1]) is True  # pyright: ignore
    aged(61)
    report(client, {})
    assert [value(conn, each) for each in seen] == [True, True]  # pyright: ignore
    # Usage names less than the registration.
    assert [row["sdk_version"] for row in instances(conn)] == ["sdk:1"]


def test_browsers_register_applications_without_instances(page: Caller, conn: Connection) -> None:
    response = page.post("/api/frontend/client/register", json=PYTHON)
    assert (response.status_code, response.data) == (200, b"")
    assert names(conn) == ["shop"]
    assert instances(conn) == []


def test_token_that_reports_too_often_waits_for_the_next_minute(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_writer, "REPORTS_PER_MINUTE", 2)
    responses = []
    for app, now in enumerate((600.0, 600.0, 645.0, 660.0)):
        monkeypatch.setattr(report_writer, "time", SimpleNamespace(monotonic=lambda now=now: now))
        responses.append(client.post(METRICS, json=metrics({}, app=f"app-{app}")))
        # Another token is not affected.
        register(world.api_key("client"), appName="other")
    assert [response.status_code for response in responses] == [202, 202, 429, 202]
    assert "more than 2 reports in this minute" in refused(responses[2], 429, "RateLimitError")
    assert responses[2].headers["Retry-After"] == "15"
    assert names(conn) == ["app-0", "app-1", "app-3", "other"]


def test_dropped_part_is_logged_once_for_each_application(client: Caller, caplog: pytest.LogCaptureFixture) -> None:
    for app in ("logged\n1", "logged 2"):
        for _ in range(3):
            report(client, {"f": {"yes": -1}}, app=app)
    assert [record.getMessage() for record in caplog.records] == [
        f"Dropped from a report of the application {app}: an entry with invalid names or counts. Next line in an hour."
        for app in ("'logged\\n1'", "'logged 2'")
    ]


def test_next_hour_logs_anew(app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(report_log, "MAX_LOGGED", 2)
    now = [3600.0, 7199.0, 7199.0, 7199.0, 7200.0]
    monkeypatch.setattr(report_log, "time", SimpleNamespace(time=lambda: now.pop(0)))
    log = ReportLog()
    with app.app_context():
        for name in ("a", "a", "b", "c", "a"):
            log.warn(name, {"it": 1})
    assert [record.args[0] for record in caplog.records if record.args] == ["'a'", "'b'", "'a'"]  # pyright: ignore


# How many are kept, and for how long


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
    assert (usage(conn), unknown(conn)) == ([], [])
    assert caplog.text.count("'one too many': everything, because there are too many applications") == 1
    # Those that exist are still kept.
    report(client, {"f": YES}, app="b")
    assert len(usage(conn)) == 1


def test_frontend_tokens_leave_room_for_servers(
    client: Caller, page: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applications, "MAX_APPLICATIONS", 3)
    monkeypatch.setattr(applications, "SERVER_APPLICATIONS", 1)
    for name in ("a", "b", "c"):
        response = page.post("/api/frontend/client/register", json={"appName": name})
        assert response.status_code == 200
    assert names(conn) == ["a", "b"]
    register(client, appName="server")
    register(client, appName="one too many")
    assert names(conn) == ["a", "b", "server"]


def browse(page: Caller, *flags: str, app: str = "page", start: Any = None, **counts: Any) -> None:
    """Report usage of flags from a browser."""
    document = metrics(dict.fromkeys(flags, YES | counts), app, start)
    assert page.post("/api/frontend/client/metrics", json=document).status_code == 200


def test_frontend_token_adds_few_applications_a_day(
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


def test_frontend_token_adds_few_rows_an_hour(
    world: World, client: Caller, page: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(quotas, "MAX_ROWS", 4)
    flags = [world.flag(f"f{number}") for number in range(5)]
    fixtures.insert_variant(conn, flags[0], "development", None, name="blue", weight=1000)
    world.flag("hidden", world.project("elsewhere"))
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


def test_new_application_removes_those_of_a_month_ago(client: Caller, conn: Connection) -> None:
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


def test_new_instance_removes_a_hundred_old_ones(client: Caller, conn: Connection) -> None:
    register(client, appName="shop")
    conn.execute("""
        INSERT INTO application_instances (app_name, environment, connection, instance_id, seen_at)
        SELECT 'shop', 'development', 'old-' || n, 'old', now() - interval '8 days' FROM generate_series(1, 150) AS n
    """)
    register(client, appName="shop", instanceId="new")
    assert len(instances(conn)) == 52
    register(client, appName="shop", instanceId="newer")
    assert [row["instance_id"] for row in instances(conn)] == ["default", "new", "newer"]


def test_token_records_at_most_so_many_events_a_day(
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
