"""The real server: what is not HTTP, bodies of any framing and size, a path in BASE_URL, and proxies in front."""

import json
import socket
from collections.abc import Iterator
from uuid import UUID

import pytest

from sql.database import rows
from tests.support.instance import ADMIN_KEY, pinned_to
from tests.support.service import PATIENCE, Answer, Service
from tests.support.world import Caller

LIMIT = 2048
AUTHORIZED = {"Authorization": ADMIN_KEY}


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Service]:
    """The real service, with a small limit for bodies, under a path."""
    with Service(make_database(), path="/of/flags", MAX_BODY_BYTES=LIMIT) as service:
        yield service


def refused(answer: Answer, status: int, name: str) -> None:
    """Asserts that this is the one error shape."""
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json"), answer
    assert list(answer.json) == ["id", "name", "message"]
    assert answer.json["name"] == name
    assert str(UUID(answer.json["id"])) == answer.json["id"]
    assert "gunicorn" not in answer.body.decode()


HOST = b"Host: x\r\n"

NOT_HTTP = {
    "no method": b" / HTTP/1.1\r\n" + HOST + b"\r\n",
    "small letters": b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method of signs": b"G(T / HTTP/1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /health\r\n" + HOST + b"\r\n",
    "another version": b"GET / HTTP/9.1\r\n" + HOST + b"\r\n",
    "a path beyond ASCII": "GET /é HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"),
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "too many words": b"GET / / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a header without colon": b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
    "a header without name": b"GET / HTTP/1.1\r\n: x\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nX: y\r\n z\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\nX: a\0b\r\n\r\n",
    "a bare line feed in a header": b"GET / HTTP/1.1\r\nX: a\rb\r\n\r\n",
    "a long query": b"GET /api/admin/search/events?query=" + b"x" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long path": b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(200)) + b"\r\n",
    "a length that is none": b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
    "a length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "another expectation": b"POST / HTTP/1.1\r\nExpect: the worst\r\nContent-Length: 1\r\n\r\nx",
}


@pytest.mark.parametrize("wrong", NOT_HTTP)
def test_requests_that_are_not_http_get_the_usual_error_body(service, wrong):
    answer = service.raw(NOT_HTTP[wrong])
    if answer.status == 404:
        refused(answer, 404, "NotFoundError")
    else:
        refused(answer, 400, "ValidationError")
    assert not [line for line in service.lines if line["status"] >= 500]


def test_an_old_client_needs_no_host(service):
    assert service.raw(b"GET /health HTTP/1.0\r\n\r\n").status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\nx\r\n0\r\n\r\n",
        b"-1\r\nx\r\n0\r\n\r\n",
        b"1\r\nxyz\r\n0\r\n\r\n",
        b"1;\x00\r\nx\r\n0\r\n\r\n",
        b"5\r\nx",
    ],
)
@pytest.mark.parametrize("path", ["/auth/simple/login", "/absent"])
def test_chunks_that_are_none_are_refused_too(service, path, body):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    head, _, body = text.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert set(json.loads(body)) == {"id", "name", "message"}


@pytest.mark.parametrize(
    "path",
    ["/%zz", "/%", "/a%2", "/health%00", "/%00", "/api/admin/projects/%00/overview", "/a%2Fb", "/..", "//health"],
)
def test_a_path_that_is_no_path_is_not_there(service, path):
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
def test_other_forms_of_a_target_are_answered_in_our_shape(service, target):
    answer = service.raw(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    if target == "http://x/health":
        assert answer.body == b'{"health":"GOOD"}'
    else:
        assert answer.status in (400, 404)
        assert set(answer.json) == {"id", "name", "message"}


def test_a_large_body_is_refused_before_anything_else_whatever_its_framing(service):
    for path in ("/api/admin/events/search", "/auth/simple/login", "/absent"):
        refused(service.request("POST", path, body=b"x" * (LIMIT + 1)), 413, "PayloadTooLargeError")
        refused(
            service.request("POST", path, body=iter([b"x" * LIMIT, b"x"]), encode_chunked=True),
            413,
            "PayloadTooLargeError",
        )


def test_a_client_that_still_sends_gets_its_refusal(service):
    body = b"x" * (20 << 20)
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(
            b"POST /absent HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        # Not reset, which on its way could overtake the response.
        assert b"".join(iter(lambda: connection.recv(65536), b"")).startswith(b"HTTP/1.1 413 ")


def test_a_body_up_to_the_limit_is_read_whatever_its_framing(service):
    body = json.dumps({"query": "x" * 100}).encode().ljust(LIMIT)
    for framed in ({"body": body}, {"body": iter([body[:7], body[7:]]), "encode_chunked": True}):
        headers = {"Content-Type": "application/json", **AUTHORIZED}
        assert service.request("POST", "/api/admin/events/search", headers=headers, **framed).status == 200


def test_expect_100_continue_is_answered(service):
    body = b'{"limit": 1}'
    head = (
        "POST /api/admin/events/search HTTP/1.1\r\nHost: x\r\nAuthorization: "
        f"{ADMIN_KEY}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(
            f"{head}Expect: 100-continue\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert b"".join(iter(lambda: connection.recv(65536), b"")).startswith(b"HTTP/1.1 200 ")


def test_several_requests_can_share_a_connection(service):
    request = "GET /of/flags/health HTTP/1.1\r\nHost: x\r\nX-Request-ID: {}\r\n{}\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall((request.format("one", "") + request.format("two", "Connection: close\r\n")).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert answer.count('{"health":"GOOD"}') == answer.count("HTTP/1.1 200 ") == 2
    assert "X-Request-ID: one" in answer
    assert "X-Request-ID: two" in answer


def test_the_errors_of_a_head_request_have_no_body(service):
    answer = service.raw(b"HEAD /absent HTTP/1.1\r\nHost: x\r\n\r\n", method="HEAD")
    assert (answer.status, answer.body) == (404, b"")


def test_a_service_with_a_path_answers_with_and_without_the_path(service):
    for path in ("", "/of/flags"):
        assert service.get(f"{path}/health").status == 200
        assert service.get(f"{path}/api/admin/insights", headers=AUTHORIZED).status == 200
        refused(service.get(f"{path}/api/admin/insights"), 401, "AuthenticationRequired")
        refused(service.get(f"{path}/absent"), 404, "NotFoundError")
    assert {line["route"] for line in service.lines if line["caller"]} >= {"/api/admin/insights"}


@pytest.mark.parametrize(
    "path",
    ["/of/health", "/of/flagshealth", "/of/flags//health", "/of/flags/of/flags/health"],
)
def test_other_paths_are_not_found(service, path):
    refused(service.get(path), 404, "NotFoundError")


def test_a_stripped_path_is_no_other_address(make_app, shared_url):
    client = make_app(shared_url, BASE_PATH="/of/flags").test_client()
    # Visitors of the start page are sent to the login form.
    expected = {
        **dict.fromkeys(("/health", "/of/flags/health"), 200),
        **dict.fromkeys(("/of/flags", "/of/flags/"), 302),
        **dict.fromkeys(("//health", "/of/flags//health", "//"), 404),
    }
    statuses = {path: client.get("/", environ_overrides={"PATH_INFO": path}).status_code for path in expected}
    assert statuses == expected


def test_the_cookie_is_for_that_path(service):
    login = {"username": "admin", "password": "the administrator's password"}
    for path in ("", "/of/flags"):
        answer = service.request("POST", f"{path}/auth/simple/login", json=login)
        assert "Path=/of/flags" in answer.headers["Set-Cookie"].split("; ")


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
    login = {
        "json": {"username": "nobody", "password": "wrong"},
        "headers": {"X-Forwarded-For": chain} if chain else {},
    }
    with pinned_to(app, conn):
        assert Caller(app).post("/auth/simple/login", **login).status_code == 401
        assert rows(conn, "SELECT address FROM login_addresses") == [{"address": address}]
        assert Caller(app).post("/auth/simple/login", **login).status_code == 429
