"""API tokens, segments, context fields, environments and applications."""

import json

import pytest

from sql.database import Connection
from sql.vocabulary import tag_types
from tests.support import fixtures, segments
from tests.support.api_tokens import holder
from tests.support.page import open_page
from tests.support.reports import register, report
from tests.support.world import Caller, World

ADMIN = "/api/admin"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("path", ["segments", "context-fields", "environments", "tag-types", "applications"])
def test_viewers_can_read_and_change_nothing(victor: Caller, path: str) -> None:
    assert open_page(victor, f"/admin/{path}").requests == set()


def test_viewers_cannot_see_api_tokens(victor: Caller) -> None:
    open_page(victor, "/admin/api-tokens", 403)
    open_page(victor, "/admin/segments/new", 403)


def test_api_tokens_show_no_secret(alice: Caller) -> None:
    body = {"tokenName": EVIL, "type": "client", "environment": "development", "projects": ["*"]}
    token = alice.post(f"{ADMIN}/api-tokens", json=body).json
    page = open_page(alice, "/admin/api-tokens")
    assert EVIL in page.text
    assert page.all(".//main//img") == []
    assert token["secret"] not in page.response.text
    forms = page.all(f".//form[@data-find='{ADMIN}/api-tokens']")
    values = [json.loads(form.get("data-match", "")).items() for form in forms]
    records = alice.get(f"{ADMIN}/api-tokens").json["tokens"]
    [found] = [record for record in records if record["tokenName"] == EVIL]
    assert sum(found.items() >= match for match in values) == 1


def test_expired_api_tokens_are_marked(alice: Caller) -> None:
    body = {"type": "client", "environment": "development"}
    for name, day in (("old", "2020-01-01"), ("new", "2099-01-01")):
        body |= {"tokenName": name, "expiresAt": f"{day}T00:00:00Z"}
        assert alice.post(f"{ADMIN}/api-tokens", json=body).status_code == 201
    rows = open_page(alice, "/admin/api-tokens").texts(".//tbody/tr")
    assert [row.split()[0] for row in rows if "expired" in row] == ["old"]


def test_the_form_of_a_new_token_sends_no_environment_for_an_admin_token(alice: Caller) -> None:
    page = open_page(alice, "/admin/api-tokens")
    form = f".//form[@data-path='{ADMIN}/api-tokens']"
    # An admin token is never the first choice.
    kinds = [option.get("value") for option in page.all(f"{form}//select[@name='type']/option")]
    assert kinds == ["client", "frontend", "admin"]
    # The script disables what is inside, when the reader chooses admin.
    assert len(page.all(f"{form}//*[@data-for='client frontend']//select")) == 2
    assert page.fields(form).keys() == {"tokenName", "type", "environment", "projects", "expiresAt"}


def test_a_segment_is_created_shown_and_changed(world: World, alice: Caller) -> None:
    form = f".//form[@data-path='{ADMIN}/segments']"
    assert {"name", "description", "project"} <= open_page(alice, "/admin/segments/new").fields(form).keys()
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7", "8"], "inverted": True}
    segment = alice.post(f"{ADMIN}/segments", json={"name": "Beta", "constraints": [constraint]}).json
    assert "not: userId is one of 7, 8" in open_page(alice, "/admin/segments").text
    page = open_page(alice, f"/admin/segments/{segment['id']}")
    assert ("PUT", f"{ADMIN}/segments/{segment['id']}") in page.requests
    assert page.texts(".//form//textarea[@name='values']") == ["7 8", ""]
    assert "No strategy that you can see uses this segment." in page.text
    world.flag("checkout")
    path = f"{ADMIN}/projects/default/features/checkout/environments/development/strategies"
    assert alice.post(path, json={"name": "default", "segments": [segment["id"]]}).status_code == 200
    page = open_page(alice, f"/admin/segments/{segment['id']}")
    assert page.links["checkout"] == "/projects/default/flags/checkout"


def test_unknown_segments_are_not_found(alice: Caller) -> None:
    open_page(alice, "/admin/segments/999", 404)
    open_page(alice, "/admin/segments/x", 400)


def test_a_context_field_is_changed_with_its_values(alice: Caller, victor: Caller) -> None:
    body = {"name": "country", "legalValues": [{"value": "NO", "description": "Norway"}], "stickiness": True}
    assert alice.post(f"{ADMIN}/context", json=body).status_code == 201
    page = open_page(alice, "/admin/context-fields/country")
    form = f".//form[@data-path='{ADMIN}/context/country'][@data-send='PUT']"
    assert page.fields(f"{form}//div[@data-item]") == {"value": "NO", "description": "Norway"}
    change = {"description": None, "stickiness": False, "legalValues": [{"value": "SE", "description": "Sweden"}]}
    assert page.fields(form).keys() >= change.keys() - {"legalValues"}
    assert alice.put(f"{ADMIN}/context/country", json=change).status_code == 200
    page = open_page(victor, "/admin/context-fields/country")
    assert page.requests == set()
    assert "Rollouts cannot use it for stickiness. Allowed values: SE Sweden" in page.text
    open_page(alice, "/admin/context-fields/nothing", 404)


def test_the_list_of_context_fields_leaves_the_forms_to_their_pages(alice: Caller) -> None:
    values = [{"value": str(number)} for number in range(12)]
    for number in range(51):
        body = {"name": f"Field{number:02}", "legalValues": values, "sortOrder": 100}
        assert alice.post(f"{ADMIN}/context", json=body).status_code == 201
    page = open_page(alice, "/admin/context-fields?query=field")
    assert page.links["Field07"] == "/admin/context-fields/Field07"
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more" in page.texts(".//td[@data-label='Allowed values']")
    assert ("DELETE", f"{ADMIN}/context/Field07") in page.requests
    assert {method for method, _ in page.requests} == {"POST", "DELETE"}
    assert len(page.all(".//tbody/tr")) == 50
    page = open_page(alice, f"/admin/context-fields{page.links['Next']}")
    assert page.texts(".//tbody/tr/td[1]") == ["Field50"]
    assert "No context field has this text" in open_page(alice, "/admin/context-fields?query=unknown").text


def test_a_context_field_shows_the_strategies_that_the_reader_sees(world: World, alice: Caller, victor: Caller) -> None:
    world.project("secret", mode="private")
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    for name, project in (("checkout", "default"), ("hidden-flag", "secret")):
        world.strategy(world.flag(name, project), constraints=[constraint])
    for caller, found in ((alice, {"checkout", "hidden-flag"}), (victor, {"checkout"})):
        links = open_page(caller, "/admin/context-fields/userId").links
        assert {name for name in ("checkout", "hidden-flag") if name in links} == found
    assert "No strategy that you can see" in open_page(victor, "/admin/context-fields/sessionId").text


@pytest.mark.parametrize(
    ("path", "label"),
    [("segments", "Used by flags"), ("context-fields", "Used by flags"), ("environments", "Flags that are on")],
)
def test_the_numbers_are_those_of_the_api_and_say_what_they_count(
    world: World, alice: Caller, victor: Caller, path: str, label: str
) -> None:
    world.project("secret", mode="private")
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    strategy = world.strategy(world.flag("hidden", "secret", enabled_in=("production",)), constraints=[constraint])
    fixtures.add_segment(world.conn, strategy, segments.make(alice))
    pages = [open_page(caller, f"/admin/{path}") for caller in (alice, victor)]
    numbers = [page.texts(f".//td[@data-label='{label}']") for page in pages]
    assert numbers[0] == numbers[1]
    assert "1" in numbers[0]
    assert ["that you cannot see" in page.text for page in pages] == [False, True]


def test_tag_types_are_created_changed_and_deleted(alice: Caller) -> None:
    api = f"{ADMIN}/tag-types"
    page = open_page(alice, "/admin/tag-types")
    assert page.fields(f".//form[@data-path='{api}']").keys() == {"name", "description"}
    assert alice.post(api, json={"name": "team", "description": EVIL}).status_code == 201
    page = open_page(alice, "/admin/tag-types")
    assert page.fields(f".//form[@data-path='{api}/team'][@data-send='PUT']") == {"description": EVIL}
    assert alice.put(f"{api}/team", json={"description": "Who answers"}).status_code == 200
    page = open_page(alice, "/admin/tag-types")
    assert "Who answers" in page.texts(".//td[@data-label='Description']")
    deletions = [path for method, path in page.requests if method == "DELETE"]
    assert all(alice.delete(path).status_code == 200 for path in deletions)
    assert "There are no tag types" in open_page(alice, "/admin/tag-types").text


def test_many_tag_types_have_pages_and_a_search(alice: Caller, conn: Connection) -> None:
    for number in range(51):
        tag_types.insert(conn, f"Team{number:02}")
    page = open_page(alice, "/admin/tag-types?query=team")
    assert len(page.all(".//tbody/tr")) == 50
    assert open_page(alice, f"/admin/tag-types{page.links['Next']}").texts(".//tbody/tr/td[1]") == ["Team50"]
    assert open_page(alice, "/admin/tag-types?query=+TEAM07+").texts(".//tbody/tr/td[1]") == ["Team07"]
    assert "No tag type has this text" in open_page(alice, "/admin/tag-types?query=unknown").text


def test_after_the_end_of_a_list_readers_see_its_end(alice: Caller, conn: Connection) -> None:
    for number in range(51):
        tag_types.insert(conn, f"Team{number:02}")
    page = open_page(alice, "/admin/tag-types?query=team&offset=100")
    assert page.texts(".//tbody/tr/td[1]") == ["Team50"]
    assert "There are no signup tokens." in open_page(alice, "/admin/signup-tokens?offset=50").text
    for path in ("/projects/default", "/projects/default/archive", "/admin/applications"):
        assert "on this page of the list" in open_page(alice, f"{path}?offset=50").text


def test_a_permission_in_a_project_is_enough_to_create_a_segment_for_it(world: World, alice: Caller) -> None:
    uma = world.user("Uma", 3)
    assert "Create segment" not in open_page(uma, "/admin/segments").links
    body = {"name": "Segmenter", "type": "custom", "permissions": [{"name": "UPDATE_PROJECT_SEGMENT"}]}
    world.member("default", uma, alice.post(f"{ADMIN}/roles", json=body).json["roles"]["id"])
    assert open_page(uma, "/admin/segments").links["Create segment"] == "/admin/segments/new"
    page = open_page(uma, "/admin/segments/new")
    assert [option.get("value") for option in page.all(".//select[@name='project']/option")] == ["default"]
    body = {"name": "Ours", "description": None, "project": "default", "constraints": []}
    assert uma.post(f"{ADMIN}/segments", json=body).status_code == 201


def test_a_segment_can_move_to_the_projects_that_the_api_permits(world: World, alice: Caller) -> None:
    segment = segments.make(alice)
    page = open_page(holder(world, "UPDATE_SEGMENT"), f"/admin/segments/{segment}")
    assert [option.get("value") for option in page.all(".//select[@name='project']/option")] == ["", "default"]


def test_environments_are_switched_and_sorted(alice: Caller) -> None:
    page = open_page(alice, "/admin/environments")
    environments = f"{ADMIN}/environments"
    assert page.requests >= {
        ("POST", environments),
        ("POST", f"{environments}/development/off"),
        ("DELETE", f"{environments}/production"),
    }
    bodies = [json.loads(form.get("data-body", "")) for form in page.all(".//form[@data-send='PUT']")]
    assert bodies[0] == {"production": 1, "development": 2}
    assert alice.put(f"{environments}/sort-order", json=bodies[0]).status_code == 200
    assert open_page(alice, "/admin/environments").texts(".//tbody/tr/td[1]") == ["production", "development"]


def test_applications_and_unknown_flags_are_listed(world: World, alice: Caller) -> None:
    assert "No application has asked for flags yet." in open_page(alice, "/admin/applications").text
    register(world.api_key("client"), appName="shop/web")
    page = open_page(alice, "/admin/applications")
    assert page.links["shop/web"] == "/admin/applications/shop%2Fweb"
    assert ("DELETE", f"{ADMIN}/metrics/applications/shop%2Fweb") in page.requests
    assert open_page(alice, "/admin/applications/shop%2Fweb").heading == "shop/web"
    open_page(alice, "/admin/applications/nothing", 404)


def test_the_flags_of_an_application_are_links_unless_they_are_archived(world: World, alice: Caller) -> None:
    for name in ("checkout", "old-cart"):
        world.flag(name)
    report(world.api_key("client"), {name: {"yes": 1, "no": 0} for name in ("checkout", "old-cart", "chekout")})
    assert alice.delete(f"{ADMIN}/projects/default/features/old-cart").status_code == 202
    page = open_page(alice, "/admin/applications/shop")
    assert page.links["checkout"] == "/projects/default/flags/checkout"
    assert "old-cart archived" in page.texts(".//td")
    assert "old-cart" not in page.links
    assert "Asks for flags that do not exist: chekout" in page.text
    assert "chekout" in open_page(alice, "/admin/applications").texts(".//tbody/tr/td[1]")


def test_the_newest_instances_of_an_application_are_shown(world: World, alice: Caller) -> None:
    world.flag("checkout")
    client = world.api_key("client")
    for number in range(51):
        register(client, appName="shop", instanceId=f"i-{number:02}")
    report(client, {"checkout": {"yes": 1, "no": 0}})
    page = open_page(alice, "/admin/applications/shop")
    assert sum(text.startswith("i-") for text in page.texts(".//td")) == 50
    assert "These are the 50 that were seen last." in page.text


def test_many_unknown_flags_are_counted(world: World, alice: Caller) -> None:
    report(world.api_key("client"), {f"missing-{number:02}": {"yes": 1, "no": 0} for number in range(52)})
    text = open_page(alice, "/admin/applications").text
    assert "missing-49" in text
    assert "missing-50" not in text
    assert "And 2 more." in text


def test_an_application_shows_no_flags_of_hidden_projects(world: World, alice: Caller, victor: Caller) -> None:
    world.project("secret", mode="private")
    world.flag("checkout")
    world.flag("hidden-flag", "secret")
    report(world.api_key("client"), {name: {"yes": 1, "no": 0} for name in ("checkout", "hidden-flag")})
    assert "hidden-flag" in open_page(alice, "/admin/applications/shop").text
    text = open_page(victor, "/admin/applications/shop").text
    assert "checkout" in text
    assert "hidden-flag" not in text
