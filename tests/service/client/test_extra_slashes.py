"""Addresses of applications with repeated or trailing slashes, which SDKs and people make from the address of the
instance.
"""

from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.request_log import line_of
from tests.support.world import Caller, World, refused

SHOP = "https://shop.example.org"
# The kind of token, the method, the right path, the body and the status.
OPERATIONS: list[tuple[str | None, str, str, Any, int]] = [
    ("client", "GET", "/api/client/features", None, 200),
    ("client", "HEAD", "/api/client/features", None, 200),
    ("client", "GET", "/api/client/features/f", None, 200),
    ("client", "POST", "/api/client/register", {"appName": "shop"}, 202),
    ("frontend", "POST", "/api/frontend", {"context": {}}, 200),
    ("frontend", "POST", "/api/frontend/client/register", {"appName": "shop"}, 200),
    ("frontend", "POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "7"}}, 200),
    (None, "POST", "/edge/validate", {"tokens": []}, 200),
    (None, "OPTIONS", "/api/frontend", None, 204),
    ("frontend", "GET", "/api/proxy", None, 200),
    ("frontend", "POST", "/api/proxy/all/client/metrics", {"appName": "shop"}, 200),
]


def variants(path: str) -> list[str]:
    """The path with extra slashes in each place."""
    first, rest = path[1:].split("/", 1)
    return [f"{path}/", f"{path}//", f"/{path}", f"/{first}//{rest}", path.replace("/", "///")]


def ask(caller: Caller, method: str, path: str, json: Any = None, **headers: str) -> TestResponse:
    """Send a request with this exact path, which Werkzeug's client would change."""
    return caller.request(method, "/", json=json, headers=headers, environ_overrides={"PATH_INFO": path})


@pytest.mark.parametrize(("kind", "method", "path", "json", "status"), OPERATIONS)
def test_extra_slashes_change_nothing(
    app: Flask, world: World, capsys: Any, kind: str | None, method: str, path: str, json: Any, status: int
) -> None:
    world.flag("f", enabled_in=("development",))
    caller = world.api_key(kind) if kind else Caller(app)
    usual = ask(caller, method, path, json, Origin=SHOP)
    route = line_of(capsys)["route"]
    assert usual.status_code == status
    for other in variants(path):
        response = ask(caller, method, other, json, Origin=SHOP)
        assert response.status_code == status, other
        assert {name for name, _ in response.headers} == {name for name, _ in usual.headers}, other
        assert response.headers.get("ETag") == usual.headers.get("ETag"), other
        assert line_of(capsys)["route"] == route, other


@pytest.mark.parametrize("path", ["/api/client/features", "/api/frontend", "/ofrep/v1/evaluate/flags"])
def test_extra_slashes_are_no_way_around_the_token(stranger: Caller, world: World, alice: Caller, path: str) -> None:
    method = "POST" if path.startswith("/ofrep") else "GET"
    for other in variants(path):
        callers = (stranger, Caller(world.app, "*:*.unknown-token"), alice)
        assert [ask(caller, method, other, {}).status_code for caller in callers] == [401, 401, 403], other


OTHERS = """
    /api/admin/projects/ /api/admin//projects /api//admin/projects //api/admin/projects /api/client/../admin//projects
    /auth/simple//login /invite/x/validate/ /health/ //health /edged//validate /api/clients//features
"""


@pytest.mark.parametrize("path", OTHERS.split())
def test_extra_slashes_in_other_paths_are_404(alice: Caller, path: str) -> None:
    refused(ask(alice, "GET", path), 404, "NotFoundError")


@pytest.mark.parametrize("base", ["/flags", "/of/flags", "/api/proxy"])
def test_extra_slashes_under_a_path(make_app: Any, shared_url: str, base: str) -> None:
    client = make_app(shared_url, BASE_PATH=base).test_client()
    for path in ("/api/client/features", "/ofrep/v1/evaluate/flags"):
        for other in [*variants(path), *(f"{base}{one}" for one in variants(path)), *variants(f"{base}{path}")]:
            status = client.post("/", environ_overrides={"PATH_INFO": other}).status_code
            assert status == (405 if path.startswith("/api") else 401), other
    for other in (f"{base}//health", f"{base}/api//admin/projects", f"/{base}/api/admin/projects"):
        assert client.get("/", environ_overrides={"PATH_INFO": other}).status_code == 404, other
