"""How large bodies may be, for each operation; and that large ones take turns."""

import gc
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from marshmallow import pre_load
from werkzeug.test import TestResponse

from serving import body_limits
from serving.operation import CONTRACTS
from serving.request_data import load
from tests.support.reports import METRICS
from tests.support.service import Service
from tests.support.world import Caller, World, refused
from validators import MAX_VALUES, Body
from validators.client.contexts import MAX_LENGTH, MAX_PROPERTIES, NAMES

PUBLIC = 32 << 10
USUAL = 1 << 20
IMPORT, VALIDATE = "/api/admin/features-batch/import", "/api/admin/features-batch/validate"
PAGE = "/admin/import"
DOCUMENT = {"features": [], "featureStrategies": [], "tagTypes": []}


class Unread(io.RawIOBase):
    """A body of so many spaces in chunks, which counts the bytes that are read."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.was_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self.left)
        buffer[:size] = b" " * size
        self.left -= size
        self.was_read += size
        return size

    def send(self, caller: Caller, method: str, path: str) -> TestResponse:
        """Send the body."""
        environ = {"wsgi.input": self, "wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
        return caller.request(method, path, content_type="application/json", environ_overrides=environ)


def post(caller: Caller, path: str, body: bytes) -> TestResponse:
    """Send a body as JSON."""
    return caller.post(path, data=body, content_type="application/json")


def public_operations(app: Flask) -> list[tuple[str, str]]:
    """The methods and paths of the operations and pages that need no credential."""
    found = []
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            contract = CONTRACTS.get(app.view_functions[rule.endpoint])
            if (contract is None or contract.public) and rule.rule != PAGE:
                path = "".join("x" if is_variable else part for is_variable, part in rule._trace[1:])  # pyright: ignore
                found += [(method, path) for method in rule.methods or ()]
    return found


def test_public_operations_read_32_kb(app: Flask, stranger: Caller) -> None:
    operations = public_operations(app)
    known = {"POST /auth/simple/login", "POST /edge/validate", "POST /login", "POST /invite/x/signup"}
    known |= {"POST /auth/reset/password", "POST /new-user", "GET /health"}
    assert known <= {" ".join(operation) for operation in operations}
    for method, path in operations:
        for size in (PUBLIC, PUBLIC + 1):
            whole = stranger.request(method, path, content_type="application/json", data=b" " * size)
            for response in (whole, Unread(size).send(stranger, method, path)):
                assert (response.status_code == 413) == (size > PUBLIC), (method, path, size)
        body = Unread(1 << 30)
        assert body.send(stranger, method, path).status_code == 413
        assert body.was_read == PUBLIC + 1


def test_the_message_names_the_limit(stranger: Caller, alice: Caller) -> None:
    for caller, path, message in (
        (stranger, "/auth/simple/login", "32768 bytes. This operation reads no more."),
        (alice, "/api/admin/projects", "1048576 bytes. The setting MAX_BODY_BYTES raises this limit."),
    ):
        response = post(caller, path, b"x" * (USUAL + 1))
        assert refused(response, 413, "PayloadTooLargeError") == f"The body is larger than {message}"


@pytest.mark.parametrize("field", ["username", "password"])
def test_a_login_with_10000_characters_is_401(stranger: Caller, field: str) -> None:
    body = {"username": "x", "password": "x"} | {field: "x" * 10_000}
    refused(stranger.post("/auth/simple/login", json=body), 401, "AuthenticationRequired")


def test_the_largest_context_is_read(world: World) -> None:
    web = world.api_key("frontend")
    # 4 bytes each in UTF-8.
    longest = "\U0001f600" * MAX_LENGTH
    context: dict[str, Any] = {each: longest for each in NAMES if each != "currentTime"}
    context["properties"] = {f"{number:0100}": longest for number in range(MAX_PROPERTIES)}
    body = json.dumps({"context": context}, ensure_ascii=False).encode()
    assert len(body) > MAX_PROPERTIES * MAX_LENGTH * 4
    for path in ("/api/frontend", "/ofrep/v1/evaluate/flags"):
        assert post(web, path, body).status_code == 200
        refused(post(web, path, b" " * (body_limits.CONTEXT_BYTES + 1)), 413, "PayloadTooLargeError")


def test_reports_of_frontend_tokens_have_64_kb(world: World) -> None:
    web = world.api_key("frontend")
    world.flag("f")
    report = {"appName": "web", "bucket": {"toggles": {"f": {"yes": 1, "no": 0}}}}
    body = json.dumps(report).encode()
    path = "/api/frontend/client/metrics"
    assert web.post(path, data=body.ljust((64 << 10) + 1)).status_code == 200
    assert world.conn.execute("SELECT count(*) AS n FROM usage_metrics").fetchone() == {"n": 0}
    assert web.post(path, data=body.ljust(64 << 10)).status_code == 200
    assert world.conn.execute("SELECT count(*) AS n FROM usage_metrics").fetchone() == {"n": 1}
    message = refused(web.post("/api/frontend/client/register", data=b'{"appName":"w"}'.ljust((64 << 10) + 1)))
    assert message == "The body must be a JSON object of at most 65536 bytes."


# --- Imports ----------------------------------------------------------------------------------------------------------


def document(**lists: list[Any]) -> dict[str, Any]:
    """The body of an import into the default project."""
    return {"project": "default", "environment": "development", "data": DOCUMENT | lists}


@pytest.mark.parametrize("path", [IMPORT, VALIDATE])
@pytest.mark.usefixtures("apollo")
def test_imports_are_read_after_the_caller_is_known(
    world: World, stranger: Caller, victor: Caller, olga: Caller, alice: Caller, path: str
) -> None:
    for caller, status in ((stranger, 401), (world.api_key("client"), 403), (world.api_key("frontend"), 403)):
        body = Unread(2 << 20)
        assert body.send(caller, "POST", path).status_code == status
        assert body.was_read == 0
    body = Unread(2 << 20)
    response = body.send(victor, "POST", path)
    if path == IMPORT:
        assert "UPDATE_FEATURE" in refused(response, 403, "NoAccessError")
        assert body.was_read == 0
    else:
        refused(response, 413, "PayloadTooLargeError")
        assert body.was_read == USUAL + 1
        assert victor.post(path, json=document()).status_code == 200
    # Olga has UPDATE_FEATURE in one project only.
    large = json.dumps(document() | {"project": "apollo"}).encode().ljust(2 << 20)
    assert post(olga, path, large).status_code == 200
    body = Unread(1 << 30)
    message = refused(body.send(alice, "POST", path), 413, "PayloadTooLargeError")
    assert message == "The body is larger than 50000000 bytes. This operation reads no more."
    assert body.was_read <= body_limits.IMPORT_BYTES + 1


def test_an_instance_imports_its_own_export_above_1_mib(world: World, alice: Caller) -> None:
    for number in range(250):
        world.flag(f"flag-{number}", description=f"{number} " + "x" * 4_990)
    selection = {"environment": "development", "project": "default"}
    exported = alice.post("/api/admin/features-batch/export", json=selection)
    assert len(exported.data) > USUAL
    body = {"project": "default", "environment": "development", "data": exported.json}
    world.conn.execute("DELETE FROM flags")
    assert alice.post(VALIDATE, json=body).json == {"errors": [], "warnings": [], "permissions": []}
    assert alice.post(IMPORT, json=body).status_code == 200
    assert alice.post("/api/admin/features-batch/export", json=selection).json == exported.json


def test_a_document_has_as_many_entries_as_an_instance_exports(alice: Caller) -> None:
    flags = [{"name": f"flag-{number:05}", "type": "release", "description": "x" * 100} for number in range(3)]
    strategies = [
        {"featureName": flags[number % 3]["name"], "name": "default", "parameters": {}, "constraints": []}
        for number in range(10_001)
    ]
    response = alice.post(VALIDATE, json=document(features=flags, featureStrategies=strategies))
    # The limit of strategies of a flag, not of the document.
    assert response.status_code == 200
    assert all("strategies" in error["message"] for error in response.get_json()["errors"])


# --- Turns ------------------------------------------------------------------------------------------------------------

LISTS = b"[" + b"[]," * 40_000 + b"[]]"


@pytest.mark.parametrize(
    ("path", "start", "end", "status"),
    [
        ("/api/admin/projects", b'{"name":', b"}", 400),
        ("/api/admin/user/tokens", b'{"description":', b"}", 400),
        ("/api/admin/playground", b'{"context":', b"}", 400),
        (VALIDATE, b'{"project":', b"}", 400),
        (IMPORT, b'{"project":', b"}", 400),
        (METRICS, b'{"bucket":', b"}", 202),
        ("/api/client/metrics/bulk", b'{"metrics":', b"}", 202),
        ("/api/client/register", b'{"started":', b',"appName":"a"}', 202),
        ("/api/frontend", b'{"context":', b"}", 400),
    ],
)
def test_a_second_large_body_waits(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch, path: str, start: bytes, end: bytes, status: int
) -> None:
    monkeypatch.setitem(world.app.config, "WAIT_SECONDS", 0.01)
    caller = alice if "admin" in path else world.api_key("frontend" if "frontend" in path else "client")
    collections = 0

    def count(phase: str, _info: dict[str, int]) -> None:
        nonlocal collections
        collections += phase == "start"

    def send(value: bytes) -> int:
        return post(caller, path, start + value + end).status_code

    with body_limits.PARSING:
        assert send(LISTS) == 503
        assert send(b"[]") == status
    threshold = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(count)
    try:
        assert send(LISTS) == status
    finally:
        gc.callbacks.remove(count)
        gc.set_threshold(*threshold)
    # With the collector, parsing alone would be reason for 400.
    assert collections < 200
    assert gc.isenabled()


def test_the_turn_to_parse_ends_before_the_schema_reads_the_body(app: Flask) -> None:
    class Large(Body):
        @pre_load
        def take_turn(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
            with body_limits.held(body_limits.PARSING):
                return {}

    with app.test_request_context(data=b"{}".ljust(PUBLIC + 1), content_type="application/json"):
        assert load(Large()) == {}


def test_large_imports_take_turns(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(alice.app.config, "WAIT_SECONDS", 0.01)
    body = json.dumps(document()).encode()
    with body_limits.LARGE_IMPORTS:
        for path in (IMPORT, VALIDATE):
            assert "Try again later." in refused(post(alice, path, body.ljust(USUAL + 1)), 503, "UnavailableError")
            assert post(alice, path, body).status_code == 200
    assert post(alice, IMPORT, body.ljust(USUAL + 1)).status_code == 200
    # One caller validates one document at a time.
    with alice.app.extensions["validations_of"](f"user:{alice.id}"):
        response = post(alice, VALIDATE, body)
        assert "validations at the same time" in refused(response, 429, "RateLimitError")
        assert response.headers["Retry-After"] == "1"
        assert post(alice, IMPORT, body).status_code == 200
    assert post(alice, VALIDATE, body).status_code == 200


def test_a_body_has_at_most_two_million_values(world: World, alice: Caller) -> None:
    values = b"[" + b"[]," * (MAX_VALUES // 2) + b"[]]"
    message = refused(post(alice, IMPORT, b'{"data":' + values + b"}"))
    assert message == f"The body must have at most {MAX_VALUES} values."
    assert post(world.api_key("client"), METRICS, b'{"appName":"a","bucket":' + values + b"}").status_code == 202


# --- The real service -------------------------------------------------------------------------------------------------


def test_the_limits_hold_whatever_the_framing(make_database: Callable[..., str]) -> None:
    body = b"x" * (PUBLIC + 1)
    with Service(make_database()) as service:
        for length in (f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"):
            for expect in ("", "Expect: 100-continue\r\n"):
                head = f"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\n{expect}{length}\r\n\r\n".encode()
                framed = body if "Length" in length else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
                assert service.raw(head + framed).json["name"] == "PayloadTooLargeError"
        for size in (0, PUBLIC):
            headers = {"Content-Type": "application/json"}
            assert service.request("POST", "/auth/simple/login", body=b" " * size, headers=headers).status == 400
