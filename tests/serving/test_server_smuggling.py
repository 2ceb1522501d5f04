"""The real server refuses requests whose end is ambiguous, and never answers what follows them. gunicorn does it; a few
examples.
"""

import re
import socket
from collections.abc import Iterator

import pytest

from tests.support.service import PATIENCE, Service

# Open to the world, so that only the framing keeps it from an answer.
SMUGGLED = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
END = b"0\r\n\r\n"


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Service]:
    """The real service."""
    with Service(make_database()) as service:
        yield service


def statuses(service: Service, data: bytes) -> list[int]:
    """The statuses of all answers to these bytes, until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        try:
            text = b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionResetError:
            # It closed without having read the rest.
            return []
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", text)]


def smuggled(service: Service) -> int:
    """How many requests for what was smuggled have been answered."""
    return sum(line["route"] == "/openapi.json" for line in service.lines)


CHUNKED = b"Transfer-Encoding: chunked\r\n"
FIVE = b"Content-Length: 5\r\n"
AMBIGUOUS = {
    "length before chunks": FIVE + CHUNKED,
    "chunked twice": CHUNKED + CHUNKED,
    "something after chunked": b"Transfer-Encoding: chunked, identity\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n" + FIVE,
    "a folded line": b"X: y\r\n Transfer-Encoding: chunked\r\n" + FIVE,
    "a bare line feed": b"X: y\nTransfer-Encoding: chunked\r\n" + FIVE,
    "two lengths": FIVE + b"Content-Length: 6\r\n",
    "a sign": b"Content-Length: +5\r\n",
}


@pytest.mark.parametrize("headers", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_length_ends_the_connection(service: Service, headers: bytes) -> None:
    before = smuggled(service)
    answers = statuses(service, b"POST /absent HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + END + SMUGGLED)
    assert answers in ([400], []), "refused, or not even answered"
    assert smuggled(service) == before


CHUNKS = {
    "a prefix": b"0x0\r\n\r\n",
    "no size": b"\r\n\r\n",
    "a bare line feed": b"0\n\n",
    "less than it says": b"5\r\nab\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_an_ambiguous_chunk_ends_the_connection(service: Service, chunks: bytes) -> None:
    before = smuggled(service)
    head = b"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    answers = statuses(service, head + CHUNKED + b"\r\n" + chunks + SMUGGLED)
    assert answers in ([400], [])
    assert smuggled(service) == before


@pytest.mark.parametrize("body", [FIVE + b"\r\n" + b"12345", CHUNKED + b"\r\n" + END], ids=["length", "chunks"])
def test_a_request_behind_a_clear_end_is_answered(service: Service, body: bytes) -> None:
    # The way by which the others would be seen.
    before = smuggled(service)
    assert statuses(service, b"POST /absent HTTP/1.1\r\nHost: x\r\n" + body + SMUGGLED) == [404, 200]
    assert smuggled(service) == before + 1


def test_no_smuggled_request_causes_a_server_error(service: Service) -> None:
    assert [line for line in service.lines if line["status"] >= 500] == []
    assert "Traceback" not in service.err
