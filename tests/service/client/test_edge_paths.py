"""The paths of Unleash Edge for browsers: all flags, one flag, and /api/proxy."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import value
from tests.support.evaluation import one_of, switched_on
from tests.support.reports import metrics
from tests.support.world import Caller, World, refused

OFF = {"name": "disabled", "enabled": False, "feature_enabled": False, "featureEnabled": False}
ON = OFF | {"feature_enabled": True, "featureEnabled": True}


@pytest.fixture
def web(world: World) -> Caller:
    """A page with a frontend token for development, and two flags, one of them for user 7."""
    switched_on(world, "gold", strategy=one_of("userId", "7"))
    world.flag("off")
    return world.api_key("frontend")


def ask(caller: Caller, method: str, path: str, user: str) -> TestResponse:
    """Send the id of the user in the query or in the body."""
    sent: Any = {"json": {"context": {"userId": user}}} if method == "POST" else {"query_string": {"userId": user}}
    return caller.request(method, path, **sent)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/api/frontend/all", "/api/proxy/all"])
def test_all_flags_are_listed_with_those_that_are_off(web: Caller, method: str, path: str) -> None:
    gold = {"name": "gold", "impressionData": False}
    off = {"name": "off", "enabled": False, "impressionData": False, "variant": OFF}
    assert ask(web, method, path, "7").json == {"toggles": [gold | {"enabled": True, "variant": ON}, off]}
    assert ask(web, method, path, "8").json == {"toggles": [gold | {"enabled": False, "variant": OFF}, off]}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_one_flag_is_on_or_off(web: Caller, method: str) -> None:
    path = "/api/frontend/features/gold"
    found = {"name": "gold", "enabled": True, "impressionData": False, "variant": ON}
    assert ask(web, method, path, "7").json == found
    assert ask(web, method, path, "8").json == found | {"enabled": False, "variant": OFF}
    assert ask(web, method, "/api/proxy/features/gold", "7").json == found


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_flag_that_the_token_cannot_read_is_404(world: World, web: Caller, method: str) -> None:
    world.project("apollo")
    switched_on(world, "hidden", "apollo")
    other = world.api_key("frontend", projects=["default"])
    for name in ("hidden", "no-such-flag"):
        message = refused(ask(other, method, f"/api/frontend/features/{name}", "7"), 404, "NotFoundError")
        assert message == "No flag has that name in the projects of the token."
    assert ask(web, method, "/api/frontend/features/hidden", "7").status_code == 200


@pytest.mark.parametrize("path", ["/api/proxy", "/api/frontend/all", "/api/proxy/all"])
def test_sdk_reports_below_any_path(world: World, web: Caller, path: str) -> None:
    assert web.post(f"{path}/client/register", json={"appName": "shop"}).status_code == 200
    assert web.post(f"{path}/client/metrics", json=metrics({"gold": {"yes": 2, "no": 1}})).status_code == 200
    assert value(world.conn, "SELECT sum(yes) FROM usage_metrics") == 2


@pytest.mark.parametrize("path", ["/api/proxy", "/api/frontend/all", "/api/frontend/features/gold"])
def test_path_has_the_rules_of_api_frontend(world: World, web: Caller, path: str) -> None:
    large = b'{"context": {"a": "' + b"x" * (512 << 10) + b'"}}'
    message = refused(web.post(path, data=large), 413, "PayloadTooLargeError")
    assert message.startswith("The body is larger than 524288 bytes.")
    first = web.get(path, headers={"Origin": "https://shop.example.org"})
    assert first.headers["Access-Control-Allow-Origin"] == "*"
    assert web.request("OPTIONS", path).status_code == 204
    again = web.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.data) == (200, 304, b"")
    refused(world.api_key("client").get(path), 403, "NoAccessError")
    limited = world.api_key("frontend", origins=["https://shop.example.org"])
    refused(limited.get(path, headers={"Origin": "https://other.example.org"}), 403, "NoAccessError")


@pytest.mark.parametrize("path", ["/api/proxys", "/api/proxy/client", "/api/client/all", "/api/proxy/all/features"])
def test_other_paths_are_404(web: Caller, path: str) -> None:
    refused(web.get(path), 404, "NotFoundError")
