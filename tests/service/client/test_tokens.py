"""Which API tokens each path for applications accepts, and POST /edge/validate."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.world import Caller, World, refused

SERVERS, PAGES = {"client", "backend", "admin"}, {"frontend", "admin"}
ALL = SERVERS | PAGES
ACCEPTED = {
    "GET /api/client/features": SERVERS,
    "GET /api/client/features/f": SERVERS,
    "POST /api/client/register": SERVERS,
    "POST /api/client/metrics": SERVERS,
    "POST /api/client/metrics/bulk": SERVERS,
    "GET /api/frontend": PAGES,
    "POST /api/frontend": PAGES,
    "POST /api/frontend/client/register": PAGES,
    "POST /api/frontend/client/metrics": PAGES,
    "POST /ofrep/v1/evaluate/flags": ALL,
    "POST /ofrep/v1/evaluate/flags/f": ALL,
}


@pytest.mark.parametrize("kind", sorted(ALL))
@pytest.mark.parametrize("route", ACCEPTED)
def test_path_accepts_its_kinds_of_tokens(world: World, route: str, kind: str) -> None:
    world.flag("f")
    method, path = route.split()
    body = {"appName": "shop"} if path.endswith(("/register", "/metrics")) else {}
    response = world.api_key(kind).request(method, path, **({"json": body} if method == "POST" else {}))
    if kind in ACCEPTED[route]:
        assert response.status_code in (200, 202), response.text
    else:
        assert f"A {kind} token cannot do this." in refused(response, 403, "NoAccessError")


def test_only_valid_api_tokens_are_returned(world: World, stranger: Caller, alice: Caller) -> None:
    for project in ("hermes", "apollo"):
        world.project(project)
    admin, of_all = world.api_key(), world.api_key("client")
    of_two = world.api_key("frontend", projects=("hermes", "apollo"), environment="production")
    backend = world.api_key("backend", projects=("apollo",))
    expired = world.api_key("client", expires_at=datetime.now(UTC) - timedelta(days=1))
    tokens = [of_two, admin, expired, of_all, alice, backend, of_all]
    body = {"tokens": [token.key for token in tokens] + ["", "unknown", "x" * 10_000], "other": 1}
    response = stranger.post("/edge/validate", json=body)
    assert response.json == {
        "tokens": [
            {"token": of_two.key, "type": "frontend", "projects": ["apollo", "hermes"], "environment": "production"},
            {"token": admin.key, "type": "admin", "projects": ["*"], "environment": "*"},
            {"token": of_all.key, "type": "client", "projects": ["*"], "environment": "development"},
            {"token": backend.key, "type": "client", "projects": ["apollo"], "environment": "development"},
        ]
    }
    assert stranger.post("/edge/validate", json={"tokens": []}).json == {"tokens": []}


def test_number_of_tokens_is_limited(stranger: Caller) -> None:
    assert stranger.post("/edge/validate", json={"tokens": ["x"] * 100}).status_code == 200
    message = refused(stranger.post("/edge/validate", json={"tokens": ["x"] * 101}))
    assert message == "tokens: must have at most 100 items"
