"""The start page, and the page of archived projects."""

from tests.support.page import open_page
from tests.support.world import Caller, World

PROJECTS = "/api/admin/projects"
EVIL = "<img src=x onerror=alert(1)>"


def test_the_start_page_lists_the_projects_that_the_reader_can_see(world: World, alice: Caller, victor: Caller) -> None:
    world.project("apollo", name="Apollo", mode="private")
    assert "Apollo" in open_page(alice, "/").links
    assert "Apollo" not in open_page(victor, "/").links
    assert open_page(victor, "/").links["Default"] == "/projects/default"


def test_favorites_come_first_and_their_star_removes_them(world: World, alice: Caller) -> None:
    world.project("zebra", name="Zebra")
    page = open_page(alice, "/")
    assert ("POST", f"{PROJECTS}/zebra/favorites") in page.requests
    assert alice.post(f"{PROJECTS}/zebra/favorites").status_code == 200
    page = open_page(alice, "/")
    assert page.texts(".//tbody/tr/td[1]/a")[0] == "Zebra"
    assert ("DELETE", f"{PROJECTS}/zebra/favorites") in page.requests


def test_a_project_can_be_created_by_users_with_the_permission(alice: Caller, victor: Caller) -> None:
    form = ".//dialog//form"
    assert (open_page(alice, "/").all(form)[0]).get("data-path") == PROJECTS
    fields = open_page(alice, "/").fields(form)
    assert fields.keys() == {"name", "id", "description", "mode"}
    assert alice.post(PROJECTS, json={"name": "New", "description": "", "mode": "open"}).status_code == 201
    assert open_page(victor, "/").all(form) == []


def test_the_list_is_searched_and_paged(world: World, alice: Caller) -> None:
    for number in range(55):
        world.project(f"p-{number:02}", name=f"Project {number:02}")
    page = open_page(alice, "/?query=project")
    assert len(page.all(".//tbody/tr")) == 50
    assert "1 to 50 of 55" in page.text
    second = open_page(alice, "/" + page.links["Next"])
    assert second.texts(".//tbody/tr/td[1]/a") == [f"Project {number}" for number in range(50, 55)]
    assert "No project has this text" in open_page(alice, "/?query=nowhere").text


def test_a_wrong_offset_is_an_error_page(alice: Caller) -> None:
    assert "offset" in open_page(alice, "/?offset=-1", 400).text


def test_an_archived_project_can_be_revived_or_deleted(world: World, alice: Caller, victor: Caller) -> None:
    assert "No project is archived." in open_page(alice, "/archived-projects").text
    world.project("old", name="Old")
    assert alice.post(f"{PROJECTS}/archive/old").status_code == 200
    page = open_page(alice, open_page(alice, "/").links["Archived projects"])
    assert page.links["Live projects"] == "/"
    assert page.requests == {("POST", f"{PROJECTS}/revive/old"), ("DELETE", f"{PROJECTS}/old")}
    assert open_page(victor, "/archived-projects").requests == set()
    assert alice.post(f"{PROJECTS}/revive/old").status_code == 200


def test_hostile_names_are_text(world: World, alice: Caller) -> None:
    world.project("evil", name=EVIL)
    page = open_page(alice, "/")
    assert EVIL in page.links
    assert page.all(".//img") == []
