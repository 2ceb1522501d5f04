"""What no client should send in the headers of the nine operations: no credential, and no harm."""

import pytest
from flask import Flask

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.fingerprint import fingerprint
from tests.support.hostile import BODIES, OPERATIONS, PUBLIC, Probe, prepared, some
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow


@pytest.fixture
def probe(world: World, alice: Caller) -> Probe:  # noqa: ARG001 (Alice must be there before the first look)
    """A probe in a prepared world."""
    return prepared(world)


HOSTILE_CREDENTIALS = [
    "",
    " ",
    "Bearer",
    "Bearer ",
    "bearer\t",
    "Basic",
    "Basic YTpi",
    "Basic !!!",
    "Digest x=",
    "\xff\xfe",
    "null",
    "user:" + "0" * 64,
    "%00",
    "*:*." + "0" * 64,
    "'; DROP TABLE api_keys; --",
    "x" * 100_000,
    "Bearer " * 1000,
    "a,b",
    "\x7f",
    "🔑".encode().decode("latin-1"),
]
KEY_DISGUISES = ["{}x", '"{}"', "Token {}", "Bearer Bearer {}", "{0},{0}", "{0} {0}", "Bearer: {}", "Basic {}"]
HOSTILE_COOKIES = [
    "session",
    "session=",
    "session=\xff",
    "session=%00",
    "session=" + "x" * 100_000,
    "session=a; session=b",
    "=;=;",
    ";;;;",
    'session="\\',
    "a" * 9999,
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_hostile_credentials_are_none(probe: Probe, app: Flask, alice: Caller, operation: str) -> None:
    anonymous, key, expected = Caller(app), alice.key or "", {200} if operation in PUBLIC else {401}
    thorough = operation in ("update token", "search", "log in")
    nearly = [key[:-1], key.upper(), *(disguise.format(key) for disguise in KEY_DISGUISES)]
    for text in some(HOSTILE_CREDENTIALS, thorough=thorough) + nearly:
        probe.send(anonymous, operation, expected, headers={"Authorization": text})
    for text in some(HOSTILE_COOKIES, thorough=thorough):
        probe.send(anonymous, operation, expected, headers={"Cookie": text})
        probe.send(alice, operation, {200}, headers={"Cookie": text})
    assert probe.verdict() == []


HOSTILE_HEADERS = [("X-Request-ID", text) for text in ("", "\xff", "a b", "{}", "x" * 100_000, "<script>", "%0d%0a")]
HOSTILE_HEADERS += [
    ("Accept", "image/png"),
    ("Accept", "\xff;q=x"),
    ("Accept-Encoding", "x"),
    ("Range", "bytes=5-1"),
    ("If-Match", '"'),
]
HOSTILE_HEADERS += [("If-None-Match", "*"), ("X-HTTP-Method-Override", "DELETE"), ("X-Forwarded-For", "\xff, ::::")]
HOSTILE_HEADERS += [("X-Forwarded-Host", "["), ("X-Original-URL", "/"), ("Expect", "x")]
HOSTILE_HOSTS = ["", "[", "[::1", "a b", "\xff", "evil.example", "a:b:c", "localhost:99999", "<script>", "a/b", "@"]
HOSTILE_ORIGINS = ["", "null", "[", "http://[", "\xff", "http://evil.example"]
HOSTILE_SOURCES = [("Host", text) for text in HOSTILE_HOSTS] + [("Origin", text) for text in HOSTILE_ORIGINS]
HOSTILE_SOURCES += [("Sec-Fetch-Site", "x"), ("Sec-Fetch-Site", "\xff"), ("Referer", "http://[")]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_other_headers_do_not_matter_to_a_key(probe: Probe, alice: Caller, operation: str) -> None:
    for name, text in some(
        HOSTILE_HEADERS + HOSTILE_SOURCES, thorough=operation in ("update token", "search", "log in")
    ):
        probe.send(alice, operation, {200}, headers={name: text})
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in PUBLIC])
def test_origin_headers_can_only_refuse_a_session(
    probe: Probe, app: Flask, alice: Caller, conn: Connection, operation: str
) -> None:
    sessions.insert(conn, digest("the session"), alice.id or 0, 48)
    probe.before = fingerprint(conn)
    expected = {200} if OPERATIONS[operation][0] == "GET" else {200, 403}
    for name, text in HOSTILE_SOURCES:
        probe.send(Caller(app), operation, expected, headers={name: text, "Cookie": 'session="the session"'})
    assert probe.verdict() == []


@pytest.mark.parametrize("host", ["x" * 64, "x" * 9999, "a..b", ".a"])
def test_a_host_that_is_none_is_refused(app: Flask, alice: Caller, host: str) -> None:
    response = app.test_client().get(
        "/api/admin/projects/default/overview", headers={"Authorization": alice.key or "", "Host": host}
    )
    assert (response.status_code, response.mimetype) == (400, "application/json")
    assert response.json.keys() == {"id", "name", "message"}
    assert response.json["name"] == "ValidationError"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_content_length_that_is_no_number_is_none(probe: Probe, alice: Caller, operation: str) -> None:
    # 415 and 400: without a length there is no body.
    for length in ("", "abc", "-1", "1e3", "+5", "0", "٥".encode().decode("latin-1")):
        probe.send(
            alice, operation, {200, 400, 415} if operation in BODIES else {200}, environ={"CONTENT_LENGTH": length}
        )
    probe.send(alice, operation, {413}, environ={"CONTENT_LENGTH": "9" * 20})
    assert probe.verdict() == []
