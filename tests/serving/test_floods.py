"""Many connections that post large lists, beside strings of the same size: what another user notices of them.

The figures depend on the machine, so they are printed, not asserted. Run this file with -m slow -s.
"""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from sql.database import connect
from tests.support.flood import Attack, attack, lists, text
from tests.support.service import Service
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow
SECONDS = 3.0
OVERVIEW = "/api/admin/projects/default/overview"


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database of its own."""
    return make_database()


@pytest.fixture(scope="module")
def cast(shared_app: Flask, url: str) -> dict[str, Caller]:
    """A user, a viewer and an application, in a project with flags."""
    with connect(url) as conn:
        world = World(shared_app, conn)
        for number in range(50):
            world.flag(f"flag-{number}")
        return {
            "vera": world.user("Vera"),
            "viewer": world.user("Victor"),
            "client": world.api_key("client"),
            "frontend": world.api_key("frontend"),
        }


@pytest.fixture(scope="module")
def service(url: str, cast: dict[str, Caller]) -> Iterator[Service]:  # noqa: ARG001
    """The real service with its defaults."""
    with Service(url, WEB_CONCURRENCY=2) as service:
        yield service


def around(start: bytes, end: bytes = b"") -> Callable[[bytes], bytes]:
    """Return a function that puts a value between two texts."""
    return lambda value: start + value + end


LOGIN = around(b'{"username":', b',"password":"x"}')
TOKENS = around(b'{"tokens":', b"}")
REPORT = around(b'{"appName":"a","bucket":', b"}")
CONTEXT = around(b'{"context":{"userId":"7","x":', b"}}")
DOCUMENT = around(b'{"project":"default","environment":"development","data":{"features":', b"}}")
ATTACKS = {
    "strangers": [(None, "POST /auth/simple/login", LOGIN, 0.99, 16), (None, "POST /edge/validate", TOKENS, 0.99, 16)],
    "frontend reports": [("frontend", "POST /api/frontend/client/metrics", REPORT, 9.99, 8)],
    "frontend contexts": [("frontend", "POST /api/frontend", CONTEXT, 0.99, 16)],
    "contexts below the limit": [("frontend", "POST /api/frontend", CONTEXT, 0.49, 16)],
    "client reports": [("client", "POST /api/client/metrics", REPORT, 9.99, 8)],
    "a viewer's token": [("viewer", "POST /api/admin/user/tokens", around(b'{"description":', b"}"), 0.99, 16)],
    "a viewer's validations": [("viewer", "POST /api/admin/features-batch/validate", DOCUMENT, 0.99, 8)],
}


@pytest.mark.parametrize("name", ATTACKS)
def test_large_lists_cost_others_little_more_than_strings(service: Service, cast: dict[str, Caller], name: str) -> None:
    for kind, value in (("strings", text), ("lists", lists)):
        attacks = [
            Attack(
                path,
                body(value(int(size * (1 << 20)))),
                connections,
                {"Authorization": cast[caller].key or ""} if caller else {},
            )
            for caller, path, body, size, connections in ATTACKS[name]
        ]
        effect = attack(service, attacks, OVERVIEW, {"Authorization": cast["vera"].key or ""}, SECONDS)
        print(f"{name}, {kind}: {effect}")
        assert effect.statuses
        assert not [status for status in effect.statuses if status >= 500 and status != 503]
