"""Which web pages can use the operations for browsers (CORS)."""

import pytest
from werkzeug.test import TestResponse

from tests.support import reports
from tests.support.world import Caller, World, refused

PATHS = ["/api/frontend", "/api/frontend/client/metrics", "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/f"]
SHOP = "https://shop.example.org"
CORS = "Access-Control-Allow-Origin"


def preflight(world: World, path: str, headers: str | None = None, method: str = "GET") -> TestResponse:
    """The response to a preflight request of a page."""
    sent = {"Origin": SHOP, "Access-Control-Request-Method": method}
    sent |= {} if headers is None else {"Access-Control-Request-Headers": headers}
    return world.app.test_client(use_cookies=False).options(path, headers=sent)


def cors(response: TestResponse) -> dict[str, str]:
    """The CORS headers of a response."""
    return {name: value for name, value in response.headers if name.startswith("Access-Control-")}


@pytest.mark.parametrize("path", PATHS)
def test_preflight_needs_no_token_and_allows_every_origin_and_header(world: World, path: str) -> None:
    world.app.config["FRONTEND_ORIGINS"] = ("https://other.example.org",)
    try:
        response = preflight(world, path, "authorization, If-None-Match,unleash-appname")
    finally:
        world.app.config["FRONTEND_ORIGINS"] = ("*",)
    assert (response.status_code, response.data) == (204, b"")
    assert "Content-Type" not in response.headers
    assert cors(response) == {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
        "Access-Control-Allow-Headers": "authorization, If-None-Match, unleash-appname",
        "Access-Control-Max-Age": "86400",
        "Access-Control-Expose-Headers": "ETag",
    }
    assert "Origin" in response.headers["Vary"]


@pytest.mark.parametrize(
    ("requested", "allowed"), [("a b, x-good, <script>, ,x:y", "x-good"), ("", None), (None, None), ("é", None)]
)
def test_only_names_of_headers_are_echoed(world: World, requested: str | None, allowed: str | None) -> None:
    assert preflight(world, "/api/frontend", requested).headers.get("Access-Control-Allow-Headers") == allowed


@pytest.mark.parametrize("path", ["/api/admin/user", "/api/client/features", "/api/frontends", "/health", "/"])
def test_other_paths_have_no_cors(world: World, alice: Caller, path: str) -> None:
    response = preflight(world, path)
    assert response.status_code in (404, 405)
    answers = [response, alice.get(path, headers={"Origin": SHOP})]
    assert [cors(answer) for answer in answers] == [{}, {}]


@pytest.mark.parametrize("path", ["/api/frontend/client/metrics", "/api/frontend/client/register"])
def test_only_its_origins_can_report_with_a_token(world: World, path: str) -> None:
    token = world.api_key("frontend", origins=[SHOP])
    for origin, status, allowed in ((SHOP, 200, SHOP), ("https://evil.example.org", 403, None)):
        response = token.post(path, json={"appName": origin}, headers={"Origin": origin})
        assert (response.status_code, response.headers.get(CORS)) == (status, allowed)
    assert reports.names(world.conn) == [SHOP]


@pytest.mark.parametrize("path", ["/api/frontend", "/ofrep/v1/evaluate/flags"])
def test_only_its_origins_can_use_a_token(world: World, path: str) -> None:
    token = world.api_key("frontend", origins=[SHOP, "http://localhost:3000"])
    for origin in (SHOP, "http://localhost:3000"):
        response = token.post(path, json={}, headers={"Origin": origin})
        assert (response.status_code, response.headers[CORS]) == (200, origin)
        unchanged = token.post(path, json={}, headers={"Origin": origin, "If-None-Match": "*"})
        assert (unchanged.status_code, unchanged.headers[CORS]) == (304, origin)
    for origin in ("https://evil.example.org", "http://localhost:3001", f"{SHOP}.evil.example", "null", "*"):
        response = token.post(path, json={}, headers={"Origin": origin})
        message = refused(response, 403, "NoAccessError")
        assert message == "Pages of this origin cannot use this token. Add the origin to origins of the token."
        assert cors(response) == {}
    # A mobile app or curl sends no origin.
    response = token.post(path, json={})
    assert (response.status_code, cors(response)) == (200, {})


def test_setting_decides_for_tokens_without_origins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    response = world.api_key("frontend").get("/api/frontend", headers={"Origin": SHOP})
    assert (response.status_code, cors(response)) == (200, {CORS: "*", "Access-Control-Expose-Headers": "ETag"})
    assert {"Origin", "Accept-Encoding"} <= set(response.headers["Vary"].split(", "))
    monkeypatch.setitem(world.app.config, "FRONTEND_ORIGINS", (SHOP,))
    for token in (world.api_key("frontend"), world.api_key("admin")):
        assert token.get("/api/frontend", headers={"Origin": SHOP}).headers[CORS] == SHOP
        refused(token.get("/api/frontend", headers={"Origin": "https://other.example.org"}), 403, "NoAccessError")
    own = world.api_key("frontend", origins=["https://own.example.org"])
    assert own.get("/api/frontend", headers={"Origin": "https://own.example.org"}).status_code == 200
    refused(own.get("/api/frontend", headers={"Origin": SHOP}), 403, "NoAccessError")


@pytest.mark.parametrize("path", ["/api/frontend", "/ofrep/v1/evaluate/flags"])
def test_page_can_read_errors(world: World, stranger: Caller, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setitem(world.app.config, "FRONTEND_ORIGINS", ("https://other.example.org",))
    token = world.api_key("frontend", origins=[SHOP])
    answers = [
        stranger.post(path, json={}, headers={"Origin": SHOP}),
        Caller(world.app, "unknown-token-of-a-page").post(path, json={}, headers={"Origin": SHOP}),
        token.post(path, data=b"{", content_type="application/json", headers={"Origin": SHOP}),
        token.post(path, data=b"{}", content_type="text/plain", headers={"Origin": SHOP}),
        token.put(path, headers={"Origin": SHOP}),
        token.post(f"{path}/un/known", json={}, headers={"Origin": SHOP}),
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 400, 415, 405, 404]
    assert [answer.headers[CORS] for answer in answers] == ["*", "*", SHOP, SHOP, "*", "*"]
