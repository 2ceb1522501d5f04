"""The flags of a project, live and archived."""

from urllib.parse import quote

from tests.support import roles
from tests.support.page import open_page
from tests.support.world import Caller, World

API = "/api/admin/projects/default"
PAGE = "/projects/default"


def test_the_page_shows_the_numbers_of_the_project(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, PAGE)
    assert page.heading.startswith("Default")
    assert page.texts(".//dl/div[1]/dd") == ["100 %"]
    assert "Environments: development, production." in page.text
    assert "No application has asked for a flag of this project yet." in page.text


def test_a_project_without_flags_says_what_to_do(alice: Caller, victor: Caller) -> None:
    assert "This project has no flags yet. Create the first one." in open_page(alice, PAGE).text
    page = open_page(victor, PAGE)
    assert "This project has no flags yet." in page.text
    assert page.all(".//dialog") == []


def test_an_unknown_and_a_hidden_project_have_the_same_page(world: World, victor: Caller) -> None:
    world.project("apollo", mode="private")
    for path in ("", "/archive"):
        hidden, unknown = (open_page(victor, f"/projects/{name}{path}", 404) for name in ("apollo", "nowhere"))
        assert hidden.text.rpartition(" ")[0].rsplit(":", 1)[0] == unknown.text.rpartition(" ")[0].rsplit(":", 1)[0]


def test_a_flag_has_a_switch_in_each_environment(world: World, alice: Caller) -> None:
    world.flag("checkout", enabled_in=("production",))
    page = open_page(alice, PAGE)
    flag = f"{API}/features/checkout"
    assert page.requests >= {
        ("POST", f"{flag}/environments/development/on"),
        ("POST", f"{flag}/environments/production/off"),
    }
    switches = {button.get("aria-label"): button.get("aria-checked") for button in page.all(".//*[@role='switch']")}
    assert switches == {"checkout in development": "false", "checkout in production": "true"}
    assert alice.post(f"{flag}/environments/development/on").status_code == 200
    assert ("POST", f"{flag}/environments/development/off") in open_page(alice, PAGE).requests


def test_readers_without_permissions_see_states_and_no_controls(world: World, victor: Caller) -> None:
    world.flag("checkout", enabled_in=("production",))
    page = open_page(victor, PAGE)
    assert page.texts(".//td[@data-label='production']") == ["on"]
    assert page.texts(".//td[@data-label='development']") == ["off"]
    assert {path for _, path in page.requests} == {f"{API}/favorites"}


def test_a_permission_in_one_environment_shows_one_switch(world: World, victor: Caller, alice: Caller) -> None:
    permissions = [{"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"}]
    world.member("default", victor, roles.make(alice, permissions=permissions))
    world.flag("checkout")
    page = open_page(victor, PAGE)
    labels = [button.get("aria-label") for button in page.all(".//*[@role='switch']")]
    assert labels == ["checkout in development"]


def test_a_flag_can_be_created_and_archived(alice: Caller) -> None:
    page = open_page(alice, PAGE)
    [form] = page.all(".//dialog//form")
    assert (form.get("data-path"), form.get("data-then")) == (f"{API}/features", f"{PAGE}/flags/{{name}}")
    fields = page.fields(".//dialog//form")
    assert fields.keys() == {"name", "type", "description", "impressionData"}
    new = {"name": "checkout", "type": "release", "description": None, "impressionData": False}
    assert alice.post(f"{API}/features", json=new).status_code == 201
    assert ("DELETE", f"{API}/features/checkout") in open_page(alice, PAGE).requests
    assert alice.delete(f"{API}/features/checkout").status_code == 202
    page = open_page(alice, f"{PAGE}/archive")
    assert page.requests >= {
        ("POST", "/api/admin/archive/revive/checkout"),
        ("DELETE", "/api/admin/archive/checkout"),
    }


def test_the_naming_pattern_is_explained(alice: Caller) -> None:
    settings = {"mode": "open", "featureNaming": {"pattern": "[a-z]+", "example": "abc", "description": "Short."}}
    assert alice.put(f"{API}/settings", json=settings).status_code == 200
    assert "It must match [a-z]+ , such as abc . Short." in open_page(alice, PAGE).text


def test_flags_are_filtered_and_paged(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"flag-{number:02}", type="experiment" if number else "release")
    page = open_page(alice, PAGE)
    assert "1 to 50 of 51" in page.text
    assert open_page(alice, PAGE + page.links["Next"]).texts(".//tbody/tr/td[1]/a") == ["flag-50"]
    assert open_page(alice, f"{PAGE}?type=release").texts(".//tbody/tr/td[1]/a") == ["flag-00"]
    assert open_page(alice, f"{PAGE}?query=-17").texts(".//tbody/tr/td[1]/a") == ["flag-17"]
    alice.post("/api/admin/features/flag-20/tags", json={"type": "simple", "value": "a b"})
    assert open_page(alice, f"{PAGE}?tag={quote('simple:a b')}").texts(".//tbody/tr/td[1]/a") == ["flag-20"]
    assert "No flag matches." in open_page(alice, f"{PAGE}?state=stale").text
    assert "tag" in open_page(alice, f"{PAGE}?tag=wrong", 400).text


def test_names_of_all_kinds_lead_to_their_flag(world: World, alice: Caller) -> None:
    world.flag("a.b~c_d", description="<script>alert(1)</script>")
    page = open_page(alice, PAGE)
    assert page.links["a.b~c_d"] == f"{PAGE}/flags/a.b~c_d"
    assert "<script>alert(1)</script>" in page.text
    assert page.all(".//main//script") == []
