"""Metrics of the real service: two worker processes counted together, over both doors, whatever becomes of a process."""

import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict

from commands import metrics_port
from commands.metrics_folder import PREFIX
from sql import connect
from tests.metrics import BEARER, TOKEN, Series, needs_promtool, promtool, read, total
from tests.service import GUNICORN, PATIENCE, Answer, Service, free_port, is_alive, run_together, wait_until

pytestmark = pytest.mark.slow

REQUESTS = "flags_http_requests_total"


class Metered(Service):
    """A service of two worker processes with both doors."""

    def __init__(self, database: str | None, **settings: object) -> None:
        self.metrics_port = free_port()
        settings = {"METRICS_TOKEN": TOKEN, "METRICS_PORT": self.metrics_port, "WEB_CONCURRENCY": 2} | settings
        super().__init__(database, **settings)

    @property
    def folder(self) -> Path:
        """Where it counts: the master holds a lock on it."""
        held = [link.readlink() for link in Path(f"/proc/{self.process.pid}/fd").iterdir()]
        (folder,) = [path for path in held if path.name.startswith(PREFIX)]
        return folder

    @property
    def shares(self) -> list[float]:
        """How many requests for what is not there each slot's workers have answered."""
        files = [MmapedDict.read_all_values_from_file(file) for file in self.folder.glob("counter_*.db")]
        mine = '"method": "GET", "route": "none", "status": "404"'
        return [sum(value for key, value, *_ in values if mine in key) for values in files]

    def ask(self, path: str = "/metrics", method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        """What the port of its own answers."""
        connection = HTTPConnection("127.0.0.1", self.metrics_port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=BEARER if headers is None else headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def scraped(self) -> dict[Series, float]:
        """Every series, as the port of its own tells it."""
        answer = self.ask()
        assert answer.status == 200
        return read(answer.body)

    def counted(self) -> float:
        """How many requests for what is not there were answered."""
        return total(self.scraped(), REQUESTS, route="none", status="404")

    def send(self, number: int) -> None:
        """Send so many of them."""
        for _ in range(number):
            assert self.get("/absent").status == 404


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Metered]:
    """One service for all that leave it as it was."""
    with Metered(make_database()) as service:
        yield service


def test_both_doors_tell_the_same_of_all_worker_processes(service):
    sent = 0
    while not all(service.shares):
        service.send(1)
        sent += 1
    found = service.scraped()
    assert total(found, REQUESTS, route="none", status="404") == sum(service.shares) == sent
    assert total(found, "flags_workers") == total(found, "flags_workers_wanted") == 2
    assert total(found, "flags_database_connections_max") == 16
    assert total(found, "flags_database_connections_in_use") == total(found, "flags_database_requests_waiting") == 0
    answer = service.get("/metrics", headers=BEARER)
    assert answer.status == 200
    changing = {"/metrics"}
    assert {key: value for key, value in read(answer.body).items() if not changing & {word for _, word in key[1]}} == {
        key: value for key, value in service.scraped().items() if not changing & {word for _, word in key[1]}
    }


def test_what_is_not_http_is_counted_too(service):
    before = total(service.scraped(), REQUESTS, method="other", route="none", status="400")
    assert service.raw(b"G(T /secret HTTP/1.1\r\n\r\n").status == 400
    assert total(service.scraped(), REQUESTS, method="other", route="none", status="400") == before + 1


def test_both_doors_ask_for_the_token(service):
    for ask in (service.ask, service.get):
        for headers in ({}, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": "Bearer"}):
            answer = ask("/metrics", headers=headers)
            assert (answer.status, answer.json["name"]) == (401, "AuthenticationRequired")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/metrics", 200),
        ("GET", "/metrics?x=y", 200),
        ("GET", "/", 404),
        ("HEAD", "/health", 404),
        ("GET", "/api/admin/projects", 404),
        ("POST", "/metrics", 405),
        ("BREW", "/metrics", 405),
    ],
)
def test_the_port_of_its_own_has_nothing_else(service, method, path, status):
    answer = service.ask(path, method)
    assert answer.status == status
    assert answer.headers["Server"] is None
    assert answer.headers["Allow"] == ("GET, HEAD" if status == 405 else None)
    assert int(answer.headers["Content-Length"]) > 0
    assert bool(answer.body) == (method != "HEAD")


def raw(port: int, data: bytes) -> bytes:
    """What is answered to these very bytes, until the end; nothing when the connection is broken."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


@pytest.mark.parametrize(
    "data",
    [b"", b"\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET /metrics HTTP/9\r\n\r\n", b"\x16\x03\x01\x02", b"x" * 20_000, b"GET " + b"y" * 9000],
)
def test_what_is_not_http_is_refused_there_as_well(service, data):
    answer = raw(service.metrics_port, data)
    # Who sends more than is read may be hung up on before he hears why.
    assert answer.startswith(b"HTTP/1.1 400 ") or len(data) > 8192
    assert service.ask().status == 200


@pytest.mark.parametrize("part", [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nAuthorization: "])
def test_slow_clients_there_hold_nobody_up(service, part):
    """More of them than both worker processes take at once."""
    before = {worker: threads(worker) for worker in service.workers}
    with ExitStack() as stack:
        for _ in range(3 * metrics_port.AT_ONCE):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", service.metrics_port), timeout=PATIENCE))
            connection.sendall(part)
        assert [service.ask().status for _ in range(5)] == [200] * 5
        wait_until(lambda: all(threads(it) <= before[it] + metrics_port.AT_ONCE for it in before), "the oldest were hung up on")
    wait_until(lambda: all(threads(it) <= before[it] for it in before), "all had ended")


def threads(pid: int) -> int:
    """How many threads a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_who_sends_a_byte_now_and_then_has_no_longer_for_it(monkeypatch):
    monkeypatch.setattr(metrics_port, "PATIENCE", 0.3)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.02):
                theirs.send(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                metrics_port.read_head(ours)
            assert time.monotonic() - began < PATIENCE
        finally:
            stop.set()
            dripping.join()


@needs_promtool
def test_promtool_has_nothing_to_object_to(service):
    assert promtool("check", "metrics", text=service.ask().body) == (0, "")


def kill(service: Metered) -> None:
    """Kill one worker process."""
    before = service.workers
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in service.workers and len(service.workers) == len(before), "another one took its place")


def reload(service: Metered) -> None:
    """Replace all worker processes."""
    before = service.workers
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(service.workers) == len(before) and not service.workers & before, "all were new")


def test_counters_never_go_back_and_there_are_not_more_files_each_time(make_database):
    with Metered(make_database()) as service:
        folder = service.folder
        started, expected, files = total(service.scraped(), "process_start_time_seconds"), 0, set()
        for change in (kill, reload, kill, reload):
            service.send(10)
            expected += 10
            assert service.counted() == expected
            change(service)
            wait_until(lambda: total(service.scraped(), "flags_workers") == 2, "the new ones were counted, and the old ones not")
            assert service.counted() == expected
            files |= {file.name for file in folder.iterdir()}
        assert total(service.scraped(), "process_start_time_seconds") == started
        # Three of each slot: of twice as many slots as worker processes, for those that are replaced.
        assert len(files) <= 3 * 4
        assert service.stop() == 0
        assert not folder.exists()
        assert "Traceback" not in service.err
    with socket.create_server(("127.0.0.1", service.metrics_port)):
        pass


def test_who_has_no_space_to_count_serves_all_the_same_and_tells_what_the_others_count(make_database):
    with Metered(make_database(), WEB_CONCURRENCY=1) as service:
        service.send(3)
        # A new worker takes a slot of its own while the old one has its.
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (99_999, resource.RLIM_INFINITY))
        reload(service)
        service.send(1)
        wait_until(lambda: "its part is missing in the metrics" in service.err, "it said so")
        assert service.counted() == total(read(service.get("/metrics", headers=BEARER).body), REQUESTS, route="none", status="404") == 3
        assert total(service.scraped(), "flags_workers") == 0


def test_a_port_without_a_token_is_open_at_its_own_address_alone(make_database):
    with Metered(make_database(), METRICS_TOKEN="", METRICS_HOST="::1", WEB_CONCURRENCY=1) as service:
        with socket.create_connection(("::1", service.metrics_port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert total(read(answer.partition(b"\r\n\r\n")[2]), "flags_workers") == 1
        with pytest.raises(ConnectionRefusedError):
            service.ask()
        assert service.get("/metrics", headers=BEARER).status == 404


def test_it_is_seen_that_all_threads_wait_and_what_a_killed_worker_held_is_held_no_more(make_database):
    url = make_database()
    with Metered(url, WEB_CONCURRENCY=1, THREADS=1, DATABASE_POOL_SIZE=1) as service, connect(url) as conn:
        with conn.transaction():
            conn.execute("LOCK TABLE schema_version")
            waiting = [threading.Thread(target=give_up, args=(service,)) for _ in range(2)]
            for thread in waiting:
                thread.start()
            wait_until(lambda: total(service.scraped(), "flags_database_connections_in_use") == 1, "a request held the only connection")
            kill(service)
            wait_until(lambda: is_idle(service), "the new process had nothing in hand")
        for thread in waiting:
            thread.join()
        assert service.get("/ready").status == 200


def give_up(service: Service) -> None:
    """Ask what needs the database, and make nothing of a connection that breaks."""
    with suppress(OSError, HTTPException):
        service.get("/ready")


def is_idle(service: Metered) -> bool:
    """Whether a worker process lives that holds no connection."""
    found = service.scraped()
    return total(found, "flags_workers") == 1 and total(found, "flags_database_connections_in_use") == 0


def test_a_start_clears_up_what_a_killed_service_has_left_and_nothing_else(make_database):
    url = make_database()
    with Metered(url) as living:
        killed = Metered(url)
        with killed:
            left, workers = killed.folder, killed.workers
            assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        wait_until(lambda: not any(map(is_alive, workers)), "its worker processes had noticed")
        assert left.exists()
        with Metered(url, METRICS_PORT=killed.metrics_port):
            assert not left.exists()
            assert total(living.scraped(), "flags_workers") == 2


def test_orphans_that_still_work_let_go_of_the_port(make_database):
    url = make_database()
    with Metered(url, WEB_CONCURRENCY=1) as killed, connect(url) as conn, conn.transaction():
        conn.execute("LOCK TABLE schema_version")
        waiting = threading.Thread(target=give_up, args=(killed,))
        waiting.start()
        wait_until(lambda: total(killed.scraped(), "flags_database_connections_in_use") == 1, "a request waited")
        (orphan,) = killed.workers
        assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        with Metered(make_database(), METRICS_PORT=killed.metrics_port, WEB_CONCURRENCY=1):
            assert killed.ask().status == 200
            assert is_alive(orphan)
    waiting.join()
    wait_until(lambda: not is_alive(orphan), "it had answered")


WITHOUT_SPACE = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (99_999, 99_999)); "
WITHOUT_SPACE += f"os.execv(sys.executable, [sys.executable, *{GUNICORN!r}])"


def test_a_start_that_cannot_count_or_tell_is_refused_with_a_sentence(tmp_path):
    port = free_port()
    # As another service of ours would have it.
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        refusals = [
            (GUNICORN, {"METRICS_PORT": port}, f"Port {port} of 127.0.0.1 cannot be served: Address already in use."),
            (GUNICORN, {"METRICS_PORT": port, "METRICS_HOST": "192.0.2.1"}, f"Port {port} of 192.0.2.1 cannot be served: Cannot assign "),
            (
                GUNICORN,
                {"METRICS_PORT": port, "METRICS_HOST": "nowhere.invalid"},
                f"Port {port} of nowhere.invalid cannot be served: no such ",
            ),
            (("-c", WITHOUT_SPACE), {"METRICS_TOKEN": TOKEN}, "There is no place to count for metrics: File too large."),
        ]
        common = {"DATA_DIR": tmp_path / "data"}
        done = run_together([(arguments, {**common, "PORT": free_port(), **given}) for arguments, given, _ in refusals])
    for it, (*_, sentence) in zip(done, refusals, strict=True):
        assert (it.returncode, it.stdout, it.stderr.count("\n")) == (1, "", 1), it.stderr
        assert it.stderr.startswith(sentence)
    assert not (tmp_path / "data").exists()
