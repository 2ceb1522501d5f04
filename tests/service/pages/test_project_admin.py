"""The tabs of a project: access, environments, API tokens and settings."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from sql.database import Connection
from tests.support import fixtures, roles
from tests.support.page import open_page, text_of
from tests.support.world import Caller, World

API = "/api/admin/projects/default"
PAGE = "/projects/default"
ACCESS = f"{PAGE}/access"
GRANT = f".//form[@data-path='{API}/access']"
DEVELOPMENT = f"{API}/environments/development/default-strategy"


def test_readers_see_the_tabs_that_they_may_use(alice: Caller, victor: Caller) -> None:
    tabs = [open_page(caller, PAGE).texts(".//nav[@aria-label='Project']/a") for caller in (alice, victor)]
    assert tabs[0] == [*("Flags", "Archived flags", "Access", "Environments", "API tokens", "Settings")]
    assert tabs[1] == ["Flags", "Archived flags", "Environments"]


# --- Access -----------------------------------------------------------------------------------------------------------


def roles_shown(caller: Caller) -> dict[str, str]:
    """Return the roles that the page shows by the first word of the name of the user or group."""
    rows = open_page(caller, ACCESS).all(".//tbody/tr")
    return {
        text_of(row[0]).split()[0]: text_of(row[1]) for row in rows if row.find("td[@data-label='Roles']") is not None
    }


def test_role_is_given_changed_and_taken_away(world: World, alice: Caller) -> None:
    page = open_page(alice, ACCESS)
    assert "No user has a role in this project." in page.text
    assert "No group has a role in this project." in page.text
    user = world.user("Uma")
    page = open_page(alice, ACCESS)
    choices = {text_of(option): option.get("value", "") for option in page.all(f"{GRANT}//option")}
    sent = {
        "users": [int(choices["Uma"])],
        "groups": json.loads(page.fields(GRANT)["groups"]),
        "roles": json.loads(next(value for text, value in choices.items() if text.startswith("Member"))),
    }
    assert alice.post(f"{API}/access", json=sent).status_code == 200
    assert roles_shown(alice) == {"Uma": "Member"}
    path = f"{API}/users/{user.id}/roles"
    page = open_page(alice, ACCESS)
    assert page.requests >= {("PUT", path), ("DELETE", path)}
    boxes = page.all(f".//form[@data-path='{path}']//input[@checked]")
    assert [box.get("value") for box in boxes] == ["5"]
    assert alice.put(path, json={"roles": [4]}).status_code == 200
    assert roles_shown(alice) == {"Uma": "Owner"}
    assert alice.put(f"{API}/users/{alice.id}/roles", json={"roles": [4]}).status_code == 200
    assert alice.delete(path).status_code == 200
    assert roles_shown(alice) == {"Alice": "Owner"}


def test_roles_by_groups_name_the_group(world: World, alice: Caller) -> None:
    uma, otto = world.user("Uma"), world.user("Otto")
    users = [{"user": {"id": member.id}} for member in (uma, otto)]
    group = alice.post("/api/admin/groups", json={"name": "<b>", "users": users}).json["id"]
    world.member("default", otto, 5)
    assert alice.post(f"{API}/access", json={"roles": [4], "users": [], "groups": [group]}).status_code == 200
    shown = roles_shown(alice)
    assert shown["Uma"] == "Owner by the group <b>"
    assert shown["Otto"] == "Member Owner by the group <b>"
    requests = open_page(alice, ACCESS).requests
    assert ("PUT", f"{API}/groups/{group}/roles") in requests
    # A role by a group is changed where the group is.
    assert ("PUT", f"{API}/users/{uma.id}/roles") not in requests


def test_readers_of_the_list_cannot_change_it(world: World, alice: Caller) -> None:
    auditor = world.user("Audrey")
    world.member("default", auditor, roles.make(alice, permissions=[{"name": "PROJECT_USER_ACCESS_READ"}]))
    page = open_page(auditor, ACCESS)
    assert "Auditor" in page.texts(".//td[@data-label='Roles']")
    assert page.requests == {("POST", f"{API}/favorites")}


def test_only_roles_that_the_reader_can_give_are_offered(world: World, alice: Caller) -> None:
    names = ("PROJECT_USER_ACCESS_READ", "PROJECT_USER_ACCESS_WRITE")
    role = roles.make(alice, "Doorkeeper", permissions=[{"name": name} for name in names])
    keeper, owner = world.user("Kim"), world.user("Otto")
    world.member("default", keeper, role)
    world.member("default", owner, 4)
    page = open_page(keeper, ACCESS)
    assert [text_of(option) for option in page.all(f"{GRANT}//select[@name='roles']/option")] == ["Doorkeeper"]
    boxes = page.all(f".//form[@data-path='{API}/users/{owner.id}/roles']//input")
    # Held roles stay in the form, otherwise saving it would take them away.
    assert [(box.get("value"), box.get("checked") is not None) for box in boxes] == [("4", True), (str(role), False)]
    sent = {"roles": [4, role]}
    assert keeper.put(f"{API}/users/{owner.id}/roles", json=sent).status_code == 200
    offered = open_page(owner, ACCESS).texts(f"{GRANT}//select[@name='roles']/option")
    assert {name.partition(":")[0] for name in offered} == {"Owner", "Member", "Doorkeeper"}


# --- Environments -----------------------------------------------------------------------------------------------------


def test_environments_are_added_and_removed(alice: Caller) -> None:
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    form = f".//form[@data-path='{API}/environments']"
    assert open_page(alice, f"{PAGE}/environments").texts(f"{form}//option") == ["qa"]
    assert alice.post(f"{API}/environments", json={"environment": "qa"}).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert ("DELETE", f"{API}/environments/qa") in page.requests
    assert page.all(form) == []


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"rollout": "30", "stickiness": "userId", "groupId": "g"}, "30 % of users"),
        ({"rollout": "0", "stickiness": "userId", "groupId": ""}, "0 % of users"),
        ({"rollout": "50", "stickiness": "userId"}, "50 % of users"),
    ],
)
def test_form_of_a_default_strategy_keeps_everything(alice: Caller, parameters: dict[str, Any], shown: str) -> None:
    constraint = {"contextName": "userId", "operator": "IN", "values": ["NO"]}
    body = {"name": "flexibleRollout", "parameters": parameters, "constraints": [constraint], "sortOrder": 3}
    assert alice.post(DEVELOPMENT, json=body).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert any(text.startswith(shown) for text in page.texts(".//td[@data-label='Default strategy']"))
    fields = page.fields(f".//form[@data-path='{DEVELOPMENT}']")
    assert {name: fields.get(f"parameters.{name}") for name in ("rollout", "stickiness", "groupId")} == {
        "groupId": None,
        **parameters,
    }
    # The form does not show these.
    assert json.loads(fields["constraints"])[0]["values"] == ["NO"]
    assert fields["sortOrder"] == "3"


def test_default_strategy_of_another_type_is_shown_and_only_replaced(alice: Caller, conn: Connection) -> None:
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


# --- API tokens and settings ------------------------------------------------------------------------------------------


def test_api_tokens_show_no_secret(alice: Caller) -> None:
    page = open_page(alice, f"{PAGE}/tokens")
    assert "There are no API tokens yet." in page.text
    fields = page.fields(f".//form[@data-path='{API}/api-tokens']")
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
    [found] = [record for record in alice.get(form.get("data-find", "")).json["tokens"] if record.items() >= values]
    assert found["secret"] == token["secret"]
    path = form.get("data-path", "").replace("{secret}", quote(token["secret"], safe=""))
    assert alice.delete(path).status_code == 200
    assert "other" not in open_page(alice, f"{PAGE}/tokens").text


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


def test_form_of_a_pattern_can_be_sent_as_it_is(alice: Caller) -> None:
    naming = {"pattern": "[a-z]+-[a-z-]+", "example": "shop-cart", "description": "The team, then the flag."}
    empty = dict.fromkeys(naming, "")
    for sent in (empty, naming, empty):
        assert alice.put(f"{API}/settings", json={"featureNaming": sent}).status_code == 200
        fields = open_page(alice, f"{PAGE}/settings").fields(f".//form[@data-path='{API}/settings']")
        assert fields == {f"featureNaming.{name}": value for name, value in sent.items()}


def test_project_is_archived_on_its_settings_and_revived_by_its_head(world: World, alice: Caller) -> None:
    page, api = f"/projects/{world.project('shop')}", "/api/admin/projects"
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    assert ("POST", f"{api}/archive/shop") in open_page(alice, f"{page}/settings").requests
    # An archived project can lose an environment, and get neither one nor a token.
    additions = {"environments": ("POST", f"{api}/shop/environments"), "tokens": ("POST", f"{api}/shop/api-tokens")}
    for tab, request in additions.items():
        assert request in open_page(alice, f"{page}/{tab}").requests
    assert alice.post(f"{api}/archive/shop").status_code == 200
    settings = open_page(alice, f"{page}/settings")
    assert "This project has been archived since" in settings.text
    assert ("POST", f"{api}/archive/shop") not in settings.requests
    assert ("POST", f"{api}/revive/shop") in settings.requests
    for tab, request in additions.items():
        assert request not in open_page(alice, f"{page}/{tab}").requests
