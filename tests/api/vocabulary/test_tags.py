"""Tags as such: made, read and removed over HTTP."""

from typing import Any

import pytest

from sql.database import value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.world import Caller, World, refused

PATH = "/api/admin/tags"
BETA = {"type": "simple", "value": "beta"}


def make(caller: Caller, word: str = "beta") -> None:
    """Let a caller make a simple tag."""
    response = caller.post(PATH, json={"type": "simple", "value": word})
    assert (response.status_code, response.json["tag"]["value"]) == (201, word)


def test_a_tag_is_created_and_recorded(world: World, max: Caller) -> None:
    since = world.last_event_id()
    response = max.post(PATH, json={"type": "simple", "value": "  beta "})
    assert (response.status_code, response.json) == (201, {"version": 1, "tag": BETA})
    assert response.headers["Location"] == "tags/simple/beta"
    assert events(world, since) == [event("tag-created", max, data=BETA)]
    assert max.get(f"{PATH}/simple/beta").json == {"version": 1, "tag": BETA}


def test_tags_are_listed_by_type_and_value(world: World, alice: Caller) -> None:
    alice.post("/api/admin/tag-types", json={"name": "aa"})
    fixtures.tag(world.conn, world.flag("f"), "simple", "on a flag")
    make(alice, "beta")
    assert alice.post(PATH, json={"type": "aa", "value": "zeta"}).status_code == 201
    tags = [{"type": "aa", "value": "zeta"}, BETA, {"type": "simple", "value": "on a flag"}]
    assert alice.get(PATH).json == {"version": 1, "tags": tags}
    assert alice.get(f"{PATH}/simple").json == {"version": 1, "tags": tags[1:]}
    assert alice.get(f"{PATH}/none").json == {"version": 1, "tags": []}


def test_a_tag_is_there_once(world: World, alice: Caller) -> None:
    make(alice)
    since = world.last_event_id()
    assert "value" in refused(alice.post(PATH, json=BETA), 409, "NameExistsError")
    make(alice, "Beta")
    assert len(world.events(since)) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": "none"}, "type"),
        ({"type": ""}, "type"),
        ({"type": None}, "type"),
        ({"value": "a"}, "value"),
        ({"value": "  a  "}, "value"),
        ({"value": "x" * 51}, "value"),
        ({"value": 22}, "value"),
        ({"other": 1}, "other"),
    ],
)
def test_an_invalid_tag_is_refused(world: World, alice: Caller, change: dict[str, Any], problem: str) -> None:
    since = world.last_event_id()
    assert problem in refused(alice.post(PATH, json=BETA | change))
    assert (alice.get(PATH).json["tags"], world.events(since)) == ([], [])


@pytest.mark.parametrize("word", ["a/b", "/ab", "ü b", "50%", "a?b", "a#b", "..", "a.b"])
def test_any_text_can_be_a_tag_and_has_an_address(alice: Caller, word: str) -> None:
    response = alice.post(PATH, json={"type": "simple", "value": word})
    assert response.status_code == 201
    path = f"/api/admin/{response.headers['Location']}"
    assert alice.get(path).json["tag"]["value"] == word
    assert alice.delete(path).status_code == 200
    refused(alice.get(path), 404, "NotFoundError")


def test_a_tag_goes_from_every_flag_first(world: World, alice: Caller, apollo: str) -> None:
    make(alice)
    for name, project in (("b", "default"), ("a", apollo), ("c", "default")):
        fixtures.tag(world.conn, world.flag(name, project), "simple", "beta")
    flag = world.flag("d")
    for word in ("other", "beta"):
        fixtures.tag(world.conn, flag, "simple", word)
    world.flag("e")
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'c'")
    since = world.last_event_id()
    assert alice.delete(f"{PATH}/simple/beta").status_code == 200
    untagged = [
        event("feature-untagged", alice, project=project, feature_name=name, pre_data=BETA, tags=tags)
        for name, project, tags in (
            ("a", apollo, []),
            ("b", "default", []),
            ("c", "default", []),
            ("d", "default", [{"type": "simple", "value": "other"}]),
        )
    ]
    assert events(world, since) == [*untagged, event("tag-deleted", alice, data=BETA)]
    for table in ("SELECT string_agg(value, ' ') FROM tags", "SELECT string_agg(value, ' ') FROM flag_tags"):
        assert value(world.conn, table) == "other"


def test_deleting_a_tag_needs_rights_in_all_its_projects(world: World, eve: Caller, max: Caller, apollo: str) -> None:
    make(eve)
    fixtures.tag(world.conn, world.flag("f", apollo), "simple", "beta")
    since = world.last_event_id()
    refused(eve.delete(f"{PATH}/simple/beta"), 403, "NoAccessError")
    assert world.events(since) == []
    assert max.delete(f"{PATH}/simple/beta").status_code == 200
    fixtures.tag(world.conn, world.flag("g", apollo), "simple", "beta")
    fixtures.tag(world.conn, world.flag("h", "default"), "simple", "beta")
    refused(max.delete(f"{PATH}/simple/beta"), 403, "NoAccessError")


@pytest.mark.parametrize("way", ["project role", "project role of a group", "root role", "root role of a group"])
def test_any_permission_on_flags_allows_deleting_their_tags(world: World, apollo: str, way: str) -> None:
    dora, kind = world.user("Dora"), "root-custom" if way.startswith("root") else "custom"
    role = roles.insert(world.conn, "Changer", type=kind)
    fixtures.allow(world.conn, role, "UPDATE_FEATURE")
    group = groups.insert(world.conn, "Changers", root_role=role if way == "root role of a group" else None)
    fixtures.add_group_user(world.conn, group, dora.id or 0)
    fixtures.tag(world.conn, world.flag("f", apollo), "simple", "beta")
    if way == "root role":
        world.conn.execute("UPDATE users SET root_role_id = %s WHERE id = %s", [role, dora.id])
    elif way == "project role":
        world.member(apollo, dora, role)
    elif way == "project role of a group":
        fixtures.add_project_group(world.conn, apollo, group, role)
    assert dora.delete(f"{PATH}/simple/beta").status_code == 200


def test_permissions_of_one_environment_change_no_tag(world: World, victor: Caller) -> None:
    role = roles.insert(world.conn, "Changer there")
    fixtures.allow(world.conn, role, "UPDATE_FEATURE", environment="development")
    world.member("default", victor, role)
    refused(victor.post(PATH, json=BETA), 403, "NoAccessError")
    assert value(world.conn, "SELECT count(*) FROM tags") == 0


def test_callers_without_permission_on_flags_learn_nothing_about_tags(world: World, victor: Caller) -> None:
    since = world.last_event_id()
    refused(victor.delete(f"{PATH}/simple/none"), 403, "NoAccessError")
    refused(victor.post(PATH, data="{", content_type="application/json"), 403, "NoAccessError")
    assert world.events(since) == []


def test_a_tag_that_is_not_there_is_404(world: World, max: Caller) -> None:
    since = world.last_event_id()
    for response in (max.get(f"{PATH}/simple/x"), max.delete(f"{PATH}/simple/x"), max.get(f"{PATH}/none/beta")):
        refused(response, 404, "NotFoundError")
    assert world.events(since) == []
