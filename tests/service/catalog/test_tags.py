"""Tags and types of tags: created, read, changed and deleted over HTTP."""

import pytest

from sql.database import Connection, value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.world import Caller, refused

# --- Types ------------------------------------------------------------------------------------------------------------

TYPES = "/api/admin/tag-types"
SIMPLE = {"name": "simple", "description": "A plain tag.", "icon": None}
TEAM = {"name": "team", "description": "Wer für die Flag einsteht", "icon": "🚀"}


def make_type(caller: Caller) -> None:
    """Create the type team."""
    response = caller.post(TYPES, json=TEAM)
    assert (response.status_code, response.json, response.headers["Location"]) == (201, TEAM, "tag-types/team")


def tags_left(conn: Connection) -> tuple[str, str]:
    """The values of all tags, and of those of flags."""
    tags, flag_tags = (value(conn, f"SELECT string_agg(value, ' ') FROM {name}") for name in ("tags", "flag_tags"))
    return tags, flag_tags


def test_type_is_created(world, eve):
    since = world.last_event_id()
    make_type(eve)
    assert events(world, since) == [event("tag-type-created", eve, data=TEAM)]
    assert eve.get(f"{TYPES}/team").json == {"version": 1, "tagType": TEAM}
    assert eve.get(TYPES).json == {"version": 1, "tagTypes": [SIMPLE, TEAM]}
    assert eve.post(TYPES, json={"name": "ab"}).json == {"name": "ab", "description": "", "icon": None}


def test_name_of_a_type_is_unique(alice):
    for path in (TYPES, f"{TYPES}/validate"):
        assert "name" in refused(alice.post(path, json={"name": "simple"}), 409, "NameExistsError")
    answer = alice.post(f"{TYPES}/validate", json={"name": "Simple"})
    assert answer.json == {"valid": True, "tagType": {"name": "Simple", "description": "", "icon": None}}
    assert alice.get(TYPES).json["tagTypes"] == [SIMPLE]


@pytest.mark.parametrize(
    "change",
    [*({"name": name} for name in ("a", "x" * 51, "a b", None)), {"description": 1}, {"icon": 1}, {"x": 1}],
)
def test_invalid_type_is_refused(alice, change):
    for path in (TYPES, f"{TYPES}/validate"):
        assert next(iter(change)) in refused(alice.post(path, json=TEAM | change))


def test_type_is_changed(world, eve):
    make_type(eve)
    since = world.last_event_id()
    after = TEAM | {"icon": None}
    for change in ({"icon": None}, {}, {"description": TEAM["description"]}, {"color": "#ff0000"}):
        assert eve.put(f"{TYPES}/team", json=change).status_code == 200
        assert eve.get(f"{TYPES}/team").json["tagType"] == after
    assert events(world, since) == [event("tag-type-updated", eve, data=after, pre_data=TEAM)]


def test_type_is_deleted_with_its_tags(world, alice):
    make_type(alice)
    flag = world.flag("f")
    fixtures.tag(world.conn, flag, "team", "growth")
    fixtures.tag(world.conn, flag, "simple", "beta")
    since = world.last_event_id()
    assert alice.delete(f"{TYPES}/team").status_code == 200
    assert events(world, since) == [event("tag-type-deleted", alice, pre_data=TEAM)]
    assert tags_left(world.conn) == ("beta", "beta")


# --- Tags -------------------------------------------------------------------------------------------------------------

PATH = "/api/admin/tags"
BETA = {"type": "simple", "value": "beta"}
DELETED = f"{PATH}/simple/beta"


def test_tag_is_created(world, max):
    since = world.last_event_id()
    response = max.post(PATH, json={"type": "simple", "value": "  beta "})
    assert (response.status_code, response.json) == (201, {"version": 1, "tag": BETA})
    assert response.headers["Location"] == "tags/simple/beta"
    assert events(world, since) == [event("tag-created", max, data=BETA)]
    assert max.get(f"{PATH}/simple/beta").json == {"version": 1, "tag": BETA}
    assert "value" in refused(max.post(PATH, json=BETA), 409, "NameExistsError")
    assert max.post(PATH, json=BETA | {"value": "Beta"}).status_code == 201


def test_tags_are_listed_by_type_and_value(world, alice):
    alice.post(TYPES, json={"name": "aa"})
    fixtures.tag(world.conn, world.flag("f"), "simple", "on a flag")
    tags = [{"type": "aa", "value": "zeta"}, BETA, {"type": "simple", "value": "on a flag"}]
    for tag in (BETA, tags[0]):
        assert alice.post(PATH, json=tag).status_code == 201
    assert alice.get(PATH).json == {"version": 1, "tags": tags}
    assert alice.get(f"{PATH}/simple").json == {"version": 1, "tags": tags[1:]}
    assert alice.get(f"{PATH}/none").json == {"version": 1, "tags": []}


@pytest.mark.parametrize(
    "change",
    [
        *({"type": type} for type in ("none", "", None)),
        *({"value": text} for text in ("a", "  a  ", "x" * 51, 22)),
        {"other": 1},
    ],
)
def test_invalid_tag_is_refused(alice, change):
    assert next(iter(change)) in refused(alice.post(PATH, json=BETA | change))
    assert alice.get(PATH).json["tags"] == []


@pytest.mark.parametrize("word", ["a/b", "/ab", "ü b", "50%", "a?b", "a#b", "..", "a.b"])
def test_tag_with_special_characters(alice, word):
    response = alice.post(PATH, json={"type": "simple", "value": word})
    assert response.status_code == 201
    path = f"/api/admin/{response.headers['Location']}"
    assert alice.get(path).json["tag"]["value"] == word
    assert alice.delete(path).status_code == 200
    refused(alice.get(path), 404, "NotFoundError")


def test_tag_is_deleted_from_its_flags(world, alice, apollo):
    flags = {name: world.flag(name, apollo if name == "a" else "default") for name in "bacde"}
    for name in "bacd":
        fixtures.tag(world.conn, flags[name], "simple", "beta")
    fixtures.tag(world.conn, flags["d"], "simple", "other")
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'c'")
    since = world.last_event_id()
    assert alice.delete(DELETED).status_code == 200
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
    assert tags_left(world.conn) == ("other", "other")


def test_deletion_needs_the_permission_in_all_projects_of_a_tag(world, eve, max, apollo):
    fixtures.tag(world.conn, world.flag("f", apollo), "simple", "beta")
    refused(eve.delete(DELETED), 403, "NoAccessError")
    assert max.delete(DELETED).status_code == 200
    fixtures.tag(world.conn, world.flag("g", apollo), "simple", "beta")
    fixtures.tag(world.conn, world.flag("h", "default"), "simple", "beta")
    refused(max.delete(DELETED), 403, "NoAccessError")


@pytest.mark.parametrize("way", ["project role", "project role of a group", "root role", "root role of a group"])
def test_any_permission_on_flags_allows_deletion(world, apollo, way):
    dora, kind = world.user("Dora"), "root-custom" if way.startswith("root") else "custom"
    role = roles.insert(world.conn, "Changer", type=kind)
    fixtures.allow(world.conn, role, "UPDATE_FEATURE")
    group = groups.insert(world.conn, "Changers", root_role=role if way == "root role of a group" else None)
    fixtures.add_group_user(world.conn, group, dora.id)
    fixtures.tag(world.conn, world.flag("f", apollo), "simple", "beta")
    if way == "root role":
        world.conn.execute("UPDATE users SET root_role_id = %s WHERE id = %s", [role, dora.id])
    elif way == "project role":
        world.member(apollo, dora, role)
    elif way == "project role of a group":
        fixtures.add_project_group(world.conn, apollo, group, role)
    assert dora.delete(DELETED).status_code == 200


def test_permission_in_one_environment_is_not_enough(world, victor):
    role = roles.insert(world.conn, "Changer there")
    fixtures.allow(world.conn, role, "UPDATE_FEATURE", environment="development")
    world.member("default", victor, role)
    refused(victor.post(PATH, json=BETA), 403, "NoAccessError")


def test_unknown_tag_or_type_is_404(alice, max):
    for response in (
        max.get(f"{PATH}/simple/x"),
        max.delete(f"{PATH}/simple/x"),
        max.get(f"{PATH}/none/beta"),
        alice.get(f"{TYPES}/x"),
        alice.put(f"{TYPES}/x", json={}),
        alice.delete(f"{TYPES}/x"),
    ):
        refused(response, 404, "NotFoundError")
