"""One JSON line a request on stdout: its fields, and that no secret is ever in it, nor on stderr."""

import json
import re
import socket
from datetime import UTC, datetime, timedelta
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import UniqueViolation

from sql.database import connect, run, value
from tests.support import fixtures
from tests.support.request_log import KEYS, broken_app, line_of
from tests.support.service import Service
from tests.support.world import Caller

OVERVIEW = "/api/admin/projects/<project_id>/overview"


def test_a_line_has_the_request_and_its_outcome(victor, capsys):
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    response = victor.get("/api/admin/projects/default/overview")
    line = line_of(capsys)
    assert set(line) == KEYS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert before <= datetime.fromisoformat(line["time"]) <= datetime.now(UTC)
    assert line["requestId"] == response.headers["X-Request-ID"]
    assert (line["method"], line["route"], line["status"]) == ("GET", OVERVIEW, 200)
    assert isinstance(line["ms"], float)
    assert 0 < line["ms"] < 10000


def test_the_caller_is_logged_by_kind_and_id(world, victor, stranger, conn, capsys):
    key = world.api_key()
    key_id = value(conn, "SELECT max(id) FROM api_keys")
    assert victor.get("/api/admin/insights").status_code == 200
    assert line_of(capsys)["caller"] == f"personal-token:{victor.id}"
    assert key.get("/api/admin/insights").status_code == 200
    assert line_of(capsys)["caller"] == f"api-token:{key_id}"
    conn.execute("DELETE FROM personal_tokens")
    assert victor.get("/api/admin/insights").status_code == 401
    assert line_of(capsys)["caller"] is None
    assert stranger.get("/api/admin/insights").status_code == 401
    assert line_of(capsys)["caller"] is None
    assert stranger.get("/api/admin/insights", headers={"Authorization": "*:*.not-a-key-at-all"}).status_code == 401
    assert line_of(capsys)["caller"] is None


def test_a_session_is_logged_as_such(app, capsys):
    client = app.test_client()
    assert (
        client.post(
            "/auth/simple/login", json={"username": "admin", "password": "the administrator's password"}
        ).status_code
        == 200
    )
    assert line_of(capsys)["caller"] is None
    assert client.get("/api/admin/insights").status_code == 200
    assert line_of(capsys)["caller"] == "session:1"


@pytest.mark.parametrize(
    ("method", "path", "status", "route"),
    [
        ("GET", "/api/admin/projects/absent/overview", 404, OVERVIEW),
        ("HEAD", "/api/admin/projects/default/overview", 200, OVERVIEW),
        ("GET", "/a/secret/path", 404, None),
        ("DELETE", "/api/admin/projects/default/overview", 405, None),
        ("SECRET", "/api/admin/projects/default/overview", 405, None),
        ("GET", "/health", 200, "/health"),
    ],
)
def test_the_route_is_the_rule_and_never_the_path(alice, capsys, method, path, status, route):
    assert alice.request(method, path).status_code == status
    line = line_of(capsys)
    assert (line["route"], line["status"]) == (route, status)
    assert line["method"] == (method if route else None)


SANE = ["a", "0" * 128, "9f0c6c1e-0000-4000-8000-000000000000", "a.b_c:d/e+f=g-h"]
# None of them may get into a line or a header; the last are what a form of theirs could look like.
NOT_SANE = ["", " ", "x" * 129, "a b", 'a"b', "a\tb", "é", "<a>", "{}", "a;b", "a,b", "\x7f", "\x00"]


@pytest.mark.parametrize("given", SANE)
def test_a_request_id_of_sane_form_is_kept_and_sent_back(stranger, capsys, given):
    response = stranger.get("/health", headers={"X-Request-ID": given})
    assert response.headers["X-Request-ID"] == line_of(capsys)["requestId"] == given


@pytest.mark.parametrize("given", NOT_SANE)
def test_an_invalid_request_id_is_replaced(app, capsys, given):
    response = app.test_client().get("/health", environ_overrides={"HTTP_X_REQUEST_ID": given})
    assert response.status_code == 200
    assert (
        response.headers["X-Request-ID"] == line_of(capsys)["requestId"] == str(UUID(response.headers["X-Request-ID"]))
    )


@pytest.mark.parametrize("given", ["a\nb", "a\r\nb: c", "a\n"])
def test_a_request_id_with_a_line_break_is_replaced(app, capsys, given):
    response = app.test_client().get("/health", environ_overrides={"HTTP_X_REQUEST_ID": given})
    assert (
        response.headers["X-Request-ID"] == line_of(capsys)["requestId"] == str(UUID(response.headers["X-Request-ID"]))
    )


def test_every_request_without_one_gets_its_own(stranger):
    assert len({stranger.get("/health").headers["X-Request-ID"] for _ in range(3)}) == 3


@pytest.mark.parametrize("path", ["/absent", "/api/admin/insights", "/invite/absent/signup"])
def test_the_line_of_an_error_has_the_id_of_its_body(stranger, capsys, path):
    response = stranger.get(path)
    assert response.status_code >= 400
    line = line_of(capsys)
    assert set(line) == {*KEYS, "errorId"}
    assert line["errorId"] == response.json["id"]


def test_a_bug_has_its_traceback_in_the_log_line_and_not_in_the_body(make_app, shared_url, capsys):
    error = ValueError("a secret that the message quotes")
    response = Caller(broken_app(make_app, shared_url, error)).get("/broken/in-the-path")
    assert response.status_code == 500
    assert set(response.json) == {"id", "name", "message"}
    assert response.json["name"] == "InternalError"
    assert response.json["message"] == "Internal error. The log of the service has details under the id of this error."
    line = line_of(capsys)
    assert set(line) == {*KEYS, "errorId", "error"}
    assert (line["route"], line["status"], line["errorId"]) == ("/broken/<_word>", 500, response.json["id"])
    assert line["error"].startswith("builtins.ValueError\n")
    assert "support/request_log.py" in line["error"]
    assert "raise error" in line["error"]
    assert "secret" not in json.dumps(line)
    assert "in-the-path" not in json.dumps(line)


@pytest.mark.parametrize("led_by", ["__cause__", "__context__"])
def test_the_cause_of_an_error_is_logged(make_app, shared_url, capsys, led_by):
    error = ValueError("a secret")
    setattr(error, led_by, KeyError("another secret"))
    assert Caller(broken_app(make_app, shared_url, error)).get("/broken/x").status_code == 500
    line = line_of(capsys)
    assert re.fullmatch(r"builtins\.ValueError\n(  .*\n)+because of\nbuiltins\.KeyError\n", line["error"])
    assert "secret" not in json.dumps(line)


# What is refused with a 5xx on purpose, and where that happens.
REFUSED = {
    "streams": ("/api/admin/search/events", {"Accept": "application/x-ndjson"}, "lines_response"),
    "schema": ("/ready", {}, "get_readiness"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_each_5xx_is_found_by_its_id_with_its_place_in_the_code(app, alice, capsys, monkeypatch, reason):
    path, headers, place = REFUSED[reason]
    monkeypatch.setattr("sql.database.migrate.VERSION", 0)
    monkeypatch.setitem(app.extensions, "streams", BoundedSemaphore(1))
    with app.extensions["streams"]:
        response = alice.get(path, headers=headers)
    assert response.status_code == 503
    out, err = capsys.readouterr()
    assert (out.count(response.json["id"]), err) == (1, "")
    line = json.loads(out)
    assert set(line) == {*KEYS, "errorId", "error"}
    assert (line["method"], line["route"], line["status"], line["errorId"]) == ("GET", path, 503, response.json["id"])
    assert line["error"].startswith("validators.errors.Unavailable\n")
    assert f"in {place}\n" in line["error"]


def test_a_database_error_is_logged_without_its_values(make_app, shared_url, capsys):
    with connect(shared_url) as conn, pytest.raises(UniqueViolation) as violation:
        run(conn, "INSERT INTO permissions SELECT * FROM permissions LIMIT 1")
    assert Caller(broken_app(make_app, shared_url, violation.value)).get("/broken/x").status_code == 500
    line = line_of(capsys)
    assert line["error"].startswith("psycopg.errors.UniqueViolation (SQLSTATE 23505)\n")
    assert "already exists" not in line["error"]


SECRETS = {
    "invite": "the-secret-of-the-invitation",
    "password": "the secret of her password",
    "wrong": "the secret of a mistyped one",
    "key": "*:*.the-secret-of-the-key",
    "other": "*:*.the-secret-of-no-key",
    "path": "a-secret-in-a-path",
    "query": "a-secret-in-a-query",
    "body": "a-secret-in-a-body",
    "line": "a-secret-in-a-request-line",
    "header": "a-secret-in-a-header",
}


@pytest.fixture(scope="module")
def outcome(make_database) -> tuple[list[dict[str, Any]], str, str, list[str]]:
    """After requests with secrets at every place to the real service: its lines, stdout, stderr, and the cookies that
    it gave.
    """
    url, cookies = make_database(), []
    with connect(url) as conn:
        expiry = datetime.now(UTC) + timedelta(days=1)
        fixtures.signup_token(conn, name="told", expires_at=expiry, created_by="the test", secret=SECRETS["invite"])
        run(conn, "UPDATE api_keys SET digest = sha256(%(key)s::bytea)", {"key": SECRETS["key"].encode()})
    with Service(url) as service:
        secrets, key = SECRETS, {"Authorization": SECRETS["key"]}
        ada = {"email": "ada@example.org", "name": "Ada", "password": secrets["password"]}
        statuses = [
            service.request("POST", f"/invite/{secrets['invite']}/signup", json=ada).status,
            service.request("POST", f"/invite/{secrets['invite']}/signup", json=ada).status,
            service.request(
                "PUT", f"/api/admin/invite-link/tokens/{secrets['invite']}", json={"enabled": False}, headers=key
            ).status,
            service.request(
                "PUT",
                f"/api/admin/invite-link/tokens/{secrets['invite']}",
                json={"enabled": secrets["body"]},
                headers=key,
            ).status,
            service.request(
                "POST", "/auth/simple/login", json={"username": ada["email"], "password": secrets["wrong"]}
            ).status,
            service.request(
                "POST", "/auth/simple/login", json={"username": secrets["wrong"], "password": secrets["wrong"]}
            ).status,
            service.request("POST", "/api/admin/events/search", body=f"{{{secrets['body']}", headers=key).status,
            service.get(f"/{secrets['path']}/{secrets['query']}?{secrets['query']}").status,
            service.get(
                f"/api/admin/search/events?query={secrets['query']}&limit={secrets['query']}", headers=key
            ).status,
            service.get("/api/admin/insights", headers={"Authorization": secrets["other"]}).status,
            service.get("/api/admin/insights", headers={"Authorization": f"Bearer {secrets['key']}"}).status,
            service.raw(f"GET /{secrets['line']} HTTP/9.9\r\n\r\n".encode()).status,
            service.raw(f"G(T /{secrets['line']} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).status,
            service.raw(f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization {secrets['header']}\r\n\r\n".encode()).status,
            service.raw(
                f"GET / HTTP/1.1\r\nHost: x\r\nX: {secrets['header']}\r\n"
                f"Content-Length: {secrets['header']}\r\n\r\n".encode()
            ).status,
            service.raw(f"GET /{'x' * 9000}{secrets['line']} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).status,
        ]
        assert statuses == [200, 409, 200, 400, 401, 401, 415, 404, 400, 401, 200, 400, 400, 400, 400, 400]
        answer = service.request(
            "POST", "/auth/simple/login", json={"username": ada["email"], "password": secrets["password"]}
        )
        cookies.append(answer.headers["Set-Cookie"].split("=")[1].split(";")[0])
        # A client that hangs up in the middle of its body.
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            head = (
                f"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\nX: {secrets['header']}\r\nContent-Length: "
                f"900\r\n\r\n{secrets['body']}"
            )
            connection.sendall(head.encode())
        assert service.stop() == 0
        return service.lines, service.out, service.err, cookies


def test_no_secret_is_logged(outcome):
    _, out, err, cookies = outcome
    assert len(cookies[0]) > 20
    for secret in (*SECRETS.values(), *cookies):
        assert secret not in out
        assert secret not in err
        assert secret.replace(" ", "%20") not in out + err


def test_each_request_and_each_unparsable_input_has_a_line(outcome):
    lines, _, err, _ = outcome
    lines = [line for line in lines if line["route"] != "/ready"]
    assert len(lines) == 18
    unparsed = [line for line in lines if line["status"] == 400 and line["method"] is None]
    assert len(unparsed) == 5
    for line in unparsed:
        assert set(line) == {*KEYS, "errorId"}
        assert (line["method"], line["route"], line["status"], line["caller"]) == (None, None, 400, None)
    assert err.count("\n") == 1  # that it serves
    assert not [line for line in lines if line["status"] >= 500]


def test_a_full_disk_under_the_log_does_not_make_an_answer_an_error(make_database):
    with Service(make_database(), stdout="/dev/full") as service:
        assert service.get("/health").status == 200
        assert service.get("/absent").status == 404
        assert "Traceback" not in service.err
