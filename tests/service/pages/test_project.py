"""The projects, live and archived, and the flags of a project, live and archived."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from sql.database import Connection
from tests.support import fixtures
from tests.support.page import Page, open_page, send_form
from tests.support.reports import report
from tests.support.world import Caller, World

PROJECTS = "/api/admin/projects"
API = f"{PROJECTS}/default"
PAGE = "/projects/default"
# The names of the flags in the list.
FLAGS = ".//td[@class='name']/span/a"


def sight(world: World, flag: int, last_at: Any, app_name: str = "shop") -> None:
    columns = {"flag_id": flag, "environment": "production", "app_name": app_name}
    fixtures.insert(world.conn, "flag_sightings", **columns, first_at=last_at, last_at=last_at)


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
    assert page.texts(".//tbody/tr/td[1]//a")[0] == "Zebra"
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


def test_start_page_says_what_needs_attention(world: World, alice: Caller, victor: Caller) -> None:
    world.project("apollo")
    assert "Needs attention" not in open_page(alice, "/").text
    for name, project in (("old", "apollo"), ("older", "apollo"), ("oldest", "default")):
        world.flag(name, project, created_at="2020-01-01T00:00:00Z")
    sight(world, world.flag("done", stale_since="2026-01-01T00:00:00Z"), last_at="now")
    sight(world, world.flag("gone", stale_since="now"), last_at="2026-01-01T00:00:00Z")
    report(world.api_key("client"), {"missing": {"yes": 1, "no": 0}})
    page = open_page(alice, "/")
    assert page.texts(".//section[@aria-labelledby='attention']//li") == [
        "Flags are too old for their type, most of them in Apollo 3",
        "Applications still ask for stale flags 1",
        "Applications ask for flags that do not exist 1",
    ]
    assert page.links["Flags are too old for their type, most of them in Apollo"] == "/projects/apollo/cleanup"
    assert page.links["Applications still ask for stale flags"] == "/projects/default/cleanup"
    assert page.links["2 flags"] == "/projects/apollo/cleanup"
    page = open_page(victor, "/")
    assert "Needs attention" not in page.text
    assert "You can read, but change nothing yet." in page.text


def test_recent_changes_count_those_of_an_author_that_are_left_out(world: World, alice: Caller) -> None:
    zoe, yan = world.user("Zoe", 2), world.user("Yan", 2)

    def create(author: Caller, *names: str) -> list[str]:
        for name in names:
            assert author.post(f"{API}/features", json={"name": name}).status_code == 201
        page = open_page(alice, "/")
        times = page.texts(".//section[@aria-labelledby='recent']//div[@class='quiet small']")
        lines = zip(page.texts(".//section[@aria-labelledby='recent']//div[@class='said']"), times, strict=True)
        return [" · ".join([said, *time.split(" · ")[1:]]) for said, time in lines]

    world.conn.execute("DELETE FROM events")
    # There is room for more than two of an author.
    assert create(zoe, "zero", "first", "second")[:3] == [f"Zoe created {name}" for name in ("second", "first", "zero")]
    create(yan, "third", "fourth")
    alices = ["Alice created b", "Alice created a"]
    assert create(alice, "a", "b")[:3] == [*alices, "Yan created fourth"]
    yans = ["Yan created fourth", "Yan created third", "Zoe created second", "Zoe created first"]
    wanted = ["Alice created d", "Alice created c · and 2 more by Alice", *yans]
    assert create(alice, "c", "d") == wanted


def test_start_page_without_flags_says_what_to_do(world: World, alice: Caller) -> None:
    assert "What to do next" in open_page(alice, "/").text
    world.flag("one")
    assert "What to do next" not in open_page(alice, "/").text


def test_page_shows_the_numbers_of_the_project(world: World, alice: Caller) -> None:
    world.flag("checkout")
    world.flag("old", created_at="2020-01-01T00:00:00Z")
    page = open_page(alice, PAGE)
    assert page.heading == "Default"
    assert page.links["50 % healthy · 1 to clean up"] == f"{PAGE}/cleanup"
    assert (page.links["Flags 2"], page.links["Clean up 1"]) == (PAGE, f"{PAGE}/cleanup")
    assert "No application has asked for a flag of this project yet." in page.text


PLAN = [
    {"parameters": {"rollout": share, "groupId": "g", "stickiness": "default"}, "constraints": [after]}
    for share, day in (("10", "2020-01-01"), ("50", "2020-01-02"), ("100", "2999-01-01"))
    for after in [
        {"contextName": "currentTime", "operator": "DATE_AFTER", "value": f"{day}T00:00:00.000Z", "inverted": False}
    ]
]
ENDED = PLAN[1]["constraints"][0] | {"operator": "DATE_BEFORE", "value": "2020-01-03T00:00:00.000Z"}
NARROW: dict[str, Any] = {"constraints": [{"contextName": "userId", "operator": "IN", "values": ["7"]}]}
SHARE: dict[str, Any] = {"parameters": {"rollout": "25"}}


@pytest.mark.parametrize(
    ("strategies", "shown"),
    [
        ([], "all"),
        ([{"name": "default"}], "all"),
        ([{"parameters": {"rollout": "100"}}], "all"),
        ([{"parameters": {"rollout": "100"}} | NARROW], "some"),
        ([SHARE | NARROW], "25 % of some"),
        ([SHARE], "25 %"),
        ([SHARE | {"disabled": True}, SHARE], "25 %"),
        ([SHARE, SHARE], "some"),
        ([SHARE, {"name": "default"}], "all"),
        ([{"name": "default"} | NARROW], "some"),
        ([{"name": "userWithId", "parameters": {"userIds": "7"}}], "some"),
        (PLAN, "50 % ↗"),
        (PLAN[:2], "50 %"),
        ([one | {"constraints": [*one["constraints"], ENDED]} for one in PLAN], "0 %"),
        ([PLAN[0]], "10 %"),
        ([PLAN[0] | {"name": "default"}], "all"),
        ([PLAN[2]], "some"),
        ([*PLAN, SHARE], "some"),
    ],
)
def test_cell_says_for_whom_a_flag_is_on(
    world: World, alice: Caller, strategies: list[dict[str, Any]], shown: str
) -> None:
    flag = world.flag("checkout", enabled_in=("production",))
    for place, strategy in enumerate(strategies):
        world.strategy(flag, "production", sort_order=place, **strategy)
    page = open_page(alice, PAGE)
    assert page.texts(".//td[@data-label='production']") == [f"on {shown}"]
    assert page.texts(".//td[@data-label='development']") == ["off off"]


def test_some_users_are_explained_in_the_title(world: World, alice: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("production",))
    for place, strategy in enumerate((SHARE, SHARE | NARROW, {"name": "userWithId"})):
        world.strategy(flag, "production", sort_order=place, **strategy)
    spans = open_page(alice, PAGE).all(".//td[@data-label='production']//span[@title]")
    who = ("25 % of users", "25 % of users who match the conditions", "the users of the strategy userWithId")
    assert [span.get("title") for span in spans] == [f"on for {' or '.join(who)}"]


def test_row_says_what_a_reader_needs_to_know(world: World, alice: Caller) -> None:
    sight(world, world.flag("done", stale_since="now"), app_name="web", last_at="now")
    fixtures.tag(world.conn, world.flag("old", created_at="2020-01-01T00:00:00Z"), "simple", "beta")
    alice.post(f"{API}/features/old/favorites")
    page = open_page(alice, PAGE)
    assert page.texts(".//td[@class='name']") == ["old old", "done stale"]
    assert page.texts(".//td[@class='c-tags']") == ["beta", ""]
    assert page.texts(".//td[@class='c-seen']") == ["never", "just now"]
    boxes = page.all(".//input[@name='features']")
    assert [box.get("data-risk") for box in boxes] == ["No application has asked for it.", "web asked for it just now."]


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
    asks = {form.get("data-path"): form.get("data-title") for form in page.all(".//td/span/form[@data-send='POST']")}
    assert asks == {
        f"{flag}/environments/development/on": None,
        f"{flag}/environments/production/off": "Switch off in production?",
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
    assert ("POST", f"{API}/archive") in page.requests
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
    alice.post(f"{API}/features/two/favorites")
    alice.post(f"{API}/features/three/environments/production/on")
    for query, found in (
        ("type=release", ["one"]),
        ("query=TH", ["three"]),
        ("query=a,b", ["two", "one"]),
        (f"query={quote('Simple:A B')}", ["one"]),
        (f"tag={quote('simple:a b')}", ["one"]),
        ("tag=simple:a,b", ["two"]),
        (f"tag=simple:a,b&tag={quote('simple:a b')}&sort=name", ["one", "two"]),
        ("state=active&sort=name", ["one", "three", "two"]),
        ("state=stale", []),
        ("status=production:enabled", ["three"]),
        ("status=production:disabled&status=development:enabled", ["two", "one"]),
        ("favorite=true", ["two"]),
    ):
        page = open_page(alice, f"{PAGE}?{query}")
        assert page.texts(FLAGS) == found, query
        assert ("No flag matches." in page.text) == (not found)


def test_state_old_finds_flags_that_are_too_old_for_their_type(world: World, alice: Caller) -> None:
    world.flag("new")
    world.flag("old", created_at="2020-01-01T00:00:00Z")
    world.flag("permanent", type="kill-switch", created_at="2020-01-01T00:00:00Z")
    world.flag("stale", created_at="2020-01-01T00:00:00Z", stale_since="now")
    for query, found in (("state=old", ["old"]), ("state=old&state=stale", ["old", "stale"])):
        assert open_page(alice, f"{PAGE}?{query}").texts(FLAGS) == found


def test_chips_show_the_filters_and_remove_each(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, f"{PAGE}?query=c&state=active&state=old&sort=-name&offset=0")
    address = "?query=c&state={}&sort=-name"
    removals = page.all(".//span[@class='chip set']/a")
    assert [link.get("href") for link in removals] == [address.format("old"), address.format("active")]
    assert page.texts(".//span[@class='chip set']") == ["State: active", "State: too old for its type"]
    # The form keeps what is set, and offers the rest.
    assert [box.get("value") for box in page.all(".//form[@role='search']//input[@name='state']")] == [
        *("active", "old", "stale")
    ]
    assert page.links["Type"] == "?query=c&state=active&state=old&sort=type"


def test_flags_are_sorted_and_favorites_come_first(world: World, alice: Caller) -> None:
    for name, day in (("b", 1), ("c", 3), ("a", 2)):
        world.flag(name, created_at=f"2026-01-0{day}T00:00:00Z", type="experiment" if name == "b" else "release")
    assert alice.post(f"{API}/features/b/favorites").status_code == 200
    for sort, found in (("name", "abc"), ("-name", "cba"), ("newest", "cab"), ("oldest", "bac"), ("-type", "acb")):
        assert "".join(open_page(alice, f"{PAGE}?sort={sort}").texts(FLAGS)) == found
    page = open_page(alice, PAGE)
    assert page.texts(FLAGS) == ["b", "a", "c"]
    for query, name, way, other in (
        ("", "Name", "ascending", "?sort=-name"),
        ("?sort=-name", "Name", "descending", "?sort=name"),
        ("?sort=seen", "Last seen", "descending", "?sort=-seen"),
        ("?sort=-seen", "Last seen", "ascending", "?sort=seen"),
    ):
        page = open_page(alice, PAGE + query)
        assert page.texts(f".//th[@aria-sort='{way}']") == [name]
        assert page.links[name] == other


def test_readers_without_permission_see_no_check_boxes(world: World, alice: Caller, victor: Caller) -> None:
    world.flag("checkout")
    assert len(open_page(alice, PAGE).all(".//table//input[@type='checkbox']")) == 2
    page = open_page(victor, PAGE)
    assert page.all(".//table//input") == []
    assert page.all(".//*[@aria-label='Selected flags']") == []
    assert "Its owners or an administrator give roles." in page.text


def test_project_with_many_environments_scrolls_in_a_box(world: World, alice: Caller) -> None:
    names = [f"e{number}" for number in range(9)]
    for name in names:
        fixtures.insert(world.conn, "environments", name=name, type="test", sort_order=9)
    world.flag("one", world.project("apollo", tuple(names)))
    page = open_page(alice, "/projects/apollo")
    assert len(page.texts(".//div[@class='scroll']//th[@class='c-env']")) == 9


def test_wrong_filter_is_explained(world: World, alice: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, f"{PAGE}?tag=beta&query=check", 400)
    assert page.texts(".//*[@id='wrong-tag']") == ["Tag: This must be a type and a value, such as simple:beta."]
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
    assert "New flag" not in open_page(alice, "/projects/old").text
    for page in ("archive", "flags/done"):
        requests = open_page(alice, f"/projects/old/{page}").requests
        assert ("POST", "/api/admin/archive/revive/done") not in requests
        assert ("DELETE", "/api/admin/archive/done") in requests


def test_chosen_flags_are_exported_by_everybody_who_sees_the_project(
    world: World, alice: Caller, victor: Caller, conn: Connection
) -> None:
    for name in ("one", "two", "three"):
        world.strategy(world.flag(name), "production")
    assert [box.get("value") for box in open_page(alice, PAGE).all(".//input[@form='export']")] == [
        "one",
        "three",
        "two",
    ]
    buttons = open_page(victor, PAGE).all(".//button[@form='export']")
    assert [button.get("value") for button in buttons] == ["development", "production"]
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


def test_list_of_flags_shows_the_stage_of_each(world: World, alice: Caller) -> None:
    world.flag("a")
    sight(world, world.flag("b"), "now")
    assert open_page(alice, PAGE).texts(".//tbody//td[@class='c-stage quiet']") == ["initial", "pre-live"]
