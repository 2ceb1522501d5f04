"""The real server: a request that two readers could end at different places is refused, and what stands behind it is never answered."""

import re
import socket
from collections.abc import Iterator

import pytest

from tests.service import PATIENCE, Service

# Open to the world, so that only the framing keeps it from an answer.
SMUGGLED = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
END = b"0\r\n\r\n"


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Service]:
    """The real service."""
    with Service(make_database()) as service:
        yield service


def said(service: Service, data: bytes) -> list[int]:
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
    "chunks before length": CHUNKED + FIVE,
    "chunked twice": CHUNKED + CHUNKED,
    "chunked twice in a line": b"Transfer-Encoding: chunked, chunked\r\n",
    "something after chunked": b"Transfer-Encoding: chunked, identity\r\n",
    "nearly chunked": b"Transfer-Encoding: xchunked\r\n",
    "chunked in quotes": b'Transfer-Encoding: "chunked"\r\n',
    "chunked and a parameter": b"Transfer-Encoding: chunked;q=1\r\n",
    "a coding beside": b"Transfer-Encoding: gzip, chunked\r\n" + FIVE,
    "identity and a length": b"Transfer-Encoding: identity, chunked\r\n" + FIVE,
    "an empty coding": b"Transfer-Encoding:\r\n" + FIVE + CHUNKED,
    "a space before the colon": b"Transfer-Encoding : chunked\r\n" + FIVE,
    "a tab before the colon": b"Transfer-Encoding\t: chunked\r\n" + FIVE,
    "a vertical tab": b"Transfer-Encoding:\x0bchunked\r\n" + FIVE,
    "NUL in the name": b"Transfer-\0Encoding: chunked\r\n" + FIVE,
    "NUL in the value": b"Transfer-Encoding: chunked\0\r\n" + FIVE,
    "a folded line": b"X: y\r\n Transfer-Encoding: chunked\r\n" + FIVE,
    "a folded value": b"Transfer-Encoding:\r\n chunked\r\n" + FIVE,
    "a bare carriage return": b"X: y\rTransfer-Encoding: chunked\r\n" + FIVE,
    "a bare line feed": b"X: y\nTransfer-Encoding: chunked\r\n" + FIVE,
    "two lengths": FIVE + b"Content-Length: 6\r\n",
    "the same length twice": FIVE + FIVE,
    "two lengths in a line": b"Content-Length: 5, 5\r\n",
    "a sign": b"Content-Length: +5\r\n",
    "below nothing": b"Content-Length: -5\r\n",
    "hexadecimal": b"Content-Length: 0x5\r\n",
    "an underscore": b"Content-Length: 0_5\r\n",
    "other digits": "Content-Length: ٥\r\n".encode(),
    "superscript": "Content-Length: ²\r\n".encode("latin-1"),
    "no length": b"Content-Length:\r\n",
    "a number with words": b"Content-Length: 5 bytes\r\n",
    "a number that is not whole": b"Content-Length: 5.0\r\n",
    "a space before the colon of a length": b"Content-Length : 5\r\n",
}


@pytest.mark.parametrize("headers", AMBIGUOUS.values(), ids=AMBIGUOUS)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_body_of_which_it_is_not_clear_where_it_ends_ends_the_connection(service: Service, method: str, headers: bytes) -> None:
    before = smuggled(service)
    answers = said(service, f"{method} /absent HTTP/1.1\r\nHost: x\r\n".encode() + headers + b"\r\n" + END + SMUGGLED)
    assert answers in ([400], []), "refused, or not even answered"
    assert smuggled(service) == before


@pytest.mark.parametrize("headers", [CHUNKED, FIVE + CHUNKED], ids=["chunks", "length and chunks"])
def test_an_old_client_has_no_chunks(service: Service, headers: bytes) -> None:
    before = smuggled(service)
    answers = said(service, b"POST /absent HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" + headers + b"\r\n" + END + SMUGGLED)
    assert answers in ([400], [])
    assert smuggled(service) == before


CHUNKS = {
    "a prefix": b"0x0\r\n\r\n",
    "a sign": b"+0\r\n\r\n",
    "below nothing": b"-1\r\n\r\n",
    "an underscore": b"0_0\r\n\r\n",
    "a letter": b"g\r\n\r\n",
    "no size": b"\r\n\r\n",
    "a bare line feed": b"0\n\n",
    "a bare line feed behind an extension": b"0;x\n\r\n\r\n",
    "more than it says": b"1\r\nZZ\r\n0\r\n\r\n",
    "less than it says": b"5\r\nab\r\n0\r\n\r\n",
    "no line end behind it": b"1\r\nZ0\r\n\r\n",
    "more than a machine can count": b"FFFFFFFFFFFFFFFFFFFF\r\n",
    "a space before": b" 1\r\nZ\r\n0\r\n\r\n",
    "other digits": "٠\r\n\r\n".encode(),
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("path", ["/absent", "/auth/simple/login"])
def test_a_chunk_of_which_it_is_not_clear_where_it_ends_ends_the_connection(service: Service, path: str, chunks: bytes) -> None:
    before = smuggled(service)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
    answers = said(service, head + CHUNKED + b"\r\n" + chunks + SMUGGLED)
    assert answers in ([400], [])
    assert smuggled(service) == before


@pytest.mark.parametrize("body", [FIVE + b"\r\n" + b"12345", CHUNKED + b"\r\n" + END], ids=["length", "chunks"])
def test_what_stands_behind_a_clear_end_is_answered(service: Service, body: bytes) -> None:
    # The way by which the others would be seen.
    before = smuggled(service)
    assert said(service, b"POST /absent HTTP/1.1\r\nHost: x\r\n" + body + SMUGGLED) == [404, 200]
    assert smuggled(service) == before + 1


def test_none_of_it_is_a_bug(service: Service) -> None:
    assert [line for line in service.lines if line["status"] >= 500] == []
    assert "Traceback" not in service.err
