"""The order of refusals, if several fit one request: each pair of neighbours in decisions.md."""

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

PROJECT = "/api/admin/projects/{}"
TOKEN = "/api/admin/invite-link/tokens/{}"
STRATEGY = "/api/admin/projects/{}/features/checkout/environments/development/strategies/{}"
SEARCH = "/api/admin/search/events"
DEPRECATED = "/api/admin/events/search"
SIGNUP = "/invite/{}/signup"
LOGIN = "/auth/simple/login"
LARGE = b" " * (1024 * 1024 + 1)
JSON = {"content_type": "application/json"}
PLAIN = {"content_type": "text/plain"}
NEWCOMER = {"email": "a@b", "name": "x", "password": "y" * 8}

# Status and name of each refusal, and words of its message.
TOO_LARGE = (413, "PayloadTooLargeError", "")
UNKNOWN_CALLER = (401, "AuthenticationRequired", "")
WRONG_KEY = (403, "NoAccessError", "token cannot use the admin API")
CROSS_SITE = (403, "NoAccessError", "must come from this service's own pages")
NO_PERMISSION = (403, "NoAccessError", "You lack the permission ")
NO_PROJECT = (404, "NotFoundError", "No project has that id.")
NO_FLAG = (404, "NotFoundError", "The project has no such flag")
NO_TOKEN = (404, "NotFoundError", "signup token")
WRONG_TYPE = (415, "ContentTypeError", "")
NO_JSON = (400, "ValidationError", "The body is not valid JSON")
NOT_USABLE = (403, "NoAccessError", "This signup token is disabled or has expired.")


def check(reason: tuple[int, str, str], *responses: TestResponse) -> None:
    """Assert that all responses are refusals for this reason."""
    status, name, words = reason
    for response in responses:
        assert words in refused(response, status, name)


@pytest.fixture
def token(world: World) -> str:
    """The secret of a valid signup token."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return fixtures.signup_token(world.conn, name="a token", expires_at=tomorrow, created_by="alice")["secret"]


class Unchanged:
    """The rows of the database before the refusals of a test."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.begin()

    def begin(self) -> None:
        """From here on, nothing may change."""
        self.before = fingerprint(self.conn)


# The other fixtures create users. All users must exist before the first request.
@pytest.fixture(autouse=True)
def unchanged(alice, victor, stranger, apollo, token, conn) -> Iterator[Unchanged]:  # noqa: ARG001
    """Assert that the refusals of a test change nothing."""
    unchanged = Unchanged(conn)
    yield unchanged
    assert fingerprint(conn) == unchanged.before


def test_a_too_large_body_comes_before_everything(unchanged, world, stranger, victor, token):
    callers = [stranger, Caller(world.app, "no key"), victor, world.api_key("client"), world.api_key("frontend")]
    unchanged.begin()
    for caller in callers:
        for how in (JSON, PLAIN):
            large = {"data": LARGE, **how}
            check(
                TOO_LARGE,
                caller.put(TOKEN.format(token), **large),
                caller.get(f"{SEARCH}?limit=0", **large),
                caller.get(f"{PROJECT.format('apollo')}/overview", **large),
                caller.delete(STRATEGY.format("nowhere", "x"), **large),
                *(caller.post(path, **large) for path in (DEPRECATED, SIGNUP.format("no-such-token"), LOGIN)),
            )


def test_a_missing_credential_comes_before_all_else(unchanged, world, stranger, token):
    past = datetime.now(UTC) - timedelta(days=1)
    keys = [world.api_key(kind, expires_at=past) for kind in ("client", "frontend")]
    unchanged.begin()
    for caller in (stranger, *keys):
        check(
            UNKNOWN_CALLER,
            *(caller.get(path) for path in (f"{SEARCH}?limit=0&limit=%ff", "/api/admin/insights?from=x")),
            *(caller.get(PROJECT.format(path)) for path in ("apollo/overview", "nowhere/access")),
            caller.put(TOKEN.format(token), json={"enabled": False}),
            *(caller.delete(STRATEGY.format(project, "x")) for project in ("apollo", "nowhere")),
        )
    for how in ({"data": b"{", **JSON}, {"data": b"x", **PLAIN}, {"json": {"enabled": 5, "limit": 0}}, {}):
        check(UNKNOWN_CALLER, stranger.put(TOKEN.format("no-such-token"), **how), stranger.post(DEPRECATED, **how))


@pytest.mark.parametrize("kind", ["client", "frontend"])
def test_the_wrong_kind_of_key_comes_before_permission_project_and_body(unchanged, world, kind):
    key = world.api_key(kind)
    unchanged.begin()
    check(
        WRONG_KEY,
        key.put(TOKEN.format("no-such-token"), data=b"x", **PLAIN),
        *(key.delete(STRATEGY.format(project, "x")) for project in ("apollo", "nowhere")),
        *(key.get(PROJECT.format(path)) for path in ("nowhere/overview", "apollo/access")),
        key.get(f"{SEARCH}?limit=0"),
        key.post(DEPRECATED, data=b"{", **JSON),
    )


def test_a_cross_site_request_is_refused_before_all_else(unchanged, world, victor):
    sessions.insert(world.conn, digest("victors"), victor.id or 0, 48)
    unchanged.begin()
    cookie, forged = Caller(world.app), {"Cookie": "session=victors", "Origin": "http://evil.example"}
    check(
        CROSS_SITE,
        cookie.put(TOKEN.format("no-such-token"), data=b"x", headers=forged, **PLAIN),
        cookie.delete(STRATEGY.format("nowhere", "x"), headers=forged),
    )
    # But an invalid session comes first.
    check(UNKNOWN_CALLER, cookie.delete(STRATEGY.format("apollo", "x"), headers=forged | {"Cookie": "session=x"}))


def test_a_missing_permission_comes_before_the_project_the_body_and_unknown_records(victor, alice, token):
    for project in ("apollo", "nowhere"):
        check(
            NO_PERMISSION, victor.delete(STRATEGY.format(project, "x")), victor.get(f"{PROJECT.format(project)}/access")
        )
        # Without a permission to lack, the project does not exist.
        check(NO_PROJECT, victor.get(f"{PROJECT.format(project)}/overview"))
    check(NO_PROJECT, *(alice.get(PROJECT.format(path)) for path in ("nowhere/access", "nowhere/overview")))
    bodies = ({"data": b"x", **PLAIN}, {"data": b"{", **JSON}, {"json": {}}, {"json": {"enabled": "no"}}, {})
    for how in (*bodies, {"json": {"enabled": False}}):
        check(NO_PERMISSION, *(victor.put(TOKEN.format(secret), **how) for secret in (token, "no-such-token")))


def test_an_unknown_project_comes_before_an_unknown_flag(alice):
    check(NO_FLAG, alice.delete(STRATEGY.format("apollo", "x")))
    # The body of a DELETE and the query of an overview are not read.
    check(
        NO_PROJECT,
        alice.delete(STRATEGY.format("nowhere", "x")),
        alice.delete(STRATEGY.format("nowhere", "x"), data=b"{", **PLAIN),
        alice.get(f"{PROJECT.format('nowhere')}/overview?limit=%ff"),
    )


def test_the_content_type_comes_before_json_and_json_before_the_fields(alice, stranger, token):
    plain = {"data": b"{", **PLAIN}
    check(
        WRONG_TYPE,
        *(alice.put(TOKEN.format(secret), **plain) for secret in (token, "no-such-token")),
        alice.post(DEPRECATED, **plain),
        *(stranger.post(path, **plain) for path in (LOGIN, SIGNUP.format(token), SIGNUP.format("no-such-token"))),
    )
    check(
        NO_JSON,
        alice.put(TOKEN.format(token), data=b'{"enabled": 5', **JSON),
        alice.put(TOKEN.format("no-such-token"), data=b'{"enabled": false}}', **JSON),
        alice.post(DEPRECATED, data=b'{"limit": 0, "limit": 0}', **JSON),
        stranger.post(LOGIN, data=b'{"username": 5, "password": NaN}', **JSON),
        stranger.post(SIGNUP.format("no-such-token"), data=b'{"email": 5,}', **JSON),
    )


def test_an_invalid_body_comes_before_an_unknown_or_unusable_token(unchanged, world, alice, stranger, token):
    unknown, taken = SIGNUP.format("no-such-token"), NEWCOMER | {"email": alice.email}
    assert refused(alice.put(TOKEN.format("no-such-token"), json={"enabled": 5})).startswith("enabled: ")
    check(NO_TOKEN, alice.put(TOKEN.format("no-such-token"), json={"enabled": True}))
    refused(stranger.post(SIGNUP.format(token), json=taken), 409, "NameExistsError")
    for ended in ("enabled = false", "enabled = true, expires_at = now()"):
        world.conn.execute(f"UPDATE signup_tokens SET {ended} WHERE secret = %s", [token])  # pyright: ignore
        unchanged.begin()
        for path in (unknown, SIGNUP.format(token)):
            assert refused(stranger.post(path, json=NEWCOMER | {"email": "a"})).startswith("email: ")
        # The token comes before a name that is taken.
        for body in (NEWCOMER, taken):
            check(NO_TOKEN, stranger.post(unknown, json=body))
            check(NOT_USABLE, stranger.post(SIGNUP.format(token), json=body))


def test_an_unknown_path_or_method_comes_before_the_credential(alice, stranger):
    for caller in (alice, stranger):
        assert refused(caller.get("/api/admin/no-such-thing"), 404, "NotFoundError") == "Not found."
        response = caller.post(SEARCH)
        assert refused(response, 405, "MethodNotAllowedError") == "Method not allowed."
        assert response.headers["Allow"] == "GET, HEAD"
