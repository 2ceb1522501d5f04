"""Metrics of the real service: two worker processes counted together, over both doors."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from commands import metrics_port
from tests.metrics import BEARER, REQUESTS, TOKEN, Metered, needs_promtool, promtool, read, total
from tests.service import PATIENCE, wait_until

pytestmark = pytest.mark.slow


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
