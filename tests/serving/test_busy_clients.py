"""Clients that send one request after the other on a connection, and the clients beside them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

import pytest

from tests.support.service import PATIENCE, Service, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a single thread."""
    with Service(DATA_DIR=tmp_path_factory.mktemp("busy"), WEB_CONCURRENCY=1, THREADS=1) as service:
        yield service


@contextmanager
def busy_client(service: Service) -> Iterator[list[str | None]]:
    """A client that sends requests on one connection without a pause: the header Connection of each response."""
    closing: list[str | None] = []
    is_over = threading.Event()

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        while not is_over.is_set() and (not closing or closing[-1] != "close"):
            connection.request("GET", "/health")
            response = connection.getresponse()
            response.read()
            closing.append(response.getheader("Connection"))
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        wait_until(lambda: len(closing) > 10, "the client was busy")
        yield closing
    finally:
        is_over.set()
        thread.join()


def test_a_busy_client_leaves_the_only_thread_to_others(service):
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        reader = threading.Thread(target=read_all, args=(connection,))
        reader.start()
        # Requests that are sent before the responses have arrived leave the service no pause.
        request = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n\r\n".encode()
        writer = threading.Thread(target=send_all, args=(connection, request * 20_000))
        writer.start()
        wait_until(lambda: len(service.lines) > 100, "the client was busy")
        assert service.get("/health", timeout=PATIENCE).status == 200
        assert len(service.lines) < 10_000
        connection.shutdown(socket.SHUT_RDWR)
        writer.join()
        reader.join()


def read_all(connection: socket.socket) -> None:
    """Read until the connection is closed."""
    with suppress(OSError):
        while connection.recv(65536):
            pass


def send_all(connection: socket.socket, data: bytes) -> None:
    """Send as much as the service accepts until the connection is closed."""
    with suppress(OSError):
        connection.sendall(data)


def test_a_service_stops_while_a_client_is_busy(service):
    with busy_client(service) as closing:
        assert service.stop() == 0
    assert closing[-1] == "close"
