"""The users and groups of a project, and their roles."""

import json

from tests.support.page import open_page, text_of
from tests.support.world import Caller, World

API = "/api/admin/projects/default"
PAGE = "/projects/default/access"
GRANT = f".//form[@data-path='{API}/access']"
EVIL = "<img src=x onerror=alert(1)>"


def make_group(alice: Caller, name: str, *members: Caller) -> int:
    """Create a group and return its id."""
    body = {"name": name, "users": [{"user": {"id": member.id}} for member in members]}
    response = alice.post("/api/admin/groups", json=body)
    assert response.status_code == 201, response.text
    return response.json["id"]


def make_role(alice: Caller, name: str, *permissions: str) -> int:
    """Create a project role and return its id."""
    body = {"name": name, "type": "custom", "permissions": [{"name": permission} for permission in permissions]}
    response = alice.post("/api/admin/roles", json=body)
    assert response.status_code == 200, response.text
    return response.json["roles"]["id"]


def roles_shown(caller: Caller, path: str = PAGE) -> dict[str, str]:
    """Return the roles that the page shows by the name of the user or group."""
    rows = [
        row for row in open_page(caller, path).all(".//tbody/tr") if row.find("td[@data-label='Roles']") is not None
    ]
    return {text_of(row[0]): text_of(row[1]) for row in rows}


def test_a_role_is_given_changed_and_taken_away(world: World, alice: Caller) -> None:
    user = world.user("Uma")
    page = open_page(alice, PAGE)
    choices = {text_of(option): option.get("value", "") for option in page.all(f"{GRANT}//option")}
    sent = {
        "users": [int(choices["Uma"])],
        "groups": json.loads(page.fields(GRANT)["groups"]),
        "roles": json.loads(next(value for text, value in choices.items() if text.startswith("Member"))),
    }
    assert alice.post(f"{API}/access", json=sent).status_code == 200
    [shown] = [roles for name, roles in roles_shown(alice).items() if name.startswith("Uma")]
    assert shown == "Member"
    path = f"{API}/users/{user.id}/roles"
    page = open_page(alice, PAGE)
    assert page.requests >= {("PUT", path), ("DELETE", path)}
    boxes = page.all(f".//form[@data-path='{path}']//input[@checked]")
    assert [box.get("value") for box in boxes] == ["5"]
    assert alice.put(path, json={"roles": [4]}).status_code == 200
    assert "Owner" in roles_shown(alice).values()
    assert alice.put(f"{API}/users/{alice.id}/roles", json={"roles": [4]}).status_code == 200
    assert alice.delete(path).status_code == 200
    assert not any(name.startswith("Uma") for name in roles_shown(alice))


def test_roles_by_groups_name_the_group(world: World, alice: Caller) -> None:
    uma, otto = world.user("Uma"), world.user("Otto")
    group = make_group(alice, EVIL, uma, otto)
    world.member("default", otto, 5)
    assert alice.post(f"{API}/access", json={"roles": [4], "users": [], "groups": [group]}).status_code == 200
    shown = {name.split()[0]: roles for name, roles in roles_shown(alice).items()}
    assert shown["Uma"] == f"Owner by the group {EVIL}"
    assert shown["Otto"] == f"Member Owner by the group {EVIL}"
    requests = open_page(alice, PAGE).requests
    assert ("PUT", f"{API}/groups/{group}/roles") in requests
    # A role by a group is changed where the group is.
    assert ("PUT", f"{API}/users/{uma.id}/roles") not in requests


def test_readers_of_the_list_cannot_change_it(world: World, alice: Caller) -> None:
    role = make_role(alice, "Auditor", "PROJECT_USER_ACCESS_READ")
    auditor = world.user("Audrey", 3)
    world.member("default", auditor, role)
    page = open_page(auditor, PAGE)
    assert "Auditor" in page.texts(".//td[@data-label='Roles']")
    assert page.requests == {("POST", f"{API}/favorites")}


def test_only_roles_that_the_reader_can_give_are_offered(world: World, alice: Caller) -> None:
    role = make_role(alice, "Doorkeeper", "PROJECT_USER_ACCESS_READ", "PROJECT_USER_ACCESS_WRITE")
    keeper, owner = world.user("Kim", 3), world.user("Otto", 3)
    world.member("default", keeper, role)
    world.member("default", owner, 4)
    page = open_page(keeper, PAGE)
    assert [text_of(option) for option in page.all(f"{GRANT}//select[@name='roles']/option")] == ["Doorkeeper"]
    boxes = page.all(f".//form[@data-path='{API}/users/{owner.id}/roles']//input")
    # Held roles stay in the form, otherwise saving it would take them away.
    assert [(box.get("value"), box.get("checked") is not None) for box in boxes] == [("4", True), (str(role), False)]
    sent = {"roles": [4, role]}
    assert keeper.put(f"{API}/users/{owner.id}/roles", json=sent).status_code == 200
    offered = [text_of(option) for option in open_page(owner, PAGE).all(f"{GRANT}//select[@name='roles']/option")]
    assert {name.partition(":")[0] for name in offered} == {"Owner", "Member", "Doorkeeper"}


def test_a_project_without_members_says_so(alice: Caller) -> None:
    text = open_page(alice, PAGE).text
    assert "No user has a role in this project." in text
    assert "No group has a role in this project." in text


def test_many_users_are_paged_and_found(world: World, alice: Caller) -> None:
    for number in range(51):
        world.member("default", world.user(f"Uma{number:02}"), 5)
    page = open_page(alice, PAGE)
    assert len(page.texts(".//tbody/tr")) == 50
    assert "1 to 50 of 51" in page.text
    assert len(roles_shown(alice, f"{PAGE}?query=&offset=50")) == 1
    assert [name.split()[0] for name in roles_shown(alice, f"{PAGE}?query=uma07")] == ["Uma07"]
    assert "No user of this project has this text" in open_page(alice, f"{PAGE}?query=unknown").text
