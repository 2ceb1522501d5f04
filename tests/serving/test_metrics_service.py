"""Metrics of the real service: two worker processes counted together, over both doors."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.support.metrics import BEARER, REQUESTS, TOKEN, Metered, needs_promtool, promtool, read, total
from tests.support.service import PATIENCE, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Metered]:
    """One service for all that leave it as it was."""
    with Metered(make_database()) as service:
        yield service


def test_both_addresses_of_the_metrics_cover_all_worker_processes(service):
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


def test_requests_that_are_not_http_are_counted_too(service):
    before = total(service.scraped(), REQUESTS, method="other", route="none", status="400")
    assert service.raw(b"G(T /secret HTTP/1.1\r\n\r\n").status == 400
    assert total(service.scraped(), REQUESTS, method="other", route="none", status="400") == before + 1


def test_both_addresses_of_the_metrics_need_the_token(service):
    for ask in (service.ask, service.get):
        for headers in (
            {},
            {"Authorization": TOKEN},
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": "Bearer"},
        ):
            answer = ask("/metrics", headers=headers)
            assert (answer.status, answer.json["name"]) == (401, "AuthenticationRequired")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/metrics?x=y", 200),
        ("GET", "/", 404),
        ("GET", "/api/admin/projects", 404),
        ("POST", "/metrics", 405),
        ("BREW", "/metrics", 405),
    ],
)
def test_the_port_of_its_own_has_nothing_else(service, method, path, status):
    answer = service.ask(path, method)
    assert answer.status == status
    assert answer.headers["Allow"] == ("GET" if status == 405 else None)
    if status != 200:
        assert answer.json.keys() == {"id", "name", "message"}


def raw(port: int, data: bytes) -> bytes:
    """The response to these bytes, until the end; nothing if the connection is reset."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


@pytest.mark.parametrize(
    "data", [b"", b"\r\n\r\n", b"GET /metrics HTTP/9\r\n\r\n", b"\x16\x03\x01\x02", b"x" * 200_000]
)
def test_requests_that_are_not_http_get_no_metrics(service, data):
    assert b"flags_" not in raw(service.metrics_port, data)
    assert service.ask().status == 200
    assert "Traceback" not in service.err


@pytest.mark.parametrize("part", [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nAuthorization: "])
def test_slow_clients_delay_no_other_and_are_disconnected(service, part):
    before = threads(service.process.pid)
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", service.metrics_port), timeout=PATIENCE)
            )
            connection.sendall(part)
        wait_until(lambda: threads(service.process.pid) >= 100, "each had a thread")
        assert [service.ask().status for _ in range(5)] == [200] * 5
        wait_until(lambda: threads(service.process.pid) <= before, "all were disconnected")
    assert "Traceback" not in service.err


def threads(pid: int) -> int:
    """The number of threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


@needs_promtool
def test_promtool_has_nothing_to_object_to(service):
    assert promtool("check", "metrics", text=service.ask().body) == (0, "")
