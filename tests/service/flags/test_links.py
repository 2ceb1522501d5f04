"""Links of flags to other pages."""

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.documents import bring_in, document, validated
from tests.support.export import export
from tests.support.flags import FLAGS, event, recorded
from tests.support.world import refused
from validators.flags.links import MAX_LINKS

LINKS = f"{FLAGS}/f/link"
GONE = (404, "NotFoundError")
NOTHING = {"errors": {}, "warnings": {}, "permissions": {}}
WIKI = {"url": "https://wiki.example.org/checkout?a=b#c", "title": "Wiki"}
ISSUE = {"url": "http://issues.example.org/42", "title": None}


def links(caller, name="f"):
    """The links of a flag, without their ids."""
    found = caller.get(f"{FLAGS}/{name}").json["links"]
    assert {link["feature"] for link in found} <= {name}
    return [{"url": link["url"], "title": link["title"]} for link in found]


def linked(world, *urls, name="f"):
    """A flag with links to these addresses. Returns the ids of the links."""
    flag = world.flag(name)
    return [fixtures.link(world.conn, flag, url) for url in urls]


# --- One by one -------------------------------------------------------------------------------------------------------


def test_links_are_listed_in_the_order_of_their_creation(world, alice):
    world.flag("f")
    since = world.last_event_id()
    for link in (WIKI, {"url": ISSUE["url"]}):
        response = alice.post(LINKS, json=link)
        assert (response.status_code, response.text) == (204, "")
    assert links(alice) == [WIKI, ISSUE]
    assert recorded(world, since, alice) == [
        event("feature-link-added", data=WIKI),
        event("feature-link-added", data=ISSUE),
    ]


def test_an_update_keeps_an_omitted_title_and_null_clears_it(world, alice):
    world.flag("f")
    alice.post(LINKS, json=WIKI)
    before = alice.get(f"{FLAGS}/f").json["links"][0]
    since = world.last_event_id()
    moved = WIKI | {"url": "https://new.example.org"}
    for change in ({"url": moved["url"]}, {"url": moved["url"]}, before | moved, moved | {"title": None}):
        response = alice.put(f"{LINKS}/{before['id']}", json=change)
        assert (response.status_code, response.text) == (204, "")
    assert links(alice) == [moved | {"title": None}]
    assert recorded(world, since, alice) == [
        event("feature-link-updated", data=moved, pre_data=WIKI),
        event("feature-link-updated", data=moved | {"title": None}, pre_data=moved),
    ]


def test_a_deleted_link_is_gone(world, alice):
    wiki, _ = linked(world, WIKI["url"], ISSUE["url"])
    since = world.last_event_id()
    assert alice.delete(f"{LINKS}/{wiki}").status_code == 204
    assert links(alice) == [ISSUE]
    assert recorded(world, since, alice) == [event("feature-link-removed", pre_data=WIKI | {"title": None})]
    assert refused(alice.delete(f"{LINKS}/{wiki}"), *GONE) == "The flag has no link with this id."


def test_links_of_another_flag_are_404(world, alice):
    linked(world)
    [theirs] = linked(world, WIKI["url"], name="other")
    for link in (theirs, "0", "x", "9" * 30, f"0{theirs}"):
        assert refused(alice.put(f"{LINKS}/{link}", json=ISSUE), *GONE) == "The flag has no link with this id."
        assert refused(alice.delete(f"{LINKS}/{link}"), *GONE) == "The flag has no link with this id."
    assert links(alice, "other") == [WIKI | {"title": None}]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "JavaScript://example.org/%0aalert(1)",
        "data:text/html,hi",
        "//example.org",
        "/relative",
        "example.org",
        "ftp://example.org",
        "https://",
        "https:///path",
        "https://?q",
        " https://example.org",
        "https://example.org/a b",
        "https://example.org/\nx",
        "https://example.org/\x01",
    ],
)
def test_only_web_addresses_are_accepted(world, alice, url):
    [link] = linked(world, ISSUE["url"])
    for response in (alice.post(LINKS, json={"url": url}), alice.put(f"{LINKS}/{link}", json={"url": url})):
        assert refused(response) == "url: must be a URL that begins with https:// or http://, without spaces"
    assert links(alice) == [ISSUE]


@pytest.mark.parametrize("url", ["HTTPS://Example.org", "http://10.0.0.1:8080/?q=1,2&r=[x]", "https://exämple.org/ü"])
def test_all_web_addresses_are_accepted(world, alice, url):
    world.flag("f")
    assert alice.post(LINKS, json={"url": url}).status_code == 204
    assert links(alice) == [{"url": url, "title": None}]


def test_a_flag_can_have_ten_links(world, alice):
    linked(world, *[f"https://example.org/{number}" for number in range(MAX_LINKS - 1)])
    assert alice.post(LINKS, json=WIKI).status_code == 204
    assert refused(alice.post(LINKS, json=ISSUE)) == "links: a flag can have at most 10"
    assert len(links(alice)) == MAX_LINKS == 10


def test_links_that_are_sent_back_with_the_flag_must_be_unchanged(world, alice):
    linked(world, WIKI["url"])
    flag = alice.get(f"{FLAGS}/f").json
    assert alice.put(f"{FLAGS}/f", json=flag).status_code == 200
    message = "links: must be omitted or unchanged (POST /api/admin/projects/{projectId}/features/{featureName}/link"
    assert refused(alice.put(f"{FLAGS}/f", json=flag | {"links": []})).startswith(message)


def test_applications_do_not_read_the_flags_again(world, alice, conn):
    world.flag("f")
    alice.post(LINKS, json=WIKI)
    assert value(conn, "SELECT alters_client_flags('feature-link-added')") is False


# --- The life of the flag ---------------------------------------------------------------------------------------------


def test_archived_and_revived_flags_keep_their_links(world, alice):
    linked(world, ISSUE["url"])
    alice.delete(f"{FLAGS}/f")
    assert refused(alice.post(LINKS, json=WIKI), *GONE)
    alice.post("/api/admin/archive/revive/f")
    assert links(alice) == [ISSUE]


def test_deleted_flags_lose_their_links(world, alice, conn):
    linked(world, ISSUE["url"])
    linked(world, ISSUE["url"], name="other")
    alice.delete(f"{FLAGS}/f")
    assert alice.delete("/api/admin/archive/f").status_code == 200
    assert len(rows(conn, "SELECT FROM flag_links")) == 1
    assert links(alice, "other") == [ISSUE]


def test_a_copy_gets_the_links(world, alice):
    linked(world, WIKI["url"], ISSUE["url"])
    since = world.last_event_id()
    assert alice.post(f"{FLAGS}/f/clone", json={"name": "copy"}).status_code == 201
    both = [WIKI | {"title": None}, ISSUE]
    assert links(alice, "copy") == links(alice) == both
    added = [found for found in recorded(world, since) if found["type"] == "feature-link-added"]
    assert added == [event("feature-link-added", "copy", data=link) for link in both]


# --- Exports and imports ----------------------------------------------------------------------------------------------


def test_an_export_has_the_links_of_its_flags(world, alice):
    first = linked(world, WIKI["url"], ISSUE["url"])
    linked(world, ISSUE["url"], name="other")
    world.flag("bare")
    exported = export(alice, features=["f", "bare"])["links"]
    listed = [{"id": id, "url": url, "title": None} for id, url in zip(first, (WIKI["url"], ISSUE["url"]), strict=True)]
    assert exported == [{"feature": "f", "links": listed}]


def test_an_import_replaces_the_links_of_the_flags_that_it_lists(world, alice):
    old = linked(world, WIKI["url"], ISSUE["url"])
    linked(world, ISSUE["url"], name="kept")
    new = {"url": "https://new.example.org", "title": "New"}
    data = document("f", "kept", "g", links=[{"feature": "f", "links": [ISSUE | {"id": "01JB"}, new]}])
    data["features"][2]["links"] = [WIKI]
    since = world.last_event_id()
    bring_in(alice, data)
    found = alice.get(f"{FLAGS}/f").json["links"]
    assert (links(alice), found[0]["id"]) == ([ISSUE, new], old[1])
    assert (links(alice, "kept"), links(alice, "g")) == ([ISSUE], [WIKI])
    about = [found for found in recorded(world, since) if "link" in found["type"]]
    assert about == [
        event("feature-link-removed", pre_data=WIKI | {"title": None}),
        event("feature-link-added", data=new),
        event("feature-link-added", "g", data=WIKI),
    ]
    since = world.last_event_id()
    bring_in(alice, data)
    assert [found["type"] for found in recorded(world, since)] == ["features-imported"]
    bring_in(alice, document("f", links=[{"feature": "f", "links": []}]))
    assert links(alice) == []


def test_an_import_leaves_out_links_that_are_no_web_addresses(alice):
    listed = [{"feature": "f", "links": [{"url": "javascript:alert(1)"}, ISSUE, {"url": "ftp://example.org"}]}]
    data = document("f", "g", links=[*listed, {"feature": "g", "links": [WIKI]}])
    message = "Links that do not begin with https:// or http:// are left out."
    assert validated(alice, data) == NOTHING | {"warnings": {message: ["f"]}}
    bring_in(alice, data)
    assert links(alice) == [ISSUE]


def test_an_import_refuses_too_many_links_and_invalid_ones(alice):
    many = [{"url": f"https://example.org/{number}"} for number in range(MAX_LINKS + 1)]
    entries = [{"feature": "f", "links": many}, {"feature": "g", "links": many[1:]}, {"feature": "h", "links": [{}, 7]}]
    errors = validated(alice, document("f", "g", "h", links=entries))["errors"]
    assert errors == {
        "links: a flag can have at most 10": ["f"],
        "invalid link: links.0.url: is required; links.1: must be a JSON object": ["h"],
    }
    unknown = document("f", links=[{"feature": "other", "links": []}])
    assert list(validated(alice, unknown)["errors"].values()) == [["other"]]
