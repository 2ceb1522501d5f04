"""One JSON line a request on stdout: its fields, what a slow or failed request adds, and that no secret is in it."""

import json
import re
import socket
from datetime import UTC, datetime, timedelta
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import UniqueViolation
from psycopg_pool import PoolTimeout

from serving import slow_requests
from sql.database import connect, run, timing, value
from sql.database.connections import DatabaseUnavailable
from tests.support import fixtures
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.request_log import KEYS, broken_app, line_of
from tests.support.service import Service
from tests.support.world import Caller

ROUTE, OVERVIEW = "/api/admin/projects/<project_id>/overview", "/api/admin/projects/default/overview"
INSIGHTS, EVENTS, TAG_TYPES = "/api/admin/insights", "/api/admin/search/events", "/api/admin/tag-types"
LOGIN = "/auth/simple/login"


def test_a_line_has_the_request_and_its_outcome(victor, capsys):
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    response = victor.get(OVERVIEW)
    line = line_of(capsys)
    assert set(line) == KEYS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert before <= datetime.fromisoformat(line["time"]) <= datetime.now(UTC)
    assert line["requestId"] == response.headers["X-Request-ID"]
    assert (line["method"], line["route"], line["status"]) == ("GET", ROUTE, 200)
    assert isinstance(line["ms"], float)
    assert 0 < line["ms"] < 10000


def test_the_caller_is_logged_by_kind_and_id(app, world, victor, stranger, conn, capsys):
    key = world.api_key()
    key_id = value(conn, "SELECT max(id) FROM api_keys")
    browser = app.test_client()
    login = {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
    assert browser.post(LOGIN, json=login).status_code == 200
    assert json.loads(capsys.readouterr().out.splitlines()[1])["caller"] is None
    callers = {f"personal-token:{victor.id}": victor, f"api-token:{key_id}": key, "session:1": browser}
    for logged, caller in callers.items():
        assert caller.get(INSIGHTS).status_code == 200
        assert line_of(capsys)["caller"] == logged
    conn.execute("DELETE FROM personal_tokens")
    for caller in (victor, stranger, Caller(app, "*:*.not-a-key-at-all")):
        assert caller.get(INSIGHTS).status_code == 401
        assert line_of(capsys)["caller"] is None


@pytest.mark.parametrize(
    ("method", "path", "status", "route"),
    [
        ("GET", "/api/admin/projects/absent/overview", 404, ROUTE),
        ("HEAD", OVERVIEW, 200, ROUTE),
        ("GET", "/a/secret/path", 404, None),
        ("DELETE", OVERVIEW, 405, None),
        ("SECRET", OVERVIEW, 405, None),
        ("GET", "/health", 200, "/health"),
    ],
)
def test_the_route_is_the_rule_and_never_the_path(alice, capsys, method, path, status, route):
    assert alice.request(method, path).status_code == status
    line = line_of(capsys)
    assert (line["method"], line["route"], line["status"]) == (method if route else None, route, status)


# --- The id of a request ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["a", "0" * 128, "9f0c6c1e-0000-4000-8000-000000000000", "a.b_c:d/e+f=g-h"])
def test_a_valid_request_id_is_kept_and_sent_back(stranger, capsys, given):
    response = stranger.get("/health", headers={"X-Request-ID": given})
    assert response.headers["X-Request-ID"] == line_of(capsys)["requestId"] == given


# Neither a line break nor the syntax of another format may get into a line or a header.
@pytest.mark.parametrize(
    "given",
    [
        *("", " ", "x" * 129, "a b", 'a"b', "a\tb", "é", "<a>", "{}", "a;b", "a,b", "\x7f", "\x00"),
        *("a\nb", "a\r\nb: c", "a\n"),
    ],
)
def test_an_invalid_request_id_is_replaced(app, capsys, given):
    ids = []
    for _ in range(2):
        response = app.test_client().get("/health", environ_overrides={"HTTP_X_REQUEST_ID": given})
        assert response.status_code == 200
        ids.append(response.headers["X-Request-ID"])
        assert ids[-1] == line_of(capsys)["requestId"] == str(UUID(ids[-1]))
    assert ids[0] != ids[1]


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/absent", INSIGHTS, "/invite/absent/signup"])
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


@pytest.mark.parametrize(
    ("path", "headers", "place"),
    [(EVENTS, {"Accept": "application/x-ndjson"}, "lines_response"), ("/ready", {}, "get_readiness")],
)
def test_an_intended_5xx_has_its_place_in_the_code(app, alice, capsys, monkeypatch, path, headers, place):
    monkeypatch.setattr("sql.database.schema_version.VERSION", 0)
    monkeypatch.setitem(app.extensions, "streams", BoundedSemaphore(1))
    with app.extensions["streams"]:
        response = alice.get(path, headers=headers)
    assert response.status_code == 503
    line = line_of(capsys)
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


@pytest.mark.parametrize(
    ("error", "status", "has_place"),
    [
        (psycopg.OperationalError("the connection is lost"), 503, False),
        (DatabaseUnavailable("a reason"), 503, False),
        (PoolTimeout("couldn't get a connection"), 503, False),
        (psycopg.errors.AdminShutdown(), 503, False),
        (psycopg.errors.CannotConnectNow(), 503, False),
        (psycopg.errors.TooManyConnections(), 503, False),
        (psycopg.errors.DiskFull(), 503, False),
        (psycopg.errors.ReadOnlySqlTransaction(), 503, False),
        (psycopg.errors.QueryCanceled(), 503, True),
        (psycopg.errors.LockNotAvailable(), 503, True),
        (psycopg.errors.UniqueViolation(), 500, True),
        # psycopg raises this one itself, if a statement and its parameters do not fit.
        (psycopg.ProgrammingError("the query has 2 placeholders"), 500, True),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_line_of_an_unavailable_database_has_no_traceback(make_app, shared_url, capsys, error, status, has_place):
    assert Caller(broken_app(make_app, shared_url, error)).get("/broken/x").status_code == status
    line = line_of(capsys)
    if has_place:
        assert "raise error" in line["error"]
        return
    state = f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""
    assert line["error"] == f"{type(error).__module__}.{type(error).__qualname__}{state}"
    assert len(json.dumps(line)) < 400


# --- Slow requests ----------------------------------------------------------------------------------------------------

SECRET = "a-secret-in-a-value"


def test_a_slow_request_logs_statements_without_values(app, conn, alice, capsys, monkeypatch):
    monkeypatch.setitem(app.config, "SLOW_REQUEST_MS", 90)
    conn.execute(
        """
        CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.1); RETURN new; END';
        CREATE TRIGGER slow BEFORE INSERT ON tag_types FOR EACH ROW EXECUTE FUNCTION be_slow()
        """
    )
    assert alice.post(TAG_TYPES, json={"name": SECRET, "description": SECRET}).status_code == 201
    line = line_of(capsys)
    assert set(line) == {*KEYS, "slow"}
    assert set(line["slow"]) == {"statements"}
    first, *others = line["slow"]["statements"]
    assert (first["statement"], first["times"]) == ("catalog.tag_types.INSERT", 1)
    assert 100 <= first["ms"] <= line["ms"]
    assert "events.INSERT" in [other["statement"] for other in others]
    for other in others:
        assert set(other) == {"statement", "times", "ms"}
        assert other["ms"] <= first["ms"]
    assert SECRET not in json.dumps(line)


def test_the_line_has_the_ten_slowest_statements_each_once():
    noted = [(f"statement {number}", float(number)) for number in range(12)] + [("statement 5", 20.0)]
    listed = slow_requests.facts(noted, 1000, 66_000.0)["slow"]["statements"]
    assert [(one["statement"], one["times"], one["ms"]) for one in listed[:2]] == [
        ("statement 5", 2, 25_000.0),
        ("statement 11", 1, 11_000.0),
    ]
    assert len(listed) == 10


def test_other_requests_log_no_statements(alice, make_app, shared_url, capsys):
    assert alice.get(TAG_TYPES).status_code == 200
    assert set(line_of(capsys)) == KEYS
    # With 0, none are measured.
    timing.statements.set(None)
    assert Caller(make_app(shared_url, SLOW_REQUEST_MS=0), ADMIN_KEY).get(TAG_TYPES).status_code == 200
    assert set(line_of(capsys)) == KEYS
    assert timing.statements.get() is None


def test_each_request_logs_its_own_statements(make_app, make_database, capsys):
    caller = Caller(make_app(make_database(), SLOW_REQUEST_MS=-1), ADMIN_KEY)

    def statements() -> list[dict[str, Any]]:
        return line_of(capsys)["slow"]["statements"]

    for _ in range(2):
        assert caller.get(TAG_TYPES).status_code == 200
        assert [one["times"] for one in statements() if one["statement"] == "catalog.tag_types.LIST"] == [1]
    # A composed statement is logged by its first words.
    assert caller.get(f"{EVENTS}?query={SECRET}&feature=IS:{SECRET}").status_code == 200
    listed = statements()
    assert SECRET not in json.dumps(listed)
    assert len(listed) > 1
    assert all(len(one["statement"]) <= 61 and "\n" not in one["statement"] for one in listed)
    assert caller.post(TAG_TYPES, json={"name": "told"}).status_code == 201
    assert "COMMIT" in [one["statement"] for one in statements()]


# --- The real service -------------------------------------------------------------------------------------------------

INVITE, KEY, PASSWORD = "a-secret-invitation", "*:*.a-secret-of-a-key", "a secret password"
QUERY, BODY, LINE, HEADER = "a-secret-in-a-query", "a-secret-in-a-body", "a-secret-line", "a-secret-header"


def test_no_secret_is_logged(make_database):
    url = make_database()
    with connect(url) as conn:
        expiry = datetime.now(UTC) + timedelta(days=1)
        fixtures.signup_token(conn, name="told", expires_at=expiry, created_by="the test", secret=INVITE)
        run(conn, "UPDATE api_keys SET digest = sha256(%(key)s::bytea)", {"key": KEY.encode()})
    authorized, token = {"Authorization": KEY}, f"/api/admin/invite-link/tokens/{INVITE}"
    ada, search = {"email": "ada@example.org", "name": "Ada", "password": PASSWORD}, f"{EVENTS}?query={QUERY}"
    requests: list[tuple[int, str, str, Any, dict[str, str]]] = [
        (200, "POST", f"/invite/{INVITE}/signup", ada, {}),
        (409, "POST", f"/invite/{INVITE}/signup", ada, {}),
        (200, "PUT", token, {"enabled": False}, authorized),
        (400, "PUT", token, {"enabled": BODY}, authorized),
        (401, "POST", LOGIN, {"username": ada["email"], "password": f"{PASSWORD}, mistyped"}, {}),
        (401, "POST", LOGIN, {"username": PASSWORD, "password": PASSWORD}, {}),
        (404, "GET", f"/{LINE}/{QUERY}?{QUERY}", None, {}),
        (400, "GET", f"{search}&limit={QUERY}", None, authorized),
        (401, "GET", INSIGHTS, None, {"Authorization": f"{KEY}, but another"}),
        (200, "GET", INSIGHTS, None, {"Authorization": f"Bearer {KEY}"}),
    ]
    malformed = [
        f"GET /{LINE} HTTP/9.9\r\n\r\n",
        f"G(T /{LINE} HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization {HEADER}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: x\r\nX: {HEADER}\r\nContent-Length: {HEADER}\r\n\r\n",
        f"GET /{'x' * 9000}{LINE} HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    with Service(url) as service:
        for status, method, path, body, headers in requests:
            assert service.request(method, path, body, headers).status == status
        assert service.request("POST", "/api/admin/events/search", body=f"{{{BODY}", headers=authorized).status == 415
        for text in malformed:
            assert service.raw(text.encode()).status == 400
        login = service.request("POST", LOGIN, {"username": ada["email"], "password": PASSWORD})
        cookie = login.headers["Set-Cookie"].split("=")[1].split(";")[0]
        # A client that hangs up in the middle of its body.
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            head = f"POST {LOGIN} HTTP/1.1\r\nHost: x\r\nX: {HEADER}\r\nContent-Length: 900\r\n\r\n{BODY}"
            connection.sendall(head.encode())
        assert service.stop() == 0
        out, err = service.out, service.err
        # Logins have another line besides.
        lines = [line for line in service.lines if line.get("route", "/ready") != "/ready"]
    assert len(cookie) > 20
    for secret in (INVITE, KEY, PASSWORD, QUERY, BODY, LINE, HEADER, cookie):
        assert secret not in out + err
        assert secret.replace(" ", "%20") not in out + err
    # Each request has a line, and each malformed one.
    assert len(lines) == len(requests) + len(malformed) + 3
    unparsed = [line for line in lines if line["status"] == 400 and line["method"] is None]
    assert len(unparsed) == len(malformed)
    for line in unparsed:
        assert set(line) == {*KEYS, "errorId"}
        assert (line["route"], line["caller"]) == (None, None)
    assert err.count("\n") == 1  # that it serves
    assert not [line for line in lines if line["status"] >= 500]


def test_a_full_disk_under_the_log_does_not_make_an_answer_an_error(make_database):
    with Service(make_database(), stdout="/dev/full") as service:
        assert service.get("/health").status == 200
        assert service.get("/absent").status == 404
        assert "Traceback" not in service.err
