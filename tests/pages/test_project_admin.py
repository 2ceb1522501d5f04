"""The tabs of a project: environments, API tokens and settings."""

import json

from tests.support.page import Page, open_page
from tests.support.world import Caller

API = "/api/admin/projects/default"
PAGE = "/projects/default"


def tabs(page: Page) -> list[str]:
    """Return the names of the tabs."""
    return page.texts(".//nav[@aria-label='Project']/a")


def test_readers_see_the_tabs_that_they_may_use(alice: Caller, victor: Caller) -> None:
    assert tabs(open_page(alice, PAGE)) == [
        *("Flags", "Archived flags", "Access", "Environments", "API tokens", "Settings"),
    ]
    assert tabs(open_page(victor, PAGE)) == ["Flags", "Archived flags", "Environments"]
    for path in ("access", "tokens", "settings"):
        assert open_page(victor, f"{PAGE}/{path}", 403).heading == "You cannot see this page"


def test_environments_are_added_and_removed(alice: Caller, victor: Caller) -> None:
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    page = open_page(alice, f"{PAGE}/environments")
    form = f".//form[@data-path='{API}/environments']"
    assert [option.text for option in page.all(f"{form}//option")] == ["qa"]
    assert alice.post(f"{API}/environments", json={"environment": "qa"}).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert ("DELETE", f"{API}/environments/qa") in page.requests
    assert page.all(form) == []
    assert open_page(victor, f"{PAGE}/environments").requests == {("POST", f"{API}/favorites")}


def test_the_form_of_a_default_strategy_keeps_what_it_does_not_show(alice: Caller) -> None:
    path = f"{API}/environments/development/default-strategy"
    constraint = {"contextName": "userId", "operator": "IN", "values": ["NO"]}
    parameters = {"rollout": "30", "stickiness": "userId", "groupId": "g"}
    body = {"name": "flexibleRollout", "parameters": parameters, "constraints": [constraint]}
    response = alice.post(path, json=body)
    assert response.status_code == 200, response.text
    fields = open_page(alice, f"{PAGE}/environments").fields(f".//form[@data-path='{path}']")
    sent = {name: fields[f"parameters.{name}"] for name in parameters}
    assert sent == parameters
    assert json.loads(fields["constraints"])[0]["values"] == ["NO"]


def test_api_tokens_show_no_secret(alice: Caller) -> None:
    assert "There are no API tokens yet." in open_page(alice, f"{PAGE}/tokens").text
    fields = open_page(alice, f"{PAGE}/tokens").fields(f".//form[@data-path='{API}/api-tokens']")
    assert fields.keys() == {"tokenName", "type", "environment", "expiresAt"}
    body = {"tokenName": "shop", "type": "client", "environment": "development"}
    token = alice.post(f"{API}/api-tokens", json=body).json
    page = open_page(alice, f"{PAGE}/tokens")
    assert "shop" in page.text
    assert token["secret"] not in page.text
    [form] = page.all(".//form[@data-send='DELETE'][@data-confirm]")
    assert alice.delete(form.get("data-path", "")).status_code == 200
    assert "There are no API tokens yet." in open_page(alice, f"{PAGE}/tokens").text


def test_settings_are_those_of_the_project(alice: Caller) -> None:
    page = open_page(alice, f"{PAGE}/settings")
    fields = page.fields(f".//form[@data-path='{API}']")
    assert fields.keys() == {"name", "description", "mode", "defaultStickiness", "featureLimit"}
    assert fields["name"] == "Default"
    body = {"name": "Shop", "description": None, "mode": "private", "defaultStickiness": "userId", "featureLimit": 7}
    assert alice.put(API, json=body).status_code == 200
    page = open_page(alice, f"{PAGE}/settings")
    assert page.fields(f".//form[@data-path='{API}']")["featureLimit"] == "7"
    selected = [option.get("value") or option.text for option in page.all(".//option[@selected]")]
    assert selected == ["private", "userId"]
    assert ("POST", "/api/admin/projects/archive/default") in page.requests
