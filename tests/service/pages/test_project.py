"""The projects, live and archived, and the flags of a project, live and archived."""

import re
from typing import Any
from urllib.parse import quote

from sql.database import Connection
from tests.support.page import Page, open_page, send_form
from tests.support.world import Caller, World

PROJECTS = "/api/admin/projects"
API = f"{PROJECTS}/default"
PAGE = "/projects/default"
# The names of the flags in the list.
FLAGS = ".//tbody/tr/td[1]/a"


def test_start_page_lists_the_projects_that_the_reader_can_see(world: World, alice: Caller, victor: Caller) -> None:
    world.project("apollo", mode="private")
    assert "Apollo" in open_page(alice, "/").links
    assert "Apollo" not in open_page(victor, "/").links
    assert open_page(victor, "/").links["Default"] == "/projects/default"


def test_favorites_come_first_and_their_star_removes_them(world: World, alice: Caller) -> None:
    world.project("zebra")
    assert ("POST", f"{PROJECTS}/zebra/favorites") in open_page(alice, "/").requests
    assert alice.post(f"{PROJECTS}/zebra/favorites").status_code == 200
    page = open_page(alice, "/")
    assert page.texts(".//tbody/tr/td[1]/a")[0] == "Zebra"
    assert ("DELETE", f"{PROJECTS}/zebra/favorites") in page.requests


def test_project_can_be_created_by_users_with_the_permission(alice: Caller, victor: Caller) -> None:
    form = ".//dialog//form"
    page = open_page(alice, "/")
    assert page.all(form)[0].get("data-path") == PROJECTS
    assert page.fields(form).keys() == {"name", "id", "description", "mode"}
    assert alice.post(PROJECTS, json={"name": "New", "description": "", "mode": "open"}).status_code == 201
    assert open_page(victor, "/").all(form) == []


def test_archived_project_can_be_revived_or_deleted(world: World, alice: Caller) -> None:
    assert "No project is archived." in open_page(alice, "/archived-projects").text
    world.project("old")
    assert alice.post(f"{PROJECTS}/archive/old").status_code == 200
    page = open_page(alice, open_page(alice, "/").links["Archived projects"])
    assert page.links["Live projects"] == "/"
    assert page.requests == {("POST", f"{PROJECTS}/revive/old"), ("DELETE", f"{PROJECTS}/old")}
    assert alice.post(f"{PROJECTS}/revive/old").status_code == 200


def test_page_shows_the_numbers_of_the_project(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, PAGE)
    assert page.heading.startswith("Default")
    assert page.texts(".//dl/div[1]/dd") == ["100 %"]
    assert "Environments: development, production." in page.text
    assert "No application has asked for a flag of this project yet." in page.text


def test_project_without_flags_says_what_to_do(alice: Caller, victor: Caller) -> None:
    assert "This project has no flags yet. Create the first one." in open_page(alice, PAGE).text
    page = open_page(victor, PAGE)
    assert "This project has no flags yet." in page.text
    assert page.all(".//dialog") == []


def test_page_says_how_an_application_connects(world: World, alice: Caller, victor: Caller) -> None:
    for create in (lambda: None, lambda: world.flag("checkout")):
        create()
        page = open_page(alice, PAGE)
        assert page.links["API tokens"] == f"{PAGE}/tokens"
        assert re.search(r"Give your application this token and the URL http\S+/api \.", page.text)
        assert "Ask an owner of the project for a client token." in open_page(victor, PAGE).text


def test_flag_has_a_switch_in_each_environment(world: World, alice: Caller) -> None:
    world.flag("checkout", enabled_in=("production",))
    page = open_page(alice, PAGE)
    flag = f"{API}/features/checkout"
    assert page.requests >= {
        ("POST", f"{flag}/environments/development/on"),
        ("POST", f"{flag}/environments/production/off"),
    }
    switches = {button.get("aria-label"): button.get("aria-checked") for button in page.all(".//*[@role='switch']")}
    assert switches == {"checkout in development": "false", "checkout in production": "true"}


def test_flag_can_be_created_archived_and_deleted(alice: Caller) -> None:
    page = open_page(alice, PAGE)
    [form] = page.all(".//dialog//form")
    assert (form.get("data-path"), form.get("data-then")) == (f"{API}/features", f"{PAGE}/flags/{{name}}")
    assert page.fields(".//dialog//form").keys() == {"name", "type", "description", "impressionData"}
    assert "release" in [option.get("value") for option in page.all(".//select[@id='flag-type']/option[@selected]")]
    new = {"name": "a.b~c_d", "type": "release", "description": None, "impressionData": False}
    assert alice.post(f"{API}/features", json=new).status_code == 201
    page = open_page(alice, PAGE)
    assert page.links["a.b~c_d"] == f"{PAGE}/flags/a.b~c_d"
    assert ("DELETE", f"{API}/features/a.b~c_d") in page.requests
    assert alice.delete(f"{API}/features/a.b~c_d").status_code == 202
    deletion = "/api/admin/archive/a.b~c_d"
    page = open_page(alice, f"{PAGE}/archive")
    assert page.requests >= {("POST", "/api/admin/archive/revive/a.b~c_d"), ("DELETE", deletion)}
    assert alice.delete(deletion).status_code == 200
    assert "No flag of this project is archived." in open_page(alice, f"{PAGE}/archive").text


def test_naming_pattern_is_explained(alice: Caller) -> None:
    settings = {"mode": "open", "featureNaming": {"pattern": "[a-z]+", "example": "abc", "description": "Short."}}
    assert alice.put(f"{API}/settings", json=settings).status_code == 200
    assert "It must match [a-z]+ , such as abc . Short." in open_page(alice, PAGE).text


def test_flags_are_filtered(world: World, alice: Caller) -> None:
    for name, description in (("one", "a,b"), ("two", "b"), ("three", None)):
        world.flag(name, description=description, type="release" if name == "one" else "experiment")
    for name, value in (("one", "a b"), ("two", "a,b")):
        alice.post(f"/api/admin/features/{name}/tags", json={"type": "simple", "value": value})
    for query, found in (
        ("type=release", ["one"]),
        ("query=TH", ["three"]),
        ("query=a,b", ["one"]),
        (f"tag={quote('simple:a b')}", ["one"]),
        ("tag=simple:a,b", ["two"]),
        ("state=active&sort=name", ["one", "three", "two"]),
        ("state=stale", []),
    ):
        page = open_page(alice, f"{PAGE}?{query}")
        assert page.texts(FLAGS) == found, query
        assert ("No flag matches." in page.text) == (not found)


def test_flags_are_sorted_and_favorites_come_first(world: World, alice: Caller) -> None:
    for name, day in (("b", 1), ("c", 3), ("a", 2)):
        world.flag(name, created_at=f"2026-01-0{day}T00:00:00Z")
    for sort, found in (("name", "abc"), ("newest", "cab"), ("oldest", "bac")):
        assert "".join(open_page(alice, f"{PAGE}?sort={sort}").texts(FLAGS)) == found
    assert alice.post(f"{API}/features/b/favorites").status_code == 200
    assert open_page(alice, f"{PAGE}?sort=newest").texts(FLAGS) == ["b", "c", "a"]


def test_wrong_filter_is_explained_beside_its_field(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, f"{PAGE}?tag=beta&query=check", 400)
    assert page.texts(".//*[@id='wrong-tag']") == ["This must be a type and a value, such as simple:beta."]
    fields = page.fields(".//form[@role='search']")
    assert (fields["tag"], fields["query"]) == ("beta", "check")
    assert "No flag matches." not in page.text
    assert page.all(".//tbody") == []


def test_filters_stay_on_the_next_page(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"flag-{number:02}")
    page = open_page(alice, f"{PAGE}?query=flag&sort=seen&state=active")
    assert page.links["Next"] == "?query=flag&sort=seen&state=active&offset=50"
    assert open_page(alice, PAGE + page.links["Next"]).texts(FLAGS) == ["flag-50"]


def test_archive_lists_only_archived_flags(world: World, alice: Caller) -> None:
    world.flag("live", description="old")
    world.flag("gone", description="old", archived_at="now")
    assert open_page(alice, f"{PAGE}/archive?query=OLD").texts(FLAGS) == ["gone"]
    assert open_page(alice, PAGE).texts(FLAGS) == ["live"]


def test_flags_of_an_archived_project_cannot_change(world: World, alice: Caller) -> None:
    world.project("old")
    world.flag("done", "old", archived_at="now")
    assert alice.post(f"{PROJECTS}/archive/old").status_code == 200
    assert "Create flag" not in open_page(alice, "/projects/old").text
    for page in ("archive", "flags/done"):
        requests = open_page(alice, f"/projects/old/{page}").requests
        assert ("POST", "/api/admin/archive/revive/done") not in requests
        assert ("DELETE", "/api/admin/archive/done") in requests


def test_chosen_flags_are_exported_by_everybody_who_sees_the_project(
    world: World, alice: Caller, victor: Caller, conn: Connection
) -> None:
    for name in ("one", "two", "three"):
        world.strategy(world.flag(name), "production")
    page = open_page(victor, PAGE)
    assert [box.get("value") for box in page.all(".//input[@form='export-form']")] == ["one", "three", "two"]
    assert page.texts(".//*[@id='export-environment']/option") == ["development", "production"]
    body: dict[str, Any]
    for chosen, names in (([], ["one", "three", "two"]), (["two", "one", "unknown"], ["one", "two"])):
        response = victor.post(f"{PAGE}/export", data={"environment": "production", "features": chosen})
        assert response.headers["Content-Disposition"] == 'attachment; filename="features-production.json"'
        assert [flag["name"] for flag in response.get_json()["features"]] == names
        body = {"environment": "production", "features": names, "project": "default"}
        assert response.get_json() == alice.post("/api/admin/features-batch/export", json=body).get_json()
    found = conn.execute("SELECT data FROM events WHERE type = 'features-exported' ORDER BY id").fetchone()
    assert found == {"data": {"environment": "production", "features": ["one", "three", "two"]}}


def test_export_is_refused_like_that_of_the_api(world: World, victor: Caller, alice: Caller) -> None:
    world.project("apollo", mode="private")
    send_form(victor, "/projects/apollo/export", 404, environment="production")
    send_form(alice, f"{PAGE}/export", 404, environment="unknown")
    send_form(alice, f"{PAGE}/export", 403, {"Origin": "https://evil.example"}, environment="production")
    page = Page(send_form(alice, f"{PAGE}/export", 400))
    assert "environment: is required" in page.text
    assert open_page(alice, PAGE).all(".//*[@id='export']") == []
