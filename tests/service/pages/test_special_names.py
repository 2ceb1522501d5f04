"""Pages of names with the characters ! * ' ( ): each link opens a page, each form has the path of an operation."""

from urllib.parse import quote, unquote, urljoin

import pytest

from tests.support.page import Page, open_page
from tests.support.reports import report
from tests.support.world import Caller, World

NAME = "it's-(new)!*"
WORD = quote(NAME, safe="")
ADMIN = "/api/admin"
PROJECT = f"/projects/{WORD}"
FLAG = f"{PROJECT}/flags/{WORD}"


def create(caller: Caller, path: str, json: object) -> None:
    """Send a request, which must succeed."""
    response = caller.post(f"{ADMIN}{path}", json=json)
    assert response.status_code < 300, (path, response.text)


@pytest.fixture
def named(world: World, alice: Caller) -> None:
    """Records with the name, of each kind whose name is in a path or a query."""
    create(alice, "/projects", {"id": NAME, "name": NAME})
    for path, body in (("/environments", {"type": "production"}), ("/context", {}), ("/tag-types", {})):
        create(alice, path, {"name": NAME, **body})
    create(alice, "/strategies", {"name": NAME, "parameters": []})
    create(alice, f"{PROJECT}/environments", {"environment": NAME})
    for name in (NAME, f"{NAME}-parent", f"{NAME}-archived"):
        create(alice, f"{PROJECT}/features", {"name": name, "tags": [{"type": NAME, "value": NAME}]})
    api = f"{PROJECT}/features/{WORD}"
    create(alice, f"{api}/dependencies", {"feature": f"{NAME}-parent"})
    constraint = {"contextName": NAME, "operator": "REGEX", "value": NAME}
    create(alice, "/segments", {"name": NAME, "project": NAME, "constraints": [constraint]})
    [segment] = alice.get(f"{ADMIN}/segments").json["segments"]
    strategy = {"name": "flexibleRollout", "constraints": [constraint], "segments": [segment["id"]]}
    create(alice, f"{api}/environments/{WORD}/strategies", strategy)
    create(alice, f"{api}/environments/{WORD}/on", None)
    create(alice, f"{api}/favorites", None)
    assert alice.delete(f"{ADMIN}{PROJECT}/features/{WORD}-archived").status_code == 202
    create(alice, "/api-tokens", {"tokenName": NAME, "type": "client", "environment": NAME, "projects": [NAME]})
    report(world.api_key("client"), {NAME: {"yes": 1, "no": 0}}, app=NAME)


def links(page: Page, path: str) -> set[str]:
    """Return the addresses with the name, and of administration, to which a page links."""
    found = {urljoin(path, link.get("href", "")).partition("#")[0] for link in page.all(".//a[@href]")}
    found |= {urljoin(path, item.get("action", "")) for item in page.all(".//form[@method='get']")}
    return {address for address in found if address.startswith((PROJECT, "/admin/", "/events?"))}


@pytest.mark.usefixtures("named")
def test_each_link_and_form_of_each_page_works(alice: Caller) -> None:
    match = alice.app.url_map.bind("localhost").match
    waiting, seen, operations = ["/", "/events", "/insights", "/admin", "/profile"], set[str](), set[str]()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        page = open_page(alice, path)
        waiting += sorted(links(page, path) - seen - set(waiting))
        for method, address in page.requests:
            operation, words = match(unquote(address), method)
            if NAME in words.values():
                assert WORD in address
                operations.add(operation.partition(".")[2])
    assert {PROJECT, FLAG, f"{FLAG}/why", f"{PROJECT}/archive", f"/events?feature={WORD}"} <= seen
    assert {f"/admin/context-fields/{WORD}", f"/admin/applications/{WORD}"} <= seen
    assert operations >= {
        "add_favorite_flag",
        "remove_flag_tag",
        "clone_flag",
        "set_variants",
        "delete_project_api_token",
    }


@pytest.mark.usefixtures("named")
def test_pages_find_what_has_the_name(alice: Caller) -> None:
    for path in (
        *(f"/events?feature={WORD}", f"/events?project={WORD}", f"/events?query={WORD}"),
        *(f"{PROJECT}?query={WORD}", f"{PROJECT}?tag={WORD}%3A{WORD}", f"/admin/applications/{WORD}"),
    ):
        assert open_page(alice, path).all(f".//a[@href='{FLAG}']"), path
    page = open_page(alice, f"{FLAG}/why?environment={WORD}&properties={WORD}%3Dit")
    assert f"Does not match: {NAME} matches {NAME}: it is it" in page.text
