"""Banners: what administrators announce, and where pages show it."""

import pytest

from sql.database import value
from tests.support.page import open_page
from tests.support.world import Caller, World, refused

BANNERS = "/api/admin/banners"
DEFAULTS = {"enabled": True, "variant": "info", "sticky": False}
DEFAULTS |= dict.fromkeys(("icon", "link", "dialogTitle", "dialog")) | {"linkText": "More info"}


def create(caller: Caller, message: str = "Welcome", **fields: object) -> dict:
    """Create a banner, and return its record."""
    response = caller.post(BANNERS, json={"message": message} | fields)
    assert response.status_code == 201, response.text
    return response.json


def test_a_new_banner_has_defaults_and_an_event(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    response = alice.post(BANNERS, json={"message": "Welcome"})
    banner = response.json
    assert response.headers["Location"] == f"banners/{banner['id']}"
    assert {name: banner[name] for name in DEFAULTS} == DEFAULTS
    assert alice.get(BANNERS).json == {"banners": [banner]}
    [event] = world.events(since)
    assert (event["type"], event["data"], event["pre_data"]) == ("banner-created", banner, None)


def test_an_update_replaces_the_banner(world: World, alice: Caller) -> None:
    before = create(alice, variant="error", icon="star", link="dialog", dialogTitle="Why", dialog="Because.")
    since = world.last_event_id()
    # The record can be sent back.
    assert alice.put(f"{BANNERS}/{before['id']}", json=before).json == before
    assert world.events(since) == []
    after = alice.put(f"{BANNERS}/{before['id']}", json={"message": "New"}).json
    assert after == before | DEFAULTS | {"message": "New"}
    [event] = world.events(since)
    assert (event["type"], event["data"], event["pre_data"]) == ("banner-updated", after, before)


def test_a_banner_is_switched_and_deleted(world: World, alice: Caller) -> None:
    banner = create(alice)
    since = world.last_event_id()
    for switch, enabled in (("off", False), ("off", False), ("on", True)):
        assert alice.post(f"{BANNERS}/{banner['id']}/{switch}").json == banner | {"enabled": enabled}
    assert (alice.delete(f"{BANNERS}/{banner['id']}").data, alice.get(BANNERS).json) == (b"", {"banners": []})
    assert [event["type"] for event in world.events(since)] == ["banner-updated"] * 2 + ["banner-deleted"]
    for method, path in (("DELETE", ""), ("PUT", ""), ("POST", "/on")):
        refused(alice.request(method, f"{BANNERS}/{banner['id']}{path}", json={"message": "x"}), 404, "NotFoundError")


@pytest.mark.parametrize("link", ["https://example.org/a?b#c", "http://example.org", "/events", "/", "dialog"])
def test_a_link_is_a_url_a_path_or_the_dialog(alice: Caller, link: str) -> None:
    assert create(alice, link=link)["link"] == link


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "//evil.example", "/\\evil.example", "events", "", "ftp://h", "/a b", "/a\n"]
)
def test_other_links_are_refused(alice: Caller, link: str) -> None:
    message = refused(alice.post(BANNERS, json={"message": "x", "link": link}))
    assert message == "link: must be dialog, a path such as /events, or a URL with https:// or http://, without spaces"


def test_the_51st_banner_is_refused(alice: Caller, conn) -> None:
    for _ in range(50):
        create(alice)
    assert refused(alice.post(BANNERS, json={"message": "x"})) == "There can be at most 50 banners."
    assert value(conn, "SELECT count(*) FROM banners") == 50


def test_pages_show_the_three_newest_enabled_banners(alice: Caller, victor: Caller, stranger: Caller) -> None:
    create(alice, "the oldest")
    create(alice, "<b>bold</b>", variant="error", link="/events", linkText="All changes")
    create(alice, "with a dialog", sticky=True, link="dialog", dialogTitle="Why", dialog="Because <i>.")
    create(alice, "with a link", link="https://example.org/?a&b")
    create(alice, "disabled", enabled=False)
    for path in ("/", "/events", "/projects/nowhere"):
        page = open_page(victor, path, 404 if "nowhere" in path else 200)
        assert page.texts(".//div[@role='status']") == [
            "with a link More info",
            "with a dialog More info Why Because <i>.",
            "<b>bold</b> All changes",
        ]
    shown = page.all(".//div[@class='banners']//a")
    assert [link.get("href") for link in shown] == ["https://example.org/?a&b", "/events"]
    assert [div.get("class") for div in page.all(".//div[@class='banners']/div")] == [None, "sticky", None]
    assert page.texts(".//div[@class='banners']//div[@class='notice bad']") == ["<b>bold</b> All changes"]
    assert page.texts(".//details/summary") == ["More info"]
    assert "with a link" not in open_page(stranger, "/login").text


def test_administrators_see_all_banners_with_their_actions(alice: Caller, victor: Caller) -> None:
    on, off = create(alice), create(alice, enabled=False)
    page = open_page(alice, "/admin/banners")
    assert page.requests == {
        ("POST", BANNERS),
        ("POST", f"{BANNERS}/{on['id']}/off"),
        ("POST", f"{BANNERS}/{off['id']}/on"),
        *(("DELETE", f"{BANNERS}/{banner['id']}") for banner in (on, off)),
    }
    open_page(victor, "/admin/banners", 403)
