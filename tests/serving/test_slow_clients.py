"""The real service among clients that do nothing, little, or do not go: others are answered, and each of those loses
its connection.
"""

import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from sql.database import connect
from tests.support.instance import ADMIN_KEY
from tests.support.service import Service, wait_until

pytestmark = pytest.mark.slow

LOGIN = b"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
DRIPPING = [
    b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    LOGIN + b"Content-Length: 900\r\n\r\n{",
    LOGIN + b"Transfer-Encoding: chunked\r\n\r\n384\r\n{",
]
LAST = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
# The service with a second for each client, where it usually has 15.
IMPATIENT = """
import runpy, sys
from serving import worker
worker.SEND_SECONDS = worker.READ_SECONDS = 1.0
sys.argv[1:] = ["wsgi:app"]
runpy.run_module("gunicorn", run_name="__main__", alter_sys=True)
"""
# A response of 5 MB: more than the kernel takes for a client that reads nothing.
FILL = """
    INSERT INTO events (type, created_by, data)
    SELECT 'feature-updated', 'system', json_build_object('text', repeat('x', 100000)) FROM generate_series(1, 50)
"""
BIG = f"GET /api/admin/search/events?limit=50 HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN_KEY}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str]) -> Iterator[Service]:
    """The service with its defaults: two workers."""
    with Service(make_database(), WEB_CONCURRENCY=2) as service:
        yield service


@pytest.fixture(scope="module")
def impatient(make_database: Callable[..., str]) -> Iterator[Service]:
    """A service with two threads that gives its clients a second, and a long event log."""
    url = make_database()
    with connect(url) as conn:
        conn.execute(FILL)
    with Service(url, command=("-c", IMPATIENT), THREADS=2) as service:
        yield service


@contextmanager
def clients(service: Service, count: int, *begun: bytes) -> Iterator[list[socket.socket]]:
    """So many connections, on which these bytes have been sent in turn. They vanish at the end."""
    created: list[socket.socket] = []
    try:
        for number in range(count):
            created.append(socket.socket())
            created[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            created[-1].settimeout(10)
            created[-1].connect(("127.0.0.1", service.port))
            created[-1].sendall(begun[number % len(begun)])
        yield created
    finally:
        for sock in created:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()


def seconds_of_health(service: Service) -> float:
    """How long /health takes."""
    began = time.monotonic()
    assert service.get("/health").status == 200
    return time.monotonic() - began


def test_other_clients_are_answered_while_60_clients_drip_bytes(service: Service) -> None:
    with clients(service, 60, *DRIPPING) as dripping:
        for _ in range(10):
            for sock in dripping:
                sock.sendall(b"x")
            assert seconds_of_health(service) < 1


def test_other_clients_are_answered_while_20_clients_do_not_hang_up(service: Service) -> None:
    for _ in range(3):
        with clients(service, 20, LAST):
            assert [seconds_of_health(service) < 1 for _ in range(10)] == [True] * 10


def test_other_clients_are_answered_while_1100_connections_are_idle(service: Service) -> None:
    with clients(service, 1100, b"") as idle:
        assert [seconds_of_health(service) < 1 for _ in range(10)] == [True] * 10
        wait_until(lambda: len(closed(idle)) == len(idle), "all of them were closed")
    assert "Traceback" not in service.err
    assert len(service.workers) == 2


@pytest.mark.parametrize("begun", DRIPPING, ids=["head", "body", "chunks"])
def test_there_is_one_deadline_for_head_and_body(impatient: Service, begun: bytes) -> None:
    with clients(impatient, 3, begun) as dripping:

        def is_over() -> bool:
            """Each has sent another byte, and lost its connection."""
            for sock in dripping:
                with suppress(OSError):
                    sock.sendall(b"x")
            return len(closed(dripping)) == 3

        wait_until(is_over, "their connections were closed")


def test_clients_that_read_nothing_free_their_threads(impatient: Service) -> None:
    with clients(impatient, 4, BIG):
        assert impatient.get("/health").status == 200
        wait_until(lambda: impatient.out.count("/api/admin/search/events") == 4, "all of them had been answered")
        assert impatient.get("/health").status == 200
    assert "Traceback" not in impatient.err


def closed(sockets: list[socket.socket]) -> list[socket.socket]:
    """Those that the service has closed."""
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(0)]  # pyright: ignore
