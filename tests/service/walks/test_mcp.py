"""The tools of the MCP server of Unleash find the flags, change them, and read what they need from the responses.

Their requests are those of its public client: the client sends JSON as Content-Type also where it sends no body, reads
every 2xx of a GET, POST and PUT of a strategy or flag as JSON, and shows the `message` of an error.
"""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.world import refused

PROJECTS = "/api/admin/projects"
FLAGS = f"{PROJECTS}/default/features"
STRATEGIES = f"{FLAGS}/walk/environments/development/strategies"
HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "X-Unleash-AppName": "unleash-mcp",
    "User-Agent": "unleash-mcp/1.0.0 (MCP Server; client=a-client/1.2.3)",
}
FLAG = {"name": "walk", "type": "release", "description": "A walk", "impressionData": False}
ROLLOUT = {
    "name": "flexibleRollout",
    "title": "half of them",
    "disabled": False,
    "parameters": {"rollout": "50", "groupId": "walk", "stickiness": "default"},
    "variants": [{"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}],
    "constraints": [{"contextName": "appName", "operator": "NUM_GTE", "value": "1"}],
}


@pytest.fixture
def mcp(alice):
    """mcp(method, path, body, status): a request of the client, and the response."""

    def send(method: str, path: str, body: Any = None, status: int = 200) -> TestResponse:
        content = {} if body is None else {"json": body}
        response = alice.request(method, path, headers=HEADERS, **content)
        assert response.status_code == status, response.text
        return response

    return send


def test_list_projects(mcp):
    (project,) = mcp("GET", PROJECTS).json["projects"]
    assert (project["id"], project["name"], project["mode"]) == ("default", "Default", "open")
    assert project["createdAt"]


def test_create_and_list_flags(mcp):
    tag = {"type": "simple", "value": "team"}
    created = mcp("POST", FLAGS, FLAG | {"tags": [tag]}, 201).json
    assert created | FLAG | {"project": "default"} == created
    assert refused(mcp("POST", FLAGS, FLAG | {"name": "a walk"}, 400)).startswith("name: ")
    mcp("POST", FLAGS, FLAG | {"name": "gone"}, 201)
    mcp("DELETE", f"{FLAGS}/gone", status=202)
    (flag,) = mcp("GET", FLAGS).json["features"]
    assert (flag["name"], flag["project"], flag["archived"]) == ("walk", "default", False)
    (flag,) = mcp("GET", "/api/admin/search/features?project=IS%3Adefault&archived=IS%3Atrue").json["features"]
    assert flag["name"] == "gone"


def test_update_flag_tags(mcp):
    mcp("POST", FLAGS, FLAG, 201)
    path = "/api/admin/features/walk/tags"
    tag, other = {"type": "simple", "value": "team"}, {"type": "simple", "value": "other"}
    assert mcp("POST", path, tag, 201).json == tag
    assert mcp("GET", path).json["tags"] == [tag]
    assert mcp("PUT", path, {"addedTags": [other], "removedTags": [tag]}).json["tags"] == [other]


def test_strategies_of_a_flag(mcp):
    mcp("POST", FLAGS, FLAG, 201)
    strategy = mcp("POST", STRATEGIES, ROLLOUT).json
    assert [strategy[name] for name in ("title", "disabled", "parameters")] == [
        "half of them",
        False,
        ROLLOUT["parameters"],
    ]
    for word, enabled in (("on", True), ("off", False)):
        flag = mcp("POST", f"{FLAGS}/walk/environments/development/{word}").json
        assert {place["name"]: place["enabled"] for place in flag["environments"]}["development"] is enabled
    # The tool merges its changes with what it read.
    flag = mcp("GET", f"{FLAGS}/walk").json
    development = next(place for place in flag["environments"] if place["environment"] == "development")
    (current,) = development["strategies"]
    names = ("name", "title", "disabled", "parameters", "constraints", "variants", "segments")
    body = {name: current[name] for name in names}
    body["parameters"] = body["parameters"] | {"rollout": "75"}
    path = f"{STRATEGIES}/{strategy['id']}"
    assert mcp("PUT", path, body).json == strategy | {"parameters": body["parameters"]}
    response = mcp("DELETE", path)
    assert (response.content_type, response.data) == ("application/json", b"")
    assert mcp("GET", STRATEGIES).json == []
    # No more than a percentage is needed.
    least = {"name": ROLLOUT["name"], "parameters": ROLLOUT["parameters"]}
    assert mcp("POST", STRATEGIES, least).json["disabled"] is False
