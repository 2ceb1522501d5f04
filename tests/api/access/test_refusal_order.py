"""The order of refusals, where several fit one request: each pair in decisions.md (Refusals and errors)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from werkzeug.test import TestResponse

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

TOKEN = "/api/admin/invite-link/tokens/{}"
STRATEGY = "/api/admin/projects/{}/features/checkout/environments/development/strategies/{}"
SEARCH = "/api/admin/search/events"
DEPRECATED = "/api/admin/events/search"
SIGNUP = "/invite/{}/signup"
LARGE = b" " * (1024 * 1024 + 1)
JSON = {"content_type": "application/json"}
PLAIN = {"content_type": "text/plain"}


@pytest.fixture
def token(world: World) -> str:
    """The secret of a signup token that works."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return fixtures.signup_token(world.conn, name="a token", expires_at=tomorrow, created_by="alice")["secret"]


class Refusals:
    """One check for each reason to refuse: status, name and words. At the end, nothing may have changed."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.before = fingerprint(conn)

    def too_large(self, response: TestResponse) -> None:
        refused(response, 413, "PayloadTooLargeError")

    def unknown_caller(self, response: TestResponse) -> None:
        refused(response, 401, "AuthenticationRequired")

    def wrong_key(self, response: TestResponse) -> None:
        assert "token cannot use the admin API" in refused(response, 403, "NoAccessError")

    def cross_site(self, response: TestResponse) -> None:
        assert "must come from this service's own pages" in refused(response, 403, "NoAccessError")

    def no_permission(self, response: TestResponse) -> None:
        assert refused(response, 403, "NoAccessError").startswith("You lack the permission ")

    def no_project(self, response: TestResponse) -> None:
        assert refused(response, 404, "NotFoundError") == "No project has that id."

    def wrong_type(self, response: TestResponse) -> None:
        refused(response, 415, "ContentTypeError")

    def no_json(self, response: TestResponse) -> None:
        assert refused(response).startswith("The body is not valid JSON")

    def misfit(self, response: TestResponse, field: str) -> None:
        assert refused(response).startswith(f"{field}: ")

    def not_there(self, response: TestResponse) -> None:
        assert refused(response, 404, "NotFoundError") != "No project has that id."

    def not_usable(self, response: TestResponse) -> None:
        assert refused(response, 403, "NoAccessError") == "This signup token is disabled or has expired."


# The other fixtures create users. All users must exist before the first request.
@pytest.fixture
def refusals(alice, victor, stranger, apollo, token, conn) -> Iterator[Refusals]:  # noqa: ARG001
    """The refusals of a test."""
    refusals = Refusals(conn)
    yield refusals
    assert fingerprint(conn) == refusals.before


def test_a_too_large_body_comes_before_everything(
    refusals: Refusals, world: World, stranger: Caller, victor: Caller, token: str
) -> None:
    callers = [stranger, Caller(world.app, "no key"), victor, world.api_key("client"), world.api_key("frontend")]
    refusals.before = fingerprint(world.conn)
    for caller in callers:
        for how in (JSON, PLAIN):
            refusals.too_large(caller.put(TOKEN.format(token), data=LARGE, **how))
            refusals.too_large(caller.post(DEPRECATED, data=LARGE, **how))
            refusals.too_large(caller.get(f"{SEARCH}?limit=0", data=LARGE, **how))
            refusals.too_large(caller.delete(STRATEGY.format("no-such-project", "x"), data=LARGE, **how))
            refusals.too_large(caller.get("/api/admin/projects/apollo/overview", data=LARGE, **how))
            refusals.too_large(caller.post(SIGNUP.format("no-such-token"), data=LARGE, **how))
            refusals.too_large(caller.post("/auth/simple/login", data=LARGE, **how))


def test_a_missing_credential_comes_before_the_wrong_kind_of_key(refusals: Refusals, world: World, token: str) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    keys = [world.api_key(kind, expires_at=past) for kind in ("client", "frontend")]
    refusals.before = fingerprint(world.conn)
    for key in keys:
        refusals.unknown_caller(key.get(SEARCH))
        refusals.unknown_caller(key.put(TOKEN.format(token), json={"enabled": False}))
        refusals.unknown_caller(key.delete(STRATEGY.format("apollo", "x")))


def test_a_missing_credential_comes_before_all_errors_of_the_request(refusals: Refusals, stranger: Caller) -> None:
    refusals.unknown_caller(stranger.get(f"{SEARCH}?limit=0&limit=%ff"))
    refusals.unknown_caller(stranger.get("/api/admin/insights?from=x"))
    refusals.unknown_caller(stranger.get("/api/admin/projects/apollo/overview"))
    refusals.unknown_caller(stranger.get("/api/admin/projects/no-such-project/access"))
    refusals.unknown_caller(stranger.delete(STRATEGY.format("no-such-project", "x")))
    for how in ({"data": b"{", **JSON}, {"data": b"x", **PLAIN}, {"json": {"enabled": 5, "limit": 0}}, {}):
        refusals.unknown_caller(stranger.put(TOKEN.format("no-such-token"), **how))
        refusals.unknown_caller(stranger.post(DEPRECATED, **how))


@pytest.mark.parametrize("kind", ["client", "frontend"])
def test_the_wrong_kind_of_key_comes_before_permission_project_and_body(
    refusals: Refusals, world: World, kind: str
) -> None:
    key = world.api_key(kind)
    refusals.before = fingerprint(world.conn)
    refusals.wrong_key(key.put(TOKEN.format("no-such-token"), data=b"x", **PLAIN))
    refusals.wrong_key(key.delete(STRATEGY.format("apollo", "x")))
    refusals.wrong_key(key.delete(STRATEGY.format("no-such-project", "x")))
    refusals.wrong_key(key.get("/api/admin/projects/no-such-project/overview"))
    refusals.wrong_key(key.get("/api/admin/projects/apollo/access"))
    refusals.wrong_key(key.get(f"{SEARCH}?limit=0"))
    refusals.wrong_key(key.post(DEPRECATED, data=b"{", **JSON))


def test_a_cross_site_request_is_refused_before_all_else(refusals: Refusals, world: World, victor: Caller) -> None:
    sessions.insert(world.conn, digest("victors"), victor.id or 0, 48)
    refusals.before = fingerprint(world.conn)
    cookie, forged = Caller(world.app), {"Cookie": "session=victors", "Origin": "http://evil.example"}
    refusals.cross_site(cookie.put(TOKEN.format("no-such-token"), data=b"x", headers=forged, **PLAIN))
    refusals.cross_site(cookie.delete(STRATEGY.format("no-such-project", "x"), headers=forged))
    # But a session that is none comes first.
    refusals.unknown_caller(cookie.delete(STRATEGY.format("apollo", "x"), headers=forged | {"Cookie": "session=x"}))


def test_a_missing_permission_comes_before_a_hidden_or_unknown_project(
    refusals: Refusals, victor: Caller, alice: Caller
) -> None:
    for project in ("apollo", "no-such-project"):
        refusals.no_permission(victor.delete(STRATEGY.format(project, "x")))
        refusals.no_permission(victor.get(f"/api/admin/projects/{project}/access"))
        # Where nothing but sight is needed, there is nothing else to say.
        refusals.no_project(victor.get(f"/api/admin/projects/{project}/overview"))
    refusals.no_project(alice.delete(STRATEGY.format("no-such-project", "x")))
    refusals.no_project(alice.get("/api/admin/projects/no-such-project/access"))
    refusals.no_project(alice.get("/api/admin/projects/no-such-project/overview"))


def test_a_missing_permission_comes_before_the_body_and_unknown_records(
    refusals: Refusals, victor: Caller, token: str
) -> None:
    for secret in (token, "no-such-token"):
        for how in (
            {"data": b"x", **PLAIN},
            {"data": b"{", **JSON},
            {"json": {}},
            {"json": {"enabled": "no"}},
            {},
            {"json": {"enabled": False}},
        ):
            refusals.no_permission(victor.put(TOKEN.format(secret), **how))


def test_an_unknown_project_comes_before_an_unknown_strategy(refusals: Refusals, alice: Caller) -> None:
    refusals.no_project(alice.delete(STRATEGY.format("no-such-project", "x")))
    refusals.not_there(alice.delete(STRATEGY.format("apollo", "x")))
    # A body on a DELETE, or a query on an overview, is not looked at.
    refusals.no_project(alice.delete(STRATEGY.format("no-such-project", "x"), data=b"{", **PLAIN))
    refusals.no_project(alice.get("/api/admin/projects/no-such-project/overview?limit=%ff"))


def test_the_wrong_content_type_comes_before_broken_json(
    refusals: Refusals, alice: Caller, stranger: Caller, token: str
) -> None:
    for path in (TOKEN.format(token), TOKEN.format("no-such-token")):
        refusals.wrong_type(alice.put(path, data=b"{", **PLAIN))
    refusals.wrong_type(alice.post(DEPRECATED, data=b"{", **PLAIN))
    refusals.wrong_type(stranger.post("/auth/simple/login", data=b"{", **PLAIN))
    for path in (SIGNUP.format(token), SIGNUP.format("no-such-token")):
        refusals.wrong_type(stranger.post(path, data=b"{", **PLAIN))


def test_broken_json_comes_before_what_does_not_fit(
    refusals: Refusals, alice: Caller, stranger: Caller, token: str
) -> None:
    refusals.no_json(alice.put(TOKEN.format(token), data=b'{"enabled": 5', **JSON))
    refusals.no_json(alice.put(TOKEN.format("no-such-token"), data=b'{"enabled": false}}', **JSON))
    refusals.no_json(alice.post(DEPRECATED, data=b'{"limit": 0, "limit": 0}', **JSON))
    refusals.no_json(stranger.post("/auth/simple/login", data=b'{"username": 5, "password": NaN}', **JSON))
    refusals.no_json(stranger.post(SIGNUP.format("no-such-token"), data=b'{"email": 5,}', **JSON))


def test_an_invalid_body_comes_before_an_unknown_record(refusals: Refusals, alice: Caller, stranger: Caller) -> None:
    refusals.misfit(alice.put(TOKEN.format("no-such-token"), json={"enabled": 5}), "enabled")
    refusals.misfit(
        stranger.post(SIGNUP.format("no-such-token"), json={"email": 5, "name": "x", "password": "x" * 8}), "email"
    )
    refusals.not_there(alice.put(TOKEN.format("no-such-token"), json={"enabled": True}))
    refusals.not_there(
        stranger.post(SIGNUP.format("no-such-token"), json={"email": "a@b", "name": "x", "password": "y" * 8})
    )


def test_an_invalid_body_comes_before_an_unusable_token(
    refusals: Refusals, world: World, stranger: Caller, token: str
) -> None:
    world.conn.execute("UPDATE signup_tokens SET enabled = false WHERE secret = %s", [token])
    refusals.before = fingerprint(world.conn)
    refusals.misfit(stranger.post(SIGNUP.format(token), json={"email": "a", "name": "x", "password": "y" * 8}), "email")
    refusals.not_usable(stranger.post(SIGNUP.format(token), json={"email": "a@b", "name": "x", "password": "y" * 8}))


def test_a_token_that_cannot_be_used_comes_before_a_name_that_is_taken(
    refusals: Refusals, world: World, alice: Caller, stranger: Caller, token: str
) -> None:
    taken = {"email": alice.email, "name": "x", "password": "y" * 8}
    refused(stranger.post(SIGNUP.format(token), json=taken), 409, "NameExistsError")
    world.conn.execute("UPDATE signup_tokens SET expires_at = now() WHERE secret = %s", [token])
    refusals.before = fingerprint(world.conn)
    refusals.not_usable(stranger.post(SIGNUP.format(token), json=taken))
    refusals.not_there(stranger.post(SIGNUP.format("no-such-token"), json=taken))


@pytest.mark.usefixtures("refusals")
def test_an_unknown_path_or_method_comes_before_the_credential(alice: Caller, stranger: Caller) -> None:
    for caller in (alice, stranger):
        assert refused(caller.get("/api/admin/no-such-thing"), 404, "NotFoundError") == "Not found."
        response = caller.post(SEARCH)
        assert refused(response, 405, "MethodNotAllowedError") == "Method not allowed."
        assert response.headers["Allow"] == "GET, HEAD"
