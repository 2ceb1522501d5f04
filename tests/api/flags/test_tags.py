"""Tags of a flag, at addresses that name the flag alone."""

import pytest

from sql.database import rows, value
from sql.people import roles
from sql.vocabulary import tag_types
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import event, recorded
from tests.support.world import refused

TAGS = "/api/admin/features/f/tags"


def tag(text="beta", type="simple"):
    """A tag."""
    return {"type": type, "value": text}


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
    fixtures.tag(conn, world.flag("other"), "simple", "beta")
    fixtures.tag(conn, world.flag("f"), "simple", "alpha")
    since = world.last_event_id()
    assert alice.post(TAGS, json=tag()).status_code == 201
    assert recorded(world, since, alice) == [event("feature-tagged", data=tag(), tags=[tag("alpha"), tag()])]
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


def test_taking_off_leaves_the_others_and_again_is_no_change(world, alice, conn):
    flag = world.flag("f")
    for text in ("alpha", "beta", "gamma"):
        fixtures.tag(conn, flag, "simple", text)
    fixtures.tag(conn, world.flag("other"), "simple", "beta")
    since = world.last_event_id()
    assert alice.delete(f"{TAGS}/simple/beta").status_code == 200
    assert recorded(world, since, alice) == [
        event("feature-untagged", pre_data=tag(), tags=[tag("alpha"), tag("gamma")])
    ]
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
        (tag(None), "value: must not be null"),
        (tag(type="unknown"), "type: unknown tag types: unknown"),
        (tag() | {"colour": "red"}, "colour: unknown property"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(world, alice, conn, body, message):
    world.flag("f")
    before = fingerprint(conn)
    assert message in refused(alice.post(TAGS, json=body))
    assert fingerprint(conn) == before


def test_an_archived_flag_keeps_its_tags_as_they_are(world, alice, conn):
    fixtures.tag(conn, world.flag("f", archived_at=value(conn, "SELECT now()")), "simple", "beta")
    before = fingerprint(conn)
    refused(alice.post(TAGS, json=tag("new")), 404, "NotFoundError")
    refused(alice.delete(f"{TAGS}/simple/beta"), 404, "NotFoundError")
    assert fingerprint(conn) == before
    assert alice.get(TAGS).json["tags"] == [tag()]


def test_a_hidden_flag_looks_like_a_missing_one(world, victor, eve, apollo, conn):
    fixtures.tag(conn, world.flag("f", apollo), "simple", "beta")
    since = world.last_event_id()
    for method, path, body in (
        ("GET", "tags", None),
        ("POST", "tags", tag()),
        ("POST", "tags", {}),
        ("DELETE", "tags/simple/beta", None),
    ):
        sent = {} if body is None else {"json": body}
        hidden = refused(victor.request(method, f"/api/admin/features/f/{path}", **sent), 404, "NotFoundError")
        unknown = refused(victor.request(method, f"/api/admin/features/unknown/{path}", **sent), 404, "NotFoundError")
        assert hidden == unknown == "No flag has that name."
        # An editor sees every project.
        assert eve.request(method, f"/api/admin/features/f/{path}", **sent).status_code == (
            200 if method == "GET" else 403
        )
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


@pytest.mark.parametrize("unwritable", ["tag-created", "feature-tagged", "feature-untagged"])
def test_a_change_is_rolled_back_if_its_event_fails(world, alice, conn, unwritable):
    fixtures.tag(conn, world.flag("f"), "simple", "alpha")
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    before = fingerprint(conn)
    response = (
        alice.delete(f"{TAGS}/simple/alpha") if unwritable == "feature-untagged" else alice.post(TAGS, json=tag())
    )
    refused(response, 500, "InternalError")
    assert fingerprint(conn) == before
