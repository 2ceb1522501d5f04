"""Which kinds of API tokens each path for applications accepts."""

import pytest

from tests.support.world import World, refused

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
def test_a_path_accepts_its_kinds_of_tokens(world: World, route: str, kind: str) -> None:
    world.flag("f")
    method, path = route.split()
    body = {"appName": "shop"} if path.endswith(("/register", "/metrics")) else {}
    response = world.api_key(kind).request(method, path, **({"json": body} if method == "POST" else {}))
    if kind in ACCEPTED[route]:
        assert response.status_code in (200, 202), response.text
    else:
        assert f"A {kind} token cannot do this." in refused(response, 403, "NoAccessError")
