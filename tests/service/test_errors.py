"""The one error shape, whatever goes wrong; and what happens while the database is away."""

import json
import subprocess
import time
from collections.abc import Iterator
from uuid import UUID

import pytest
from werkzeug.test import TestResponse

from app import create_app
from operations.bootstrap import prepare_database
from operations.postgres import embedded
from sql import database
from tests.support.embedded_server import own_server
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.secrecy import Watched
from tests.support.service import wait_until
from tests.support.world import Caller

OVERVIEW = "/api/admin/projects/default/overview"


def refused(response: TestResponse, status: int, name: str) -> str:
    """Assert that this is the error body of all errors, and return its message."""
    assert (response.status_code, response.content_type) == (status, "application/json")
    body = json.loads(response.data)
    assert list(body) == ["id", "name", "message"]
    assert body["name"] == name
    assert str(UUID(body["id"])) == body["id"]
    assert body["message"][0].isupper()
    assert body["message"].endswith(".")
    return body["message"]


UNKNOWN_PATHS = [
    "/absent",
    "/api",
    "/api/admin",
    "/api/admin/",
    "/Health",
    "/health/",
    "/%2e%2e/",
    "/../health",
    f"{OVERVIEW}/",
    f"/{OVERVIEW}",
    f"{OVERVIEW};x",
    "/api/admin//insights",
    "/api//admin/insights",
    "/api/admin/projects//overview",
    "/api/admin/projects/a/b/overview",
]


@pytest.mark.parametrize("path", UNKNOWN_PATHS)
def test_an_unknown_path_is_404(alice, stranger, path):
    assert refused(alice.get(path), 404, "NotFoundError") == "Not found."
    assert refused(stranger.post(path, json={}), 404, "NotFoundError") == "Not found."


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (OVERVIEW, "GET, HEAD"),
        ("/api/admin/events/search", "POST"),
        ("/api/admin/invite-link/tokens/x", "GET, HEAD, PUT"),
        ("/api/admin/projects/x/features/x/environments/x/strategies/x", "DELETE, GET, HEAD, PATCH, PUT"),
        ("/health", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("method", ["OPTIONS", "LINK", "TRACE", "WHATEVER"])
def test_another_method_is_405_with_the_allowed_ones(stranger, path, allowed, method):
    response = stranger.request(method, path)
    refused(response, 405, "MethodNotAllowedError")
    assert response.headers["Allow"] == allowed


def test_head_is_get_without_a_body(alice, stranger):
    get, head = (alice.request(method, OVERVIEW) for method in ("GET", "HEAD"))
    assert (head.status_code, head.data) == (200, b"")
    assert head.content_length == get.content_length > 0
    missing = stranger.request("HEAD", OVERVIEW)
    assert (missing.status_code, missing.data, missing.content_type) == (401, b"", "application/json")


@pytest.mark.parametrize("word", ["%FF", "%C3%28", "%ED%A0%80", "%C0%AF"])
def test_a_path_that_is_not_utf_8_is_404(alice, word):
    for path in (f"/{word}", f"/api/admin/projects/{word}/overview"):
        refused(alice.get(path), 404, "NotFoundError")


@pytest.mark.parametrize("query", ["query=%FF", "query=%C3%28", "%FF=x", "query=%ED%A0%80", "query=\xff"])
def test_a_query_that_is_not_utf_8_is_400(alice, query):
    refused(alice.get(f"/api/admin/search/events?{query}"), 400, "ValidationError")


def test_a_large_body_is_refused_before_anything_else(app, alice, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_BODY_BYTES", 1024)
    for caller in (alice, stranger):
        for path in ("/api/admin/events/search", "/auth/simple/login", "/invite/x/signup", "/absent", "/health"):
            message = refused(caller.post(path, data=b"x" * 1025), 413, "PayloadTooLargeError")
            assert message == "The body is larger than 1024 bytes. The setting MAX_BODY_BYTES raises this limit."
    assert stranger.post("/api/admin/events/search", data=b"x" * 1024).status_code == 401


class Outage:
    """A service on an embedded PostgreSQL that can go away."""

    def __init__(self, server: embedded.Server) -> None:
        self.server = server
        self.app = create_app(SETTINGS | {"DATABASE_URL": server.url, "DATABASE_POOL_SIZE": 2})
        self.app.test_client_class = Watched
        prepare_database(server.url, self.app.config)
        self.admin = Caller(self.app, ADMIN_KEY)

    def control(self, *arguments: str) -> None:
        """Run pg_ctl."""
        prefix = self.server._account.prefix if self.server._account else ()
        command = [*prefix, str(embedded.BINARIES / "pg_ctl"), *arguments, "--pgdata=.", "--wait", "--silent"]
        subprocess.run(command, cwd=self.server.cluster, check=True)

    def stop(self) -> None:
        """Stop PostgreSQL at once, with its connections."""
        self.control("stop", "--mode=immediate")

    def start(self) -> None:
        """Start PostgreSQL again."""
        self.server.ensure()


@pytest.fixture(scope="module")
def outage() -> Iterator[Outage]:
    """Such a service, with its database running."""
    with own_server() as server:
        outage = Outage(server)
        yield outage
        with outage.app.app_context():
            database.database().close()


@pytest.mark.timing
def test_the_service_reports_a_missing_database_and_recovers(outage):
    asked = [
        lambda: outage.admin.get("/api/admin/insights"),
        lambda: outage.admin.post(
            "/auth/simple/login", json={"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
        ),
        lambda: outage.admin.put("/api/admin/invite-link/tokens/x", json={"enabled": True}),
        lambda: outage.admin.get("/ready"),
    ]
    before = [call().status_code for call in asked]
    assert before == [200, 200, 404, 200]
    outage.stop()
    for call in asked:
        began = time.monotonic()
        response = call()
        assert time.monotonic() - began < 3
        message = refused(response, 503, "UnavailableError")
        assert message == "The database is unavailable or too slow."
        assert response.headers["Retry-After"] == "1"
    assert outage.admin.get("/health").status_code == 200
    outage.start()
    wait_until(lambda: outage.admin.get("/ready").status_code == 200, "it came back by itself")
    assert [call().status_code for call in asked] == before


def test_a_restart_of_the_database_between_two_requests_is_not_noticed(outage):
    assert outage.admin.get("/api/admin/insights").status_code == 200
    outage.control("restart", "--mode=fast", "--log=server.log", "-p", str(embedded.BINARIES / "postgres"))
    assert outage.admin.get("/api/admin/insights").status_code == 200


def test_a_request_gets_503_while_all_connections_are_in_use(outage, monkeypatch):
    monkeypatch.setattr(outage.app.extensions["database"], "wait", 0.2)
    with outage.app.app_context(), database.connection(), database.connection():
        refused(outage.admin.get("/api/admin/insights"), 503, "UnavailableError")
    assert outage.admin.get("/api/admin/insights").status_code == 200


def test_a_read_only_server_answers_reads_and_refuses_changes(make_database, make_app):
    url = make_database()

    def alter(word: str) -> None:
        with database.connect(url) as conn:
            conn.execute(
                f'BEGIN READ WRITE; ALTER DATABASE "{conn.info.dbname}" '
                f"SET default_transaction_read_only = {word}; COMMIT"
            )  # pyright: ignore

    alter("on")
    admin = Caller(make_app(url), ADMIN_KEY)
    assert {admin.get(path).status_code for path in (OVERVIEW, "/api/admin/insights", "/ready")} == {200}
    changes = [
        lambda: admin.post("/api/admin/projects/default/features", json={"name": "f"}),
        lambda: Caller(admin.app).post("/auth/simple/login", json={"username": "admin", "password": "wrong"}),
    ]
    for change in changes:
        response = change()
        assert refused(response, 503, "UnavailableError") == "The database is read-only at the moment."
        assert response.headers["Retry-After"] == "1"
    alter("off")
    # The connections that there were began as they were to be.
    wait_until(lambda: changes[0]().status_code == 201, "it could be written")


@pytest.mark.parametrize("base", ["/flags", "/health"])
def test_a_base_path_may_look_like_one_of_our_addresses(make_app, shared_url, base):
    app = make_app(shared_url, BASE_URL=f"https://example.org{base}", BASE_PATH=base)
    client = app.test_client()
    for prefix in ("", base):
        assert client.get(f"{prefix}/health").json == {"health": "GOOD"}
        assert client.get(f"{prefix}/api/admin/insights").status_code == 401
        assert client.get(f"{prefix}/nowhere").status_code == 404
    assert client.get(f"{base}x/health").status_code == 404
