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
    tabs_of_all = ["Flags", "Clean up", "Change requests", "Environments"]
    assert tabs[0] == [*tabs_of_all, "Access", "API tokens", "Archive", "Settings"]
    assert tabs[1] == [*tabs_of_all, "Archive"]


# --- Access -----------------------------------------------------------------------------------------------------------


def roles_shown(caller: Caller) -> dict[str, str]:
    """Return the roles that the page shows, and by what, by the first word of the name of the user or group."""
    rows = open_page(caller, ACCESS).all(".//tbody/tr")
    found: dict[str, list[str]] = {}
    for row in rows:
        shown = row.find(".//*[@class='no-script']")
        roles = text_of(row[1] if shown is None else shown)
        found.setdefault(text_of(row[0]).split()[0], []).append(f"{roles} {text_of(row[2])}")
    return {name: ", ".join(ways) for name, ways in found.items()}


def test_role_is_given_changed_and_taken_away(world: World, alice: Caller) -> None:
    assert "No user has a role in this project." in open_page(alice, ACCESS).text
    user = world.user("Uma")
    page = open_page(alice, ACCESS)
    [chosen] = [option for option in page.all(f"{GRANT}//datalist/option") if option.get("data-name") == "Uma"]
    [role] = page.all(f"{GRANT}//option[@selected]")
    assert text_of(role) == "Member"
    # As the script sends it: the value of a chip in its list.
    sent = {chosen.get("data-list"): [json.loads(chosen.get("data-value", ""))], "roles": [int(role.get("value", ""))]}
    assert alice.post(f"{API}/access", json=sent).status_code == 200
    assert roles_shown(alice) == {"Uma": "Member direct"}
    path = f"{API}/users/{user.id}/roles"
    page = open_page(alice, ACCESS)
    assert ("DELETE", path) in page.requests
    [owner] = [form for form in page.all(f".//form[@data-path='{path}']") if text_of(form) == "Owner"]
    assert alice.put(path, json=json.loads(owner.get("data-body", ""))).status_code == 200
    assert roles_shown(alice) == {"Uma": "Owner direct"}
    assert alice.put(f"{API}/users/{alice.id}/roles", json={"roles": [4]}).status_code == 200
    assert alice.delete(path).status_code == 200
    assert roles_shown(alice) == {"Alice": "Owner direct"}


def test_roles_by_groups_name_the_group(world: World, alice: Caller) -> None:
    uma, otto = world.user("Uma"), world.user("Otto")
    users = [{"user": {"id": member.id}} for member in (uma, otto)]
    group = alice.post("/api/admin/groups", json={"name": "<b>", "users": users}).json["id"]
    world.member("default", otto, 5)
    assert alice.post(f"{API}/access", json={"roles": [4], "users": [], "groups": [group]}).status_code == 200
    world.member("default", world.user("Ada", account_type="Service Account", email=None), 5)
    # Groups are first, and service accounts last.
    assert list(roles_shown(alice).items()) == [
        ("<b>", "Owner direct"),
        ("Otto", "Owner group <b>, Member direct"),
        ("Uma", "Owner group <b>"),
        ("Ada", "Member direct"),
    ]
    page = open_page(alice, ACCESS)
    assert ("PUT", f"{API}/groups/{group}/roles") in page.requests
    # A role by a group is changed where the group is.
    assert ("PUT", f"{API}/users/{uma.id}/roles") not in page.requests
    options = {option.get("value"): option.get("data-list") for option in page.all(f"{GRANT}//datalist/option")}
    assert (options["<b> · group"], options["Ada · service account ada"]) == ("groups", "users")


def test_holder_of_several_roles_can_keep_only_one(world: World, alice: Caller) -> None:
    uma = world.user("Uma")
    for role in (4, 5):
        world.member("default", uma, role)
    texts = open_page(alice, ACCESS).texts(f".//form[@data-path='{API}/users/{uma.id}/roles'][@data-send='PUT']")
    assert texts == ["only Owner", "only Member"]


def test_owners_are_asked_before_they_change_their_own_role(world: World) -> None:
    otto, uma = world.user("Otto"), world.user("Uma")
    for owner in (otto, uma):
        world.member("default", owner, 4)
    page = open_page(otto, ACCESS)
    for user, title in ((otto, "Change your own role to Member?"), (uma, None)):
        [form] = page.all(f".//form[@data-path='{API}/users/{user.id}/roles'][@data-send='PUT']")
        assert (form.get("data-confirm") is not None, form.get("data-title")) == (user is otto, title)


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
    assert page.texts(f"{GRANT}//select[@name='roles']/option") == ["Doorkeeper"]
    form = f".//form[@data-path='{API}/users/{owner.id}/roles'][@data-send='PUT']"
    assert page.texts(form) == ["Doorkeeper"]
    offered = open_page(owner, ACCESS).texts(f"{GRANT}//select[@name='roles']/option")
    assert set(offered) == {"Owner", "Member", "Doorkeeper"}


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
    assert page.texts(".//td[@data-label='Default strategy']")[-1] == "userWithId Change…"
    path = f"{API}/environments/qa/default-strategy"
    [form] = page.all(f".//form[@data-path='{path}']")
    assert "has the type userWithId" in text_of(form)
    fields = page.fields(f".//form[@data-path='{path}']")
    parameters = {name: fields.pop(f"parameters.{name}") for name in ("rollout", "stickiness")}
    assert alice.post(path, json=fields | {"parameters": parameters}).status_code == 200
    page = open_page(alice, f"{PAGE}/environments")
    assert page.texts(".//td[@data-label='Default strategy']")[-1] == "100 % of users Change…"


# --- API tokens and settings ------------------------------------------------------------------------------------------


def test_api_tokens_show_no_secret(alice: Caller) -> None:
    page = open_page(alice, f"{PAGE}/tokens")
    assert "There are no API tokens yet." in page.text
    fields = page.fields(f".//form[@data-path='{API}/api-tokens']")
    assert fields.keys() == {"tokenName", "type", "environment", "origins", "expiresAt"}
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
    assert page.texts(".//option[@selected]") == ["userId, else session (default)"]
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


def test_change_requests_are_switched_on_and_the_role_reviewer_is_created(alice: Caller, eve: Caller) -> None:
    config = f"{API}/environments/production/change-requests/config"
    form = f".//form[@data-path='{config}']"
    settings = open_page(eve, f"{PAGE}/settings")
    assert settings.fields(form) == {"changeRequestsEnabled": "", "requiredApprovals": "1"}
    assert not settings.all(f"{form}//input[@checked]")
    assert ("POST", "/api/admin/roles") not in settings.requests
    assert eve.put(config, json={"changeRequestsEnabled": True, "requiredApprovals": 2}).status_code == 204
    settings = open_page(alice, f"{PAGE}/settings")
    assert settings.fields(form)["requiredApprovals"] == "2"
    assert settings.all(f"{form}//input[@checked]")
    [button] = settings.all(".//form[@data-path='/api/admin/roles']")
    created = alice.post("/api/admin/roles", json=json.loads(button.get("data-body", ""))).json["roles"]["id"]
    role: Any = alice.get(f"/api/admin/roles/{created}").json
    assert {item["name"] for item in role["permissions"]} == {"APPROVE_CHANGE_REQUEST", "APPLY_CHANGE_REQUEST"}
    assert ("POST", "/api/admin/roles") not in open_page(alice, f"{PAGE}/settings").requests


def test_project_is_archived_on_its_settings_and_revived_by_its_head(world: World, alice: Caller) -> None:
    page, api = f"/projects/{world.project('shop')}", "/api/admin/projects"
    assert alice.post("/api/admin/environments", json={"name": "qa", "type": "test"}).status_code == 201
    settings, refused = open_page(alice, f"{page}/settings"), "Flags and environments cannot be added to it."
    assert ("POST", f"{api}/archive/shop") in settings.requests
    assert refused in settings.text
    # An archived project can lose an environment, and get neither one nor a token.
    additions = {"environments": ("POST", f"{api}/shop/environments"), "tokens": ("POST", f"{api}/shop/api-tokens")}
    for tab, request in additions.items():
        assert request in open_page(alice, f"{page}/{tab}").requests
    assert alice.post(f"{api}/archive/shop").status_code == 200
    settings = open_page(alice, f"{page}/settings")
    assert f"This project was archived just now . {refused}" in settings.text
    assert ("POST", f"{api}/archive/shop") not in settings.requests
    assert ("POST", f"{api}/revive/shop") in settings.requests
    for tab, request in additions.items():
        assert request not in open_page(alice, f"{page}/{tab}").requests
