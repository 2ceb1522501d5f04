"""Pages of large events: refused before the JSON is built, and sent in bounded memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flask import Flask

from sql import connect, event_search, events, value
from sql.bootstrap import System
from tests.conftest import ADMIN_KEY
from tests.service import Service
from tests.world import Caller, World, refused

SEARCH = "/api/admin/search/events"
DEPRECATED = "/api/admin/events/search"
FEWER = "The response would exceed 64 MiB. Ask for fewer events: set a smaller limit."
FEWER_OF_FLAG = "The response would exceed 64 MiB. Ask for fewer: use GET /api/admin/search/events with feature and limit."
KEY = {"Authorization": ADMIN_KEY}
MIB = 1 << 20
# What was measured for 60 MB of events, and a third more: 170 MiB in the worker and 480 MiB in PostgreSQL. A refusal takes 14 MiB there.
MOST_OF_WORKER = 230 * MIB
MOST_OF_POSTGRESQL = 640 * MIB
MOST_OF_REFUSAL = 40 * MIB


def test_a_page_is_measured_by_the_bytes_of_its_payloads(world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    world.conn.execute("TRUNCATE events")
    # Bytes, not characters: an é has two. The tags are "[]".
    for _ in range(3):
        events.record(world.conn, "tag-created", System(), feature="f", data={"é": 1}, pre_data={"é": 2})
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


def test_what_postgresql_cannot_hold_is_refused_for_good(make_app: Callable[..., Flask], shared_url: str) -> None:
    app = make_app(shared_url)

    @app.get("/broken")
    def too_large() -> str:
        with psycopg.connect(shared_url) as conn:
            return str(conn.execute("SELECT repeat('x', 1 << 30)").fetchone())

    response = Caller(app).get("/broken")
    assert refused(response) == "The request or its response is too large for the database. Send or ask for less."
    assert "Retry-After" not in response.headers


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str]) -> Iterator[Service]:
    """The real service, one process with one connection, on a log of a thousand events of a megabyte each."""
    url = make_database()
    with connect(url) as conn:
        conn.execute("TRUNCATE events RESTART IDENTITY")
        conn.execute(
            "INSERT INTO events (type, created_by, feature_name, data)"
            " SELECT 'feature-updated', 'system', 'f', json_build_object('text', repeat('x', 1000000)) FROM generate_series(1, 1000)"
        )
    with Service(url, DATABASE_POOL_SIZE=1) as service:
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
        answer = service.request("POST", DEPRECATED, json={}, headers=KEY)
        assert (answer.status, answer.json["message"]) == (400, FEWER)


@pytest.mark.slow
def test_the_largest_page_and_a_stream_take_bounded_memory(service: Service) -> None:
    with within(service, MOST_OF_REFUSAL, MOST_OF_REFUSAL):
        lines = service.get(f"{SEARCH}?limit=100", headers=KEY | {"Accept": "application/x-ndjson"})
        assert (lines.status, lines.body.count(b"\n")) == (200, 100)
    with within(service, MOST_OF_WORKER, MOST_OF_POSTGRESQL):
        page = service.get(f"{SEARCH}?limit=60", headers=KEY)
        assert (page.status, len(page.json["events"])) == (200, 60)
