"""The real service among clients that are slow, silent or busy: others are answered, and slow ones are disconnected."""

import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

import pytest

from sql.database import connect
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, Service, wait_until

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
from operations import worker
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


@pytest.fixture
def narrow(make_database: Callable[..., str]) -> Iterator[Service]:
    """A service with a single thread."""
    with Service(make_database(), THREADS=1) as service:
        yield service


@contextmanager
def clients(service: Service, count: int, *begun: bytes) -> Iterator[list[socket.socket]]:
    """Open so many connections, on which these bytes are sent in turn. They vanish at the end."""
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


def closed(sockets: list[socket.socket]) -> int:
    """Return how many connections the service has closed."""
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ)
        return len(selector.select(0))


def assert_quick(service: Service) -> None:
    """Assert that another client gets responses within a second."""
    for _ in range(10):
        began = time.monotonic()
        assert service.get("/health").status == 200
        assert time.monotonic() < began + 1


@pytest.mark.timing
def test_other_clients_are_answered_meanwhile(service: Service) -> None:
    with clients(service, 60, *DRIPPING) as dripping:
        for _ in range(3):
            for sock in dripping:
                sock.sendall(b"x")
            assert_quick(service)
    # Clients that do not hang up.
    for _ in range(3):
        with clients(service, 20, LAST):
            assert_quick(service)
    with clients(service, 1100, b"") as idle:
        assert_quick(service)
        wait_until(lambda: closed(idle) == len(idle), "all of them were closed")
    assert "Traceback" not in service.err
    assert len(service.workers) == 2


@pytest.mark.parametrize("begun", DRIPPING, ids=["head", "body", "chunks"])
def test_there_is_one_deadline_for_head_and_body(impatient: Service, begun: bytes) -> None:
    with clients(impatient, 3, begun) as dripping:

        def is_over() -> bool:
            for sock in dripping:
                with suppress(OSError):
                    sock.sendall(b"x")
            return closed(dripping) == 3

        wait_until(is_over, "their connections were closed")


def test_clients_that_read_nothing_free_their_threads(impatient: Service) -> None:
    with clients(impatient, 4, BIG):
        assert impatient.get("/health").status == 200
        wait_until(lambda: impatient.out.count("/api/admin/search/events") == 4, "all of them had been answered")
        assert impatient.get("/health").status == 200
    assert "Traceback" not in impatient.err


def test_a_busy_client_leaves_the_only_thread_to_others(narrow: Service) -> None:
    # Requests that are sent before the responses have arrived leave the service no pause.
    with socket.create_connection(("127.0.0.1", narrow.port)) as connection:

        def read() -> None:
            with suppress(OSError):
                while connection.recv(65536):
                    pass

        def write() -> None:
            with suppress(OSError):
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 20_000)

        threads = [threading.Thread(target=each) for each in (read, write)]
        for thread in threads:
            thread.start()
        wait_until(lambda: narrow.out.count("\n") > 100, "the client was busy")
        assert narrow.get("/health", timeout=PATIENCE).status == 200
        assert narrow.out.count("\n") < 10_000
        connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def test_a_service_stops_while_a_client_is_busy(narrow: Service) -> None:
    closing: list[str | None] = []
    connection = HTTPConnection("127.0.0.1", narrow.port, timeout=PATIENCE)

    def ask() -> None:
        while "close" not in closing:
            connection.request("GET", "/health")
            response = connection.getresponse()
            response.read()
            closing.append(response.getheader("Connection"))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: len(closing) > 10, "the client was busy")
    assert narrow.stop() == 0
    thread.join()
    connection.close()
