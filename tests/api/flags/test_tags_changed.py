"""Tags added and removed together: of one flag, and of several."""

from datetime import UTC, datetime

import pytest

from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import event, recorded
from tests.support.world import refused

ONE, MANY = "/api/admin/features/f/tags", "/api/admin/projects/default/tags"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def tag(text, type="simple"):
    """A tag."""
    return {"type": type, "value": text}


def change(added=(), removed=()):
    """The body of a change of tags, each given by its value."""
    return {"addedTags": [tag(text) for text in added], "removedTags": [tag(text) for text in removed]}


def tagged(world, name, *texts, **fields):
    """A flag with simple tags of these values."""
    flag = world.flag(name, **fields)
    for text in texts:
        fixtures.tag(world.conn, flag, "simple", text)
    return flag


def test_tags_are_added_and_removed_and_each_is_recorded(world, alice):
    tagged(world, "other", "known")
    tagged(world, "f", "aa", "bb", "cc")
    since = world.last_event_id()
    response = alice.put(ONE, json=change(["known", " new ", "aa"], ["cc", "bb", "never"]))
    assert response.status_code == 200
    assert response.json == {"version": 1, "tags": [tag("aa"), tag("known"), tag("new")]}
    assert recorded(world, since, alice) == [
        event("feature-tagged", data=tag("known"), tags=[tag(text) for text in ("aa", "bb", "cc", "known")]),
        {"type": "tag-created", "data": tag("new"), "tags": []},
        event("feature-tagged", data=tag("new"), tags=[tag(text) for text in ("aa", "bb", "cc", "known", "new")]),
        event("feature-untagged", pre_data=tag("cc"), tags=[tag(text) for text in ("aa", "bb", "known", "new")]),
        event("feature-untagged", pre_data=tag("bb"), tags=[tag(text) for text in ("aa", "known", "new")]),
    ]


def test_a_tag_in_both_lists_is_removed(world, alice):
    tagged(world, "f")
    assert alice.put(ONE, json=change(["aa"], ["aa"])).json["tags"] == []


def test_a_change_of_nothing_is_not_recorded(world, alice, conn):
    tagged(world, "f", "aa")
    before = fingerprint(conn)
    for body in (change(), change(["aa"]), change([], ["bb"])):
        assert alice.put(ONE, json=body).json["tags"] == [tag("aa")]
        assert alice.put(MANY, json={"features": ["f"], "tags": body}).status_code == 200
    assert alice.put(MANY, json={"features": [], "tags": change(["bb"])}).status_code == 200
    assert fingerprint(conn) == before


def test_several_flags_are_changed_alike(world, alice):
    tagged(world, "f", "aa")
    tagged(world, "g", "bb")
    since = world.last_event_id()
    response = alice.put(MANY, json={"features": ["g", "f", "g"], "tags": change(["bb"], ["aa"])})
    assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, alice) == [
        event("feature-tagged", data=tag("bb"), tags=[tag("aa"), tag("bb")]),
        event("feature-untagged", pre_data=tag("aa"), tags=[tag("bb")]),
    ]
    for name in ("f", "g"):
        assert alice.get(f"/api/admin/features/{name}/tags").json["tags"] == [tag("bb")]


UNKNOWN_TYPE = {"addedTags": [tag("aa", "nosuch")], "removedTags": []}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"addedTags": []}, "removedTags: is required"),
        ({"removedTags": []}, "addedTags: is required"),
        (change() | {"more": 1}, "more: unknown property"),
        (change(["a"]), "addedTags.0.value: must be at least 2 characters long"),
        (change([], ["a"]), "removedTags.0.value: must be at least 2 characters long"),
        (change([f"tag-{number}" for number in range(101)]), "addedTags: must have at most 100 tags"),
        (UNKNOWN_TYPE, "addedTags: unknown tag types: nosuch"),
    ],
)
def test_an_invalid_change_is_refused_and_nothing_changes(world, alice, conn, body, says):
    tagged(world, "f", "aa")
    before = fingerprint(conn)
    assert says in refused(alice.put(ONE, json=body))
    assert says in refused(alice.put(MANY, json={"features": ["f"], "tags": body}))
    assert fingerprint(conn) == before


def test_the_type_of_a_removed_tag_need_not_exist(world, alice):
    tagged(world, "f")
    assert alice.put(ONE, json={"addedTags": [], "removedTags": [tag("aa", "nosuch")]}).status_code == 200


@pytest.mark.parametrize("name", ["gone", "theirs", "unknown"])
def test_if_one_flag_cannot_be_changed_none_is(world, alice, conn, name):
    tagged(world, "f")
    tagged(world, "gone", archived_at=NOW)
    world.flag("theirs", world.project("hermes"))
    before = fingerprint(conn)
    body = {"features": ["f", name], "tags": change(["bb"])}
    said = refused(alice.put(MANY, json=body), 404, "NotFoundError")
    assert said == f"features: unknown or archived flags: {name}"
    assert fingerprint(conn) == before


def test_the_tags_of_an_archived_flag_cannot_be_changed(world, alice, conn):
    tagged(world, "f", "aa", archived_at=NOW)
    before = fingerprint(conn)
    refused(alice.put(ONE, json=change(["bb"], ["aa"])), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_a_request_changes_a_limited_number_of_tags(world, alice, conn):
    for number in range(101):
        world.flag(f"f{number}")
    names = [f"f{number}" for number in range(101)]
    before = fingerprint(conn)
    many = change([f"tag-{number}" for number in range(60)], [f"tag-{number}" for number in range(40)])
    said = refused(alice.put(MANY, json={"features": names, "tags": many}))
    assert said == "body: must have at most 10000 changes in total, flags times tags"
    assert fingerprint(conn) == before
    assert alice.put(MANY, json={"features": names[:100], "tags": many}).status_code == 200
