"""The search of the pages: what it finds, in which order, and who sees it."""

import re

import pytest

from sql.catalog import segments
from sql.database import Connection
from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

RESULT = re.compile(r'<a role="option" id="(r\d+)" href="([^"]+)" tabindex="-1">(.*?)</a></li>', re.DOTALL)
MARK = re.compile(r"</?mark>")


def results(caller: Caller, **query: str) -> list[str]:
    """The addresses of the results of the palette. Their ids are r1, r2, …"""
    response = caller.get("/search", query_string={"part": "results", **query})
    assert response.status_code == 200, response.text
    found = RESULT.findall(response.text)
    assert [number for number, _, _ in found] == [f"r{number}" for number in range(1, len(found) + 1)]
    return [address.removeprefix("/projects/default/flags/") for _, address, _ in found]


@pytest.fixture
def shop(world: World, conn: Connection, alice: Caller) -> Caller:
    """Flags, a segment and a private project."""
    world.flag("one-page", description="The 100% checkout_flow of 'today'", enabled_in=("production",))
    world.flag("checkout-one-page")
    world.flag("one", description="Page two")
    world.flag("a-page", description="One of several")
    fixtures.tag(conn, world.flag("other"), "simple", "Beta-Page")
    world.flag("one-page-archived", archived_at="now")
    segments.insert(conn, "One pagers", [])
    world.project("hidden", name="One hidden page", mode="private")
    world.flag("one-page-hidden", "hidden")
    segments.insert(conn, "Hidden one-page", [], project="hidden")
    return alice


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("one-page", ["one-page", "checkout-one-page"]),
        ("ONE", ["one", "one-page", "checkout-one-page", "a-page"]),
        ("page one", ["checkout-one-page", "one-page", "a-page", "one"]),
        ("simple:beta", ["other"]),
        ("other beta-p", ["other"]),
        ("other two", []),
        ("100%", ["one-page"]),
        ("t_f", ["one-page"]),
        ("'today'", ["one-page"]),
        ("c_e", []),
        ("\0", []),
        ("one-page\0", []),
        ("one " * 100, ["one", "one-page", "checkout-one-page", "a-page"]),
        ("\\", []),
    ],
)
def test_every_word_is_plain_text_and_the_best_match_is_first(shop: Caller, query: str, expected: list[str]) -> None:
    assert [name for name in results(shop, q=query) if "/" not in name and name.find("hidden") < 0] == expected


def test_projects_segments_and_pages_are_found_after_flags(shop: Caller) -> None:
    found = results(shop, q="one p")
    kinds = [address.split("/")[1:3] for address in found if address[0] == "/"]
    ours = ["projects", "hidden"]
    assert kinds[1:] == [ours, ["admin", "segments"], ["admin", "segments"], ours]
    assert kinds[0] == ours
    assert found[-1] == "/projects/hidden/cleanup"
    assert results(shop, q="default") == ["/projects/default", "/projects/default/cleanup"]
    assert results(shop, q="clean default") == ["/projects/default/cleanup"]
    assert results(shop, q="api tok") == ["/admin/api-tokens"]


def test_each_kind_has_a_maximum(shop: Caller, world: World) -> None:
    for number in range(20):
        world.flag(f"many-{number}")
        world.project(f"many-{number}", ())
    found = results(shop, q="many")
    assert len([address for address in found if "/" not in address]) == 12
    assert len([address for address in found if re.fullmatch("/projects/[^/]+", address)]) == 4
    assert len([address for address in found if address.endswith("/cleanup")]) == 4
    assert len(found) == 20


def test_private_projects_are_found_by_members_only(shop: Caller, world: World) -> None:
    vera = world.user("Vera")
    for query in ("hidden", "one-page"):
        assert not any("hidden" in address for address in results(vera, q=query))
    assert results(vera, q="Hidden one-page") == []
    assert "hidden" not in open_page(vera, "/search").text
    world.member("hidden", vera)
    assert "/projects/hidden/flags/one-page-hidden" in results(vera, q="hidden")
    assert any(address.startswith("/admin/segments/") for address in results(vera, q="hidden"))
    assert shop.get("/search?q=hidden").status_code == 200


def test_pages_that_a_reader_may_not_open_are_not_found(world: World) -> None:
    assert results(world.user("Vera"), q="service accounts") == []


def test_the_page_shows_the_state_in_each_environment(shop: Caller) -> None:
    page = open_page(shop, "/search?q=one-page")
    assert page.fields()["q"] == "one-page"
    assert "3 flags" in page.text
    [row] = [text for text in page.texts(".//tbody/tr") if text.startswith("one-page Default")]
    assert row.startswith("one-page Default release off on all")
    assert page.texts(".//thead//span") == ["development", "production"]
    assert page.texts(".//tbody//mark") == ["one-page"] * 3
    assert any(address.startswith("/admin/segments/") for address in page.links.values())


def test_a_match_outside_the_name_is_shown(shop: Caller) -> None:
    page = open_page(shop, "/search?q=beta")
    assert page.texts(".//tbody/tr/td[1]/div") == ["simple: Beta -Page"]


def test_all_flags_have_pages(shop: Caller, world: World) -> None:
    for number in range(60):
        world.flag(f"many-{number:02}")
    page = open_page(shop, "/search")
    assert page.heading == "All flags"
    assert "66 flags" in page.text
    assert page.links["Next"] == "?q=&offset=50"
    last = open_page(shop, "/search?q=many&offset=50")
    assert len(last.all(".//tbody/tr")) == 10
    assert last.links["Previous"] == "?q=many&offset=0"


def test_the_end_of_the_list_is_empty(shop: Caller) -> None:
    for offset in (1000, 2**63 - 1):
        page = open_page(shop, f"/search?offset={offset}")
        assert page.all(".//tbody/tr") == []
        assert page.links["Show all flags"] == "/search"
    open_page(shop, "/search?offset=-1", 400)
    open_page(shop, "/search?part=half", 400)


def test_no_match_says_so(shop: Caller) -> None:
    page = open_page(shop, "/search?q=no+such")
    assert "No flag has all these words" in page.text
    assert page.links["Show all flags"] == "/search"


@pytest.mark.parametrize(
    ("path", "entry"), [("/", "Projects"), ("/search", "Projects"), ("/events", "Events"), ("/admin/users", "Admin")]
)
def test_menu_marks_the_entry_of_the_page(alice: Caller, path: str, entry: str) -> None:
    links = open_page(alice, path).root.findall(".//nav[@aria-label='Main']/a[@aria-current]")
    assert [link.text for link in links] == [entry]
