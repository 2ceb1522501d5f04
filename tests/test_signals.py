"""How the real service stops and reloads under load: whoever it took on is answered, and the end comes in bounded time."""

import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event

import pytest

from sql import connect, value
from tests.service import PATIENCE, Service, encode, is_alive, wait_until
from tests.test_event_stream_service import streaming
from tests.test_overload import KEY, TAG_TYPES

pytestmark = pytest.mark.slow

CLIENTS = 8
# Slow clients and streams have three seconds, and what else it takes on a busy machine.
SOON = 12.0


@dataclass
class Client:
    """Sends one change after the other until it is refused. keeps: one connection, as long as the service keeps it."""

    service: Service
    number: int
    keeps: bool
    stopping: Event
    made: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Until no connection can be made any more."""
        connection = HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        headers = {**KEY, "Content-Type": "application/json"}
        while True:
            name = f"client-{self.number}-{len(self.made)}"
            try:
                if connection.sock is None:
                    connection.connect()
            except OSError as error:
                if not self.stopping.is_set():
                    self.failed.append(f"{name}: refused: {error}")
                return
            try:
                # In one piece, as it is sent in practice.
                connection.request("POST", TAG_TYPES, encode({"name": name}), headers)
                response = connection.getresponse()
                response.read()
            except (OSError, HTTPException) as error:
                self.failed.append(f"{name}: {type(error).__name__}: {error}")
                return
            if response.status != 201:
                self.failed.append(f"{name}: {response.status}")
            self.made.append(name)
            if not self.keeps:
                connection.close()


def test_under_load_a_reload_loses_nothing_and_neither_does_the_end(make_database: Callable[..., str], tmp_path) -> None:
    url = make_database()
    address = tmp_path / "address"
    address.write_text(url)
    with Service(DATABASE_URL_FILE=address, WEB_CONCURRENCY=2) as service, ThreadPoolExecutor(CLIENTS) as pool:
        stopping = Event()
        clients = [Client(service, number, number % 2 == 0, stopping) for number in range(CLIENTS)]
        running = [pool.submit(client.run) for client in clients]

        def went_on(count: int) -> None:
            """Every client has made so many more changes, or failed."""
            made = [len(client.made) for client in clients]
            wait_until(
                lambda: all(len(client.made) >= before + count for client, before in zip(clients, made, strict=True)) or failures(clients),
                "every client had gone on",
            )

        try:
            went_on(10)
            before = service.workers
            # Which database it is, and what names us there, is read anew.
            address.write_text(f"{url}{'&' if '?' in url else '?'}application_name=renewed")
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(service.workers) == 2 and not service.workers & before, "all workers were new")
            went_on(10)
            assert failures(clients) == []
            with connect(url) as conn:
                renewed = "SELECT bool_and(application_name = 'renewed') FROM pg_stat_activity WHERE backend_type = 'client backend'"
                others = " AND datname = current_database() AND pid <> pg_backend_pid()"
                assert value(conn, renewed + others)
        finally:
            stopping.set()
            began = time.monotonic()
            status = service.stop()
        took = time.monotonic() - began
        for one in running:
            one.result(PATIENCE)
        assert failures(clients) == []
        assert status == 0
        assert took < SOON
        with connect(url) as conn:
            kept = {row["name"] for row in conn.execute("SELECT name FROM tag_types WHERE name LIKE 'client-%'")}
        # Nobody was left without the answer to what he had changed, either.
        assert kept == {name for client in clients for name in client.made}
        assert "Traceback" not in service.err


def failures(clients: list[Client]) -> list[str]:
    """What went wrong for any of them."""
    return [failed for client in clients for failed in client.failed]


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database with a log that takes a while to read."""
    url = make_database()
    with connect(url) as conn:
        fill = "SELECT 'feature-updated', 'system', json_build_object('text', repeat('x', 3000)) FROM generate_series(1, 5000)"
        conn.execute(f"INSERT INTO events (type, created_by, data) {fill}")  # pyright: ignore
    return url


def test_who_is_being_answered_is_told_that_the_connection_ends_and_a_stalled_stream_does_not_keep_it_alive(url: str) -> None:
    with Service(url, THREADS=8) as service, connect(url) as conn:
        kept = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        changing = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        with streaming(service) as stalled:
            assert stalled.status == 200
            with conn.transaction():
                conn.execute("LOCK TABLE tag_types IN EXCLUSIVE MODE")
                changing.request("POST", TAG_TYPES, encode({"name": "begun"}), {**KEY, "Content-Type": "application/json"})
                wait_until(lambda: conn.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is not None, "the change waited")
                kept.request("GET", TAG_TYPES, headers=KEY)
                assert kept.getresponse().read()
                silent = socket.create_connection(("127.0.0.1", service.port))
                began = time.monotonic()
                service.process.send_signal(signal.SIGTERM)
                wait_until(lambda: not can_connect(service), "nobody could connect any more")
                # Who sends his next request on a connection that was kept is answered, too.
                kept.request("GET", "/health")
                assert told_to_close(kept)
            assert told_to_close(changing)
            assert service.process.wait(PATIENCE) == 0
            assert time.monotonic() - began < SOON
        silent.close()
        assert value(conn, "SELECT count(*) FROM tag_types WHERE name = 'begun'") == 1
        cuts = [line.get("cut") for line in service.lines if "events" in line]
        assert cuts == ["client"]
        assert "Traceback" not in service.err


def test_who_connects_before_the_end_is_answered_and_nobody_connects_after_it(url: str) -> None:
    with Service(url) as service:
        (worker,) = service.workers
        os.kill(worker, signal.SIGSTOP)
        try:
            waiting = [HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE) for _ in range(8)]
            for one in waiting:
                one.request("GET", TAG_TYPES, headers=KEY)
            service.process.send_signal(signal.SIGTERM)
            could = [can_connect(service)]
            wait_until(lambda: could.append(can_connect(service)) or not could[-1], "nobody could connect any more")
            # Not because 2048 are there, more than which the kernel keeps for nobody.
            assert len(could) < 1000
        finally:
            os.kill(worker, signal.SIGCONT)
        assert [told_to_close(one) for one in waiting] == [True] * 8
        assert service.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGKILL])
def test_a_stream_keeps_no_worker_alive_whatever_ends_the_master(url: str, number: signal.Signals) -> None:
    with Service(url) as service, streaming(service) as stalled:
        assert stalled.status == 200
        workers = service.workers
        began = time.monotonic()
        service.stop(number)
        wait_until(lambda: not any(map(is_alive, workers)), "the workers had ended")
        assert time.monotonic() - began < SOON
        assert [line["cut"] for line in service.lines if "events" in line] == ["client"]


def told_to_close(connection: HTTPConnection) -> bool:
    """Whether there is a good answer, which says that the connection ends."""
    response = connection.getresponse()
    response.read()
    return response.status in (200, 201) and response.headers["Connection"] == "close"


def can_connect(service: Service) -> bool:
    """Whether anybody takes new connections."""
    try:
        socket.create_connection(("127.0.0.1", service.port), timeout=0.2).close()
    except OSError:
        return False
    return True
