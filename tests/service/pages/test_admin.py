"""The index for administrators, API tokens, segments, context fields, environments, tag types and applications."""

import json

import pytest

from sql.database import Connection, value
from tests.support import fixtures, segments
from tests.support.api_tokens import holder
from tests.support.page import open_page
from tests.support.reports import register, report
from tests.support.roles import make as make_role
from tests.support.world import Caller, World

ADMIN = "/api/admin"
USER_7 = {"contextName": "userId", "operator": "IN", "values": ["7"]}


def test_index_lists_what_the_reader_may_see(alice: Caller, victor: Caller, conn: Connection) -> None:
    page = open_page(alice, "/admin")
    people = ["Users", "Groups", "Roles", "Service accounts", "Signup tokens"]
    catalog = ["Applications", "Segments", "Context fields", "Environments", "Tag types"]
    assert page.texts(".//tbody//th") == [*people, "API tokens", *catalog, "Banners", "Integrations", "Import"]
    for link in page.all(".//tbody//a"):
        open_page(alice, link.get("href", ""))
    assert open_page(victor, "/admin").texts(".//tbody//th") == catalog
    fixtures.allow(conn, 3, "READ_ROLE")
    assert open_page(victor, "/admin").texts(".//tbody//th") == ["Roles", *catalog]


def test_only_readers_who_can_do_something_there_see_admin(world: World, alice: Caller, victor: Caller) -> None:
    def menu() -> list[bool]:
        pages = [open_page(caller, "/events") for caller in (alice, victor)]
        return ["/admin" in [link.get("href") for link in page.frame(".//header//a")] for page in pages]

    assert menu() == [True, False]
    segments_of_a_project = make_role(alice, permissions=[{"name": "UPDATE_PROJECT_SEGMENT"}])
    world.member("default", victor, segments_of_a_project)
    assert menu() == [True, True]


def test_api_tokens_show_no_secret(world: World, alice: Caller) -> None:
    body = {"tokenName": "shop", "type": "client", "environment": "development", "projects": ["*"]}
    token = alice.post(f"{ADMIN}/api-tokens", json=body).json
    world.project("second", name="Default")
    old = body | {"tokenName": "old", "expiresAt": "2020-01-01T00:00:00Z"}
    assert alice.post(f"{ADMIN}/api-tokens", json=old).status_code == 201
    assert alice.post(f"{ADMIN}/api-tokens", json={"tokenName": "ci", "type": "admin"}).status_code == 201
    page = open_page(alice, "/admin/api-tokens")
    number = value(world.conn, "SELECT id FROM api_keys WHERE name = 'ci'")
    assert "./flags api-token revoke ID , or with the API and its secret. Ids: " in page.text
    assert f"{number} for ci." in page.text
    assert token["secret"] not in page.response.text
    # The script finds the secret in the list of the API by these values.
    matches = [json.loads(form.get("data-match", "")) for form in page.all(f".//form[@data-find='{ADMIN}/api-tokens']")]
    assert sum(token.items() >= match.items() for match in matches) == 1
    assert [row.split()[0] for row in page.texts(".//tbody/tr") if "expired" in row] == ["old"]
    form = f".//form[@data-path='{ADMIN}/api-tokens']"
    # An admin token is never the first choice.
    kinds = [option.get("value") for option in page.all(f"{form}//select[@name='type']/option")]
    assert kinds == ["client", "frontend", "admin"]
    # The script disables what is inside, when the reader chooses admin.
    assert len(page.all(f"{form}//*[@data-for='client frontend']//select")) == 1
    assert page.fields(form).keys() == {"tokenName", "type", "environment", "origins", "expiresAt"}
    projects = page.all(f"{form}//*[@data-for='client frontend']//datalist/option")
    assert [option.get("value") for option in projects] == ["Default · default", "Default · second"]


def test_origins_of_a_frontend_token_are_shown_and_changed(alice: Caller) -> None:
    body = {"tokenName": "shop", "type": "frontend", "environment": "development", "origins": ["https://a.example"]}
    token = alice.post(f"{ADMIN}/api-tokens", json=body).json
    page = open_page(alice, "/admin/api-tokens")
    assert page.texts(".//td[@data-label='Origins']")[-1] == "https://a.example"
    form = ".//form[@data-send='PUT']"
    [found] = page.all(form)
    assert token.items() >= json.loads(found.get("data-match", "")).items()
    assert page.fields(form) == {"origins": "https://a.example"}
    path = found.get("data-path", "").replace("{secret}", token["secret"])
    assert alice.put(path, json={"origins": None}).status_code == 200
    assert open_page(alice, "/admin/api-tokens").texts(".//td[@data-label='Origins']")[-1] == "default"


def test_segment_is_created_shown_and_changed(world: World, alice: Caller) -> None:
    form = f".//form[@data-path='{ADMIN}/segments']"
    assert {"name", "description", "project"} <= open_page(alice, "/admin/segments/new").fields(form).keys()
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7", "8"], "inverted": True}
    segment = segments.make(alice, constraints=[constraint])
    assert "userId is none of 7, 8" in open_page(alice, "/admin/segments").text
    page = open_page(alice, f"/admin/segments/{segment}")
    assert ("PUT", f"{ADMIN}/segments/{segment}") in page.requests
    assert page.texts(".//form//textarea[@name='values']") == ["7 8", ""]
    assert "No strategy that you can see uses this segment." in page.text
    fixtures.add_segment(world.conn, world.strategy(world.flag("checkout")), segment)
    assert open_page(alice, f"/admin/segments/{segment}").links["checkout"] == "/projects/default/flags/checkout"
    # A segment can move to the projects that the API permits.
    page = open_page(holder(world, "UPDATE_SEGMENT"), f"/admin/segments/{segment}")
    assert [option.get("value") for option in page.all(".//select[@name='project']/option")] == ["", "default"]


def test_permission_in_a_project_is_enough_to_create_a_segment_for_it(world: World, alice: Caller) -> None:
    uma = world.user("Uma", 3)
    assert "Create segment" not in open_page(uma, "/admin/segments").links
    role = make_role(alice, type="custom", permissions=[{"name": "UPDATE_PROJECT_SEGMENT"}])
    world.member("default", uma, role)
    assert open_page(uma, "/admin/segments").links["Create segment"] == "/admin/segments/new"
    page = open_page(uma, "/admin/segments/new")
    assert [option.get("value") for option in page.all(".//select[@name='project']/option")] == ["default"]
    segments.make(uma, "Ours", project="default")


def test_context_field_is_changed_with_its_values(alice: Caller, victor: Caller) -> None:
    body = {"name": "country", "legalValues": [{"value": "NO", "description": "Norway"}], "stickiness": True}
    assert alice.post(f"{ADMIN}/context", json=body).status_code == 201
    page = open_page(alice, "/admin/context-fields/country")
    form = f".//form[@data-path='{ADMIN}/context/country'][@data-send='PUT']"
    assert page.fields(f"{form}//*[@data-item]") == {"value": "NO", "description": "Norway"}
    change = {"description": None, "stickiness": False, "legalValues": [{"value": str(n)} for n in range(12)]}
    assert page.fields(form).keys() >= change.keys() - {"legalValues"}
    assert alice.put(f"{ADMIN}/context/country", json=change).status_code == 200
    page = open_page(victor, "/admin/context-fields/country")
    assert "Rollouts cannot use it to recognize users. Allowed values: 0 1 2" in page.text
    # The list leaves the form to the page of the field.
    page = open_page(alice, "/admin/context-fields")
    assert page.links["country"] == "/admin/context-fields/country"
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more" in page.texts(".//td[@data-label='Allowed values']")
    assert ("DELETE", f"{ADMIN}/context/country") in page.requests
    assert {method for method, _ in page.requests} == {"POST", "DELETE"}


def test_context_field_shows_the_strategies_that_the_reader_sees(world: World, alice: Caller, victor: Caller) -> None:
    world.project("secret", mode="private")
    for name, project in (("checkout", "default"), ("hidden-flag", "secret")):
        world.strategy(world.flag(name, project), constraints=[USER_7])
    for caller, found in ((alice, {"checkout", "hidden-flag"}), (victor, {"checkout"})):
        links = open_page(caller, "/admin/context-fields/userId").links
        assert links.keys() & {"checkout", "hidden-flag"} == found
    assert "No strategy that you can see" in open_page(victor, "/admin/context-fields/sessionId").text


@pytest.mark.parametrize(
    ("path", "label"),
    [("segments", "Used by flags"), ("context-fields", "Used by flags"), ("environments", "Flags that are on")],
)
def test_numbers_count_hidden_projects_and_say_so(
    world: World, alice: Caller, victor: Caller, path: str, label: str
) -> None:
    world.project("secret", mode="private")
    strategy = world.strategy(world.flag("hidden", "secret", enabled_in=("production",)), constraints=[USER_7])
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
    assert alice.post(api, json={"name": "team", "description": "Who answers"}).status_code == 201
    page = open_page(alice, "/admin/tag-types")
    assert page.fields(f".//form[@data-path='{api}/team'][@data-send='PUT']") == {"description": "Who answers"}
    assert "Who answers" in page.texts(".//td[@data-label='Description']")
    deletions = [path for method, path in page.requests if method == "DELETE"]
    assert all(alice.delete(path).status_code == 200 for path in deletions)
    assert "There are no tag types" in open_page(alice, "/admin/tag-types").text


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
    asks = [form.get("data-title") for form in page.all(".//td[@data-label='Enabled']/form")]
    assert asks == [None, "Disable production?"]
    assert alice.put(f"{environments}/sort-order", json=bodies[0]).status_code == 200
    assert open_page(alice, "/admin/environments").texts(".//tbody/tr/td[1]") == ["production", "development"]


def test_questions_before_deletions_name_what_else_goes(world: World, alice: Caller) -> None:
    world.project("shop")
    for name in ("one", "two"):
        world.flag(name, "shop", enabled_in=("production",))
    world.api_key("client", environment="production")
    group = fixtures.insert(world.conn, "groups", name="crew")["id"]
    fixtures.add_group_user(world.conn, group, alice.id)
    fixtures.add_project_group(world.conn, "shop", group, 5)
    world.conn.execute("INSERT INTO projects (id, name, archived_at) VALUES ('old', 'Old', now())")

    def question(path: str, deleted: str) -> str:
        forms = open_page(alice, path).all(".//form[@data-send='DELETE']")
        [form] = [one for one in forms if one.get("data-path", "").endswith(deleted)]
        return form.get("data-confirm", "")

    text = question("/admin/environments", "/environments/production")
    assert text.startswith("It is in 2 projects, and 2 flags are on in it.")
    assert "1 API token. Open change requests in it are cancelled. You cannot undo it." in text
    assert question("/projects/shop/environments", "/environments/production").startswith("2 flags are on there.")
    assert "segments, change requests and roles" in question("/archived-projects", "/projects/old")
    assert question(f"/admin/groups/{group}", f"/groups/{group}").startswith("It has 1 member. They lose its root role")


def test_applications_are_listed(world: World, alice: Caller) -> None:
    assert "No application has asked for flags yet." in open_page(alice, "/admin/applications").text
    register(world.api_key("client"), appName="shop/web")
    page = open_page(alice, "/admin/applications")
    assert page.links["shop/web"] == "/admin/applications/shop%2Fweb"
    assert ("DELETE", f"{ADMIN}/metrics/applications/shop%2Fweb") in page.requests
    assert open_page(alice, "/admin/applications/shop%2Fweb").heading == "shop/web"


def test_application_shows_the_flags_that_the_reader_sees(world: World, alice: Caller, victor: Caller) -> None:
    world.project("secret", mode="private")
    for name, project in (("checkout", "default"), ("old-cart", "default"), ("hidden-flag", "secret")):
        world.flag(name, project)
    names = ("checkout", "old-cart", "hidden-flag", "chekout")
    report(world.api_key("client"), {name: {"yes": 1, "no": 0} for name in names})
    assert alice.delete(f"{ADMIN}/projects/default/features/old-cart").status_code == 202
    page = open_page(alice, "/admin/applications/shop")
    assert page.links["checkout"] == "/projects/default/flags/checkout"
    assert "old-cart archived" in page.texts(".//td")
    assert page.links.keys() & set(names) == {"checkout", "hidden-flag"}
    assert "Asks for flags that do not exist: chekout" in page.text
    assert "chekout" in open_page(alice, "/admin/applications").texts(".//tbody/tr/td[1]")
    page = open_page(victor, "/admin/applications/shop")
    assert "checkout" in page.links
    assert "hidden-flag" not in page.text


def test_long_lists_of_an_application_are_cut(world: World, alice: Caller) -> None:
    client = world.api_key("client")
    for number in range(51):
        register(client, appName="shop", instanceId=f"i-{number:02}")
    report(client, {f"missing-{number:02}": {"yes": 1, "no": 0} for number in range(52)})
    page = open_page(alice, "/admin/applications/shop")
    assert sum(text.startswith("i-") for text in page.texts(".//td")) == 50
    assert "These are the 50 that were seen last." in page.text
    text = open_page(alice, "/admin/applications").text
    assert "missing-49" in text
    assert "missing-50" not in text
    assert "And 2 more." in text
