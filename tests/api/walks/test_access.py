"""The web UI gives, changes and takes access to a project."""

from typing import Any

from tests.support.walks import ADMIN, PROJECT, Browser

ACCESS = f"{PROJECT}/access"


def held(ui: Browser) -> tuple[dict[int, Any], dict[int, Any]]:
    """The roles of users and of groups, by their ids, as the page of access shows them."""
    page = ui.send(("GET", ACCESS, None, 200))
    users, groups = ({record["id"]: record["roles"] for record in page[kind]} for kind in ("users", "groups"))
    return users, groups


def test_the_page_of_access(ui):
    user = ui.send(("POST", f"{ADMIN}/user-admin", {"name": "Max", "email": "max@example.org", "rootRole": 3}, 201))[
        "id"
    ]
    owner = ui.send(("POST", f"{ADMIN}/user-admin", {"name": "Olga", "email": "olga@example.org", "rootRole": 3}, 201))[
        "id"
    ]
    group = ui.send(("POST", f"{ADMIN}/groups", {"name": "crew", "users": []}, 201))["id"]
    ui.send(
        ("GET", f"{ADMIN}/user-admin/access", None, 200),
        ("GET", f"{ADMIN}/user/roles?projectId=default", None, 200),
        ("POST", ACCESS, {"roles": [4], "groups": [], "users": [owner]}, 200),
        ("POST", ACCESS, {"roles": [5], "groups": [], "users": [user]}, 200),
        ("POST", ACCESS, {"roles": [4], "groups": [group], "users": []}, 200),
    )
    assert held(ui) == ({owner: [4], user: [5]}, {group: [4]})
    ui.send(
        ("PUT", f"{PROJECT}/users/{user}/roles", {"roles": [5, 4]}, 200),
        ("PUT", f"{PROJECT}/groups/{group}/roles", {"roles": [5]}, 200),
    )
    assert held(ui) == ({owner: [4], user: [4, 5]}, {group: [5]})
    ui.send(
        ("DELETE", f"{PROJECT}/users/{user}/roles", None, 200),
        ("DELETE", f"{PROJECT}/groups/{group}/roles", None, 200),
    )
    assert held(ui) == ({owner: [4]}, {})
