"""The pages of users, groups, roles, service accounts and signup tokens."""

import json
from datetime import UTC, datetime, timedelta

from sql.database import Connection
from sql.people import groups, personal_tokens, roles
from sql.tokens import signup_tokens
from tests.support.fixtures import add_group_user, add_project_group, allow, signup_token, update
from tests.support.page import Page, open_page, text_of
from tests.support.world import Caller, World


def in_days(days: int) -> datetime:
    """Return this time on another day."""
    return datetime.now(UTC) + timedelta(days=days)


def field_shown(page: Page, dialog: str | None) -> str:
    """Return the property of the response that a dialog shows."""
    [shown] = page.all(f".//dialog[@id='{dialog}']//*[@data-field]")
    return shown.get("data-field", "")


def test_users_are_listed_by_name_and_found_by_their_names(alice: Caller, world: World) -> None:
    world.user("Zoe", username="zz", email="zoe@elsewhere.example")
    names = open_page(alice, "/admin/users").texts(".//tbody/tr/td[1]/*[@class='strong']")
    assert names == sorted(names, key=str.lower)
    for query in ("ZOE", "zz", "elsewhere"):
        assert open_page(alice, f"/admin/users?query={query}").texts(".//tbody/tr/td[1]/*[@class='strong']") == ["Zoe"]


def test_form_creates_a_user_and_shows_the_link_once(alice: Caller) -> None:
    page = open_page(alice, "/admin/users")
    form = page.all(".//dialog[@id='create-user']/form")[0]
    assert (form.get("data-send"), form.get("data-path")) == ("POST", "/api/admin/user-admin")
    assert page.fields(".//dialog[@id='create-user']/form").keys() == {"name", "email", "username", "rootRole"}
    choices = {text_of(option): option.get("value", "") for option in form.iter("option")}
    body = {"email": "new@example.org", "rootRole": int(choices["Editor"])}
    response = alice.post("/api/admin/user-admin", json=body)
    assert response.status_code == 201
    link = response.json[field_shown(page, form.get("data-show"))]
    assert "/new-user?token=" in link
    assert link not in open_page(alice, "/admin/users").response.text


def test_forms_of_a_user_change_reset_and_delete(alice: Caller, victor: Caller) -> None:
    page = open_page(alice, "/admin/users?query=victor")
    path = f"/api/admin/user-admin/{victor.id}"
    reset = "/api/admin/user-admin/reset-password"
    assert {("PUT", path), ("POST", reset), ("DELETE", path)} <= page.requests
    fields = page.fields(".//form[@data-send='PUT']")
    assert (fields["name"], fields["email"]) == ("Victor", "victor@example.org")
    [chosen] = page.all(".//form[@data-send='PUT']//option[@selected]")
    assert chosen.get("value") == "3"
    # The API can change an address, but not remove it.
    assert page.all(".//form[@data-send='PUT']//input[@name='email'][@required]")
    change = {"name": "Vic", "email": fields["email"], "rootRole": 2}
    assert alice.put(path, json=change).status_code == 200
    body = json.loads(page.all(f".//form[@data-path='{reset}']")[0].get("data-body", ""))
    assert "/reset-password?token=" in alice.post(reset, json=body).json[field_shown(page, "reset-link")]
    assert open_page(alice, "/admin/users?query=vic").texts(".//tbody/tr/td[2]") == ["Editor"]
    assert alice.delete(path).status_code == 200


def test_groups_are_created_and_listed_with_members_and_roles(
    alice: Caller, victor: Caller, conn: Connection, world: World
) -> None:
    page = open_page(alice, "/admin/groups")
    assert "There are no groups." in page.text
    form = page.all(".//dialog/form")[0]
    assert (form.get("data-send"), form.get("data-path")) == ("POST", "/api/admin/groups")
    assert page.fields(".//dialog/form").keys() == {"name", "description", "rootRole"}
    body = {"name": "Payments", "description": "The payments team", "rootRole": 2}
    group = alice.post("/api/admin/groups", json=body).json["id"]
    then = form.get("data-then", "").replace("{id}", str(group))
    assert open_page(alice, then).heading == "Payments"
    add_group_user(conn, group, victor.id or 0)
    add_project_group(conn, world.project("apples"), group, 5)
    page = open_page(alice, "/admin/groups?query=pay")
    assert page.texts(".//tbody/tr/td")[:4] == ["Payments The payments team", "1", "Editor", "apples"]
    assert page.links["Payments"] == then


def test_form_of_a_group_has_what_the_request_replaces(alice: Caller, victor: Caller, conn: Connection) -> None:
    group = groups.insert(conn, "Payments", description="Team", root_role=roles.EDITOR, mappings_sso=["a", "b"])
    add_group_user(conn, group, victor.id or 0)
    update(conn, "groups", group, created_by="victor@example.org")
    path = f"/api/admin/groups/{group}"
    page = open_page(alice, f"/admin/groups/{group}")
    assert "by Victor." in page.text
    assert page.requests == {("PUT", path), ("DELETE", path)}
    fields = page.fields(".//form[@data-send='PUT']")
    assert fields["mappingsSSO"].split() == ["a", "b"]
    body = {
        "name": fields["name"],
        "description": fields["description"],
        "rootRole": 2,
        "mappingsSSO": ["a", "b"],
        "users": [json.loads(chip.get("data-value", "")) for chip in page.all(".//*[@data-list='users']/*")],
    }
    before = alice.get(path).json
    assert alice.put(path, json=body).json == before
    people = [json.loads(option.get("data-value", "")) for option in page.all(".//datalist/option")]
    assert [{"user": {"id": caller.id}} in people for caller in (alice, victor)] == [True, True]
    assert alice.delete(path).status_code == 200
    open_page(alice, f"/admin/groups/{group}", 404)


def test_roles_are_listed_and_predefined_ones_are_read_only(alice: Caller) -> None:
    page = open_page(alice, "/admin/roles")
    assert page.texts(".//tbody/tr/td[1]")[:5] == ["Admin", "Editor", "Viewer", "Owner", "Member"]
    page = open_page(alice, "/admin/roles/4")
    assert "A predefined role cannot be changed." in page.text
    assert page.requests == set()
    assert page.all(".//input[@type='checkbox']") == []
    assert open_page(alice, "/admin/roles/1").texts(".//ul/li") == ["Administer everything"]


def test_form_of_a_new_role_offers_what_its_type_can_contain(alice: Caller) -> None:
    environments = ["All environments", "Environment development", "Environment production"]
    for type, parts in (("custom", ["Projects"]), ("root-custom", ["Whole instance", "Projects"])):
        page = open_page(alice, f"/admin/roles/new?type={type}")
        assert page.texts(".//legend")[1:] == [*parts, *environments]
        values = [json.loads(box.get("value", "")) for box in page.all(".//input[@data-type='objects']")]
        assert page.fields()["type"] == type
        assert page.requests == {("POST", "/api/admin/roles")}
        body = {"type": type, "name": type, "description": "", "permissions": values}
        assert alice.post("/api/admin/roles", json=body).status_code == 200


def test_form_of_a_role_has_its_permissions(alice: Caller, victor: Caller, conn: Connection) -> None:
    role = roles.insert(conn, "Releaser", type="custom", description="Releases")
    held = [("UPDATE_FEATURE", None), ("UPDATE_FEATURE_ENVIRONMENT", "production")]
    roles.set_permissions(conn, role, held)
    path = f"/api/admin/roles/{role}"
    page = open_page(alice, f"/admin/roles/{role}")
    assert page.requests == {("PUT", path), ("DELETE", path)}
    permissions = [json.loads(box.get("value", "")) for box in page.all(".//input[@type='checkbox'][@checked]")]
    assert [(item["name"], item.get("environment")) for item in permissions] == held
    body = {"name": "Releaser", "description": "Releases", "permissions": permissions}
    before = alice.get(path).json
    assert alice.put(path, json=body).status_code == 200
    assert alice.get(path).json == before
    # Users who may only read roles see no controls.
    allow(conn, 3, "READ_ROLE")
    assert "Create project role" not in open_page(victor, "/admin/roles").links
    page = open_page(victor, f"/admin/roles/{role}")
    assert page.requests == set()
    assert page.texts(".//ul/li")[0] == "Change flags"
    assert alice.delete(path).status_code == 200


def test_service_accounts_are_shown_with_their_tokens(alice: Caller, world: World, conn: Connection) -> None:
    assert "Create one for each program" in open_page(alice, "/admin/service-accounts").text
    robot = world.user("Robot", account_type="Service Account", email=None)
    personal_tokens.insert(conn, robot.id or 0, "old", in_days(-1))
    page = open_page(alice, "/admin/service-accounts?query=ROBOT")
    assert page.texts(".//section/div/h2") == ["Robot"]
    assert page.texts(".//tbody/tr/td[1]") == ["test", "old"]
    assert ["expired" in text for text in page.texts(".//tbody/tr/td[2]")] == [False, True]
    assert robot.key not in page.response.text


def test_forms_create_service_accounts_and_show_tokens_once(alice: Caller) -> None:
    page = open_page(alice, "/admin/service-accounts")
    assert ("POST", "/api/admin/service-account") in page.requests
    assert page.fields(".//dialog/form").keys() == {"name", "username", "rootRole"}
    created = alice.post("/api/admin/service-account", json={"name": "CI", "username": "ci", "rootRole": 2})
    path = f"/api/admin/service-account/{created.json['id']}"
    page = open_page(alice, "/admin/service-accounts")
    assert {("POST", f"{path}/token"), ("PUT", path), ("DELETE", path)} <= page.requests
    [form] = page.all(f".//form[@data-path='{path}/token']")
    assert page.fields(f".//form[@data-path='{path}/token']").keys() == {"description", "expiresAt"}
    assert page.fields(".//form[@data-send='PUT']").keys() == {"name", "rootRole"}
    token = alice.post(f"{path}/token", json={"description": "build", "expiresAt": in_days(1).isoformat()})
    assert token.json[field_shown(page, form.get("data-show"))].startswith("user:")
    page = open_page(alice, "/admin/service-accounts")
    assert ("DELETE", f"{path}/token/{token.json['id']}") in page.requests
    assert alice.put(path, json={"name": "CI", "rootRole": 3}).status_code == 200
    assert alice.delete(path).status_code == 200


def states(page: Page) -> dict[str, str]:
    """Return the state of each signup token by its name."""
    return dict(text.rsplit(" ", 1) for text in page.texts(".//section/div/h2"))


def test_signup_tokens_show_their_link_their_state_and_who_used_them(
    alice: Caller, victor: Caller, conn: Connection
) -> None:
    assert "Create one to invite people" in open_page(alice, "/admin/signup-tokens").text
    token, _ = (
        signup_token(conn, name=name, expires_at=in_days(days), created_by="alice")
        for name, days in (("Interns", 1), ("Old", -1))
    )
    signup_tokens.add_user(conn, token["id"], victor.id or 0)
    page = open_page(alice, "/admin/signup-tokens")
    assert states(page) == {"Interns": "enabled", "Old": "expired"}
    # The fields of the expired token, of the other one, and of a new one begin with these times.
    for field, expected in zip(page.all(".//input[@data-time]"), (in_days(7), in_days(1), in_days(7)), strict=True):
        assert abs(datetime.fromisoformat(field.get("data-time", "")) - expected) < timedelta(minutes=1)
    # Each link has a button that copies it.
    links = {page.texts(f".//*[@id='{button.get('data-copy')}']")[0] for button in page.all(".//button[@data-copy]")}
    assert any(link.endswith(f"/new-user?invite={token['secret']}") for link in links)
    assert any(text.startswith("1 user Victor victor@example.org") for text in page.texts(".//section/details"))
    assert page.text.count("No user has signed up with it.") == 1
    assert page.text.count("by Alice") == 2


def test_signup_tokens_are_created_disabled_and_enabled_by_forms(alice: Caller) -> None:
    page = open_page(alice, "/admin/signup-tokens")
    assert page.requests == {("POST", "/api/admin/invite-link/tokens")}
    assert page.fields(".//dialog/form").keys() == {"name", "expiresAt"}
    created = alice.post("/api/admin/invite-link/tokens", json={"name": "Interns", "expiresAt": in_days(1).isoformat()})
    assert "/new-user?invite=" in created.json[field_shown(page, "new-link")]
    path = f"/api/admin/invite-link/tokens/{created.json['secret']}"
    for state, label in (("disabled", "Disable"), ("enabled", "Enable")):
        page = open_page(alice, "/admin/signup-tokens")
        [form] = [form for form in page.all(".//form[@data-body]") if form.get("data-path") == path]
        assert page.texts(".//form[@data-body]/button") == [label]
        assert alice.put(path, json=json.loads(form.get("data-body", ""))).status_code == 200
        assert states(open_page(alice, "/admin/signup-tokens")) == {"Interns": state}
    assert page.fields(".//section//form[@data-send='PUT']").keys() == {"expiresAt"}
    assert alice.put(path, json={"expiresAt": in_days(-1).isoformat()}).status_code == 200
    page = open_page(alice, "/admin/signup-tokens")
    assert states(page) == {"Interns": "expired"}
    assert page.all(".//form[@data-body]") == []
