"""The real server: malformed HTTP, bodies of any framing and size, a path in BASE_URL, and proxies in front."""

import json
import re
import socket
from collections.abc import Iterator
from uuid import UUID

import pytest

from sql.database import rows
from tests.support.instance import ADMIN_KEY, SETTINGS, pinned_to
from tests.support.service import PATIENCE, Answer, Service
from tests.support.world import Caller

LIMIT = 2048
AUTHORIZED = {"Authorization": ADMIN_KEY}
LOGIN, SEARCH = "/auth/simple/login", "/api/admin/events/search"


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Service]:
    """The real service, with a small limit for bodies, under a path."""
    with Service(make_database(), path="/of/flags", MAX_BODY_BYTES=LIMIT) as service:
        yield service
        assert [line for line in service.lines if line["status"] >= 500] == []
        assert "Traceback" not in service.err


def refused(answer: Answer, status: int, name: str) -> None:
    """Assert that this is an error body."""
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json"), answer
    assert list(answer.json) == ["id", "name", "message"]
    assert answer.json["name"] == name
    assert str(UUID(answer.json["id"])) == answer.json["id"]
    assert "gunicorn" not in answer.body.decode()


# --- Malformed HTTP ---------------------------------------------------------------------------------------------------

GET, POST = b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n"
MALFORMED = {
    "no method": b" / HTTP/1.1\r\nHost: x\r\n\r\n",
    "small letters": b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a method of signs": b"G(T / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": b"GET /health\r\nHost: x\r\n\r\n",
    "another version": b"GET / HTTP/9.1\r\nHost: x\r\n\r\n",
    "a path beyond ASCII": "GET /é HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"),
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "too many words": b"GET / / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without colon": GET + b"X y\r\n\r\n",
    "a header without name": GET + b": x\r\n\r\n",
    "a space before the colon": GET + b"X : x\r\n\r\n",
    "a folded header": GET + b"X: y\r\n z\r\n\r\n",
    "NUL in a header": GET + b"X: a\0b\r\n\r\n",
    "a bare line feed in a header": GET + b"X: a\rb\r\n\r\n",
    "a long query": b"GET /api/admin/search/events?query=" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long path": b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long header": GET + b"X: " + b"x" * 9000 + b"\r\n\r\n",
    "many headers": GET + b"".join(b"X-%d: y\r\n" % number for number in range(200)) + b"\r\n",
    "a length that is none": POST + b"Content-Length: -1\r\n\r\n",
    "another coding": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "another expectation": POST + b"Expect: the worst\r\nContent-Length: 1\r\n\r\nx",
}


@pytest.mark.parametrize("malformed", MALFORMED)
def test_malformed_http_gets_an_error_body(service, malformed):
    answer = service.raw(MALFORMED[malformed])
    if answer.status == 404:
        refused(answer, 404, "NotFoundError")
    else:
        refused(answer, 400, "ValidationError")


@pytest.mark.parametrize(
    "chunks", [b"zz\r\nx\r\n0\r\n\r\n", b"-1\r\nx\r\n0\r\n\r\n", b"1\r\nxyz\r\n0\r\n\r\n", b"5\r\nx"]
)
@pytest.mark.parametrize("path", [LOGIN, "/absent"])
def test_malformed_chunks_are_400(service, path, chunks):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    head, _, body = service.exchange(head.encode() + chunks).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert set(json.loads(body)) == {"id", "name", "message"}


@pytest.mark.parametrize(
    "path",
    ["/%zz", "/%", "/a%2", "/health%00", "/%00", "/api/admin/projects/%00/overview", "/a%2Fb", "/..", "//health"],
)
def test_a_malformed_path_is_404(service, path):
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN_KEY}\r\n\r\n"
    refused(service.raw(request.encode("latin-1")), 404, "NotFoundError")


@pytest.mark.parametrize("start", ["", "http://x"])
def test_an_encoded_slash_separates_no_segments(service, start):
    head = f" HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN_KEY}\r\n\r\n"
    for path in ("/api%2fadmin%2fuser", "/api/admin%2Fuser", "/api/admin/user%2F"):
        refused(service.raw(f"GET {start}{path}{head}".encode()), 404, "NotFoundError")
    answer = service.raw(f"GET {start}/api/admin/events/a%2Fb%25{head}".encode())
    assert (answer.status, answer.json["toggleName"]) == (200, "a/b%")


@pytest.mark.parametrize("target", ["http://x/health", "//health", "*", "x"])
def test_other_forms_of_a_target(service, target):
    answer = service.raw(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    if target == "http://x/health":
        assert answer.body == b'{"health":"GOOD"}'
    else:
        assert answer.status in (400, 404)
        assert set(answer.json) == {"id", "name", "message"}


def test_old_clients_and_head_requests(service):
    assert service.raw(b"GET /health HTTP/1.0\r\n\r\n").status == 200
    answer = service.raw(b"HEAD /absent HTTP/1.1\r\nHost: x\r\n\r\n", method="HEAD")
    assert (answer.status, answer.body) == (404, b"")


# --- Request smuggling ------------------------------------------------------------------------------------------------

# Open to the world, so that only the framing keeps it from a response.
SMUGGLED = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED, FIVE, END = b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"0\r\n\r\n"
AMBIGUOUS = {
    "length before chunks": FIVE + CHUNKED + b"\r\n" + END,
    "chunked twice": CHUNKED + CHUNKED + b"\r\n" + END,
    "something after chunked": b"Transfer-Encoding: chunked, identity\r\n\r\n" + END,
    "a space before the colon": b"Transfer-Encoding : chunked\r\n" + FIVE + b"\r\n" + END,
    "a folded line": b"X: y\r\n Transfer-Encoding: chunked\r\n" + FIVE + b"\r\n" + END,
    "a bare line feed": b"X: y\nTransfer-Encoding: chunked\r\n" + FIVE + b"\r\n" + END,
    "two lengths": FIVE + b"Content-Length: 6\r\n\r\n" + END,
    "a sign": b"Content-Length: +5\r\n\r\n" + END,
    "a prefix of the chunk": CHUNKED + b"\r\n0x0\r\n\r\n",
    "a chunk without size": CHUNKED + b"\r\n\r\n\r\n",
    "a bare line feed in the chunk": CHUNKED + b"\r\n0\n\n",
    "a chunk with less than its size": CHUNKED + b"\r\n5\r\nab\r\n0\r\n\r\n",
}


def statuses(service: Service, body: bytes) -> list[bytes]:
    """Return the statuses of all responses to a request with this body and to a smuggled one."""
    try:
        head = b"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        return re.findall(rb"HTTP/1\.1 (\d{3}) ", service.exchange(head + body + SMUGGLED))
    except ConnectionResetError:
        # The server has closed without having read the rest.
        return []


def smuggled(service: Service) -> int:
    """Return how many smuggled requests were answered."""
    return sum(line["route"] == "/openapi.json" for line in service.lines)


@pytest.mark.parametrize("body", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_length_ends_the_connection(service, body):
    before = smuggled(service)
    assert statuses(service, body) in ([b"400"], [])
    assert smuggled(service) == before


@pytest.mark.parametrize("body", [FIVE + b"\r\n12345", CHUNKED + b"\r\n" + END], ids=["length", "chunks"])
def test_a_request_behind_a_clear_end_is_answered(service, body):
    before = smuggled(service)
    assert statuses(service, body) == [b"400", b"200"]
    assert smuggled(service) == before + 1


# --- Bodies and connections -------------------------------------------------------------------------------------------


def test_a_large_body_is_refused_first_whatever_its_framing(service):
    for path in (SEARCH, LOGIN, "/absent"):
        for body in ({"body": b"x" * (LIMIT + 1)}, {"body": iter([b"x" * LIMIT, b"x"]), "encode_chunked": True}):
            refused(service.request("POST", path, **body), 413, "PayloadTooLargeError")


def test_a_client_that_still_sends_gets_its_refusal(service):
    body = b"x" * (20 << 20)
    head = b"POST /absent HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    # Not reset, which on its way could overtake the response.
    assert service.exchange(head + body).startswith(b"HTTP/1.1 413 ")


def test_a_body_up_to_the_limit_is_read_whatever_its_framing(service):
    body = json.dumps({"query": "x" * 100}).encode().ljust(LIMIT)
    for framed in ({"body": body}, {"body": iter([body[:7], body[7:]]), "encode_chunked": True}):
        headers = {"Content-Type": "application/json", **AUTHORIZED}
        assert service.request("POST", SEARCH, headers=headers, **framed).status == 200


def test_expect_100_continue_is_answered(service):
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN_KEY}\r\nContent-Type: application/json\r\n"
    head += "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 12\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b'{"limit": 1}')
        assert b"".join(iter(lambda: connection.recv(65536), b"")).startswith(b"HTTP/1.1 200 ")


def test_headers_and_body_arrive_together(service):
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        for _ in range(20):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b'GOOD"}' in connection.recv(65536)


def test_several_requests_can_share_a_connection(service):
    request = "GET /of/flags/health HTTP/1.1\r\nHost: x\r\nX-Request-ID: {}\r\n\r\n"
    answer = service.exchange((request.format("one") + request.format("two")).encode()).decode()
    assert answer.count('{"health":"GOOD"}') == answer.count("HTTP/1.1 200 ") == 2
    assert "X-Request-ID: one" in answer
    assert "X-Request-ID: two" in answer


# --- A path -----------------------------------------------------------------------------------------------------------


def test_a_service_with_a_path_answers_with_and_without_the_path(service):
    login = {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
    for path in ("", "/of/flags"):
        assert service.get(f"{path}/health").status == 200
        assert service.get(f"{path}/api/admin/insights", headers=AUTHORIZED).status == 200
        refused(service.get(f"{path}/api/admin/insights"), 401, "AuthenticationRequired")
        refused(service.get(f"{path}/absent"), 404, "NotFoundError")
        cookie = service.request("POST", f"{path}{LOGIN}", login).headers["Set-Cookie"]
        assert "Path=/of/flags" in cookie.split("; ")
    assert {line["route"] for line in service.lines if line["caller"]} >= {"/api/admin/insights"}
    for path in ("/of/health", "/of/flagshealth", "/of/flags//health", "/of/flags/of/flags/health"):
        refused(service.get(path), 404, "NotFoundError")


def test_a_stripped_path_is_no_other_address(make_app, shared_url):
    client = make_app(shared_url, BASE_PATH="/of/flags").test_client()
    # Visitors of the start page are sent to the login form.
    expected = {
        **dict.fromkeys(("/health", "/of/flags/health"), 200),
        **dict.fromkeys(("/of/flags", "/of/flags/"), 302),
        **dict.fromkeys(("//health", "/of/flags//health", "//"), 404),
    }
    found = {path: client.get("/", environ_overrides={"PATH_INFO": path}).status_code for path in expected}
    assert found == expected


# gunicorn alone would believe these, as this request comes from this machine.
@pytest.mark.parametrize("script", ["/absent", "/of/flags", "/of"])
def test_no_header_changes_the_path_or_the_scheme(service, script):
    headers = {"SCRIPT_NAME": script, "X-Forwarded-Proto": "http", "X-Forwarded-Ssl": "on"}
    assert service.get("/of/flags/health", headers=headers).status == 200
    refused(service.get("/absent/health", headers=headers), 404, "NotFoundError")


# Whom the throttle takes for the client: one attempt a minute and address. The test's own address comes last, from the
# connection.
@pytest.mark.parametrize(
    ("proxies", "chain", "address"),
    [
        (0, "198.51.100.1", "127.0.0.1"),
        (0, "198.51.100.1, 198.51.100.2", "127.0.0.1"),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        (2, "203.0.113.9, 198.51.100.1, 198.51.100.2", "198.51.100.1"),
        (2, "198.51.100.1, 198.51.100.2", "198.51.100.1"),
        (2, "198.51.100.1", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        # What a client has sent itself, before what the proxies add.
        (1, '"203.0.113.9, 198.51.100.1', "198.51.100.1"),
        (2, '"203.0.113.9, 198.51.100.1, 198.51.100.2', "198.51.100.1"),
        (1, "\\, ,, 198.51.100.1", "198.51.100.1"),
    ],
)
def test_as_many_addresses_are_believed_as_there_are_trusted_proxies(
    make_app, shared_url, conn, proxies, chain, address
):
    app = make_app(shared_url, TRUSTED_PROXIES=proxies, LOGIN_ATTEMPTS_PER_MINUTE=1)
    headers = {"X-Forwarded-For": chain} if chain else {}
    login = {"json": {"username": "nobody", "password": "wrong"}, "headers": headers}
    with pinned_to(app, conn):
        assert Caller(app).post(LOGIN, **login).status_code == 401
        assert rows(conn, "SELECT address FROM login_addresses") == [{"address": address}]
        assert Caller(app).post(LOGIN, **login).status_code == 429
