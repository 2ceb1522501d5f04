"""Tags of flags: one by one, and several together."""

from datetime import UTC, datetime

import pytest

from sql.catalog import tag_types
from sql.database import rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import event, recorded
from tests.support.world import refused

TAGS, MANY = "/api/admin/features/f/tags", "/api/admin/projects/default/tags"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def tag(text="beta", type="simple"):
    """A tag."""
    return {"type": type, "value": text}


def tags(*texts):
    """Tags of type simple."""
    return [tag(text) for text in texts]


def change(added=(), removed=()):
    """The body of a change of tags, each given by its value."""
    return {"addedTags": tags(*added), "removedTags": tags(*removed)}


def tagged(world, name, *texts, project="default", **fields):
    """A flag with simple tags of these values."""
    flag = world.flag(name, project, **fields)
    for text in texts:
        fixtures.tag(world.conn, flag, "simple", text)
    return flag


# --- One by one -------------------------------------------------------------------------------------------------------


def test_a_new_tag_is_created_added_and_recorded(world, alice):
    world.flag("f")
    since = world.last_event_id()
    response = alice.post(TAGS, json=tag("  beta\n"))
    assert (response.status_code, response.json) == (201, tag())
    assert response.headers["Location"] == "tags/simple/beta"
    assert recorded(world, since, alice) == [
        {"type": "tag-created", "data": tag(), "tags": []},
        event("feature-tagged", data=tag(), tags=[tag()]),
    ]
    assert alice.get(TAGS).json == {"version": 1, "tags": [tag()]}


def test_an_existing_tag_is_reused_and_a_second_one_changes_nothing(world, alice, conn):
    tagged(world, "other", "beta")
    tagged(world, "f", "alpha")
    since = world.last_event_id()
    assert alice.post(TAGS, json=tag()).status_code == 201
    assert recorded(world, since, alice) == [event("feature-tagged", data=tag(), tags=tags("alpha", "beta"))]
    before = fingerprint(conn)
    assert alice.post(TAGS, json=tag()).status_code == 201
    assert fingerprint(conn) == before


def test_tags_are_listed_by_type_and_value(world, alice, conn):
    tag_types.insert(conn, "atype", "")
    flag = world.flag("f")
    assert alice.get(TAGS).json == {"version": 1, "tags": []}
    for type, text in (("simple", "bb"), ("simple", "aa"), ("atype", "zz")):
        fixtures.tag(conn, flag, type, text)
    assert alice.get(TAGS).json["tags"] == [tag("zz", "atype"), tag("aa"), tag("bb")]


@pytest.mark.parametrize(
    "text", ["beta", "a/b", "/a", "a//b/", "//", "é ü", "50 %", "a?b#c", "a:b", "日本", "%41", "a\tb"]
)
def test_any_tag_can_be_removed_at_its_location(world, alice, conn, text):
    world.flag("f")
    created = alice.post(TAGS, json=tag(text))
    since = world.last_event_id()
    response = alice.delete(f"/api/admin/features/f/{created.headers['Location']}")
    assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, alice) == [event("feature-untagged", pre_data=tag(text))]
    assert rows(conn, "SELECT * FROM flag_tags") == []
    assert value(conn, "SELECT count(*) FROM tags") == 1


def test_removing_a_tag_leaves_the_others_and_again_is_no_change(world, alice, conn):
    tagged(world, "f", "alpha", "beta", "gamma")
    tagged(world, "other", "beta")
    since = world.last_event_id()
    assert alice.delete(f"{TAGS}/simple/beta").status_code == 200
    assert recorded(world, since, alice) == [event("feature-untagged", pre_data=tag(), tags=tags("alpha", "gamma"))]
    before = fingerprint(conn)
    for path in ("simple/beta", "unknown/alpha", "simple/ALPHA", "simple/alpha%20"):
        assert alice.delete(f"{TAGS}/{path}").status_code == 200
    assert fingerprint(conn) == before
    assert value(conn, "SELECT count(*) FROM flag_tags") == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "type: is required; value: is required"),
        (tag(" a "), "value: must be at least 2"),
        (tag("x" * 51), "value: must be at most 50"),
        (tag(type="unknown"), "type: unknown tag types: unknown"),
        (tag() | {"colour": "red"}, "colour: unknown property"),
    ],
)
def test_an_invalid_tag_is_refused(world, alice, conn, body, message):
    world.flag("f")
    before = fingerprint(conn)
    assert message in refused(alice.post(TAGS, json=body))
    assert fingerprint(conn) == before


def test_an_archived_flag_keeps_its_tags_as_they_are(world, alice, conn):
    tagged(world, "f", "beta", archived_at=NOW)
    before = fingerprint(conn)
    refused(alice.post(TAGS, json=tag("new")), 404, "NotFoundError")
    refused(alice.delete(f"{TAGS}/simple/beta"), 404, "NotFoundError")
    refused(alice.put(TAGS, json=change(["bb"], ["beta"])), 404, "NotFoundError")
    assert fingerprint(conn) == before
    assert alice.get(TAGS).json["tags"] == [tag()]


def test_a_hidden_flag_looks_like_a_missing_one(world, victor, eve, apollo):
    tagged(world, "f", "beta", project=apollo)
    since = world.last_event_id()
    for method, path, sent in (
        ("GET", "tags", {}),
        ("POST", "tags", {"json": tag()}),
        ("POST", "tags", {"json": {}}),
        ("DELETE", "tags/simple/beta", {}),
    ):
        hidden = refused(victor.request(method, f"/api/admin/features/f/{path}", **sent), 404, "NotFoundError")
        unknown = refused(victor.request(method, f"/api/admin/features/unknown/{path}", **sent), 404, "NotFoundError")
        assert hidden == unknown == "No flag has that name."
        # An editor sees every project.
        response = eve.request(method, f"/api/admin/features/f/{path}", **sent)
        assert response.status_code == (200 if method == "GET" else 403)
    assert world.events(since) == []


def test_the_permission_counts_in_the_project_of_the_flag(world, max, olga, conn):
    world.flag("f", "apollo")
    world.flag("g")
    assert max.post(TAGS, json=tag()).status_code == 201
    refused(max.post("/api/admin/features/g/tags", json=tag()), 403, "NoAccessError")
    role = roles.insert(conn, "Tagger")
    fixtures.allow(conn, role, "UPDATE_FEATURE")
    world.member("default", olga, role)
    assert olga.post("/api/admin/features/g/tags", json=tag()).status_code == 201


def test_the_refusals_come_in_their_order(world, alice, victor):
    world.flag("f")
    plain = {"data": b"x", "content_type": "text/plain"}
    refused(victor.post("/api/admin/features/unknown/tags", **plain), 404, "NotFoundError")
    refused(victor.post(TAGS, **plain), 403, "NoAccessError")
    refused(alice.post(TAGS, **plain), 415, "ContentTypeError")
    refused(world.api_key("client").post("/api/admin/features/unknown/tags", **plain), 403, "NoAccessError")


# --- Several together -------------------------------------------------------------------------------------------------


def test_tags_are_added_and_removed_and_each_is_recorded(world, alice):
    tagged(world, "other", "known")
    tagged(world, "f", "aa", "bb", "cc")
    since = world.last_event_id()
    response = alice.put(TAGS, json=change(["known", " new ", "aa"], ["cc", "bb", "never"]))
    assert response.status_code == 200
    assert response.json == {"version": 1, "tags": tags("aa", "known", "new")}
    assert recorded(world, since, alice) == [
        event("feature-tagged", data=tag("known"), tags=tags("aa", "bb", "cc", "known")),
        {"type": "tag-created", "data": tag("new"), "tags": []},
        event("feature-tagged", data=tag("new"), tags=tags("aa", "bb", "cc", "known", "new")),
        event("feature-untagged", pre_data=tag("cc"), tags=tags("aa", "bb", "known", "new")),
        event("feature-untagged", pre_data=tag("bb"), tags=tags("aa", "known", "new")),
    ]
    # A tag in both lists is removed. The type of a removed tag need not exist.
    assert alice.put(TAGS, json=change(["aa"], ["aa"])).json["tags"] == tags("known", "new")
    unknown = {"addedTags": [], "removedTags": [tag("aa", "nosuch")]}
    assert alice.put(TAGS, json=unknown).status_code == 200


def test_a_change_of_nothing_is_not_recorded(world, alice, conn):
    tagged(world, "f", "aa")
    before = fingerprint(conn)
    for body in (change(), change(["aa"]), change([], ["bb"])):
        assert alice.put(TAGS, json=body).json["tags"] == [tag("aa")]
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
        event("feature-tagged", data=tag("bb"), tags=tags("aa", "bb")),
        event("feature-untagged", pre_data=tag("aa"), tags=tags("bb")),
    ]
    for name in ("f", "g"):
        assert alice.get(f"/api/admin/features/{name}/tags").json["tags"] == [tag("bb")]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"addedTags": []}, "removedTags: is required"),
        ({"removedTags": []}, "addedTags: is required"),
        (change() | {"more": 1}, "more: unknown property"),
        (change(["a"]), "addedTags.0.value: must be at least 2 characters long"),
        (change([], ["a"]), "removedTags.0.value: must be at least 2 characters long"),
        (change([f"tag-{number}" for number in range(101)]), "addedTags: must have at most 100 tags"),
        ({"addedTags": [tag("aa", "nosuch")], "removedTags": []}, "addedTags: unknown tag types: nosuch"),
    ],
)
def test_an_invalid_change_is_refused(world, alice, conn, body, says):
    tagged(world, "f", "aa")
    before = fingerprint(conn)
    assert says in refused(alice.put(TAGS, json=body))
    assert says in refused(alice.put(MANY, json={"features": ["f"], "tags": body}))
    assert fingerprint(conn) == before


def test_if_one_flag_cannot_be_changed_none_is(world, alice, conn):
    tagged(world, "f")
    tagged(world, "gone", archived_at=NOW)
    world.flag("theirs", world.project("hermes"))
    before = fingerprint(conn)
    for name in ("gone", "theirs", "unknown"):
        body = {"features": ["f", name], "tags": change(["bb"])}
        said = refused(alice.put(MANY, json=body), 404, "NotFoundError")
        assert said == f"features: unknown or archived flags: {name}"
    assert fingerprint(conn) == before


def test_a_request_changes_a_limited_number_of_tags(world, alice, conn):
    names = [f"f{number}" for number in range(101)]
    for name in names:
        world.flag(name)
    before = fingerprint(conn)
    many = change([f"tag-{number}" for number in range(60)], [f"tag-{number}" for number in range(40)])
    said = refused(alice.put(MANY, json={"features": names, "tags": many}))
    assert said == "body: must have at most 10000 changes in total, flags times tags"
    assert fingerprint(conn) == before
    assert alice.put(MANY, json={"features": names[:100], "tags": many}).status_code == 200
