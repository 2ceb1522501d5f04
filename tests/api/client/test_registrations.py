"""Applications and their instances: how they become known, and what is kept of them."""

from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from rules import report_log
from rules import report_writer as rules
from rules.report_log import ReportLog
from sql.database import Connection, rows, value
from tests.support.reports import METRICS, REGISTER, instances, metrics, names, register, report
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
CREATED = "application-created"
YES = {"yes": 1, "no": 0}


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for development."""
    return world.api_key("client", name="the shop")


def token_id(conn: Connection) -> int:
    """Return the id of the token of the tests."""
    return value(conn, "SELECT id FROM api_keys WHERE name = 'the shop'")


def test_a_registration_is_kept_with_its_event(world: World, client: Caller, conn: Connection) -> None:
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
    assert (event["type"], event["created_by"], event["created_by_user_id"]) == (CREATED, "system", None)
    assert (event["project"], event["environment"], event["feature_name"]) == (None, None, None)
    assert event["data"] == {
        "appName": "shop",
        "strategies": ["default", "flexibleRollout"],
        "environment": "development",
        "tokenId": token_id(conn),
        "tokenName": "the shop",
    }


def test_a_second_registration_changes_the_strategies_and_records_no_event(
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


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b"null", b'"a"', b"[" * 100_000, b"\xff", b" " * (10 << 20)])
def test_a_body_that_is_no_object_is_refused(client: Caller, conn: Connection, body: bytes) -> None:
    message = refused(client.post(REGISTER, data=body))
    assert message == "The body must be a JSON object of at most 10485760 bytes."
    assert names(conn) == []


@pytest.mark.parametrize("name", [..., "", 5, [], {}, True, "a\0b", "\ud800", "x" * 256])
def test_a_registration_without_a_valid_name_is_refused(client: Caller, conn: Connection, name: Any) -> None:
    body = {"instanceId": "i"} | ({} if name is ... else {"appName": name})
    assert refused(client.post(REGISTER, json=body)).startswith("appName: ")
    assert names(conn) == []


@pytest.mark.parametrize("wrong", [None, "", 5, True, [], {}, [None], "a\0b", "\ud800", "x" * 300, [["a"]], 10**400])
def test_other_properties_are_never_refused(client: Caller, conn: Connection, wrong: Any) -> None:
    register(client, **{name: wrong for name in (*PYTHON, "environment", "unknown")} | {"appName": "shop"})
    assert names(conn) == ["shop"]
    assert value(conn, "SELECT strategies FROM applications") == []
    [instance] = instances(conn)
    assert (instance["instance_id"], instance["connection"]) == ("default", "default")
    assert (instance["sdk_version"], instance["platform"], instance["spec_version"]) == (None, None, None)


def test_the_body_comes_before_the_headers(client: Caller, conn: Connection) -> None:
    response = client.post(REGISTER, json=PYTHON, headers={"Unleash-Sdk": "other:1"})
    assert response.status_code == 202
    assert [row["sdk_version"] for row in instances(conn)] == ["unleash-python-sdk:6.9.1"]


def test_at_most_100_strategies_are_kept(client: Caller, conn: Connection) -> None:
    register(client, appName="shop", strategies=[f"s{number:03}" for number in range(101)])
    assert len(value(conn, "SELECT strategies FROM applications")) == 100


def test_the_content_type_of_a_registration_does_not_matter(client: Caller, conn: Connection) -> None:
    assert client.post(REGISTER, data=b'{"appName": "shop"}', content_type="text/plain").status_code == 202
    assert names(conn) == ["shop"]


def test_usage_makes_an_application_and_its_instance_known(world: World, client: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    headers = {"Unleash-Connection-Id": "c-1", "Unleash-Sdk": "unleash-node-sdk:6.12.1", "Unleash-InstanceId": "other"}
    assert client.post(METRICS, json=metrics({}, app="quiet"), headers=headers).status_code == 202
    [instance] = instances(conn)
    assert (instance["connection"], instance["instance_id"]) == ("c-1", "i-1")
    assert instance["sdk_version"] == "unleash-node-sdk:6.12.1"
    assert [event["data"]["appName"] for event in world.events(since)] == ["quiet"]


def test_an_instance_is_written_once_a_minute_unless_it_names_more(client: Caller, conn: Connection) -> None:
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


def test_browsers_register_applications_without_instances(world: World, conn: Connection) -> None:
    response = world.api_key("frontend").post("/api/frontend/client/register", json=PYTHON)
    assert (response.status_code, response.data) == (200, b"")
    assert names(conn) == ["shop"]
    assert instances(conn) == []


def test_a_token_that_reports_too_often_waits(
    world: World, client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "REPORTS_PER_MINUTE", 2)
    # If the minute ends during the test, the count begins anew.
    responses = [client.post(METRICS, json=metrics({}, app=f"app-{number}")) for number in range(6)]
    statuses = [response.status_code for response in responses]
    assert statuses[:2] == [202, 202]
    assert 429 in statuses
    limited = responses[statuses.index(429)]
    assert "more than 2 reports in this minute" in refused(limited, 429, "RateLimitError")
    assert 1 <= int(limited.headers["Retry-After"]) <= 60
    assert len(names(conn)) == statuses.count(202)
    # Another token is not affected.
    register(world.api_key("client"), appName="other")


def test_what_is_dropped_is_logged_once_for_each_application(client: Caller, caplog: pytest.LogCaptureFixture) -> None:
    for app in ("logged\n1", "logged 2"):
        for _ in range(3):
            report(client, {"f": {"yes": -1}}, app=app)
    assert [record.getMessage() for record in caplog.records] == [
        f"Dropped from a report of the application {app}: an entry with invalid names or counts. Next line in an hour."
        for app in ("'logged\\n1'", "'logged 2'")
    ]


def test_the_next_minute_counts_anew(client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "REPORTS_PER_MINUTE", 1)
    responses = []
    for now in (600.0, 645.0, 660.0):
        monkeypatch.setattr(rules, "time", SimpleNamespace(monotonic=lambda now=now: now))
        responses.append(client.post(METRICS, json=metrics({})))
    assert [response.status_code for response in responses] == [202, 429, 202]
    assert responses[1].headers["Retry-After"] == "15"


def test_the_next_hour_logs_anew(app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(report_log, "MAX_LOGGED", 2)
    now = [3600.0, 7199.0, 7199.0, 7199.0, 7200.0]
    monkeypatch.setattr(report_log, "time", SimpleNamespace(time=lambda: now.pop(0)))
    log = ReportLog()
    with app.app_context():
        for name in ("a", "a", "b", "c", "a"):
            log.warn(name, {"it": 1})
    assert [record.args[0] for record in caplog.records if record.args] == ["'a'", "'b'", "'a'"]  # pyright: ignore
