"""The tabs of a project: environments, API tokens and settings."""

import json
from urllib.parse import quote

from sql.database import Connection
from tests.support import fixtures
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

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
    body = {"name": "flexibleRollout", "parameters": parameters, "constraints": [constraint], "sortOrder": 3}
    response = alice.post(path, json=body)
    assert response.status_code == 200, response.text
    fields = open_page(alice, f"{PAGE}/environments").fields(f".//form[@data-path='{path}']")
    sent = {name: fields[f"parameters.{name}"] for name in parameters}
    assert sent == parameters
    assert json.loads(fields["constraints"])[0]["values"] == ["NO"]
    assert fields["sortOrder"] == "3"


def test_api_tokens_show_no_secret(alice: Caller) -> None:
    assert "There are no API tokens yet." in open_page(alice, f"{PAGE}/tokens").text
    fields = open_page(alice, f"{PAGE}/tokens").fields(f".//form[@data-path='{API}/api-tokens']")
    assert fields.keys() == {"tokenName", "type", "environment", "expiresAt"}
    body = {"tokenName": "shop", "type": "client", "environment": "development"}
    for name in ("shop", "other"):
        token = alice.post(f"{API}/api-tokens", json=body | {"tokenName": name}).json
    page = open_page(alice, f"{PAGE}/tokens")
    assert "shop" in page.text
    assert token["secret"] not in page.response.text
    form = page.all(".//form[@data-send='DELETE'][@data-confirm]")[1]
    # The script finds the secret in the list of the API by these values.
    values = json.loads(form.get("data-match", "")).items()
    records = alice.get(form.get("data-find", "")).json["tokens"]
    [found] = [record for record in records if record.items() >= values]
    assert found["secret"] == token["secret"]
    path = form.get("data-path", "").replace("{secret}", quote(token["secret"], safe=""))
    assert alice.delete(path).status_code == 200
    assert "other" not in open_page(alice, f"{PAGE}/tokens").text


def test_a_default_strategy_of_another_type_is_shown_and_only_replaced(alice: Caller, conn: Connection) -> None:
    strategy = {"name": "userWithId", "parameters": {"userIds": "7"}}
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    fixtures.add_project_environment(conn, "default", "qa", strategy)
    page = open_page(alice, f"{PAGE}/environments")
    assert page.texts(".//td[@data-label='Default strategy']")[-1] == "userWithId"
    path = f"{API}/environments/qa/default-strategy"
    [form] = page.all(f".//form[@data-path='{path}']")
    assert form.findall(".//input") == []
    assert "Replace the strategy userWithId" in form.get("data-confirm", "")
    assert alice.post(path, json=json.loads(form.get("data-body", ""))).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert page.texts(".//td[@data-label='Default strategy']")[-1] == "100 % of users"


def test_settings_are_those_of_the_project(alice: Caller) -> None:
    page = open_page(alice, f"{PAGE}/settings")
    fields = page.fields(f".//form[@data-path='{API}']")
    assert fields.keys() == {"name", "description", "mode", "defaultStickiness", "featureLimit"}
    assert fields["name"] == "Default"
    assert "The project default cannot be archived." in page.text
    body = {"name": "Shop", "description": None, "mode": "private", "defaultStickiness": "userId", "featureLimit": 7}
    assert alice.put(API, json=body).status_code == 200
    page = open_page(alice, f"{PAGE}/settings")
    assert page.fields(f".//form[@data-path='{API}']")["featureLimit"] == "7"
    assert [box.get("value") for box in page.all(".//input[@name='mode'][@checked]")] == ["private"]
    assert page.texts(".//option[@selected]") == ["userId"]


def test_the_form_of_a_pattern_can_be_sent_as_it_is(alice: Caller) -> None:
    page = open_page(alice, f"{PAGE}/settings")
    fields = page.fields(f".//form[@data-path='{API}/settings']")
    pattern, example, explanation = "[a-z]+-[a-z-]+", "shop-cart", "The team, then the flag."
    naming = dict(zip(("pattern", "example", "description"), (pattern, example, explanation), strict=True))
    assert fields == {f"featureNaming.{name}": "" for name in naming}
    for sent in (naming, dict.fromkeys(naming, "")):
        assert alice.put(f"{API}/settings", json={"featureNaming": sent}).status_code == 200
        fields = open_page(alice, f"{PAGE}/settings").fields(f".//form[@data-path='{API}/settings']")
        assert fields == {f"featureNaming.{name}": value for name, value in sent.items()}


def test_a_project_is_archived_on_its_settings_and_revived_by_its_head(world: World, alice: Caller) -> None:
    world.project("shop")
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    assert ("POST", "/api/admin/projects/shop/environments") in open_page(alice, "/projects/shop/environments").requests
    archive = "/api/admin/projects/archive/shop"
    page = open_page(alice, "/projects/shop/settings")
    assert ("POST", archive) in page.requests
    assert alice.post(archive).status_code == 200
    page = open_page(alice, "/projects/shop/settings")
    assert "This project has been archived since" in page.text
    assert ("POST", archive) not in page.requests
    assert ("POST", "/api/admin/projects/revive/shop") in page.requests
    # An archived project can lose an environment, and cannot get one.
    requests = open_page(alice, "/projects/shop/environments").requests
    assert ("POST", "/api/admin/projects/shop/environments") not in requests
    assert (
        open_page(alice, "/projects/shop/tokens").all(".//form[@data-path='/api/admin/projects/shop/api-tokens']") == []
    )


def test_a_share_of_0_is_shown_and_kept(alice: Caller) -> None:
    path = f"{API}/environments/development/default-strategy"
    body = {"name": "flexibleRollout", "parameters": {"rollout": 0, "stickiness": "userId", "groupId": "g"}}
    assert alice.post(path, json=body).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert "0 % of users" in page.texts(".//td[@data-label='Default strategy']")
    assert page.fields(f".//form[@data-path='{path}']")["parameters.rollout"] == "0"


def test_an_empty_group_is_kept(alice: Caller) -> None:
    path = f"{API}/environments/development/default-strategy"
    for group, kept in (({"groupId": ""}, ""), ({}, None)):
        body = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "userId"} | group}
        assert alice.post(path, json=body).status_code == 200
        page = open_page(alice, f"{PAGE}/environments")
        assert page.fields(f".//form[@data-path='{path}']").get("parameters.groupId") == kept


def test_long_lists_of_tokens_have_pages_and_a_search(alice: Caller) -> None:
    for number in range(51):
        body = {"tokenName": f"Token{number:02}", "type": "client", "environment": "development"}
        assert alice.post(f"{API}/api-tokens", json=body).status_code == 201
    page = open_page(alice, f"{PAGE}/tokens")
    assert len(page.all(".//tbody/tr")) == 50
    assert len(open_page(alice, f"{PAGE}/tokens{page.links['Next']}").all(".//tbody/tr")) == 1
    assert open_page(alice, f"{PAGE}/tokens?query=token07").texts(".//tbody/tr/td[1]") == ["Token07"]
    for path in (f"{PAGE}/tokens", "/admin/api-tokens"):
        assert "No API token has this text in its name." in open_page(alice, f"{path}?query=unknown").text
