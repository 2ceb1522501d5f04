"""Hostile paths and queries for the nine operations, and a probe that sends them and checks the answers."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote_to_bytes
from uuid import UUID

import bcrypt
from psycopg import Rollback

from serving.body_limits import PUBLIC_BYTES
from sql.database import Connection
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import PASSWORD, Caller, World

OPERATIONS = {
    "update token": ("PUT", "/api/admin/invite-link/tokens/{token}"),
    "insights": ("GET", "/api/admin/insights"),
    "search": ("GET", "/api/admin/search/events"),
    "delete strategy": (
        "DELETE",
        "/api/admin/projects/{project}/features/{feature}/environments/{environment}/strategies/{strategy}",
    ),
    "overview": ("GET", "/api/admin/projects/{project}/overview"),
    "log in": ("POST", "/auth/simple/login"),
    "access": ("GET", "/api/admin/projects/{project}/access"),
    "sign up": ("POST", "/invite/{token}/signup"),
    "deprecated search": ("POST", "/api/admin/events/search"),
}
PUBLIC = {"log in", "sign up"}
WORDS = {
    "token": "c0ffee" * 5,
    "project": "default",
    "feature": "checkout",
    "environment": "development",
    "strategy": "the-strategy",
}
BODIES: dict[str, dict[str, Any]] = {
    "update token": {"expiresAt": "2031-01-01T00:00:00Z", "enabled": False},
    "log in": {"username": "ida", "password": PASSWORD},
    "sign up": {"username": "newcomer", "email": "new@example.org", "name": "New Comer", "password": PASSWORD},
    "deprecated search": {
        "type": "user-created",
        "project": "default",
        "feature": "x",
        "query": "x",
        "limit": 10,
        "offset": 10,
    },
}
NAMES = {
    400: "ValidationError",
    401: "AuthenticationRequired",
    403: "NoAccessError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
}
NAMES |= {413: "PayloadTooLargeError", 415: "ContentTypeError"}


def some(inputs: list[Any], *, thorough: bool) -> list[Any]:
    """All of them, or every third where the same code reads them all in another case."""
    return inputs if thorough else inputs[::3]


class Probe:
    """Sends what no client should, and gathers what was wrong with the answers.

    A success is undone; a refusal must leave no mark.
    """

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.complaints: list[str] = []
        self.answers: set[tuple[int, str, str]] = set()
        self.before = fingerprint(conn)

    def send(
        self,
        caller: Caller,
        operation: str,
        expected: Iterable[int],
        *,
        words: Any = (),
        query: str = "",
        body: Any = ...,
        **kwargs: Any,
    ) -> None:
        """Send one request, valid except for the arguments, as a real server would pass it on: percent signs decoded to
        bytes.
        """
        method, template = OPERATIONS[operation]
        if body is ...:
            body = json.dumps(BODIES[operation]) if operation in BODIES else None
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        if operation in PUBLIC and len(body or b"") > PUBLIC_BYTES:
            expected = {413}
        if operation in BODIES or body is not None:
            kwargs.setdefault("content_type", "application/json")
        path = unquote_to_bytes(template.format(**WORDS | dict(words))).decode("latin-1")
        environ = {"PATH_INFO": path, "QUERY_STRING": query} | kwargs.pop("environ", {})
        if operation in ("log in", "sign up"):
            # The throttle would block frequent attempts. It is tested elsewhere.
            self.conn.execute("DELETE FROM login_throttle")
            self.conn.execute("DELETE FROM login_addresses")
        request = f"{method} {path!a:.90}?{query!a:.60} {body!a:.60} {kwargs!r:.90}"
        with self.conn.transaction():
            try:
                response = caller.request(method, "/", data=body, environ_overrides=environ, **kwargs)
            except AssertionError as error:
                self.complaints.append(f"{request}: {error!s:.200}")
                raise Rollback from None
            if response.status_code not in expected:
                self.complaints.append(f"{request}: {response.status_code} {response.text:.100}")
            if response.status_code < 400 or response.status_code >= 500:
                raise Rollback
            self.look_at_refusal(request, response.status_code, response.mimetype, response.json)

    def look_at_refusal(self, request: str, status: int, mimetype: str, error: dict[str, str]) -> None:
        """Add a complaint unless the error body has the form that all errors have."""
        if (
            mimetype != "application/json"
            or error.keys() != {"id", "name", "message"}
            or error["name"] != NAMES.get(status)
        ):
            self.complaints.append(f"{request}: {status} {mimetype} {error!s:.100}")
        elif (
            str(UUID(error["id"])) != error["id"]
            or not error["message"]
            or re.search("psycopg|SELECT|Traceback", error["message"])
        ):
            self.complaints.append(f"{request}: {error!s:.200}")
        self.answers.add((status, error["name"], error["message"]))

    def verdict(self) -> list[str]:
        """What there is to complain of, with the tables in which refusals left a mark."""
        after = fingerprint(self.conn)
        return [*self.complaints, *(f"{name} has changed" for name in after if after[name] != self.before[name])]


def prepared(world: World) -> Probe:
    """A probe, in a world in which each operation with the right words and body succeeds."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    fixtures.signup_token(world.conn, name="a token", expires_at=tomorrow, created_by="alice", secret=WORDS["token"])
    world.strategy(world.flag(WORDS["feature"]), WORDS["environment"], strategy_id=WORDS["strategy"])
    world.user("Ida", password_hash=bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())
    return Probe(world.conn)


HOSTILE_WORDS = [
    "%00",
    "a%00b",
    "%ff",
    "%c3%28",
    "%ed%a0%80",
    "%f0%80%80%80",
    "%zz",
    "%",
    "%2",
    "%%",
    "..",
    ".",
    "%2e%2e",
    "%2E",
    "",
    "%2F",
    "/",
    "..%2F..%2Fetc%2Fpasswd",
    "%2f%2f",
    "%5c",
    "..%5c",
    ";",
    "a;b=c",
    ":",
    "*",
    "%25",
    "%2500",
    "%252e%252e",
    "+",
    "%20",
    "%09",
    "%0a",
    "%0d%0aX-Evil:%201",
    "'%20OR%20'1'='1",
    "%27;%20DROP%20TABLE%20users;--",
    "%25(id)s",
    "%25s",
    "$1",
    "<script>",
    "{{7*7}}",
    "[]",
    "null",
    "None",
    "undefined",
    "NaN",
    "true",
    "0",
    "-1",
    "1e999",
    "9" * 400,
    "__proto__",
    "constructor",
    "%E2%80%AE",
    "%E2%80%8B",
    "%EF%BB%BF",
    "%F0%9F%8E%89",
    "a%CC%81",
    "%u0041",
    "&",
    "=",
    "@",
    "#",
    "%7f",
    "%80",
    "\xe9",
    "x" * 100_000,
    "%00" * 10_000,
    "~",
]
# Behind or before the right word: what a lenient reader would take for it.
DISGUISES = [
    "{}%00",
    "%00{}",
    "{}%20",
    "%20{}",
    "{}%0a",
    "{}%09",
    "{}.",
    "{};x=1",
    "{}%2F",
    "{}/",
    "/{}",
    "./{}",
    "{}%2F..",
    "{}%E2%80%8B",
    "{}%ff",
    "{}%",
]
HOSTILE_QUERIES = [
    "=",
    "&",
    "&&&",
    "=&=",
    "?",
    "??a",
    ";",
    "#",
    "%",
    "%zz=%zz",
    "a[b]=1",
    "limit[]=1",
    "limit%00=0",
    "__proto__=1",
]
