"""Long lists have pages of 50 rows and a search by a text."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sql.catalog import context_fields, segments, tag_types
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

# What creates a row with this name in each list, and the beginning of what the page says if no row has the text.
LISTS: dict[str, tuple[Callable[[World, str], Any], str]] = {
    "/": (lambda world, name: world.project(name, ()), "No project has this text"),
    "/archived-projects": (
        lambda world, name: fixtures.insert_project(world.conn, name, name, archived_at="now"),
        "No archived project has this text",
    ),
    "/projects/default": (lambda world, name: world.flag(name), "No flag matches."),
    "/projects/default/archive": (
        lambda world, name: world.flag(name, archived_at="now"),
        "No archived flag has this text",
    ),
    "/projects/default/access": (
        lambda world, name: world.member("default", world.user(name)),
        "No user or group has this text in its name.",
    ),
    "/projects/default/tokens": (
        lambda world, name: world.api_key("client", name, projects=["default"]),
        "No API token has this text in its name.",
    ),
    "/admin/api-tokens": (
        lambda world, name: world.api_key("client", name),
        "No API token has this text in its name.",
    ),
    "/admin/users": (lambda world, name: world.user(name), "No user has this text"),
    "/admin/groups": (lambda world, name: groups.insert(world.conn, name), "No group has this text"),
    "/admin/roles": (lambda world, name: roles.insert(world.conn, name), "No role has this text"),
    "/admin/segments": (lambda world, name: segments.insert(world.conn, name, []), "No segment has this text"),
    "/admin/context-fields": (
        lambda world, name: context_fields.insert(world.conn, name),
        "No context field has this text",
    ),
    "/admin/tag-types": (lambda world, name: tag_types.insert(world.conn, name), "No tag type has this text"),
    "/admin/applications": (
        lambda world, name: fixtures.insert(world.conn, "applications", name=name),
        "No application has this text",
    ),
    "/admin/service-accounts": (
        lambda world, name: world.user(name, account_type="Service Account", email=None),
        "No service account has this text",
    ),
    "/admin/signup-tokens": (
        lambda world, name: fixtures.signup_token(
            world.conn, name=name, expires_at=datetime(2100, 1, 1, tzinfo=UTC), created_by="alice"
        ),
        "No signup token has this text",
    ),
}
# Their searches are SQL: after the end of the list they show no row.
EMPTY_AFTER_THE_END = {"/projects/default", "/projects/default/archive", "/admin/applications"}


def names(page: Page) -> list[str]:
    """Return the names in a list. Some rows begin with a check box. Service accounts and signup tokens are sections."""
    paths = (".//td[@class='name']", "./section/div/h2", ".//tbody/tr/td[1]")
    return [text.split()[0] for text in next(filter(None, map(page.texts, paths)), [])]


@pytest.mark.parametrize("path", LISTS)
def test_long_list_has_pages_and_a_search(world: World, alice: Caller, path: str) -> None:
    make, nothing = LISTS[path]
    rows = [f"Item{number:02}" for number in range(51)]
    for name in rows:
        make(world, name)
    if path == "/admin/signup-tokens":
        rows.reverse()
    page = open_page(alice, f"{path}?query=ITEM")
    assert names(page) == rows[:50]
    assert "1 to 50 of 51" in page.text
    assert page.links["Next"] == "?query=ITEM&offset=50"
    assert names(open_page(alice, path + page.links["Next"])) == rows[50:]
    end = open_page(alice, f"{path}?query=item&offset=100")
    assert names(end) == ([] if path in EMPTY_AFTER_THE_END else rows[50:])
    assert ("on this page of the list" in end.text) == (path in EMPTY_AFTER_THE_END)
    text = "ITEM07" if path == "/admin/applications" else "+ITEM07+"
    assert names(open_page(alice, f"{path}?query={text}")) == ["Item07"]
    assert nothing in open_page(alice, f"{path}?query=unknown").text


def test_empty_list_is_shown_after_its_end(alice: Caller) -> None:
    assert "There are no signup tokens." in open_page(alice, "/admin/signup-tokens?offset=50").text
    page = open_page(alice, "/projects/default?offset=50")
    assert page.links["Show all flags"] == "/projects/default"
    assert "no flags yet" not in page.text


def test_invalid_offset_is_400(alice: Caller) -> None:
    assert "offset" in open_page(alice, "/?offset=-1", 400).text
