"""Names with the characters ! * ' ( ), which Unleash allows, in every place that takes a name."""

from urllib.parse import quote

import pytest

from tests.support.world import Caller, World, refused

ADMIN = "/api/admin"
NAMES = ["it's-(new)!*", "*", "()"]
METRICS = {"appName": "shop", "bucket": {"start": "2026-01-01T00:00:00Z", "stop": "2026-01-01T00:01:00Z"}}


def ok(caller: Caller, method: str, path: str, json: object = None) -> object:
    """Send a request, which must succeed, and return the JSON of the response."""
    response = caller.request(method, path, json=json)
    assert response.status_code in (200, 201, 202, 204), (method, path, response.text)
    return response.json if response.data else None


@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_operation_takes_the_name_of_a_flag(world: World, alice: Caller, name: str, encoded: bool) -> None:
    world.project("hermes")
    world.flag("parent")
    # The SDKs in JavaScript keep these characters as they are in paths.
    word = quote(name, safe="" if encoded else "!*'()")
    project = f"{ADMIN}/projects/default"
    flag = f"{project}/features/{word}"
    development = f"{flag}/environments/development"
    ok(alice, "POST", f"{ADMIN}/features/validate", {"name": name, "projectId": "default"})
    created = alice.post(f"{project}/features", json={"name": name, "type": "release"})
    assert (created.status_code, created.json["name"]) == (201, name)
    assert alice.get(f"{project}/{created.headers['Location']}").json["name"] == name
    refused(alice.post(f"{ADMIN}/features/validate", json={"name": name}), 409, "NameExistsError")
    ok(alice, "PUT", flag, {"name": name, "description": "x", "type": "experiment"})
    ok(alice, "PATCH", flag, [{"op": "replace", "path": "/description", "value": "y"}])
    ok(alice, "POST", f"{ADMIN}/features/{word}/tags", {"type": "simple", "value": "beta"})
    ok(alice, "PUT", f"{project}/tags", {"features": [name], "tags": {"addedTags": [], "removedTags": []}})
    ok(alice, "POST", f"{flag}/favorites")
    ok(alice, "POST", f"{flag}/dependencies", {"feature": "parent"})
    ok(alice, "DELETE", f"{flag}/dependencies")
    ok(alice, "POST", f"{project}/features/parent/dependencies", {"feature": name})
    ok(alice, "DELETE", f"{project}/features/parent/dependencies/{word}")
    strategy = ok(alice, "POST", f"{development}/strategies", {"name": "flexibleRollout"})
    assert strategy["parameters"]["groupId"] == name
    ok(alice, "PUT", f"{development}/variants", [{"name": "a", "weight": 1000}])
    ok(alice, "POST", f"{development}/on")
    ok(alice, "POST", f"{project}/stale", {"features": [name], "stale": True})
    context = {"context": {"targetingKey": "7"}}
    client, web = world.api_key("client"), world.api_key("frontend")
    assert [one["name"] for one in ok(client, "GET", "/api/client/features")["features"]] == sorted([name, "parent"])
    assert ok(client, "GET", f"/api/client/features/{word}")["name"] == name
    assert [one["name"] for one in ok(web, "GET", "/api/frontend")["toggles"]] == [name]
    assert ok(web, "POST", f"/ofrep/v1/evaluate/flags/{word}", context)["key"] == name
    ok(client, "POST", "/api/client/metrics", METRICS | {"bucket": METRICS["bucket"] | {"toggles": {name: {"yes": 1}}}})
    assert ok(alice, "GET", f"{ADMIN}/client-metrics/features/{word}")["featureName"] == name
    assert ok(alice, "POST", f"{development}/evaluate", {"context": {"userId": "7"}})["name"] == name
    for search in (f"query={word}", f"project=IS:default&query={word}&sortBy=name"):
        found = ok(alice, "GET", f"{ADMIN}/search/features?{search}")["features"]
        assert name in [one["name"] for one in found]
    for search in (f"feature=IS:{word}", f"feature=IS_ANY_OF:{word},x", f"query={word}"):
        assert ok(alice, "GET", f"{ADMIN}/search/events?{search}")["total"] > 5, search
    assert ok(alice, "GET", f"{ADMIN}/events/{word}")["totalEvents"] > 5
    document = ok(alice, "POST", f"{ADMIN}/features-batch/export", {"environment": "development", "features": [name]})
    body = {"project": "default", "environment": "development", "data": document}
    assert ok(alice, "POST", f"{ADMIN}/features-batch/validate", body)["errors"] == []
    ok(alice, "POST", f"{ADMIN}/features-batch/import", body)
    ok(alice, "POST", f"{flag}/clone", {"name": f"{name}-copy", "replaceGroupId": True})
    ok(alice, "POST", f"{flag}/changeProject", {"newProjectId": "hermes"})
    moved = f"{ADMIN}/projects/hermes"
    ok(alice, "DELETE", f"{moved}/features/{word}")
    ok(alice, "POST", f"{moved}/revive", {"features": [name]})
    ok(alice, "POST", f"{moved}/archive", {"features": [name]})
    ok(alice, "POST", f"{ADMIN}/archive/revive/{word}")
    ok(alice, "DELETE", f"{moved}/features/{word}")
    ok(alice, "DELETE", f"{ADMIN}/archive/{word}")
    ok(alice, "POST", f"{project}/features", {"name": name})


@pytest.mark.parametrize(
    ("path", "key", "body"),
    [
        ("/projects", "id", {"name": "A"}),
        ("/environments", "name", {"type": "test"}),
        ("/context", "name", {}),
        ("/tag-types", "name", {}),
        ("/strategies", "name", {"parameters": []}),
    ],
)
def test_other_names_take_the_same_characters(alice: Caller, path: str, key: str, body: dict[str, object]) -> None:
    for name in ("it's-(new)!*", "''", "!a"):
        if path in ("/projects", "/environments", "/context"):
            ok(alice, "POST", f"{ADMIN}{path}/validate", {key: name})
        ok(alice, "POST", f"{ADMIN}{path}", {**body, key: name})
        assert ok(alice, "GET", f"{ADMIN}{path}/{quote(name, safe='')}" + ("/overview" if path == "/projects" else ""))
    # A star means all projects or environments.
    if path in ("/projects", "/environments"):
        assert refused(alice.post(f"{ADMIN}{path}", json={**body, key: "*"})).startswith(f"{key}: must not be ")


@pytest.mark.parametrize("name", NAMES)
def test_pages_show_and_link_the_name(world: World, alice: Caller, name: str) -> None:
    strategy = world.strategy(world.flag(name, enabled_in=("development",)))
    client = alice.app.test_client()
    login = {"username": "admin", "password": "the administrator's password"}
    assert client.post("/auth/simple/login", json=login).status_code == 200
    at = f"/projects/default/flags/{quote(name, safe='')}"
    strategies = f"{at}/environments/development/strategies"
    assert f'href="{at}"' in client.get("/projects/default").text
    for path in (at, f"{at}/why?environment=development", f"{strategies}/new", f"{strategies}/{strategy}"):
        page = client.get(path)
        assert page.status_code == 200
        assert f"/{quote(name, safe='')}" in page.text
        assert f"/features/{name}" not in page.text
    assert client.get(f"/events?feature=IS:{quote(name, safe='')}").status_code == 200
