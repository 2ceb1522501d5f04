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
from tests.support import fixtures
from tests.support.embedded_server import own_server
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service
from tests.support.world import Caller, World, refused

SEARCH = "/api/admin/search/events"
DEPRECATED = "/api/admin/events/search"
FLAGS = "/api/admin/projects/default/features"
FOUND = "/api/admin/search/features"
EXPORT = "/api/admin/features-batch/export"
PROJECT = "/api/admin/projects/default"
FEWER = "The response would exceed 64 MiB. Ask for fewer"
FEWER_EVENTS = f"{FEWER} events: set a smaller limit."
OVERVIEW = "Use GET /api/admin/projects/{projectId}/overview, and GET /api/admin/search/features for the flags."
FEWER_OF_FLAG = f"{FEWER}: use GET /api/admin/search/events with feature and limit."
KEY = {"Authorization": ADMIN_KEY}
MIB = 1 << 20
# What was measured for 60 MB of events, and a third more: 170 MiB in the worker and 480 MiB in PostgreSQL. A refusal
# takes 14 MiB there.
MOST_OF_WORKER = 230 * MIB
MOST_OF_POSTGRESQL = 640 * MIB
MOST_OF_REFUSAL = 40 * MIB


def test_page_is_measured_by_the_bytes_of_its_payloads(
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
        assert refused(ask(3)) == FEWER_EVENTS
        monkeypatch.setattr(event_search, "PAGE_BYTES", 2 * size - 1)
        assert refused(ask(2)) == FEWER_EVENTS
        assert len(ask(1).json["events"]) == 1
    monkeypatch.setattr(event_search, "PAGE_BYTES", 3 * size)
    assert len(alice.get("/api/admin/events/f").json["events"]) == 3
    monkeypatch.setattr(event_search, "PAGE_BYTES", 3 * size - 1)
    assert refused(alice.get("/api/admin/events/f")) == FEWER_OF_FLAG
    # The total of a page without events is known all the same.
    monkeypatch.setattr(event_search, "PAGE_BYTES", 0)
    assert alice.get(SEARCH, query_string={"type": "IS:tag-deleted"}).json == {"events": [], "total": 0}


@pytest.mark.parametrize(
    ("module", "path", "sent", "fewer", "advice"),
    [
        (
            "flags.core",
            FLAGS,
            {},
            {"namePrefix": "a"},
            "flags: use namePrefix or tag, or GET /api/admin/search/features.",
        ),
        ("flags.search", FOUND, {}, {"limit": 1}, "flags: set a smaller limit."),
        ("flags.transfer", EXPORT, {"features": ["a", "b"]}, {"features": ["a"]}, "Export fewer flags at a time."),
        ("projects.health_report", PROJECT, {}, None, OVERVIEW),
        ("projects.health_report", f"{PROJECT}/health-report", {}, None, OVERVIEW),
    ],
)
def test_flags_are_measured_by_the_bytes_of_their_texts(
    world: World,
    alice: Caller,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    path: str,
    sent: Any,
    fewer: Any,
    advice: str,
) -> None:
    # 100 bytes of each description, and 50 of "simple" and the tag.
    for name in ("a", "b"):
        assert alice.post(FLAGS, json={"name": name, "description": "é" * 50}).status_code == 201
        tag = {"type": "simple", "value": "x" * 44}
        assert alice.post(f"/api/admin/features/{name}/tags", json=tag).status_code == 201

    def ask(given: dict[str, Any]) -> Any:
        if path == EXPORT:
            return alice.post(path, json={"environment": "development"} | given)
        return alice.get(path, query_string=given)

    monkeypatch.setattr(f"sql.{module}.PAGE_BYTES", 300)
    assert len(ask(sent).json["features"]) == 2
    monkeypatch.setattr(f"sql.{module}.PAGE_BYTES", 299)
    since = world.last_event_id()
    assert refused(ask(sent)).endswith(advice)
    assert world.last_event_id() == since
    assert fewer is None or len(ask(fewer).json["features"]) == 1


# What is put on a flag: a thousand bytes each.
LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "parameters": ("strategies", {"parameters": {"groupId": "x" * 1000}}),
    "constraints": (
        "strategies",
        {"constraints": [{"contextName": "userId", "operator": "IN", "values": ["x" * 1000]}]},
    ),
    "overrides": ("variants", {"overrides": [{"contextName": "userId", "values": ["x" * 1000]}]}),
    "payload": ("variants", {"payload_type": "json", "payload_value": "x" * 1000}),
    "legal values": ("strategies", {"parameters": {"stickiness": "field"}}),
    "link": ("flag_links", {"url": f"https://{'x' * 500}", "title": "x" * 500}),
}


@pytest.mark.parametrize("part", LARGE)
def test_export_is_measured_by_all_that_can_be_large(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    table, columns = LARGE[part]
    if part == "legal values":
        legal = json.dumps([{"value": "x" * 1000}])
        fixtures.insert(world.conn, "context_fields", name="field", legal_values=legal)
    place = {"flag_id": world.flag("a")} | ({} if table == "flag_links" else {"environment": "development"})
    keys = {"strategies": {"id": "x", "name": "default"}, "variants": {"name": "x", "weight": 1000}}
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in columns.items()}
    fixtures.insert(world.conn, table, **place, **keys.get(table, {}), **texts)
    ask = {"environment": "development", "features": ["a"]}
    monkeypatch.setattr("sql.flags.transfer.PAGE_BYTES", 1000)
    assert refused(alice.post(EXPORT, json=ask)).endswith("Export fewer flags at a time.")
    monkeypatch.setattr("sql.flags.transfer.PAGE_BYTES", 1200)
    assert len(alice.post(EXPORT, json=ask).json["features"]) == 1


def test_value_that_is_too_large_for_postgresql_is_refused_for_good(
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
        for path, advice in ((f"{SEARCH}?limit=1000", FEWER_EVENTS), ("/api/admin/events/f", FEWER_OF_FLAG)):
            answer = service.get(path, headers=KEY)
            assert (answer.status, answer.json["message"]) == (400, advice)
        for path, body in ((DEPRECATED, {}), (EXPORT, {"environment": "development", "project": "default"})):
            assert service.request("POST", path, json=body, headers=KEY).status == 400
        for path in (FLAGS, f"{FOUND}?limit=100"):
            assert service.get(path, headers=KEY).status == 400


@pytest.mark.slow
def test_largest_page_and_a_stream_take_bounded_memory(service: Service) -> None:
    with within(service, MOST_OF_REFUSAL, MOST_OF_REFUSAL):
        lines = service.get(f"{SEARCH}?limit=100", headers=KEY | {"Accept": "application/x-ndjson"})
        assert (lines.status, lines.body.count(b"\n")) == (200, 100)
    with within(service, MOST_OF_WORKER, MOST_OF_POSTGRESQL):
        page = service.get(f"{SEARCH}?limit=60", headers=KEY)
        assert (page.status, len(page.json["events"])) == (200, 60)
