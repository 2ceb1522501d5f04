"""Reports of applications to a real service: many at once, large ones, and kill -9 in between."""

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from flask import Flask

from sql.database import Connection, connect, rows, value
from tests.support.embedded_server import own_server
from tests.support.reports import METRICS, metrics
from tests.support.service import Answer, Service, postmaster_of, wait_until
from tests.support.world import World

FLAGS = [f"flag-{number}" for number in range(20)]
KEY = "*:*.the-key-of-these-tests"
AUTHORIZED = {"Authorization": KEY}
FEATURES = "/api/admin/projects/default/features"
YES = {"yes": 1, "no": 0}


@pytest.fixture
def conn(make_database: Callable[..., str]) -> Iterator[Connection]:
    """A connection to a database of its own, that commits."""
    with connect(make_database()) as conn:
        yield conn


@pytest.fixture
def key(conn: Connection, shared_app: Flask) -> str:
    """A client token in a database with many flags."""
    world = World(shared_app, conn)
    for flag in FLAGS:
        world.flag(flag)
    return world.api_key("client").key or ""


def service_on(conn: Connection, **settings: Any) -> Service:
    """Return a service on the database of a connection."""
    return Service(
        f"postgresql://{conn.info.user}@/{conn.info.dbname}?host={conn.info.host}&port={conn.info.port}", **settings
    )


@pytest.mark.slow
def test_reports_and_polls_outlive_kill_9_of_workers_and_postgresql() -> None:
    sent: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    stop = Event()
    apps = [f"app-{number}" for number in range(8)]

    def report(app: str) -> None:
        document = metrics({flag: YES for flag in FLAGS}, app=app)
        while not stop.is_set():
            sent[app] += 1
            with suppress(OSError, HTTPException):
                status = service.request("POST", METRICS, json=document, headers=application).status
                assert status in (202, 503)
                acknowledged[app] += status == 202

    def go_on() -> None:
        goal = acknowledged.total() + random.randrange(10, 50)
        wait_until(lambda: acknowledged.total() >= goal, "reports were acknowledged again")

    def kill_worker() -> None:
        (worker,) = service.workers
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: service.workers and worker not in service.workers, "there was another worker")

    def poll() -> Answer:
        answer = service.get("/api/client/features", headers=application)
        assert answer.status == 200
        return answer

    def kill_postgresql() -> None:
        """Kill all processes of PostgreSQL, so that none can write what it holds in memory. Start it again."""
        before = poll().body
        postmaster = postmaster_of(server.folder)
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in (postmaster or 0, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # A worker uses what the database said for CLIENT_KEEP_MS, without Age.
        wait_until(lambda: "Age" in poll().headers, "flags came from memory")
        assert {poll().body for _ in range(10)} == {before}
        server.ensure()
        wait_until(lambda: "Age" not in poll().headers, "the flags were current")
        path = f"{FEATURES}/{FLAGS[0]}/environments/development/{next(states)}"
        wait_until(lambda: service.request("POST", path, None, AUTHORIZED).status == 200, "it was changed")
        wait_until(lambda: poll().body != before, "the change arrived")

    states = cycle(("on", "off"))
    with own_server() as server:
        with Service(server.ensure(), INIT_ADMIN_API_TOKENS=KEY) as service, ThreadPoolExecutor(len(apps)) as pool:
            for name in FLAGS:
                assert service.request("POST", FEATURES, {"name": name}, AUTHORIZED).status == 201
            body = {"type": "client", "tokenName": "test", "environment": "development"}
            secret = service.request("POST", "/api/admin/api-tokens", body, AUTHORIZED).json["secret"]
            application = {"Authorization": secret}
            reporters = [pool.submit(report, app) for app in apps]
            try:
                for kill in (kill_worker,) * 6 + (kill_postgresql,) * 2:
                    go_on()
                    kill()
                go_on()
            finally:
                stop.set()
            for reporter in reporters:
                reporter.result()
        statement = "SELECT app_name, sum(yes)::integer AS yes FROM usage_metrics GROUP BY app_name, flag_name"
        with connect(server.ensure()) as conn:
            kept = rows(conn, statement)
    assert len(kept) == len(apps) * len(FLAGS)
    assert [row for row in kept if not acknowledged[row["app_name"]] <= row["yes"] <= sent[row["app_name"]]] == []
    assert sent != acknowledged


def test_large_reports_leave_the_connection_usable(conn: Connection, key: str) -> None:
    headers = {"Authorization": key}
    small = json.dumps(metrics({FLAGS[0]: YES})).encode()
    with service_on(conn) as service:
        connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
        # Counted, counted although above MAX_BODY_BYTES, dropped, and counted again.
        for body in (small, small + b" " * (2 << 20), small + b" " * (12 << 20), small):
            for chunked in (False, True):
                parts = iter([body[:100], body[100:]]) if chunked else body
                connection.request("POST", METRICS, parts, headers, encode_chunked=chunked)  # pyright: ignore
                response = connection.getresponse()
                assert (response.status, response.read()) == (202, b"")
        # A caller without a token is refused before the body is read.
        answer = service.request("POST", METRICS, body=b" " * (2 << 20), headers={"Authorization": "wrong"})
        assert answer.status == 401
        connection.close()
        assert "a report that is too large" in service.err
    assert value(conn, "SELECT sum(yes)::integer FROM usage_metrics") == 6


def test_a_read_only_database_gets_503_and_the_report_counts_later(conn: Connection, key: str) -> None:
    document = metrics({FLAGS[0]: YES})
    with service_on(conn) as service:

        def send() -> Any:
            return service.request("POST", METRICS, json=document, headers={"Authorization": key})

        assert send().status == 202
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_read_only = on")  # pyright: ignore
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        conn.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        wait_until(lambda: send().status == 503, "the database was read-only")
        answer = send()
        assert (answer.status, answer.json["message"]) == (503, "The database is read-only at the moment.")
        assert answer.headers["Retry-After"] == "1"
        conn.execute(f"ALTER DATABASE {conn.info.dbname} RESET default_transaction_read_only")  # pyright: ignore
        before = value(conn, "SELECT sum(yes)::integer FROM usage_metrics")
        wait_until(lambda: send().status == 202, "reports counted again")
        assert value(conn, "SELECT sum(yes)::integer FROM usage_metrics") == before + 1
