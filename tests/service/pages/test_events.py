"""The page of events: sentences, differences, filters, paging, and who sees what."""

import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from blueprints.pages.page import time_text
from rules.access import SYSTEM
from rules.event_text import SENTENCES, changes, sentence
from sql.database import Connection
from tests.support.fixtures import insert, record
from tests.support.page import Page, open_page
from tests.support.world import Caller, World
from validators.events import TYPES


def lines(page: Page) -> list[str]:
    """Return the sentence of each event."""
    return page.texts(".//ol[@class='log']/li/span[1]")


def wrote(conn: Connection, type: str, **about: Any) -> None:
    """Write an event of the system into the log."""
    record(conn, type, SYSTEM, **about)


def says(**fields: Any) -> list[tuple[str, str]]:
    """Return the words of the sentence of an event as the search returns it, each with its kind."""
    empty = dict.fromkeys(("environment", "project", "featureName", "data", "preData"))
    return [(word.text or "", word.kind) for word in sentence({"type": "feature-created", **empty, **fields})]


def test_new_password_is_not_a_change_of_the_user() -> None:
    user = {"id": 7, "name": "Ada"}
    assert says(type="user-updated", data=user, preData=user)[0] == ("set the password of the user ", "")
    assert says(type="user-updated", data=user, preData=user | {"name": "A"})[0] == ("changed the user ", "")


def test_page_says_what_happened_with_links(alice: Caller, victor: Caller, world: World) -> None:
    assert "Each change of a flag or a project will appear here." in open_page(victor, "/events").text
    world.flag("checkout")
    flag = "/api/admin/projects/default/features/checkout"
    assert alice.put(flag, json={"description": "new"}).status_code == 200
    assert alice.post(f"{flag}/environments/production/on").status_code == 200
    page = open_page(alice, "/events")
    assert page.heading == "Events"
    sentences = ["switched checkout on in production", "added a strategy to checkout in production", "changed checkout"]
    assert lines(page)[:3] == [f"Alice {text}" for text in sentences]
    assert page.links["checkout"] == "/projects/default/flags/checkout"
    assert page.all(".//ol/li//time")[0].get("datetime", "").endswith("Z")
    change = ".//ol[@class='log']/li[3]//dl"
    assert (page.texts(f"{change}/dt"), page.texts(f"{change}/dd")) == (["description"], ["not set → new"])
    assert page.texts(".//ol[@class='log']/li[2]//summary") != []


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2026-11-26T14:30:00Z", "23 h ago"),
        ("2026-11-25T20:25:00Z", "yesterday 05:25"),
        ("2026-11-25T12:45:00Z", "25 Nov 21:45"),
        ("2026-10-20T12:45:00Z", "20 Oct 2026"),
    ],
)
def test_events_of_other_days_have_the_day_and_the_time_of_the_reader(iso: str, text: str) -> None:
    now = datetime(2026, 11, 27, 23, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert time_text(iso, now, of_event=True) == text


def test_difference_names_nested_properties() -> None:
    before = {"parameters": {"rollout": "10", "groupId": "x"}, "constraints": [{"values": ["a"]}], "title": None}
    after = {"parameters": {"rollout": "25", "groupId": "x"}, "constraints": [{"values": ["a", "b"]}], "title": ""}
    found, more = changes({"preData": before, "data": after})
    assert [(change.name, change.before, change.after) for change in found] == [
        ("parameters.rollout", "10", "25"),
        ("constraints.1.values", "a", "a, b"),
        ("title", None, "empty"),
    ]
    assert more == 0


def test_difference_of_a_large_event_is_cut() -> None:
    found, more = changes({"preData": None, "data": {str(number): "x" * 1000 for number in range(100)}})
    assert (len(found), more) == (60, 40)
    assert found[0].after == "x" * 500 + "…"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "user-deleted", "preData": {"id": 7, "username": "max"}}, "deleted the user max"),
        ({"type": "pat-created", "data": {"id": 7, "description": "ci"}}, "created a personal access token: ci"),
        ({"type": "environment-deleted", "environment": "qa"}, "deleted the environment qa"),
        (
            {"type": "feature-tagged", "featureName": "a", "project": "p", "data": {"type": "simple", "value": "b"}},
            "added the tag simple:b to a",
        ),
        ({"type": "feature-import"}, "recorded feature-import"),
        (
            {"type": "feature-project-change", "featureName": "a", "data": {"oldProject": "p", "newProject": "q"}},
            "moved a from p to q",
        ),
    ],
)
def test_sentence_names_the_record(fields: dict[str, Any], expected: str) -> None:
    assert "".join(text for text, _ in says(**fields)) == expected


def test_sentences_are_of_existing_types_and_deleted_flags_have_no_link() -> None:
    assert SENTENCES.keys() <= TYPES
    words = says(type="feature-deleted", featureName="gone", project="default")
    assert words == [("deleted ", ""), ("gone", "name")]


def test_numbers_of_change_requests_are_links_until_a_draft_is_deleted() -> None:
    data = {"id": 7, "title": "Faster", "scheduledAt": "2026-11-29T03:00:00.000Z"}
    words = says(type="change-request-scheduled", project="default", data=data)
    assert words[1::2] == [("7", "request"), (data["scheduledAt"], "time")]
    assert says(type="change-request-discarded", project="default", preData=data)[1] == ("7", "name")


@pytest.fixture
def log(conn: Connection, world: World) -> None:
    """Events of two projects. The flag pie is deleted."""
    world.project("apples")
    world.flag("other")
    for type, project, flag, data in (
        ("feature-created", "apples", "pie", {"name": "pie", "color": "green"}),
        ("feature-archived", "apples", "pie", None),
        ("feature-created", "default", "other", {"name": "other"}),
    ):
        wrote(conn, type, project=project, feature=flag, data=data)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("type=feature-archived", ["archived pie"]),
        ("project=apples", ["archived pie", "created pie"]),
        ("feature=other", ["created other"]),
        ("feature=the", []),
        ("flag=THE", ["created other"]),
        ("flag=pie", ["archived pie", "created pie"]),
        ("environment=production", []),
        ("query=GREEN", ["created pie"]),
        ("project=apples&type=feature-created&feature=&from=&to=&query=", ["created pie"]),
        ("from=2001-01-01&to=2001-01-02", []),
    ],
)
def test_filters_combine_and_stay_in_the_form(alice: Caller, query: str, expected: list[str]) -> None:
    page = open_page(alice, f"/events?{query}")
    assert [line.split(" ", 1)[1] for line in lines(page)] == expected
    for name, text in (pair.split("=") for pair in query.split("&")):
        assert [control.get("value") or "" for control in page.all(f".//*[@name='{name}']")] in ([text], [])
    chips = page.texts(".//span[@class='chip set']/span")
    assert len(chips) == len([pair for pair in query.split("&") if not pair.endswith("=") and "flag=" not in pair])
    assert (not expected) == ("No event matches." in page.text)


def test_filter_by_creator_offers_users_with_events(alice: Caller, eve: Caller) -> None:
    assert alice.post("/api/admin/projects/default/features", json={"name": "hers"}).status_code == 201
    page = open_page(eve, f"/events?createdBy={alice.id}")
    assert lines(page) == ["Alice created hers"]
    assert page.texts(".//span[@class='chip set']/span") == ["Alice"]
    assert "Alice" in open_page(eve, "/events").texts(".//select[@name='createdBy']/option")
    assert lines(open_page(eve, f"/events?createdBy={eve.id}")) == []


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("from=yesterday", "from", "This must look like 2024-05-31."),
        ("to=2026-02-30", "to", "This must be a valid date."),
        ("from=2026-02-02&to=2026-02-01", "to", "This must not be before the first day."),
        ("type=flag-created", "type", "This must be one of the event types."),
        ("createdBy=alice", "createdBy", "This must be a whole number from 1 to"),
        (f"query={'x' * 1001}", "query", "This must be at most 1000 characters long."),
    ],
)
def test_wrong_filter_has_its_message_beside_the_field(alice: Caller, query: str, field: str, message: str) -> None:
    page = open_page(alice, f"/events?{query}", 400)
    [control] = page.all(f".//*[@name='{field}']")
    assert control.get("aria-invalid") == "true"
    [shown] = page.texts(f".//*[@id='{control.get('aria-describedby')}']")
    assert shown.startswith(message)
    assert lines(page) == []


def test_changes_of_access_name_users_groups_and_roles(world: World, alice: Caller, conn: Connection) -> None:
    nora, group = world.user("Nora"), insert(conn, "groups", name="Crew")["id"]
    for path in (f"users/{nora.id}", f"groups/{group}"):
        given = alice.put(f"/api/admin/projects/default/{path}/roles", json={"roles": [5]})
        assert given.status_code == 200, given.text
    assert "changed the roles of the user Nora in Default" in open_page(alice, "/").text
    assert alice.put(f"/api/admin/user-admin/{nora.id}", json={"rootRole": 2}).status_code == 200
    page = open_page(alice, "/events").text
    assert "changed the roles of the user Nora in default roles none → Member" in page
    assert "changed the roles of the group Crew in default" in page
    assert "rootRole Viewer → Editor" in page


def test_long_logs_have_pages_and_a_download_that_keep_the_filters(
    alice: Caller, conn: Connection, world: World
) -> None:
    world.project("apples")
    for number in range(51):
        wrote(conn, "feature-created", project="apples", feature=f"flag-{number}")
    first = open_page(alice, "/events?project=apples&type=feature-created")
    assert len(lines(first)) == 50
    assert "1 to 50 of 51" in first.text
    assert first.links["Next"] == "/events?project=apples&type=feature-created&offset=50"
    assert "What: feature created" in first.text
    second = open_page(alice, first.links["Next"])
    assert [line.split(" ", 1)[1] for line in lines(second)] == ["created flag-0"]
    assert second.links["Previous"] == "/events?project=apples&type=feature-created&offset=0"
    response = alice.get(second.links["Download (JSON lines)"])
    assert (response.status_code, response.mimetype) == (200, "application/x-ndjson")
    assert response.headers["Content-Disposition"] == 'attachment; filename="events.ndjson"'
    names = [json.loads(line)["featureName"] for line in response.text.splitlines()]
    assert names == [f"flag-{number}" for number in range(51)]


@pytest.mark.parametrize(
    ("zone", "query", "expected"),
    [
        ("Asia/Tokyo", "", ["Sunday 2 March 2025"]),
        ("America/New_York", "", ["Saturday 1 March 2025"]),
        ("Asia/Tokyo", "from=2025-03-02&to=2025-03-02", ["Sunday 2 March 2025"]),
        ("America/New_York", "from=2025-03-02&to=2025-03-02", []),
        ("Asia/Tokyo", "from=0001-01-01&to=9999-12-31", ["Sunday 2 March 2025"]),
        ("Europe", "to=2025-03-01", ["Saturday 1 March 2025"]),
        ("../../etc/passwd", "to=2025-03-01", ["Saturday 1 March 2025"]),
    ],
)
def test_days_are_those_of_the_reader(
    alice: Caller, conn: Connection, zone: str, query: str, expected: list[str]
) -> None:
    conn.execute("DELETE FROM events")
    wrote(conn, "feature-created", project="default", feature="x", created_at="2025-03-01T20:30:00Z")
    headers = {"Cookie": f"zone={zone}"}
    page = Page(alice.get(f"/events?{query}", headers=headers))
    assert page.texts(".//h2[@class='day']") == expected
    clock = {"Asia/Tokyo": "05:30", "America/New_York": "15:30"}.get(zone, "20:30")
    assert page.texts(".//ol[@class='log']//time") == [clock] * len(expected)
    assert len(alice.get(f"/events/download?{query}", headers=headers).text.splitlines()) == len(expected)


def test_undo_is_offered_where_it_can_be_done(alice: Caller, victor: Caller, world: World) -> None:
    world.flag("checkout")
    flag = "/api/admin/projects/default/features/checkout"
    created = alice.post("/api/admin/projects/default/features", json={"name": "other"})
    changed = alice.put(flag, json={"description": "new"})
    path = f"/api/admin/events/{changed.headers['Event-Id']}/undo"
    undos = [form.get("data-path") for form in open_page(alice, "/events").all(".//ol[@class='log']//form")]
    assert (created.status_code, undos) == (201, [path])
    assert [
        form.get("data-path") for form in open_page(alice, "/projects/default/flags/checkout").all(".//ol//form")
    ] == undos
    assert open_page(victor, "/events").all(".//ol[@class='log']//form") == []
    assert alice.post(path).status_code == 200
    page = open_page(alice, "/events")
    assert path not in [form.get("data-path") for form in page.all(".//ol[@class='log']//form")]
    assert lines(page)[0] == "Alice changed checkout (undid a change)"
    assert page.texts(".//ol[@class='log']/li[2]/span[2]") == ["undone"]


@pytest.mark.usefixtures("apollo")
def test_readers_see_only_events_of_projects_that_they_see(
    alice: Caller, victor: Caller, max: Caller, conn: Connection
) -> None:
    wrote(conn, "feature-created", project="apollo", feature="secret-flag", data={"name": "secret-flag"})
    assert lines(open_page(alice, "/events?project=apollo"))
    assert lines(open_page(max, "/events?project=apollo"))
    for path in ("/events", "/events?project=apollo", "/events?query=secret-flag", "/events?feature=secret-flag"):
        page = open_page(victor, path)
        assert "secret-flag" not in "".join(lines(page))
        assert "Apollo" not in page.text
        assert "secret-flag" not in victor.get(path.replace("/events", "/events/download", 1)).text
