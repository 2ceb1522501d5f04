"""What SDKs in delta and streaming mode get, and the tickets of web pages. tests/operations has the open streams."""

import json
import time
from time import monotonic
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from rules import client_deltas, stream_tickets
from sql.database import Connection
from tests.support.segments import make
from tests.support.world import Caller, World, refused

DELTA, STREAM, BULK = "/api/client/delta", "/api/client/streaming", "/ofrep/v1/evaluate/flags"


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for all projects, in development."""
    return world.api_key("client")


def delta(client: Caller, etag: str = "", query: str = "") -> tuple[list[dict[str, Any]], str]:
    """The events since an ETag, and the new one."""
    response = client.get(DELTA + query, headers={"If-None-Match": etag} if etag else {})
    assert response.status_code == 200, response.text
    return response.json["events"], response.headers["ETag"]


def sse(response: TestResponse) -> list[dict[str, str]]:
    """The events of a stream that has ended."""
    assert (response.status_code, response.mimetype) == (200, "text/event-stream")
    return [dict(line.split(": ", 1) for line in event.splitlines()) for event in response.text.split("\n\n") if event]


def test_first_delta_has_all_flags(world: World, client: Caller) -> None:
    world.strategy(world.flag("a"))
    document = client.get("/api/client/features", headers={"Unleash-Client-Spec": "5.2.0"})
    for etag in ("", '"unknown"', 'W/"unknown:1", "x"'):
        (event,), new = delta(client, etag)
        assert event == {
            "type": "hydration",
            "eventId": document.json["meta"]["revisionId"] % 2**31,
            "features": document.json["features"],
            "segments": [],
        }
        assert new == document.headers["ETag"]
    unchanged = client.get(DELTA, headers={"If-None-Match": f"W/{new}"})
    assert (unchanged.status_code, unchanged.data) == (304, b"")


def test_delta_has_each_change_once(world: World, conn: Connection, client: Caller) -> None:
    for name in ("changed", "archived", "same"):
        world.flag(name)
    strategy = world.strategy(conn.execute("SELECT id FROM flags WHERE name = 'changed'").fetchone()["id"])
    kept, gone = make(world.api_key(), "Kept"), make(world.api_key(), "Gone")
    conn.execute("INSERT INTO strategy_segments VALUES (%s, %s), (%s, %s)", [strategy, kept, strategy, gone])
    _, before = delta(client)
    conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'archived'")
    conn.execute("UPDATE segments SET name = 'Renamed' WHERE id = %s", [kept])
    conn.execute("DELETE FROM strategy_segments WHERE segment_id = %s", [gone])
    _, between = delta(client, before)
    world.flag("new")
    events, _ = delta(client, before)
    assert [(event["type"], event.get("feature", event.get("segment", {})).get("name")) for event in events] == [
        ("segment-updated", "Renamed"),
        ("feature-updated", "changed"),
        ("feature-updated", "new"),
        ("feature-removed", None),
        ("segment-removed", None),
    ]
    assert events[3]["featureName"] == "archived"
    assert events[3]["project"] == "default"
    assert events[4]["segmentId"] == gone
    assert [event["type"] for event in delta(client, f'W/{between[:-1]}-gzip"')[0]] == ["feature-updated"]


def test_delta_of_another_query_has_all_flags(world: World, client: Caller) -> None:
    world.flag("a-1")
    world.project("hermes")
    world.flag("b-1", "hermes")
    _, everything = delta(client)
    (event,), _ = delta(client, everything, "?project=default&namePrefix=a")
    assert event["type"] == "hydration"
    assert [flag["name"] for flag in event["features"]] == ["a-1"]
    (event,), _ = delta(world.api_key("client", projects=("hermes",)), everything)
    assert [flag["name"] for flag in event["features"]] == ["b-1"]


def test_oldest_snapshots_are_forgotten(world: World, client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_deltas, "MAX_BYTES", 1)
    _, before = delta(client)
    world.flag("a")
    delta(client)
    assert delta(client, before)[0][0]["type"] == "hydration"


def test_snapshots_without_flags_are_limited(app: Flask, client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_deltas, "MAX_BYTES", 20_000)
    for number in range(10):
        delta(client, query=f"?namePrefix={number}")
    assert len(app.extensions["client_snapshots"]._kept) <= 4


def test_payload_that_looks_like_a_date_is_no_date(world: World, client: Caller) -> None:
    world.flag("a")
    for value in ("2026-99-99T99:99:99.999Z", "٢٠٢٦-٠١-٠١T٠٠:٠٠:٠٠.٠٠٠Z"):
        payload = {"type": "string", "value": value}
        variant = {"name": "v", "weight": 1000, "weightType": "variable", "stickiness": "default", "payload": payload}
        path = "/api/admin/projects/default/features/a/environments/development/variants"
        assert world.api_key().put(path, json=[variant]).status_code == 200
        (event,), _ = delta(client)
        assert event["features"][0]["variants"][0]["payload"] == payload


def test_event_ids_have_31_bits(conn: Connection, client: Caller) -> None:
    conn.execute("INSERT INTO client_revisions (environment, project_id, revision) VALUES ('', 'x', 4294967301)")
    assert delta(client)[0][0]["eventId"] < 2**31


def test_stream_without_a_place_lets_sdks_poll(world: World, client: Caller) -> None:
    world.flag("a")
    connected, mode = sse(client.get(STREAM))
    assert (connected["retry"], connected["event"]) == ("15000", "unleash-connected")
    events = json.loads(connected["data"])["events"]
    assert (events, f'"{connected["id"]}"') == delta(client)
    assert (mode["event"], mode["data"]) == ("fetch-mode", "polling")
    again = sse(client.get(STREAM, headers={"Last-Event-ID": connected["id"]}))[0]
    assert json.loads(again["data"]) == {"events": []}
    world.flag("b")
    again = sse(client.get(STREAM, headers={"Last-Event-ID": connected["id"]}))[0]
    assert [event["feature"]["name"] for event in json.loads(again["data"])["events"]] == ["b"]


@pytest.mark.parametrize("path", [STREAM, "page"])
def test_head_of_a_stream_has_no_body(world: World, client: Caller, path: str) -> None:
    response = client.request("HEAD", page(world.api_key("frontend"))[0] if path == "page" else path)
    assert (response.status_code, response.mimetype, response.data) == (200, "text/event-stream", b"")
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Accel-Buffering"] == "no"
    # A GET would have none.
    assert "Content-Length" not in response.headers


def page(frontend: Caller, **query: str) -> tuple[str, TestResponse]:
    """The address of the stream in a bulk evaluation, and the response."""
    response = frontend.post(BULK, query_string=query, json={"context": {"targetingKey": "7"}})
    assert response.status_code == 200, response.text
    (stream,) = response.json["eventStreams"]
    assert (stream["type"], stream["inactivityDelaySec"]) == ("sse", 120)
    return stream["endpoint"]["requestUri"], response


def test_stream_of_a_page_asks_to_read_again(world: World, stranger: Caller) -> None:
    address, _ = page(world.api_key("frontend"))
    (event,) = sse(stranger.get(address))
    assert event["retry"] == "20000"
    assert json.loads(event["data"]) == {"type": "refetchEvaluation", "etag": event["id"]}
    _, again = page(world.api_key("frontend"), flagConfigEtag=event["id"])
    assert again.json["flags"] == []


def test_new_stream_of_a_page_tells_of_a_change_that_was_undone(
    app: Flask, world: World, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.flag("a")
    address, _ = page(world.api_key("frontend"))

    def first_event() -> str:
        with_place = {"gunicorn.socket": SimpleNamespace(stream=None)}
        # The client of the app would read the whole response.
        return next(FlaskClient(app).get(address, environ_overrides=with_place).iter_encoded()).decode()

    now = monotonic()
    assert "refetchEvaluation" in first_event()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    before = first_event()
    assert "refetchEvaluation" not in before
    # The page may have read its flags in between.
    conn.execute("INSERT INTO client_revisions (environment, project_id, revision) VALUES ('', 'x', 9)")
    monkeypatch.setattr(time, "monotonic", lambda: now + 70)
    again = first_event()
    assert again.startswith(before.strip())
    assert "refetchEvaluation" in again


@pytest.mark.parametrize("kind", ["client", "backend", "admin"])
def test_servers_get_no_stream_for_pages(world: World, kind: str) -> None:
    response = world.api_key(kind).post(BULK, json={"context": {}})
    assert response.json.keys() == {"flags"}


def test_ticket_expires_after_12_to_24_hours(world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    frontend = world.api_key("frontend")
    monkeypatch.setattr(stream_tickets.time, "time", lambda: 12 * 3600 * 1000 - 1)
    address, first = page(frontend)
    monkeypatch.setattr(stream_tickets.time, "time", lambda: 12 * 3600 * 1001 - 1)
    assert stranger.get(address).status_code == 200
    # The ETag changes with the ticket.
    _, second = page(frontend)
    assert first.headers["ETag"] != second.headers["ETag"]
    monkeypatch.setattr(stream_tickets.time, "time", lambda: 12 * 3600 * 1001)
    assert stranger.get(address).status_code == 401


def test_ticket_is_valid_for_its_token_only(world: World, conn: Connection, stranger: Caller) -> None:
    address, _ = page(world.api_key("frontend"))
    key = parse_qs(urlsplit(address).query)["key"][0]
    id, end, signature = key.split(".")
    other = parse_qs(urlsplit(page(world.api_key("frontend"))[0]).query)["key"][0].split(".")[0]
    backend = conn.execute("SELECT id FROM api_keys WHERE kind <> 'frontend'").fetchone()["id"]
    for forged in (
        f"{other}.{end}.{signature}",
        f"{backend}.{end}.{signature}",
        f"{id}.{int(end) + 1}.{signature}",
        f"{id}.{end}.{signature[:-1]}{'0' if signature[-1] != '0' else '1'}",
        f"999999999.{end}.{signature}",
        f"{key} ",
        key.upper() if key != key.upper() else "x",
        "",
    ):
        response = stranger.get("/ofrep/v1/stream", query_string={"key": forged})
        refused(response, 401, "AuthenticationRequired")
    conn.execute("DELETE FROM api_keys WHERE id = %s", [int(id)])
    assert stranger.get(address).status_code == 401


def test_ticket_obeys_the_origins_of_its_token(world: World, conn: Connection, stranger: Caller) -> None:
    frontend = world.api_key("frontend")
    address, _ = page(frontend)
    conn.execute("UPDATE api_keys SET origins = '{https://shop.example}' WHERE kind = 'frontend'")
    assert stranger.get(address, headers={"Origin": "https://eve.example"}).status_code == 403
    allowed = stranger.get(address, headers={"Origin": "https://shop.example"})
    assert allowed.status_code == 200
    assert allowed.headers["Access-Control-Allow-Origin"] == "https://shop.example"
