"""The flags of a project, live and archived."""

import re
from urllib.parse import quote

from tests.support import roles
from tests.support.page import open_page
from tests.support.world import Caller, World

API = "/api/admin/projects/default"
PAGE = "/projects/default"
# The names of the flags in the list.
FLAGS = ".//tbody/tr/td[1]/a"


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
    assert "release" in [option.get("value") for option in page.all(".//select[@id='flag-type']/option[@selected]")]
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
    assert open_page(alice, PAGE + page.links["Next"]).texts(FLAGS) == ["flag-50"]
    assert open_page(alice, f"{PAGE}?type=release").texts(FLAGS) == ["flag-00"]
    assert open_page(alice, f"{PAGE}?query=-17").texts(FLAGS) == ["flag-17"]
    alice.post("/api/admin/features/flag-20/tags", json={"type": "simple", "value": "a b"})
    assert open_page(alice, f"{PAGE}?tag={quote('simple:a b')}").texts(FLAGS) == ["flag-20"]
    assert "No flag matches." in open_page(alice, f"{PAGE}?state=stale").text


def test_a_wrong_filter_is_explained_beside_its_field(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, f"{PAGE}?tag=beta&query=check", 400)
    assert page.texts(".//*[@id='wrong-tag']") == ["This must be a type and a value, such as simple:beta."]
    fields = page.fields(".//form[@role='search']")
    assert (fields["tag"], fields["query"]) == ("beta", "check")
    assert "No flag matches." not in page.text
    assert page.all(".//tbody") == []


def test_commas_are_part_of_texts_and_tags(world: World, alice: Caller) -> None:
    world.flag("checkout", description="one,two")
    world.flag("refund", description="two")
    alice.post("/api/admin/features/refund/tags", json={"type": "simple", "value": "a,b"})
    assert open_page(alice, f"{PAGE}?query=one,two").texts(FLAGS) == ["checkout"]
    assert open_page(alice, f"{PAGE}?tag=simple:a,b").texts(FLAGS) == ["refund"]


def test_a_page_after_the_last_one_leads_back(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, f"{PAGE}?offset=50")
    assert page.links["Show all flags"] == PAGE
    assert "no flags yet" not in page.text


def test_filters_stay_on_the_next_page(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"flag-{number:02}")
    page = open_page(alice, f"{PAGE}?query=flag&sort=seen&state=active")
    assert page.links["Next"] == "?query=flag&sort=seen&state=active&offset=50"
    assert open_page(alice, PAGE + page.links["Next"]).texts(FLAGS) == ["flag-50"]


def test_archived_flags_are_searched_and_paged(world: World, alice: Caller) -> None:
    for number in range(51):
        world.flag(f"flag-{number:02}", description="old")
    world.flag("live", description="old")
    names = [f"flag-{number:02}" for number in range(51)]
    assert alice.post(f"{API}/archive", json={"features": names}).status_code == 202
    page = open_page(alice, f"{PAGE}/archive?query=OLD")
    assert "1 to 50 of 51" in page.text
    assert page.texts(FLAGS) == names[:50]
    assert page.links["Next"] == "?query=OLD&offset=50"
    assert open_page(alice, f"{PAGE}/archive{page.links['Next']}").texts(FLAGS) == ["flag-50"]
    assert open_page(alice, f"{PAGE}/archive?query=-07").texts(FLAGS) == ["flag-07"]
    assert "No archived flag has this text" in open_page(alice, f"{PAGE}/archive?query=live").text


def test_deleted_flags_are_not_listed(world: World, alice: Caller) -> None:
    world.flag("checkout")
    assert alice.delete(f"{API}/features/checkout").status_code == 202
    assert alice.delete("/api/admin/archive/checkout").status_code == 200
    assert "No flag of this project is archived." in open_page(alice, f"{PAGE}/archive").text


def test_flags_of_an_archived_project_cannot_change(world: World, alice: Caller) -> None:
    world.project("old", name="Old")
    world.flag("done", project="old")
    assert alice.delete("/api/admin/projects/old/features/done").status_code == 202
    assert alice.post("/api/admin/projects/archive/old").status_code == 200
    assert "Create flag" not in open_page(alice, "/projects/old").text
    paths = {path for _, path in open_page(alice, "/projects/old/archive").requests}
    assert "/api/admin/archive/revive/done" not in paths
    assert "/api/admin/archive/done" in paths


def test_the_page_says_how_an_application_connects(world: World, alice: Caller, victor: Caller) -> None:
    for create in (lambda: None, lambda: world.flag("checkout")):
        create()
        page = open_page(alice, PAGE)
        assert page.links["API tokens"] == f"{PAGE}/tokens"
        assert re.search(r"Give your application this token and the URL http\S+/api \.", page.text)
        assert "Ask an owner of the project for a client token." in open_page(victor, PAGE).text


def test_names_of_all_kinds_lead_to_their_flag(world: World, alice: Caller) -> None:
    world.flag("a.b~c_d", description="<script>alert(1)</script>")
    page = open_page(alice, PAGE)
    assert page.links["a.b~c_d"] == f"{PAGE}/flags/a.b~c_d"
    assert "<script>alert(1)</script>" in page.text
    assert page.all(".//main//script") == []
