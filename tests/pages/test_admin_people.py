"""The index for administrators, and the pages of users, groups and roles."""

import json

import pytest

from sql.database import Connection
from sql.people import groups, roles
from tests.support.fixtures import add_group_user, allow, insert, update
from tests.support.page import open_page, text_of
from tests.support.world import Caller, World

PAGES = ("users", "groups", "groups/1", "roles/new", "service-accounts", "signup-tokens")


def test_the_index_lists_what_the_reader_may_see(alice: Caller, victor: Caller, conn: Connection) -> None:
    page = open_page(alice, "/admin")
    people = ["Users", "Groups", "Roles", "Service accounts", "Signup tokens"]
    vocabulary = ["Applications", "Segments", "Context fields", "Environments", "Tag types"]
    assert page.texts(".//main//dt") == [*people, "API tokens", *vocabulary]
    for link in page.all(".//main//dt/a"):
        open_page(alice, link.get("href", ""))
    assert open_page(victor, "/admin").texts(".//main//dt") == vocabulary
    allow(conn, 3, "READ_ROLE")
    assert open_page(victor, "/admin").texts(".//main//dt") == ["Roles", *vocabulary]


@pytest.mark.parametrize("name", PAGES)
def test_others_are_refused(eve: Caller, stranger: Caller, name: str) -> None:
    page = open_page(eve, f"/admin/{name}", 403)
    assert page.heading == "You cannot see this page"
    assert stranger.get(f"/admin/{name}").headers["Location"] == f"/login?next=/admin/{name}"


# --- Users ------------------------------------------------------------------------------------------------------------


def test_users_are_listed_by_name_and_found_by_their_names(alice: Caller, world: World) -> None:
    world.user("Zoe", username="zz", email="zoe@elsewhere.example")
    page = open_page(alice, "/admin/users")
    names = page.texts(".//tbody/tr/td[1]/strong")
    assert names == sorted(names, key=str.lower)
    for query in ("ZOE", "zz", "elsewhere"):
        assert open_page(alice, f"/admin/users?query={query}").texts(".//tbody/tr/td[1]/strong") == ["Zoe"]
    assert "No user has this text" in open_page(alice, "/admin/users?query=unknown").text


def test_long_lists_of_users_have_pages(alice: Caller, world: World) -> None:
    for number in range(60):
        world.user(f"User{number:02}")
    page = open_page(alice, "/admin/users?query=user")
    assert len(page.all(".//tbody/tr")) == 50
    assert page.links["Next"] == "?query=user&offset=50"
    assert open_page(alice, "/admin/users?query=user&offset=50").texts(".//tbody/tr/td[1]/strong")[0] == "User50"


def test_the_form_creates_a_user_and_shows_the_link_once(alice: Caller) -> None:
    page = open_page(alice, "/admin/users")
    form = page.all(".//dialog[@id='create-user']/form")[0]
    assert (form.get("data-send"), form.get("data-path")) == ("POST", "/api/admin/user-admin")
    fields = page.fields(".//dialog[@id='create-user']/form")
    assert fields.keys() == {"name", "email", "username", "rootRole"}
    roles = {text_of(option): option.get("value", "") for option in form.iter("option")}
    response = alice.post(
        form.get("data-path", ""), json={"email": "new@example.org", "rootRole": int(roles["Editor"])}
    )
    assert response.status_code == 201
    [shown] = page.all(f".//dialog[@id='{form.get('data-show')}']//*[@data-field]")
    link = response.json[shown.get("data-field", "")]
    assert "/new-user?token=" in link
    assert link not in open_page(alice, "/admin/users").response.text


def test_the_forms_of_a_user_change_reset_and_delete(alice: Caller, victor: Caller) -> None:
    page = open_page(alice, "/admin/users?query=victor")
    path = f"/api/admin/user-admin/{victor.id}"
    reset = "/api/admin/user-admin/reset-password"
    assert {("PUT", path), ("POST", reset), ("DELETE", path)} <= page.requests
    fields = page.fields(".//form[@data-send='PUT']")
    assert (fields["name"], fields["email"]) == ("Victor", "victor@example.org")
    [chosen] = [option for option in page.all(".//form[@data-send='PUT']//option") if "selected" in option.attrib]
    assert chosen.get("value") == "3"
    change = {"name": "Vic", "email": fields["email"], "rootRole": 2}
    assert alice.put(path, json=change).status_code == 200
    body = json.loads(page.all(f".//form[@data-path='{reset}']")[0].get("data-body", ""))
    response = alice.post(reset, json=body)
    [shown] = page.all(".//dialog[@id='reset-link']//*[@data-field]")
    assert "/reset-password?token=" in response.json[shown.get("data-field", "")]
    page = open_page(alice, "/admin/users?query=vic")
    assert page.texts(".//tbody/tr/td[2]") == ["Editor"]
    assert alice.delete(path).status_code == 200
    assert "No user has this text" in open_page(alice, "/admin/users?query=vic").text


# --- Groups -----------------------------------------------------------------------------------------------------------


def test_groups_are_listed_with_members_and_roles(
    alice: Caller, victor: Caller, conn: Connection, world: World
) -> None:
    assert "There are no groups." in open_page(alice, "/admin/groups").text
    group = groups.insert(conn, "Payments", description="The payments team", root_role=roles.EDITOR)
    add_group_user(conn, group, victor.id or 0)
    insert(conn, "project_group_roles", project_id=world.project("apples"), group_id=group, role_id=5)
    page = open_page(alice, "/admin/groups?query=pay")
    cells = page.texts(".//tbody/tr/td")
    assert cells[:4] == ["Payments The payments team", "1", "Editor", "apples"]
    assert page.links["Payments"] == f"/admin/groups/{group}"
    assert "No group has this text" in open_page(alice, "/admin/groups?query=x").text


def test_the_form_creates_a_group_and_opens_it(alice: Caller) -> None:
    page = open_page(alice, "/admin/groups")
    form = page.all(".//dialog/form")[0]
    assert (form.get("data-send"), form.get("data-path")) == ("POST", "/api/admin/groups")
    assert page.fields(".//dialog/form").keys() == {"name", "description", "rootRole"}
    response = alice.post("/api/admin/groups", json={"name": "Payments", "rootRole": None})
    assert response.status_code == 201
    then = form.get("data-then", "").replace("{id}", str(response.json["id"]))
    assert open_page(alice, then).heading == "Payments"


def test_the_form_of_a_group_has_what_the_request_replaces(alice: Caller, victor: Caller, conn: Connection) -> None:
    group = groups.insert(conn, "Payments", description="Team", root_role=roles.EDITOR, mappings_sso=["a", "b"])
    add_group_user(conn, group, victor.id or 0)
    path = f"/api/admin/groups/{group}"
    page = open_page(alice, f"/admin/groups/{group}")
    assert page.requests == {("PUT", path), ("DELETE", path)}
    fields = page.fields(".//form[@data-send='PUT']")
    assert fields["user.id"] == str(victor.id)
    assert fields["mappingsSSO"].split() == ["a", "b"]
    body = {
        "name": fields["name"],
        "description": fields["description"],
        "rootRole": 2,
        "mappingsSSO": ["a", "b"],
        "users": [{"user": {"id": int(fields["user.id"])}}],
    }
    before = alice.get(path).json
    assert alice.put(path, json=body).json == before
    people = {option.get("value") for option in page.all(".//template[@id='new-users']//option")}
    assert {str(alice.id), str(victor.id)} <= people
    assert alice.delete(path).status_code == 200
    open_page(alice, f"/admin/groups/{group}", 404)


# --- Roles ------------------------------------------------------------------------------------------------------------


def boxes(page_path: str, caller: Caller) -> list[dict[str, str]]:
    """Return the permissions of the checkboxes that are checked on a page."""
    checked = [box for box in open_page(caller, page_path).all(".//input[@type='checkbox']") if "checked" in box.attrib]
    return [json.loads(box.get("value", "")) for box in checked]


def test_roles_are_listed_and_predefined_ones_are_read_only(alice: Caller) -> None:
    page = open_page(alice, "/admin/roles")
    assert page.texts(".//tbody/tr/td[1]")[:5] == ["Admin", "Editor", "Viewer", "Owner", "Member"]
    assert open_page(alice, "/admin/roles?query=own").texts(".//tbody/tr/td[1]") == ["Owner"]
    page = open_page(alice, "/admin/roles/4")
    assert "A predefined role cannot be changed." in page.text
    assert page.requests == set()
    assert page.all(".//input[@type='checkbox']") == []
    assert open_page(alice, "/admin/roles/1").texts(".//main//li") == ["Administer everything"]
    open_page(alice, "/admin/roles/999", 404)


def test_the_form_of_a_new_role_offers_what_its_type_can_contain(alice: Caller) -> None:
    project, root = (open_page(alice, f"/admin/roles/new?type={type}") for type in ("custom", "root-custom"))
    environments = ["All environments", "Environment development", "Environment production"]
    assert project.texts(".//legend") == ["Projects", *environments]
    assert root.texts(".//legend") == ["Whole instance", "Projects", *environments]
    for page, type in ((project, "custom"), (root, "root-custom")):
        values = [json.loads(box.get("value", "")) for box in page.all(".//input[@data-type='objects']")]
        body = {"type": page.fields()["type"], "name": type, "description": "", "permissions": values}
        assert body["type"] == type
        assert page.requests == {("POST", "/api/admin/roles")}
        assert alice.post("/api/admin/roles", json=body).status_code == 200


def test_the_form_of_a_role_has_its_permissions(alice: Caller, conn: Connection) -> None:
    role = roles.insert(conn, "Releaser", type="custom", description="Releases")
    held = [("UPDATE_FEATURE", None), ("UPDATE_FEATURE_ENVIRONMENT", "production")]
    roles.set_permissions(conn, role, held)
    path = f"/api/admin/roles/{role}"
    page = open_page(alice, f"/admin/roles/{role}")
    assert page.requests == {("PUT", path), ("DELETE", path)}
    permissions = boxes(f"/admin/roles/{role}", alice)
    assert [(item["name"], item.get("environment")) for item in permissions] == held
    body = {"name": "Releaser", "description": "Releases", "permissions": permissions}
    before = alice.get(path).json
    assert alice.put(path, json=body).status_code == 200
    assert alice.get(path).json == before
    assert alice.delete(path).status_code == 200


def test_readers_of_roles_see_no_controls(victor: Caller, conn: Connection) -> None:
    for path in ("/admin/roles", "/admin/roles/4"):
        open_page(victor, path, 403)
    allow(conn, 3, "READ_ROLE")
    role = roles.insert(conn, "Releaser", type="custom", description="Releases")
    roles.set_permissions(conn, role, [("UPDATE_FEATURE", None)])
    assert "Create project role" not in open_page(victor, "/admin/roles").links
    page = open_page(victor, f"/admin/roles/{role}")
    assert page.requests == set()
    assert page.texts(".//main//li") == ["Change flags"]


def test_names_are_texts(alice: Caller, conn: Connection, world: World) -> None:
    name = "<img src=x onerror=alert(1)>\"'"
    update(conn, "users", world.user("Mallory").id or 0, name=name)
    group = groups.insert(conn, name, description=name)
    role = roles.insert(conn, name, type="custom", description=name)
    for path in ("users", "groups", f"groups/{group}", "roles", f"roles/{role}"):
        page = open_page(alice, f"/admin/{path}")
        assert page.all(".//img") == []
        assert name in page.text
