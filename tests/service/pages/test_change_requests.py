"""The pages of change requests: the list, one request, and what the reader may do with it."""

import json

import pytest

from rules.change_request_actions import EVERYWHERE
from sql.flags import strategy_order
from sql.people import roles
from tests.support import fixtures, segments
from tests.support.page import Page, open_page, text_of
from tests.support.teams import APPLIER, REVIEWER, Team
from tests.support.wire import watched
from tests.support.world import Caller, World

PAGE = "/projects/shop/change-requests"


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def waiting(caller: Caller) -> dict[str, str]:
    """The lines about change requests in Needs attention, with their links."""
    lines = open_page(caller, "/").all(".//section[@aria-labelledby='attention']//li")
    return {text_of(line): line.find("a").get("href") for line in lines if "Change requests" in text_of(line)}


def test_start_page_counts_the_requests_of_all_projects_that_wait(team: Team, world: World, alice: Caller) -> None:
    for _ in range(2):
        team.sent()
    other = Team(world, "other")
    other.sent()
    draft = other.propose(other.change()).json["id"]
    other.move(draft, "In review", "Approved")
    world.conn.execute("UPDATE change_requests SET created_by_user_id = %s WHERE project_id = 'shop'", [alice.id])
    # Authors do not review their own requests.
    path = "/projects/other/change-requests"
    assert waiting(alice) == {"Change requests wait for you, most of them in Other 2": path}
    world.project("empty")
    assert waiting(other.people["reviewer"]) == {"Change requests wait for you 1": path}
    assert waiting(world.user("Otto")) == {}


def test_list_says_for_whom_a_request_waits(team: Team) -> None:
    number = team.sent()
    people = team.people
    page = open_page(people["reviewer"], PAGE)
    assert page.links[f"Change request {number}"] == f"{PAGE}/{number}"
    assert "In review Waits for your approval." in page.text
    assert page.links["Change requests 1"] == PAGE
    assert "1 open change request, 1 of them waits for you" in page.text
    assert "Waits for your approval." in open_page(people["reviewer"], f"{PAGE}/{number}").text
    assert open_page(people["reviewer"], "/events").links[str(number)] == f"{PAGE}/{number}"
    assert waiting(people["reviewer"]) == {"Change requests wait for you 1": PAGE}
    assert waiting(people["author"]) == waiting(people["applier"]) == {}
    assert "Waits for you" not in open_page(people["author"], PAGE).text
    assert "Waits for you" not in open_page(people["applier"], PAGE).text
    team.move(number, "Approved")
    assert "Waits for you" not in open_page(people["reviewer"], PAGE).text
    assert "Approved Waits for you to apply it." in open_page(people["applier"], PAGE).text
    assert "Waits for you to apply it." in open_page(people["applier"], f"{PAGE}/{number}").text
    assert "Waits for somebody who may apply it." in open_page(people["reviewer"], f"{PAGE}/{number}").text
    assert waiting(people["applier"]) == {"Change requests wait for you 1": PAGE}
    assert open_page(people["author"], f"{PAGE}/closed").texts(".//tbody//td") == []
    team.move(number, "Applied")
    assert open_page(people["author"], PAGE).texts(".//tbody//td") == []
    assert f"Change request {number}" in open_page(people["author"], f"{PAGE}/closed").text


def test_list_shows_stopped_schedules_with_their_reasons(team: Team, world: World) -> None:
    stop = "UPDATE change_requests SET schedule_status = %s, schedule_reason = %s WHERE id = %s"
    for status in ("suspended", "failed"):
        world.conn.execute(stop, [status, f"Because it {status}.", team.sent("Approved", "Scheduled")])
    team.sent("Approved", "Scheduled")
    page = open_page(team.people["member"], PAGE)
    assert page.texts(".//tbody//span[@class='state bad']") == ["Failed", "Suspended"]
    assert page.texts(".//tbody//span[@class='state info']") == ["Scheduled"]
    reasons = ["Failed Because it failed.", "Suspended Because it suspended."]
    assert page.texts(".//tbody//td[@data-label='State']")[1:] == reasons


def test_each_page_of_the_list_reads_its_requests_without_payloads(team: Team, world: World) -> None:
    number = team.sent("Cancelled")
    Team(world, "other").sent("Cancelled")
    team.propose(team.change(), team.change("two"))
    world.conn.execute("UPDATE change_request_changes SET payload = to_json(repeat('x', 300000))")
    insert = """
        INSERT INTO change_requests (project_id, environment, title, state, min_approvals, created_by_user_id)
        SELECT 'shop', 'production', 'Number ' || number, 'In review', 1, %s FROM generate_series(1, 300) AS number
    """
    author = team.people["author"]
    world.conn.execute(insert, [author.id])
    with watched(world.conn) as wire:
        page = open_page(author, PAGE)
        assert "has 2 changes." in open_page(author, "/projects/shop").text
        closed = open_page(author, f"{PAGE}/closed")
    assert wire.received < 100_000
    assert ("301 open change requests" in page.text, page.links["Next"]) == (True, "?offset=50")
    last = open_page(author, f"{PAGE}?offset=300").texts(".//tbody//td")
    assert last[1:3] == ["shop-one, shop-two", "production"]
    assert "no change request on this page" in open_page(author, f"{PAGE}?offset=350").text
    # More than 300 newer ones are open.
    assert ("1 closed change request" in closed.text, f"Change request {number}" in closed.links) == (True, True)


@pytest.mark.parametrize(
    ("steps", "person", "buttons"),
    [
        ((), "author", {"Send to review", "Rename", "Delete draft…"}),
        (("In review",), "author", {"Withdraw to draft", "Cancel…", "Rename"}),
        (("In review",), "reviewer", {"Approve", "Reject…"}),
        (("In review",), "applier", set()),
        (("In review", "Approved"), "reviewer", {"Reject…"}),
        (("In review", "Approved"), "applier", {"Apply…", "Schedule…"}),
        (("In review", "Approved", "Scheduled"), "applier", {"Apply…", "Schedule…"}),
        (("In review", "Approved", "Scheduled"), "author", {"Cancel…", "Rename"}),
        (("In review", "Approved", "Applied"), "applier", set()),
        (("In review", "Approved", "Applied"), "author", set()),
    ],
)
def test_buttons_are_those_of_the_person_and_the_state(
    team: Team, steps: tuple[str, ...], person: str, buttons: set[str]
) -> None:
    number = team.propose().json["id"]
    if steps:
        team.move(number, *steps)
    page = open_page(team.people[person], f"{PAGE}/{number}")
    assert set(page.texts(".//div[@class='head']//button")) == buttons


def test_one_button_is_the_main_one_and_applying_asks(team: Team) -> None:
    team.join("lead", *REVIEWER, *APPLIER)
    number = team.sent("Approved", "Scheduled")
    page = open_page(team.people["lead"], f"{PAGE}/{number}")
    assert page.texts(".//div[@class='head']//button[@class='main']") == []
    assert page.texts(".//div[@class='head']//button[@class='main production']") == ["Apply…"]
    [form] = page.all(".//form[@data-yes='Apply']")
    assert form.get("data-confirm") == "All changes are made in production at once."
    assert "Approve" in page.texts(".//div[@class='head']//button")


def test_authors_have_the_names_that_events_show(team: Team, world: World) -> None:
    author = team.people["author"]
    world.conn.execute("UPDATE users SET name = 'Ann Author' WHERE id = %s", [author.id])
    number = team.sent()
    for path in (PAGE, f"{PAGE}/{number}"):
        assert "Ann Author" in open_page(team.people["member"], path).text


def test_direct_change_says_that_it_bypasses_change_requests(team: Team, world: World, alice: Caller) -> None:
    world.strategy(team.flags["one"], "production")
    team.join("skipper", "SKIP_CHANGE_REQUEST", "UPDATE_FEATURE_ENVIRONMENT")
    flag, people = "/projects/shop/flags/shop-one", team.people

    def said(caller: Caller, path: str = flag) -> tuple[int, list[str]]:
        """How often the page says that direct changes are possible, and the titles of the questions that say it."""
        page = open_page(caller, path)
        forms = [form for form in page.all(".//form") if "made directly, without one." in form.get("data-confirm", "")]
        return page.text.count("You may make them directly."), [form.get("data-title", "") for form in forms]

    acts = ("Switch on", "Pause strategy 1", "Delete strategy 1")
    assert said(alice) == (1, [f"{act} in production?" for act in acts])
    assert said(people["skipper"]) == (1, ["Switch on in production?"])
    assert said(people["author"]) == (0, [])
    assert said(alice, "/projects/shop")[1][-1] == "Switch on in production?"
    assert "made directly, without one." in open_page(alice, f"{flag}/compare").response.text
    team.require(None)
    assert said(alice) == (0, [])


def test_flag_page_names_the_requests_that_will_change_it(team: Team) -> None:
    def said(flag: str) -> list[str]:
        page = open_page(team.people["author"], f"/projects/shop/flags/{flag}")
        return [text for text in page.texts(".//div[@class='notice info']") if text.startswith("A change request")]

    number = team.sent()
    text = "A change request is {1}: Change request {0} . It changes this flag in production when it is applied."
    assert said("shop-one") == [text.format(number, "in review")]
    assert said("shop-two") == []
    others = [team.sent() for _ in range(6)]
    team.move(others[-1], "Approved")
    shown = [text.format(others[-1], "approved"), *(text.format(one, "in review") for one in (number, *others[:3]))]
    assert said("shop-one") == shown
    page = open_page(team.people["author"], "/projects/shop/flags/shop-one")
    [more] = [link for link in page.all(".//p/a") if "more" in text_of(link)]
    assert (text_of(more), more.get("href")) == ("and 2 more", "/projects/shop/change-requests?query=shop-one")
    team.sent(changes=("two",))
    listed = open_page(team.people["author"], more.get("href", ""))
    assert listed.texts(".//p[@class='bar']/span") == ["7 open change requests of shop-one"]
    assert len(listed.texts(".//td[@class='name']")) == 7
    for one in others:
        team.move(one, "Cancelled")
    team.move(number, "Approved")
    assert said("shop-one") == [text.format(number, "approved")]
    team.move(number, "Applied")
    assert said("shop-one") == []


def test_former_member_cancels_their_draft(team: Team, world: World) -> None:
    number = team.propose().json["id"]
    world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [team.people["author"].id])
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    assert page.texts(".//div[@class='head']//button") == ["Cancel…"]
    assert ("PUT", f"/api/admin{PAGE}/{number}/state") in page.requests
    team.move(number, "Cancelled")


def test_open_requests_are_shown_where_change_requests_are_off(team: Team) -> None:
    number = team.sent("Approved")
    team.propose()
    team.require(None)
    assert "Waits for you to apply it." in open_page(team.people["applier"], PAGE).text
    page = open_page(team.people["author"], "/projects/shop/flags/shop-one")
    assert "Your draft in production has 1 change." in page.text
    assert "Add to change request" not in page.text
    team.move(number, "Applied")


def test_strategy_is_shown_as_applying_stores_it(team: Team, world: World) -> None:
    world.conn.execute("UPDATE projects SET default_stickiness = 'random' WHERE id = 'shop'")
    strategy = world.strategy(team.flags["one"], "production", name="userWithId", parameters={"userIds": "7"})
    rollout = {"name": "flexibleRollout", "parameters": {"rollout": "25"}}
    said, after = "Change a strategy : On for the user 7", "On for 25 % of requests"
    changes = [
        ("updateStrategy", {"id": strategy, "name": "flexibleRollout"}, f"{said} → On for everybody"),
        ("updateStrategy", {"id": strategy, **rollout}, f"Change a strategy : On for everybody → {after}"),
        ("addStrategy", rollout, f"Add a strategy : {after}"),
    ]
    bodies = [{"feature": "shop-one", "action": action, "payload": payload} for action, payload, _ in changes]
    number = team.propose(*bodies).json["id"]
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    assert page.texts(".//ol[@class='panel lines']/li/div/span") == [text for _, _, text in changes]
    # Those of the old type go, and the new type gets its defaults.
    assert page.text.count("userIds 7 → not set share not set") == page.text.count("stickiness not set → random") == 1


@pytest.mark.parametrize(
    ("moved", "place", "text"),
    [(0, 100, "1, 2, 3 → 2, 3, 1"), (0, 10, "1, 2, 3 → 2, 1, 3"), (2, 5, "1, 2, 3 → 3, 1, 2")],
)
def test_order_of_strategies_is_shown_as_applying_leaves_it(
    team: Team, world: World, moved: int, place: int, text: str
):
    # The first is the newest one. Equal places are in the order of creation.
    days = [f"2026-01-0{3 - number}" for number in range(3)]
    ids = [
        world.strategy(team.flags["two"], "production", sort_order=5 + 5 * number, created_at=day)
        for number, day in enumerate(days)
    ]
    change = {"feature": "shop-two", "action": "reorderStrategy", "payload": [{"id": ids[moved], "sortOrder": place}]}
    number = team.propose(change).json["id"]
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    assert page.texts(".//ol[@class='panel lines']/li/div/span") == [f"Change the order of strategies : {text}"]
    team.move(number, "In review", "Approved", "Applied")
    order = strategy_order.ids(world.conn, team.flags["two"], "production")
    assert ", ".join(str(ids.index(one) + 1) for one in order) == text[-7:]


def test_share_of_a_rollout_is_only_in_the_sentence(team: Team, world: World) -> None:
    parameters = {"rollout": "50", "stickiness": "default", "groupId": "shop-one"}
    strategy = world.strategy(team.flags["one"], "production", name="flexibleRollout", parameters=parameters)
    payload = {"id": strategy, "name": "flexibleRollout", "title": "Beta", "parameters": parameters | {"rollout": "25"}}
    number = team.propose({"feature": "shop-one", "action": "updateStrategy", "payload": payload}).json["id"]
    [change] = open_page(team.people["author"], f"{PAGE}/{number}").texts(".//ol[@class='panel lines']/li")
    assert "On for 50 % of users → On for 25 % of users" in change
    assert ("title not set → Beta" in change, "share" in change) == (True, False)


def test_parent_is_shown_once_when_a_change_replaces_it(team: Team, world: World) -> None:
    fixtures.insert(world.conn, "flag_dependencies", child_id=team.flags["two"], parent_id=team.flags["one"])
    payload = {"feature": "shop-one", "enabled": False}
    number = team.propose({"feature": "shop-two", "action": "addDependency", "payload": payload}).json["id"]
    text = open_page(team.people["author"], f"{PAGE}/{number}").text
    assert "shop-one must be on → shop-one must be off" in text


def test_changes_are_shown_in_the_words_of_the_flag(team: Team, world: World) -> None:
    first, last = (
        world.strategy(team.flags["two"], "production", sort_order=place, parameters={"rollout": share})
        for place, share in enumerate(("25", "50"))
    )
    variants = [{"name": name, "weight": 500} for name in ("red", "blue")]
    order = [{"id": last, "sortOrder": 1}, {"id": first, "sortOrder": 2}]
    changes = [
        ("updateEnabled", {"enabled": False}, "Switch off"),
        ("addStrategy", {"name": "default"}, "Add a strategy : On for everybody"),
        (
            "updateStrategy",
            {"id": first, "parameters": {"rollout": "30"}},
            "Change a strategy : On for 25 % of users → On for 30 % of users",
        ),
        ("updateStrategy", {"id": first, "title": "Half"}, "Change a strategy : On for 30 % of users"),
        ("deleteStrategy", {"id": last}, "Delete a strategy : On for 50 % of users"),
        ("reorderStrategy", order, "Change the order of strategies : 1, 2 → 2, 1"),
        ("patchVariant", {"variants": variants}, "Change the variants of the flag : none → blue 50 %, red 50 %"),
        ("addDependency", {"feature": "shop-one"}, "Add a parent flag in all environments : shop-one must be on"),
        ("deleteDependency", None, "Remove all parent flags in all environments : shop-one must be on"),
        ("archiveFeature", None, "Archive the flag in all environments"),
    ]
    bodies = [{"feature": "shop-two", "action": action, "payload": payload} for action, payload, _ in changes]
    number = team.propose(*bodies).json["id"]
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    texts = page.texts(".//ol[@class='panel lines']/li/div/span")
    assert texts == [text for _, _, text in changes]


NORWAY = {"contextName": "country", "operator": "IN", "values": ["NO"]}
SPLIT = [{"name": name, "weight": 500} for name in ("red", "blue")]


def test_later_change_is_shown_against_what_the_earlier_ones_leave(team: Team, world: World) -> None:
    world.conn.execute("INSERT INTO context_fields (name) VALUES ('country')")
    parameters = {"rollout": "70", "stickiness": "default", "groupId": "shop-one"}
    strategy = world.strategy(team.flags["one"], "production", name="flexibleRollout", parameters=parameters)
    segment = {"id": fixtures.insert(world.conn, "segments", name="Staff", constraints="[]")["id"], "name": "Staff"}
    fixtures.insert(world.conn, "flag_dependencies", child_id=team.flags["one"], parent_id=team.flags["two"])
    users, some = "On for 70 % of users", "On for 70 % of users where country is NO"
    changes = [
        ("updateStrategy", {"id": strategy, "constraints": [NORWAY]}, f"Change a strategy : {users} → {some}"),
        ("updateStrategy", {"id": strategy, "title": "Norway only"}, f"Change a strategy : {some} → {users}"),
        ("deleteStrategy", {"id": strategy}, f"Delete a strategy : {users}"),
        ("updateStrategy", {"id": strategy, "title": "Again"}, f"Change a strategy : {users}"),
        ("patchVariant", {"variants": SPLIT}, "Change the variants of the flag : none → blue 50 %, red 50 %"),
        ("patchVariant", {"variants": []}, "Change the variants of the flag : blue 50 %, red 50 % → none"),
        ("deleteDependency", None, "Remove all parent flags in all environments : shop-two must be on"),
        (
            "addDependency",
            {"feature": "shop-two", "enabled": False},
            "Add a parent flag in all environments : shop-two must be off",
        ),
    ]
    of_segment = [
        ("updateSegment", segment | {"constraints": [NORWAY]}, "Change the segment : all users → country is NO"),
        ("updateSegment", segment | {"constraints": []}, "Change the segment : country is NO → all users"),
        ("deleteSegment", {"id": segment["id"]}, "Delete the segment : all users"),
        ("updateSegment", segment | {"constraints": [NORWAY]}, "Change the segment : all users → country is NO"),
    ]
    bodies = [{"feature": "shop-one", "action": action, "payload": payload} for action, payload, _ in changes]
    bodies += [{"action": action, "payload": payload} for action, payload, _ in of_segment]
    number = team.propose(*bodies).json["id"]
    texts = open_page(team.people["author"], f"{PAGE}/{number}").texts(".//ol[@class='panel lines']/li/div/span")
    assert texts == [text for _, _, text in changes + of_segment]


def test_forms_begin_with_what_the_own_draft_leaves(team: Team, world: World) -> None:
    world.conn.execute("INSERT INTO context_fields (name) VALUES ('country')")
    strategy = world.strategy(team.flags["one"], "production", name="default")
    flag, author = "/projects/shop/flags/shop-one", team.people["author"]
    form = f"{flag}/environments/production/strategies/{strategy}"
    assert "Your draft" not in open_page(author, form).text
    for action, payload in (
        ("updateStrategy", {"id": strategy, "title": "Norway", "constraints": [NORWAY]}),
        ("patchVariant", {"variants": SPLIT}),
    ):
        assert team.propose({"feature": "shop-one", "action": action, "payload": payload}).status_code == 200
    page = open_page(author, form)
    assert "Your draft changes this strategy." in page.text
    assert page.fields()["title"] == "Norway"
    assert page.texts(".//output[@id='preview']")[0].startswith("On for users where country is NO")
    page = open_page(author, flag)
    bodies = [json.loads(one.get("data-body", "")) for one in page.all(".//form[@data-body]")]
    [pause] = [one["payload"] for one in bodies if one.get("action") == "updateStrategy"]
    assert [one["contextName"] for one in pause["constraints"]] == ["country"]
    assert "Your draft changes these variants." in page.text
    assert page.all(".//input[@value='red']")
    for path in (form, flag):
        assert "Your draft changes" not in open_page(team.people["member"], path).text


def test_long_values_are_shown_to_their_end(team: Team) -> None:
    values = [f"customer-{number}" for number in range(200)]
    constraint = {"contextName": "userId", "operator": "IN", "values": values}
    payload = {"name": "default", "constraints": [constraint]}
    number = team.propose({"feature": "shop-two", "action": "addStrategy", "payload": payload}).json["id"]
    assert "customer-199" in open_page(team.people["author"], f"{PAGE}/{number}").text


def test_page_of_a_flag_proposes_what_the_reader_may_not_change(team: Team, world: World, alice: Caller) -> None:
    for place in ("production", "production", "development"):
        world.strategy(team.flags["two"], place)
    fixtures.insert(world.conn, "flag_dependencies", child_id=team.flags["two"], parent_id=team.flags["one"])
    path = "/api/admin/projects/shop/environments/production/change-requests"
    author = team.people["author"]
    page = open_page(author, "/projects/shop/flags/shop-two")
    forms = [form for form in page.all(".//form[@data-body]") if form.get("data-path") == path]
    bodies = [json.loads(form.get("data-body", "")) for form in forms]
    actions = [
        "archiveFeature",
        "addStrategy",
        "updateEnabled",
        "deleteDependency",
        *["deleteStrategy", "updateStrategy"] * 2,
    ]
    assert sorted(body["action"] for body in bodies) == sorted([*actions, "reorderStrategy", "reorderStrategy"])
    # To move the first strategy down is to move the second one up.
    for body in [one for number, one in enumerate(bodies) if one not in bodies[:number]]:
        assert author.post(path, json=body).status_code == 200, body
    notice = "Your draft in production has 9 changes. Send it to review when it is complete."
    assert notice in open_page(author, "/projects/shop/flags/shop-one").text
    assert notice in open_page(author, "/projects/shop").text
    assert notice not in open_page(team.people["member"], "/projects/shop").text
    proposals = {json.loads(form.get("data-proposal", ""))["action"] for form in page.all(".//form[@data-proposal]")}
    assert proposals == {"patchVariant", "addDependency"}
    outsider = open_page(world.user("Otto"), "/projects/shop/flags/shop-two")
    assert [request for request in outsider.requests if request[1] == path] == []
    admin = open_page(alice, "/projects/shop/flags/shop-two")
    assert [text for text in admin.texts(".//button[@data-proposal]")] == ["Add to change request"] * 2


def test_form_of_a_strategy_proposes_beside_or_instead_of_saving(team: Team, world: World, alice: Caller) -> None:
    strategy = world.strategy(team.flags["one"], "production")
    path = "/projects/shop/flags/shop-one/environments/production/strategies"
    for end, action in (("new", "addStrategy"), (strategy, "updateStrategy")):
        form = open_page(team.people["author"], f"{path}/{end}")
        assert form.texts(".//div[@class='foot']//button") == ["Add to change request"]
        assert action in form.all(".//form")[0].get("data-proposal", "")
        assert "Change requests cannot contain one. Propose one share after another" in form.text
        buttons = open_page(alice, f"{path}/{end}").texts(".//div[@class='foot']//button")
        assert buttons == ["Add to change request", "Save in production"]
    open_page(world.user("Otto"), f"{path}/new", 403)


def test_segment_in_use_is_changed_by_a_change_request(team: Team, world: World, alice: Caller) -> None:
    segment = segments.make(alice, project="shop")
    strategy = world.strategy(team.flags["one"], "production")
    fixtures.insert(world.conn, "strategy_segments", strategy_id=strategy, segment_id=segment)
    page = open_page(team.people["author"], f"/admin/segments/{segment}")
    assert page.texts(".//div[@class='foot']//button") == ["Add to change request of shop in production"]
    payload = {"id": segment, "name": "Staff", "project": "shop", "constraints": []}
    proposal = json.loads(page.all(".//form[@data-proposal]")[0].get("data-proposal", ""))
    number = team.propose(proposal | {"payload": payload}).json["id"]
    assert open_page(world.user("Otto"), f"/admin/segments/{segment}").requests == set()
    assert "Change the segment" in open_page(team.people["author"], f"{PAGE}/{number}").text


def test_conflict_and_default_strategy_are_shown(team: Team, world: World) -> None:
    number = team.propose(team.change("one"), team.change("two")).json["id"]
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    assert page.text.count("so it gets the default strategy.") == 2
    strategy = world.strategy(world.flag("shop-three", "shop", enabled_in=("production",)), "production")
    team.propose({"feature": "shop-three", "action": "deleteStrategy", "payload": {"id": strategy}})
    assert "so it is switched off." in open_page(team.people["author"], f"{PAGE}/{number}").text
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'shop-two'")
    page = open_page(team.people["author"], f"{PAGE}/{number}")
    assert page.texts(".//div[@class='notice bad']") == ["The flag is archived."]


def test_proposal_is_no_change_of_the_environment(team: Team) -> None:
    team.sent()
    page = open_page(team.people["author"], "/projects/shop/flags/shop-one")
    assert any("proposed a change of it" in text for text in page.texts(".//ol[@class='log']/li"))
    assert page.texts(".//th/div[@class='small quiet']") == []
    assert "Your draft" not in page.text


def protect_everywhere(team: Team) -> None:
    """Switch change requests on in all environments of the project."""
    team.world.conn.execute("UPDATE project_environments SET required_approvals = 1 WHERE project_id = 'shop'")


def proposals(page: Page) -> dict[str, str]:
    """Return where the page proposes the changes of all environments, by action."""
    forms = [form for form in page.all(".//form[@data-send]") if form.get("data-path", "").endswith("/change-requests")]
    actions = {json.loads(form.get("data-body") or form.get("data-proposal", ""))["action"]: form for form in forms}
    places = {action: form.get("data-path", "").split("/")[-2] for action, form in actions.items()}
    return {action: place for action, place in places.items() if action in EVERYWHERE}


def test_changes_of_all_environments_are_proposed_where_the_reader_can(team: Team, world: World) -> None:
    fixtures.insert(world.conn, "flag_dependencies", child_id=team.flags["two"], parent_id=team.flags["one"])
    path, cannot = "/projects/shop/flags/shop-two", "SKIP_CHANGE_REQUEST there can archive the flag"
    member, skipper = team.people["member"], team.join("skipper", "SKIP_CHANGE_REQUEST")
    for person in (member, skipper):
        world.member("shop", person)
    assert proposals(open_page(member, path)) == dict.fromkeys(EVERYWHERE, "production")
    text = open_page(member, path).text
    places = [
        text.index(part) for part in ("In production", "Environments", "SKIP_CHANGE_REQUEST there can move the flag")
    ]
    assert places == sorted(places)
    protect_everywhere(team)
    assert proposals(open_page(member, path)) == {}
    assert cannot in open_page(member, path).text
    assert proposals(open_page(skipper, path)) == dict.fromkeys(EVERYWHERE, "development")
    assert cannot not in open_page(skipper, path).text


def test_pages_say_why_a_button_is_left_out(team: Team, world: World, alice: Caller) -> None:
    member, path = team.people["member"], "/projects/shop"
    world.member("shop", member)
    fixtures.mark_stale(world.conn, team.flags["one"])
    for page in (path, f"{path}/cleanup"):
        assert "are on in production: propose on the page of a flag to archive it." in open_page(member, page).text
        assert "propose" not in open_page(alice, page).text
    for page in (path, f"{path}/compare"):
        assert "are on in production: propose changes on the page of a flag." in open_page(member, page).text
    otto = world.user("Otto")
    nothing = "change nothing. Its owners or an administrator give roles."
    for mode, text in (("open", "propose changes on the page of a flag"), ("protected", "only members of the project")):
        world.conn.execute("UPDATE projects SET mode = %s WHERE id = 'shop'", [mode])
        assert f"are on in production: {text}" in open_page(otto, path).text
        assert (nothing in open_page(otto, path).text) == (mode == "protected")
        start = "You can read, and propose changes" if mode == "open" else "You can read, but change nothing yet."
        assert start in open_page(otto, "/").text
    removal = open_page(alice, f"{path}/environments")
    assert "Switch change requests off in Settings to remove it." in removal.text
    path = "/api/admin/projects/shop/environments"
    assert [one for method, one in removal.requests if method == "DELETE"] == [f"{path}/development"]
    protect_everywhere(team)
    assert "to archive flags, you need SKIP_CHANGE_REQUEST there." in open_page(member, "/projects/shop").text


def test_request_that_reaches_other_protected_environments_has_no_button_to_apply(team: Team) -> None:
    number = team.propose({"feature": "shop-two", "action": "archiveFeature"}).json["id"]
    team.move(number, "In review", "Approved")
    page = open_page(team.people["applier"], f"{PAGE}/{number}")
    assert "You cannot apply it: It also changes flags in development. It needs the permission DELETE_FE" in page.text
    team.world.member("shop", team.people["applier"])
    assert "Apply…" in open_page(team.people["applier"], f"{PAGE}/{number}").texts(".//button")
    protect_everywhere(team)
    page = open_page(team.people["applier"], f"{PAGE}/{number}")
    assert {"Apply…", "Schedule…"} & set(page.texts(".//button")) == set()
    assert "You cannot apply it: It also changes flags in development" in page.text
    assert "You cannot apply it" not in open_page(team.people["author"], f"{PAGE}/{number}").text
    # Its change cannot be undone without a change request.
    number = team.sent("Approved")
    forms = open_page(team.people["applier"], f"{PAGE}/{number}").all(".//form[@data-final]/button")
    assert [text_of(button) for button in forms] == ["Apply…"]


def test_proposal_of_a_segment_leaves_its_project(team: Team, world: World, alice: Caller) -> None:
    shared = segments.make(alice)
    strategy = world.strategy(team.flags["one"], "production")
    fixtures.insert(world.conn, "strategy_segments", strategy_id=strategy, segment_id=shared)
    path = f"/admin/segments/{shared}"
    form = open_page(team.people["author"], path)
    assert "project" not in form.fields()
    assert '"project": null' in form.all(".//form")[0].get("data-proposal", "")
    assert "A change request leaves it as it is." in open_page(alice, path).text
    outsider = segments.curator(world, "shop")
    world.conn.execute("UPDATE segments SET project_id = 'shop'")
    assert open_page(outsider, path).texts(".//div[@class='foot']//button") == [
        "Add to change request of shop in production"
    ]
    role = roles.insert(world.conn, "Editor of segments", type="root-custom")
    fixtures.allow(world.conn, role, "UPDATE_SEGMENT")
    stranger = open_page(world.user("Stella", role), path)
    assert (stranger.requests, "Ask a member of these projects" in stranger.text) == (set(), True)
