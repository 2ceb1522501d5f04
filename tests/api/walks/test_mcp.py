"""The tools of the MCP server of Unleash find the flags, change them, and read what they need from the responses.

Their requests are those of its public client: the client sends JSON as Content-Type also where it sends no body, reads
every 2xx of a GET, POST and PUT of a strategy or flag as JSON, and shows the `message` of an error.
"""

from typing import Any
from urllib.parse import urlencode

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


@pytest.fixture
def strategy(mcp):
    """The strategy of the tool set_flag_rollout, in a flag of the tool create_flag."""
    mcp("POST", FLAGS, FLAG, 201)
    return mcp("POST", STRATEGIES, ROLLOUT).json


def test_list_projects(mcp):
    (project,) = mcp("GET", PROJECTS).json["projects"]
    assert (project["id"], project["name"], project["mode"]) == ("default", "Default", "open")
    assert project["createdAt"]


def test_create_flag(mcp):
    created = mcp("POST", FLAGS, FLAG | {"tags": [{"type": "simple", "value": "team"}]}, 201).json
    assert created | FLAG | {"project": "default"} == created
    assert mcp("GET", "/api/admin/features/walk/tags").json["tags"] == [{"type": "simple", "value": "team"}]


def test_create_flag_shows_what_is_wrong(mcp):
    message = refused(mcp("POST", FLAGS, FLAG | {"name": "a walk"}, 400))
    assert message.startswith("name: ")


def test_list_flags(mcp):
    mcp("POST", FLAGS, FLAG, 201)
    mcp("POST", FLAGS, FLAG | {"name": "gone"}, 201)
    mcp("DELETE", f"{FLAGS}/gone", status=202)
    (flag,) = mcp("GET", FLAGS).json["features"]
    assert (flag["name"], flag["project"], flag["archived"]) == ("walk", "default", False)
    query = urlencode({"project": "IS:default", "archived": "IS:true"})
    (flag,) = mcp("GET", f"/api/admin/search/features?{query}").json["features"]
    assert flag["name"] == "gone"


def test_set_flag_rollout(strategy):
    assert {name: strategy[name] for name in ("title", "disabled", "parameters")} == {
        "title": "half of them",
        "disabled": False,
        "parameters": {"rollout": "50", "groupId": "walk", "stickiness": "default"},
    }
    assert strategy["id"]


def test_set_flag_rollout_needs_no_more_than_a_percentage(mcp):
    mcp("POST", FLAGS, FLAG, 201)
    assert (
        mcp("POST", STRATEGIES, {"name": ROLLOUT["name"], "parameters": ROLLOUT["parameters"]}).json["disabled"]
        is False
    )


def test_get_flag_state(mcp, strategy):
    flag = mcp("GET", f"{FLAGS}/walk").json
    development = next(place for place in flag["environments"] if place["name"] == "development")
    assert development["enabled"] is False
    assert [(each["id"], each["disabled"]) for each in development["strategies"]] == [(strategy["id"], False)]


def test_update_flag_strategy(mcp, strategy):
    # The tool merges its changes with what it read.
    flag = mcp("GET", f"{FLAGS}/walk").json
    development = next(place for place in flag["environments"] if place["environment"] == "development")
    (current,) = development["strategies"]
    names = ("name", "title", "disabled", "parameters", "constraints", "variants", "segments")
    body = {name: current[name] for name in names}
    body["parameters"] = body["parameters"] | {"rollout": "75"}
    after = mcp("PUT", f"{STRATEGIES}/{strategy['id']}", body).json
    assert after == strategy | {"parameters": body["parameters"]}


def test_toggle_flag_environment(mcp, strategy):
    for word, enabled in (("on", True), ("off", False)):
        flag = mcp("POST", f"{FLAGS}/walk/environments/development/{word}").json
        assert {place["name"]: place["enabled"] for place in flag["environments"]}["development"] is enabled
    assert strategy["id"] in mcp("GET", STRATEGIES).text


def test_remove_flag_strategy(mcp, strategy):
    response = mcp("DELETE", f"{STRATEGIES}/{strategy['id']}")
    assert (response.content_type, response.data) == ("application/json", b"")
    assert mcp("GET", STRATEGIES).json == []


def test_update_flag_tags(mcp):
    mcp("POST", FLAGS, FLAG, 201)
    path = "/api/admin/features/walk/tags"
    tag = {"type": "simple", "value": "team"}
    assert mcp("POST", path, tag, 201).json == tag
    other = {"type": "simple", "value": "other"}
    assert mcp("PUT", path, {"addedTags": [other], "removedTags": [tag]}).json["tags"] == [other]
