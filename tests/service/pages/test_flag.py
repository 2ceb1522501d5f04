"""The page of a flag, live or archived."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from blueprints.pages import flag
from sql.catalog.segments import insert as insert_segment
from tests.support import fixtures, roles
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

PROJECT = "/api/admin/projects/default"
API = f"{PROJECT}/features/checkout"
PAGE = "/projects/default/flags/checkout"
STRATEGIES = f"{API}/environments/development/strategies"
COUNTRY = {"contextName": "country", "operator": "IN", "values": ["NO", "SE"]}


def send(caller: Caller, page: Page, method: str, path: str) -> int:
    """Send the request of a form with a body of its own or none, and return the status."""
    [form] = [one for one in page.all(".//form") if (one.get("data-send"), one.get("data-path")) == (method, path)]
    body = form.get("data-body")
    kwargs: dict[str, Any] = {"json": json.loads(body)} if body else {}
    return caller.request(method, path, **kwargs).status_code


def sends(page: Page, form: str, method: str, path: str) -> bool:
    """Return whether the only form at this place sends this request."""
    return [(one.get("data-send"), one.get("data-path")) for one in page.all(form)] == [(method, path)]


def test_page_shows_environments_with_their_strategies(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout", enabled_in=("production",))
    parameters = {"rollout": "25", "stickiness": "userId", "groupId": "g"}
    strategy = world.strategy(
        flag_id, parameters=parameters, constraints=[COUNTRY, COUNTRY | {"caseInsensitive": True}]
    )
    segment = insert_segment(world.conn, "nordics", [])
    fixtures.add_segment(world.conn, strategy, segment)
    page = open_page(alice, PAGE)
    assert page.heading.startswith("checkout")
    assert page.links["Segment nordics"] == f"/admin/segments/{segment}"
    said = "On for 25 % of users where country is NO or SE and country is NO or SE, in the segment nordics"
    assert said in page.texts(".//ol[@class='strategies']/li")[0]
    assert page.text.index("Depends on") < page.text.index("History")
    assert ("DELETE", f"{STRATEGIES}/{strategy}") in page.requests
    switches = {button.get("aria-label"): button.get("aria-checked") for button in page.all(".//*[@role='switch']")}
    assert switches == {"checkout in development": "false", "checkout in production": "true"}


EVERYBODY: dict[str, Any] = {"name": "default", "parameters": {}}
ROLLOUT = {"parameters": {"rollout": "25", "stickiness": "userId", "groupId": "g"}}
STEPS = [
    ROLLOUT
    | {
        "parameters": ROLLOUT["parameters"] | {"rollout": share},
        "constraints": [{"contextName": "currentTime", "operator": "DATE_AFTER", "value": date, "inverted": False}],
    }
    for share, date in (("10", "2020-01-01T00:00:00.000Z"), ("50", "2099-01-01T00:00:00.000Z"))
]


@pytest.mark.parametrize(
    ("strategies", "enabled", "shown"),
    [
        ([EVERYBODY], False, "off."),
        ([], True, "on for everybody."),
        ([ROLLOUT], True, "on for 25 % of users."),
        (
            [ROLLOUT, ROLLOUT | {"constraints": [COUNTRY]}],
            True,
            "for 25 % of users and for 25 % of users where country is",
        ),
        ([ROLLOUT, EVERYBODY], True, "on for everybody."),
        ([ROLLOUT, EVERYBODY | {"disabled": True}], True, "on for 25 % of users."),
        ([EVERYBODY | {"disabled": True}], True, "on for everybody."),
        (STEPS, True, "on for 10 % of users."),
        (STEPS[1:], True, "on for 50 % of users, from"),
    ],
)
def test_first_line_says_what_is_true_in_production(
    world: World, victor: Caller, strategies: list[dict[str, Any]], enabled: bool, shown: str
) -> None:
    flag_id = world.flag("checkout", enabled_in=("production",) if enabled else ())
    for number, strategy in enumerate(strategies):
        world.strategy(flag_id, "production", sort_order=number, **strategy)
    [line] = open_page(victor, PAGE).texts(".//div[@class='head']/p")
    assert line.startswith(f"In production {'' if shown.startswith('o') else 'on '}{shown}".replace(".", " ."))
    assert line.endswith("Off in development.")


@pytest.mark.parametrize(
    ("strategies", "warned"),
    [
        ([ROLLOUT, EVERYBODY], "Strategy 2 is on for everybody, so strategy 1 has no effect."),
        ([EVERYBODY, ROLLOUT, ROLLOUT], "Strategy 1 is on for everybody, so strategies 2 and 3 have no effect."),
        ([ROLLOUT, EVERYBODY | {"disabled": True}], ""),
        ([ROLLOUT | {"disabled": True}, EVERYBODY], ""),
        ([ROLLOUT, EVERYBODY | {"constraints": [COUNTRY]}], ""),
        (
            [ROLLOUT, EVERYBODY | {"constraints": STEPS[0]["constraints"]}],
            "Strategy 2 is on for everybody, so strategy 1 has no effect.",
        ),
        ([ROLLOUT, EVERYBODY, "variants"], ""),
    ],
)
def test_strategy_for_everybody_makes_others_useless(
    world: World, victor: Caller, strategies: list[Any], warned: str
) -> None:
    flag_id = world.flag("checkout")
    found = [
        world.strategy(flag_id, sort_order=number, **one) for number, one in enumerate(strategies) if one != "variants"
    ]
    if "variants" in strategies:
        # The first strategy decides about the variant.
        fixtures.insert_variant(world.conn, flag_id, "development", found[0], name="blue", weight=1000)
    page = open_page(victor, PAGE)
    assert "".join(page.texts(".//*[@class='notice warn']")) == warned
    assert ("Variant for 25 %" in " ".join(page.text.split())) is ("variants" in strategies)


def test_production_asks_and_is_last(world: World, alice: Caller) -> None:
    world.strategy(world.flag("checkout", enabled_in=("development", "production")), "production", **ROLLOUT)
    order = {"production": 1, "development": 2}
    assert alice.put("/api/admin/environments/sort-order", json=order).status_code == 200
    page = open_page(alice, PAGE)
    assert [row.get("id") for row in page.all(".//table[@class='matrix cards']/tbody/tr")] == [
        "development",
        "production",
    ]
    [asks] = page.all(f".//form[@data-path='{API}/environments/production/off']")
    assert asks.get("data-title") == "Switch off in production?"
    assert "checkout is on for 25 % of users. No application asked for it" in asks.get("data-confirm", "")
    assert "They get" not in asks.get("data-confirm", "")
    [silent] = page.all(f".//form[@data-path='{API}/environments/development/off']")
    assert silent.get("data-confirm") is None
    [copy] = page.all(f".//form[@data-path='{STRATEGIES}']")
    assert alice.post(STRATEGIES, json=json.loads(copy.get("data-body", ""))).status_code == 200
    kept = {name: value for name, value in json.loads(copy.get("data-body", "")).items() if name != "disabled"}
    assert kept.items() <= alice.get(STRATEGIES).json[0].items()


def test_last_strategy_asks_before_it_switches_the_flag_off(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout", enabled_in=("development",))
    strategy = world.strategy(flag_id, **ROLLOUT)
    end = "It is the last one, so the flag is switched off in development."
    asked = [
        form.get("data-confirm", "")
        for form in open_page(alice, PAGE).all(f".//form[@data-path='{STRATEGIES}/{strategy}']")
    ]
    assert [end in question for question in asked] == [True, True]
    world.strategy(flag_id, **ROLLOUT)
    asked = [
        form.get("data-confirm", "")
        for form in open_page(alice, PAGE).all(f".//form[@data-path='{STRATEGIES}/{strategy}']")
    ]
    assert [end in question for question in asked] == [False, False]


def test_ramp_plan_is_one_strategy_with_its_steps(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout", enabled_in=("production",))
    first, _ = (world.strategy(flag_id, "production", sort_order=number, **step) for number, step in enumerate(STEPS))
    page = open_page(alice, PAGE)
    assert page.texts(".//tr[@class='prod']//ol[@class='strategies']/li/span")[0] == "1–2"
    assert page.texts(".//ol[@class='steps small quiet']/li") == ["10 % now", "50 % 1 Jan 2099 00:00 UTC"]
    plan = f"{API}/environments/production/plan/{first}"
    assert {("POST", f"{plan}/stop"), ("POST", f"{plan}/skip")} <= page.requests


def test_plan_is_moved_paused_copied_and_deleted_as_one_strategy(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout")
    narrow = {"constraints": [{"contextName": "userId", "operator": "IN", "values": ["7"]}]}
    others = [world.strategy(flag_id, sort_order=place, **narrow) for place in (0, 3)]
    # All steps are reached.
    old = [{"percent": year, "at": f"20{year}-01-01T00:00:00Z"} for year in (20, 21)]
    plan = f"{API}/environments/development/plan"
    place = alice.post(plan, json={"steps": old, "until": "2099-01-01T00:00:00Z"}).json
    first, second = (one["id"] for one in place if one["id"] not in others)

    def order() -> list[str]:
        return [one["id"] for one in alice.get(STRATEGIES).json]

    def bodies(path: str) -> list[Any]:
        return [
            json.loads(form.get("data-body", ""))
            for form in open_page(alice, PAGE).all(f".//form[@data-path='{path}']")
        ]

    # Another strategy passes the whole plan.
    moves = bodies(f"{STRATEGIES}/set-sort-order")
    assert [[one["id"] for one in sorted(move, key=lambda one: one["sortOrder"])] for move in moves] == [
        [others[1], others[0], first, second],
        [others[1], others[0], first, second],
        [others[0], first, second, others[1]],
        [others[0], first, second, others[1]],
    ]
    for is_paused in (True, False):
        [body] = bodies(plan)
        assert alice.post(plan, json=body).status_code == 200
        assert [one["disabled"] for one in alice.get(STRATEGIES).json] == [False, False, is_paused, is_paused]
    [body] = bodies(plan.replace("development", "production"))
    copied = alice.post(plan.replace("development", "production"), json=body).json
    ignored = {"id": "", "sortOrder": 0}
    assert [one | ignored for one in copied] == [one | ignored for one in alice.get(STRATEGIES).json[2:]]
    assert send(alice, open_page(alice, PAGE), "DELETE", f"{plan}/{first}") == 200
    assert order() == others


def test_buttons_of_a_strategy_work(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout")
    first, second = (world.strategy(flag_id, sort_order=number) for number in range(2))
    page = open_page(alice, PAGE)
    assert page.links["Add strategy in development"] == f"{PAGE}/environments/development/strategies/new"
    edit = f"{PAGE}/environments/development/strategies/{first}"
    assert page.links["Edit strategy 1 in development"] == edit
    bodies = [form.get("data-body", "") for form in page.all(f".//form[@data-path='{STRATEGIES}/set-sort-order']")]
    # Down for the first one, up for the second one.
    assert len(bodies) == 2
    assert alice.post(f"{STRATEGIES}/set-sort-order", json=json.loads(bodies[0])).status_code == 200
    assert [strategy["id"] for strategy in alice.get(STRATEGIES).json] == [second, first]
    assert send(alice, page, "PATCH", f"{STRATEGIES}/{first}") == 200
    page = open_page(alice, PAGE)
    assert "paused" in page.texts(".//ol[@class='strategies']/li")[1]
    assert send(alice, page, "PATCH", f"{STRATEGIES}/{first}") == 200
    assert not alice.get(f"{STRATEGIES}/{first}").json["disabled"]
    assert send(alice, page, "DELETE", f"{STRATEGIES}/{second}") == 200
    assert len(alice.get(STRATEGIES).json) == 1


def test_flag_is_edited_marked_stale_completed_and_archived(world: World, alice: Caller) -> None:
    world.flag("checkout", description="One\nTwo")
    page = open_page(alice, PAGE)
    edit = ".//dialog[@id='edit-flag']//form"
    assert sends(page, edit, "PUT", API)
    assert page.fields(edit).keys() == {"type", "description", "impressionData"}
    body = {"type": "experiment", "description": None, "impressionData": True}
    assert alice.put(API, json=body).status_code == 200
    assert send(alice, page, "PATCH", API) == 200
    page = open_page(alice, PAGE)
    assert page.texts(".//span[@class='state warn']") == ["stale"]
    assert send(alice, page, "PATCH", API) == 200
    assert not alice.get(API).json["stale"]
    complete = ".//dialog[@id='complete-flag']//form"
    assert sends(page, complete, "POST", f"{API}/lifecycle/complete")
    assert page.fields(complete).keys() == {"status", "statusValue"}
    body = {"status": "kept", "statusValue": None}
    assert alice.post(f"{API}/lifecycle/complete", json=body).status_code == 200
    page = open_page(alice, PAGE)
    assert "completed (kept)" in page.text
    assert page.all(complete) == []
    assert send(alice, page, "POST", f"{API}/lifecycle/uncomplete") == 200
    assert send(alice, page, "DELETE", API) == 202


def test_tags_are_added_and_removed(world: World, alice: Caller) -> None:
    world.flag("checkout")
    tags = "/api/admin/features/checkout/tags"
    page = open_page(alice, PAGE)
    form = f".//form[@data-path='{tags}']"
    assert page.fields(form).keys() == {"type", "value"}
    assert alice.post(tags, json={"type": "simple", "value": "a/b ?"}).status_code == 201
    page = open_page(alice, PAGE)
    assert page.texts(".//span[@class='tag']") == ["simple:a/b ?"]
    assert send(alice, page, "DELETE", f"{tags}/simple/a%2Fb%20%3F") == 200
    assert alice.get(tags).json["tags"] == []


def test_links_are_added_and_removed(world: World, alice: Caller, victor: Caller) -> None:
    world.flag("checkout")
    page = open_page(alice, PAGE)
    assert page.fields(f".//form[@data-path='{API}/link']").keys() == {"url", "title"}
    for link in ({"url": "https://example.org/?a=<b>&c", "title": "<b>Wiki"}, {"url": "http://a.example/'\""}):
        assert alice.post(f"{API}/link", json=link).status_code == 204
    for reader in (alice, victor):
        page = open_page(reader, PAGE)
        shown = [(link.get("href"), link.text) for link in page.all(".//a[@rel='noreferrer']")]
        assert shown == [("https://example.org/?a=<b>&c", "<b>Wiki"), ("http://a.example/'\"", "http://a.example/'\"")]
    assert page.all(f".//form[@data-path='{API}/link']") == []
    first, _ = alice.get(API).json["links"]
    assert send(alice, open_page(alice, PAGE), "DELETE", f"{API}/link/{first['id']}") == 204
    assert [link["url"] for link in alice.get(API).json["links"]] == ["http://a.example/'\""]


def test_dependencies_are_added_and_removed(world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("checkout", "cart", "zebra"):
        world.flag(name)
    assert open_page(alice, PAGE).texts(".//datalist/option") == ["cart", "zebra"]
    # The form offers some parents, and accepts all.
    monkeypatch.setattr(flag, "PARENTS_OFFERED", 1)
    page = open_page(alice, PAGE)
    assert page.texts(".//datalist/option") == ["cart"]
    assert [field.tag for field in page.all(".//*[@name='feature']")] == ["input"]
    assert page.fields(f".//form[@data-path='{API}/dependencies']").keys() == {"feature", "enabled", "variants"}
    body = {"feature": "cart", "enabled": True, "variants": ["blue"]}
    assert alice.post(f"{API}/dependencies", json=body).status_code == 200
    page = open_page(alice, PAGE)
    assert "But cart must be on with the variant blue." in page.text
    assert page.links["cart"] == "/projects/default/flags/cart"
    parent = open_page(alice, "/projects/default/flags/cart")
    assert "These flags depend on it: checkout" in parent.text
    [form] = [form for form in parent.all(".//form[@data-confirm]") if form.get("data-title") == "Archive cart?"]
    assert form.get("data-confirm", "").startswith("checkout depends on it: remove this dependency first. ")
    assert send(alice, page, "DELETE", f"{API}/dependencies/cart") == 200


def test_variants_are_shown_and_sent_as_an_array(world: World, alice: Caller) -> None:
    flag_id = world.flag("checkout")
    fixtures.insert_variant(world.conn, flag_id, "production", None, name="blue", weight=1000)
    page = open_page(alice, PAGE)
    assert "The flag in production: blue 100 %" in page.texts(".//summary")
    path = f"{API}/environments/production/variants"
    [form] = page.all(f".//form[@data-path='{path}']")
    assert (form.get("data-send"), form.get("data-only")) == ("PUT", "variants")
    row = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    fields = page.fields(f".//form[@data-path='{path}']//*[@data-item]")
    assert (fields["name"], fields["weight"], fields["stickiness"]) == ("blue", "100", "default")
    assert alice.put(path, json=[row]).status_code == 200
    templates = {template.get("id") for template in page.all(".//template")}
    assert templates >= {button.get("data-template") for button in page.all(".//button[@data-add]")}


def test_usage_is_listed_by_environment_and_application(world: World, victor: Caller) -> None:
    world.flag("checkout", created_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert "No application asked for the flag." in open_page(victor, PAGE).text
    now = datetime.now(UTC)
    report = {"project": "default", "flag": "checkout", "environment": "production", "at": now}
    reports = [report | {"app": f"app-{number:02}", "yes": 100 - number, "no": 1} for number in range(52)]
    reports += [report | {"at": now - timedelta(days=days), "app": "app-00", "yes": 0, "no": 7000} for days in (6, 7)]
    fixtures.report_usage(world.conn, reports)
    page = open_page(victor, PAGE)
    rows = page.texts(".//section[@aria-labelledby='usage']//tbody/tr")
    assert (rows[0], len(rows)) == ("production app-00 100 7,001", 50)
    assert "2 more rows with less usage are not shown." in page.text
    assert "3,874 on · 7,052 off" in page.text
    # Bars of the first day and of today. Those of the days between have no height.
    assert [bar.get("x") for bar in page.all(".//svg[@class='spark']/rect")] == ["0.5", "96.5", "96"]


def test_events_are_sentences_with_a_link_to_all_of_them(alice: Caller) -> None:
    alice.post(f"{PROJECT}/features", json={"name": "checkout"})
    page = open_page(alice, PAGE)
    assert page.texts(".//ol[@class='log']/li/span[1]")[0] == "Alice created it"
    assert page.links["Search the events of this flag"] == "/events?feature=checkout"
    for number in range(25):
        alice.post("/api/admin/features/checkout/tags", json={"type": "simple", "value": f"tag-{number}"})
    page = open_page(alice, PAGE)
    assert len(page.all(".//ol[@class='log']/li")) == 20
    assert any(text.startswith("All ") for text in page.links)


def test_archived_flag_can_be_revived_or_deleted(world: World, alice: Caller, victor: Caller) -> None:
    world.flag("checkout")
    assert alice.delete(API).status_code == 202
    page = open_page(alice, PAGE)
    assert (page.heading, "This flag is archived." in page.text) == ("checkout", True)
    assert page.texts(".//ol[@class='log']/li/span[1]")[0] == "Alice archived it"
    archive = "/api/admin/archive"
    undo = ("POST", f"/api/admin/events/{world.last_event_id()}/undo")
    assert page.requests == {("POST", f"{archive}/revive/checkout"), ("DELETE", f"{archive}/checkout"), undo}
    assert open_page(victor, PAGE).requests == set()
    assert send(alice, page, "POST", f"{archive}/revive/checkout") == 200
    assert alice.delete(API).status_code == 202
    assert send(alice, page, "DELETE", f"{archive}/checkout") == 200
    open_page(alice, PAGE, 404)


def test_page_of_a_protected_environment_offers_no_direct_change(world: World, alice: Caller, eve: Caller) -> None:
    guarded = world.flag("guarded")
    world.strategy(guarded, "production")
    fixtures.insert(world.conn, "flag_dependencies", child_id=guarded, parent_id=world.flag("parent"))
    world.member(world.project("hermes"), eve, 4)
    page = "/projects/default/flags/guarded"
    notice = "Changes here need a change request."
    on = {("POST", f"{PROJECT}/features/guarded/environments/{name}/on") for name in ("development", "production")}
    elsewhere = {
        ("DELETE", f"{PROJECT}/features/guarded"),
        *(
            (method, f"{PROJECT}/features/guarded/{path}")
            for method, path in (("POST", "dependencies"), ("DELETE", "dependencies/parent"), ("POST", "changeProject"))
        ),
    }
    before = open_page(eve, page)
    assert before.requests >= on | elsewhere
    assert notice not in before.text
    world.conn.execute("UPDATE project_environments SET required_approvals = 0 WHERE environment = 'production'")
    after = open_page(eve, page)
    here = f"{PROJECT}/features/guarded/environments/production"
    gone = before.requests - after.requests
    assert {(method, path) for method, path in gone if not path.startswith(here)} == elsewhere
    assert not [path for _, path in after.requests if path.startswith(here)]
    assert after.text.count(notice) == 1
    form = open_page(eve, f"{page}/environments/production/strategies/new")
    assert form.requests == {("POST", f"{PROJECT}/environments/production/change-requests")}
    # Administrators change it directly.
    assert open_page(alice, page).requests >= on


def test_flag_is_cloned(world: World, alice: Caller) -> None:
    world.strategy(world.flag("checkout"))
    form = ".//dialog[@id='clone-flag']//form"
    page = open_page(alice, PAGE)
    assert sends(page, form, "POST", f"{API}/clone")
    assert page.fields(form).keys() == {"name", "replaceGroupId"}
    assert alice.post(f"{API}/clone", json={"name": "copy", "replaceGroupId": True}).status_code == 201
    assert "Edit strategy 1 in development" in open_page(alice, "/projects/default/flags/copy").links


def test_flag_is_moved_to_a_project_where_the_reader_may_move_flags(
    world: World, victor: Caller, alice: Caller
) -> None:
    world.flag("checkout")
    form = ".//dialog[@id='move-flag']//form"
    assert open_page(alice, PAGE).all(form) == []
    for name in ("shop", "bank"):
        world.project(name)
    page = open_page(alice, PAGE)
    assert sends(page, form, "POST", f"{API}/changeProject")
    assert page.fields(form).keys() == {"newProjectId"}
    assert [option.get("value") for option in page.all(f"{form}//option")] == ["bank", "shop"]
    # A member needs the permission in both projects.
    role = roles.make(alice, permissions=[{"name": "MOVE_FEATURE_TOGGLE"}])
    world.member("shop", victor, role)
    assert open_page(victor, PAGE).all(form) == []
    world.member("default", victor, role)
    assert open_page(victor, PAGE).texts(f"{form}//option") == ["Shop"]
    assert alice.post(f"{API}/changeProject", json={"newProjectId": "shop"}).status_code == 200
    assert open_page(alice, "/projects/shop/flags/checkout").heading.startswith("checkout")


def test_former_address_of_a_moved_flag_redirects_to_it(
    world: World, victor: Caller, olga: Caller, alice: Caller
) -> None:
    world.project("shop")
    world.flag("checkout", "apollo")
    world.flag("old", "shop", archived_at="now")
    for caller in (olga, alice):
        response = caller.get(PAGE)
        assert (response.status_code, response.headers["Location"]) == (302, "/projects/apollo/flags/checkout")
    assert victor.get("/projects/default/flags/old").headers["Location"] == "/projects/shop/flags/old"
    # The flag of a private project is unknown to others.
    for path in (PAGE, "/projects/default/flags/none"):
        assert "This project has no such flag." in open_page(victor, path, 404).text


@pytest.mark.parametrize("tab", ["", "/settings", "/strategies/edit?environmentId=production&strategyId=7"])
def test_addresses_of_unleash_redirect_to_the_flag(victor: Caller, tab: str) -> None:
    response = victor.get(f"/projects/default/features/a%2Fb{tab}")
    assert (response.status_code, response.headers["Location"]) == (302, "/projects/default/flags/a%2Fb")
