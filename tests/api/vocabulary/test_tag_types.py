"""Types of tags: made, read, changed and removed over HTTP."""

from typing import Any

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.world import Caller, World, refused

PATH = "/api/admin/tag-types"
TEAM = {"name": "team", "description": "Wer für die Flag einsteht", "icon": "🚀"}


def make(caller: Caller) -> None:
    """Let a caller make the type team."""
    response = caller.post(PATH, json=TEAM)
    assert (response.status_code, response.json, response.headers["Location"]) == (201, TEAM, "tag-types/team")


def test_a_type_is_created_and_recorded(world: World, eve: Caller) -> None:
    since = world.last_event_id()
    make(eve)
    assert events(world, since) == [event("tag-type-created", eve, data=TEAM)]
    assert eve.get(f"{PATH}/team").json == {"version": 1, "tagType": TEAM}
    simple = {"name": "simple", "description": "A plain tag.", "icon": None}
    assert eve.get(PATH).json == {"version": 1, "tagTypes": [simple, TEAM]}


def test_a_type_needs_nothing_but_a_name(alice: Caller) -> None:
    assert alice.post(PATH, json={"name": "ab"}).json == {"name": "ab", "description": "", "icon": None}


def test_a_name_is_there_once(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    for path in (PATH, f"{PATH}/validate"):
        assert "name" in refused(alice.post(path, json={"name": "simple"}), 409, "NameExistsError")
    answer = alice.post(f"{PATH}/validate", json={"name": "Simple"})
    assert answer.json == {"valid": True, "tagType": {"name": "Simple", "description": "", "icon": None}}
    assert (len(alice.get(PATH).json["tagTypes"]), world.events(since)) == (1, [])


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a"},
        {"name": "x" * 51},
        {"name": "a b"},
        {"name": None},
        {"description": 1},
        {"icon": 1},
        {"x": 1},
    ],
)
def test_an_invalid_type_is_refused(world: World, alice: Caller, change: dict[str, Any]) -> None:
    since = world.last_event_id()
    for path in (PATH, f"{PATH}/validate"):
        assert next(iter(change)) in refused(alice.post(path, json=TEAM | change))
    assert (len(alice.get(PATH).json["tagTypes"]), world.events(since)) == (1, [])


def test_a_change_keeps_the_fields_that_the_body_omits(world: World, eve: Caller) -> None:
    make(eve)
    since = world.last_event_id()
    after = TEAM | {"icon": None}
    assert eve.put(f"{PATH}/team", json={"icon": None}).status_code == 200
    assert eve.get(f"{PATH}/team").json["tagType"] == after
    assert events(world, since) == [event("tag-type-updated", eve, data=after, pre_data=TEAM)]
    for change in ({}, {"icon": None}, {"description": TEAM["description"]}, {"color": "#ff0000"}):
        assert eve.put(f"{PATH}/team", json=change).status_code == 200
    assert len(world.events(since)) == 1


def test_a_type_goes_with_its_tags_and_their_uses(world: World, alice: Caller) -> None:
    make(alice)
    flag = world.flag("f")
    fixtures.tag(world.conn, flag, "team", "growth")
    fixtures.tag(world.conn, flag, "simple", "beta")
    since = world.last_event_id()
    assert alice.delete(f"{PATH}/team").status_code == 200
    assert events(world, since) == [event("tag-type-deleted", alice, pre_data=TEAM)]
    for statement in ("SELECT string_agg(value, ' ') FROM tags", "SELECT string_agg(value, ' ') FROM flag_tags"):
        assert value(world.conn, statement) == "beta"


def test_a_type_that_is_not_there_is_404(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    for response in (alice.get(f"{PATH}/x"), alice.put(f"{PATH}/x", json={}), alice.delete(f"{PATH}/x")):
        refused(response, 404, "NotFoundError")
    assert world.events(since) == []
