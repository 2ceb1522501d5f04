"""Large pages of events and flags: refused before the JSON is built, and sent in bounded memory."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flask import Flask

from rules.access import SYSTEM
from sql import event_search, events
from sql.database import connect, value
from sql.events import Event
from tests.support.embedded_server import own_server
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.world import Caller, World, refused

SEARCH = "/api/admin/search/events"
DEPRECATED = "/api/admin/events/search"
FLAGS = "/api/admin/projects/default/features"
EXPORT = "/api/admin/features-batch/export"
FEWER = "The response would exceed 64 MiB. Ask for fewer events: set a smaller limit."
FEWER_OF_FLAG = (
    "The response would exceed 64 MiB. Ask for fewer: use GET /api/admin/search/events with feature and limit."
)
KEY = {"Authorization": ADMIN_KEY}
MIB = 1 << 20
# What was measured for 60 MB of events, and a third more: 170 MiB in the worker and 480 MiB in PostgreSQL. A refusal
# takes 14 MiB there.
MOST_OF_WORKER = 230 * MIB
MOST_OF_POSTGRESQL = 640 * MIB
MOST_OF_REFUSAL = 40 * MIB


def test_a_page_is_measured_by_the_bytes_of_its_payloads(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.conn.execute("TRUNCATE events")
    # Bytes, not characters: an é has two. The tags are "[]".
    for _ in range(3):
        events.record(world.conn, Event("tag-created", SYSTEM, feature="f", data={"é": 1}, pre_data={"é": 2}))
    asked: list[Callable[[int], Any]] = [
        lambda number: alice.get(SEARCH, query_string={"limit": number}),
        lambda number: alice.get(SEARCH, query_string={"limit": number, "feature": "IS:f"}),
        lambda number: alice.post(DEPRECATED, json={"limit": number}),
    ]
    size = len('{"é":1}'.encode()) * 2 + 2
    for ask in asked:
        monkeypatch.setattr(event_search, "PAGE_BYTES", 2 * size)
        assert len(ask(2).json["events"]) == 2
        assert "Ask for fewer events" in refused(ask(3))
        monkeypatch.setattr(event_search, "PAGE_BYTES", 2 * size - 1)
        assert "Ask for fewer events" in refused(ask(2))
        assert len(ask(1).json["events"]) == 1
    monkeypatch.setattr(event_search, "PAGE_BYTES", 3 * size)
    assert len(alice.get("/api/admin/events/f").json["events"]) == 3
    monkeypatch.setattr(event_search, "PAGE_BYTES", 3 * size - 1)
    assert "with feature and limit" in refused(alice.get("/api/admin/events/f"))
    # The total of a page without events is known all the same.
    monkeypatch.setattr(event_search, "PAGE_BYTES", 0)
    assert alice.get(SEARCH, query_string={"type": "IS:tag-deleted"}).json == {"events": [], "total": 0}


def test_a_list_of_flags_is_measured_by_the_bytes_of_its_texts(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        assert alice.post(f"{FLAGS}", json={"name": name, "description": "é" * 50}).status_code == 201
        assert (
            alice.post(f"/api/admin/features/{name}/tags", json={"type": "simple", "value": "x" * 44}).status_code
            == 201
        )
    # 100 bytes of each description, and 50 of "simple" and the tag.
    asked: list[tuple[str, Callable[[], Any], Callable[[], Any], str]] = [
        (
            "sql.flags.core",
            lambda: alice.get(FLAGS),
            lambda: alice.get(FLAGS, query_string={"namePrefix": "a"}),
            "Ask for fewer flags: use namePrefix or tag, or GET /api/admin/search/features.",
        ),
        (
            "sql.flags.search",
            lambda: alice.get("/api/admin/search/features"),
            lambda: alice.get("/api/admin/search/features", query_string={"limit": 1}),
            "Ask for fewer flags: set a smaller limit.",
        ),
        (
            "sql.flags.transfer",
            lambda: alice.post(EXPORT, json={"environment": "development", "features": ["a", "b"]}),
            lambda: alice.post(EXPORT, json={"environment": "development", "features": ["a"]}),
            "Export fewer flags at a time.",
        ),
    ]
    for module, ask, ask_for_fewer, advice in asked:
        monkeypatch.setattr(f"{module}.PAGE_BYTES", 300)
        assert len(ask().json["features"]) == 2
        monkeypatch.setattr(f"{module}.PAGE_BYTES", 299)
        recorded = value(world.conn, "SELECT count(*) FROM events WHERE type = 'features-exported'")
        assert refused(ask()).endswith(advice)
        assert value(world.conn, "SELECT count(*) FROM events WHERE type = 'features-exported'") == recorded
        assert len(ask_for_fewer().json["features"]) == 1


@pytest.mark.parametrize("path", ["/api/admin/projects/default", "/api/admin/projects/default/health-report"])
def test_a_project_with_its_flags_is_measured_by_the_bytes_of_their_texts(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for name in ("a", "b"):
        assert alice.post(FLAGS, json={"name": name, "description": "é" * 50}).status_code == 201
    monkeypatch.setattr("sql.projects.health_report.PAGE_BYTES", 200)
    assert len(alice.get(path).json["features"]) == 2
    monkeypatch.setattr("sql.projects.health_report.PAGE_BYTES", 199)
    advice = "Use GET /api/admin/projects/{projectId}/overview, and GET /api/admin/search/features for the flags."
    assert refused(alice.get(path)).endswith(advice)


# What is put on flag a in one environment: a thousand bytes each.
PLACED = (
    "WITH place AS (SELECT flag_id, environment FROM flag_environments WHERE environment = 'development') INSERT INTO"
)
LARGE = {
    "parameters": (
        (
            f"{PLACED} strategies (id, flag_id, environment, name, parameters) "
            "SELECT 'x', flag_id, environment, 'default', %s FROM place"
        ),
        {"groupId": "x" * 1000},
    ),
    "constraints": (
        (
            f"{PLACED} strategies (id, flag_id, environment, name, constraints) "
            "SELECT 'x', flag_id, environment, 'default', %s FROM place"
        ),
        [{"contextName": "userId", "operator": "IN", "values": ["x" * 1000]}],
    ),
    "overrides": (
        (
            f"{PLACED} variants (flag_id, environment, name, weight, overrides) "
            "SELECT flag_id, environment, 'x', 1000, %s FROM place"
        ),
        [{"contextName": "userId", "values": ["x" * 1000]}],
    ),
    "payload": (
        f"{PLACED} variants (flag_id, environment, name, weight, payload_type, payload_value)"
        " SELECT flag_id, environment, 'x', 1000, 'json', %s FROM place",
        "x" * 1000,
    ),
    "legal values": (
        "WITH field AS (INSERT INTO context_fields (name, legal_values) VALUES ('field', %s) RETURNING name), place AS"
        " (SELECT flag_id, environment, name FROM flag_environments, field WHERE environment = 'development')"
        " INSERT INTO strategies (id, flag_id, environment, name, parameters)"
        " SELECT 'x', flag_id, environment, 'default', json_build_object('stickiness', name) FROM place",
        [{"value": "x" * 1000}],
    ),
}


@pytest.mark.parametrize("part", LARGE)
def test_an_export_is_measured_by_all_that_can_be_large(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    assert alice.post(FLAGS, json={"name": "a"}).status_code == 201
    statement, document = LARGE[part]
    world.conn.execute(statement, [json.dumps(document)])  # pyright: ignore
    ask = {"environment": "development", "features": ["a"]}
    monkeypatch.setattr("sql.flags.transfer.PAGE_BYTES", 1000)
    assert refused(alice.post(EXPORT, json=ask)).endswith("Export fewer flags at a time.")
    monkeypatch.setattr("sql.flags.transfer.PAGE_BYTES", 1200)
    assert len(alice.post(EXPORT, json=ask).json["features"]) == 1


def test_a_value_that_is_too_large_for_postgresql_is_refused_for_good(
    make_app: Callable[..., Flask], shared_url: str
) -> None:
    app = make_app(shared_url)

    @app.get("/broken")
    def too_large() -> str:
        with psycopg.connect(shared_url) as conn:
            return str(conn.execute("SELECT repeat('x', 1 << 30)").fetchone())

    response = Caller(app).get("/broken")
    assert refused(response) == "The request or its response is too large for the database. Send or request less."
    assert "Retry-After" not in response.headers


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """The real service with one process and one connection, 1,000 events and 100 flags of a megabyte each.

    No other test has used its PostgreSQL. The memory of a PostgreSQL process contains the shared memory that it has
    touched, and that also depends on what was there before.
    """
    given = {"DATABASE_POOL_SIZE": 1, "INIT_ADMIN_API_TOKENS": ADMIN_KEY}
    with own_server() as server, Service(server.url, **given) as service:
        with connect(server.url) as conn:
            conn.execute("SET statement_timeout = 0")
            conn.execute("TRUNCATE events RESTART IDENTITY")
            conn.execute(
                "INSERT INTO events (type, created_by, feature_name, data)"
                " SELECT 'feature-updated', 'system', 'f', json_build_object('text', repeat('x', 1000000)) "
                "FROM generate_series(1, 1000)"
            )
            # As an earlier version took them.
            conn.execute(
                "INSERT INTO flags (name, project_id, description)"
                " SELECT 'f-' || number, 'default', repeat('x', 1000000) FROM generate_series(1, 100) AS number"
            )
        assert service.get(f"{SEARCH}?limit=1", headers=KEY).status == 200
        yield service


@contextmanager
def within(service: Service, of_worker: int, of_postgresql: int) -> Iterator[None]:
    """Fail if the worker or its PostgreSQL process takes more memory at any moment of the block than before it."""
    with connect(str(service.settings["DATABASE_URL"])) as conn:
        backend = value(
            conn,
            "SELECT min(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )
    (worker,) = service.workers
    for pid in (worker, backend):
        # Let VmHWM, the peak, begin anew.
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    before = {pid: peak(pid) for pid in (worker, backend)}
    yield
    assert peak(worker) - before[worker] < of_worker
    assert peak(backend) - before[backend] < of_postgresql


def peak(pid: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nVmHWM:")[2].split()[0]) * 1024


@pytest.mark.slow
def test_large_pages_are_refused_before_they_take_memory(service: Service) -> None:
    with within(service, MOST_OF_REFUSAL, MOST_OF_REFUSAL):
        for path, advice in ((f"{SEARCH}?limit=1000", FEWER), ("/api/admin/events/f", FEWER_OF_FLAG)):
            answer = service.get(path, headers=KEY)
            assert (answer.status, answer.json["message"]) == (400, advice)
        for path, body in ((DEPRECATED, {}), (EXPORT, {"environment": "development", "project": "default"})):
            assert service.request("POST", path, json=body, headers=KEY).status == 400
        for path in (FLAGS, "/api/admin/search/features?limit=100"):
            assert service.get(path, headers=KEY).status == 400


@pytest.mark.slow
def test_the_largest_page_and_a_stream_take_bounded_memory(service: Service) -> None:
    with within(service, MOST_OF_REFUSAL, MOST_OF_REFUSAL):
        lines = service.get(f"{SEARCH}?limit=100", headers=KEY | {"Accept": "application/x-ndjson"})
        assert (lines.status, lines.body.count(b"\n")) == (200, 100)
    with within(service, MOST_OF_WORKER, MOST_OF_POSTGRESQL):
        page = service.get(f"{SEARCH}?limit=60", headers=KEY)
        assert (page.status, len(page.json["events"])) == (200, 60)
