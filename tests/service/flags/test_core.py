"""Flags of a project: created, changed, patched and listed."""

from typing import Any

import pytest

from rules.access import SYSTEM
from rules.flags import insert_flags
from rules.imports import NEW
from sql.catalog import tag_types
from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import BETA, FLAGS, core, event, recorded
from tests.support.world import refused
from validators.flags.core import TYPES

VALIDATE = "/api/admin/features/validate"


def tag(text):
    """A tag of type simple."""
    return {"type": "simple", "value": text}


# --- Creation ---------------------------------------------------------------------------------------------------------


def test_a_new_flag_is_off_everywhere_and_recorded(world, alice, conn):
    since = world.last_event_id()
    body = {"name": "f", "type": "kill-switch", "description": "é", "impressionData": True}
    response = alice.post(FLAGS, json=body)
    assert response.status_code == 201
    assert response.headers["Location"] == "features/f"
    record = response.json
    assert record == core(conn)
    assert record.pop("createdAt").endswith("Z")
    off = {"enabled": False, "stale": False, "archived": False, "archivedAt": None, "lastSeenAt": None}
    assert record == body | off | {"project": "default"}
    assert recorded(world, since, alice) == [event("feature-created", data=response.json)]
    places = alice.get(f"{FLAGS}/f").json["environments"]
    assert [(place["name"], place["enabled"], place["strategies"]) for place in places] == [
        ("development", False, []),
        ("production", False, []),
    ]
    assert value(conn, "SELECT count(*) FROM flag_environments") == 2
    assert value(conn, "SELECT created_by_user_id FROM flags") == alice.id


def test_a_new_flag_can_be_stale(world, alice, conn):
    since = world.last_event_id()
    ignored = {"project": "apollo", "createdBy": "nobody", "archived": True, "environments": [{"enabled": True}]}
    record = alice.post(FLAGS, json={"name": "f", "stale": True} | ignored).json
    assert record == core(conn)
    assert [record[key] for key in ("stale", "project", "archived", "enabled")] == [True, "default", False, False]
    created = event("feature-created", data=record | {"stale": False})
    assert recorded(world, since, alice) == [created, event("feature-stale-on")]


def test_tags_of_a_new_flag_are_created_and_recorded_in_order(world, alice, conn):
    fixtures.tag(conn, world.flag("other"), "simple", "known")
    since = world.last_event_id()
    response = alice.post(FLAGS, json={"name": "f", "tags": [tag(text) for text in ("known", "  new ", "known")]})
    known, new = tag("known"), tag("new")
    assert recorded(world, since, alice) == [
        event("feature-created", data=response.json),
        event("feature-tagged", data=known, tags=[known]),
        {"type": "tag-created", "data": new, "tags": []},
        event("feature-tagged", data=new, tags=[known, new]),
    ]
    assert alice.get(f"{FLAGS}/f").json["tags"] == [known, new]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "name: is required"),
        ({"name": "x" * 101}, "name: must be at most 100"),
        ({"name": ".."}, 'name: must not be "." or ".."'),
        ({"name": "a/b"}, "name: must contain only"),
        ({"name": "f", "type": "unknown"}, "type: must be experiment"),
        ({"name": "f", "description": 5}, "description: must be a string"),
        ({"name": "f", "impressionData": "true"}, "impressionData: must be true or false"),
        ({"name": "f", "tags": [tag(" x ")]}, "tags.0.value: must be at least 2"),
        ({"name": "f", "tags": [{"type": "simple"}]}, "tags.0.value: is required"),
        ({"name": "f", "tags": [tag("one"), {"type": "nope", "value": "two"}]}, "tags: unknown tag types: nope"),
        ({"name": "f", "tags": [tag("xy")] * 101}, "tags: must have at most 100 tags"),
        ({"name": "f", "stale": 1}, "stale: must be true or false"),
        ({"name": "f", "status": "active"}, "status: unknown property"),
    ],
)
def test_an_invalid_new_flag_is_refused(alice, conn, body, message):
    before = fingerprint(conn)
    assert message in refused(alice.post(FLAGS, json=body))
    assert fingerprint(conn) == before


@pytest.mark.parametrize("name", ["validate", "features", "revive", "tags", "archive", "a.b", "~", "...", "x" * 100])
def test_a_name_that_looks_like_a_part_of_an_address_is_a_name(alice, name):
    assert alice.post(FLAGS, json={"name": name}).status_code == 201
    assert alice.get(f"{FLAGS}/{name}").json["name"] == name
    assert alice.put(f"{FLAGS}/{name}", json={"name": name}).status_code == 200
    assert alice.post(f"/api/admin/features/{name}/tags", json=tag("beta")).status_code == 201
    assert alice.delete(f"{FLAGS}/{name}").status_code == 202
    assert alice.post(f"/api/admin/archive/revive/{name}").status_code == 200
    assert alice.delete(f"{FLAGS}/{name}").status_code == 202
    assert alice.delete(f"/api/admin/archive/{name}").status_code == 200


def test_an_archived_project_gets_no_new_flag(world, alice, conn):
    world.project("past", archived_at=value(conn, "SELECT now()"))
    path = "/api/admin/projects/past/features"
    before = fingerprint(conn)
    for body in ({"name": "f"}, {"name": "f", "tags": [{"type": "nope", "value": "xy"}]}):
        refused(alice.post(path, json=body), 404, "NotFoundError")
    refused(alice.post(path, json={}))
    assert fingerprint(conn) == before
    assert alice.get(path).json == {"version": 2, "features": []}


def test_the_limits_of_flags_count_live_ones_of_the_project_and_all_of_the_instance(
    world, alice, conn, app, monkeypatch
):
    world.project("small", feature_limit=1)
    world.flag("gone", "small", archived_at=value(conn, "SELECT now()"))
    path = "/api/admin/projects/small/features"
    assert alice.post(path, json={"name": "one"}).status_code == 201
    before = fingerprint(conn)
    assert "at most 1 live flag." in refused(alice.post(path, json={"name": "two"}), 409, "ConflictError")
    monkeypatch.setitem(app.config, "MAX_FLAGS", 2)
    assert "at most 2 flags in" in refused(alice.post(FLAGS, json={"name": "f"}))
    assert fingerprint(conn) == before
    monkeypatch.setitem(app.config, "MAX_FLAGS", 3)
    assert alice.post(FLAGS, json={"name": "elsewhere"}).status_code == 201


def test_the_types_of_flags_are_those_of_the_database(conn):
    assert {row["id"] for row in conn.execute("SELECT id FROM flag_types").fetchall()} == TYPES


# --- Names ------------------------------------------------------------------------------------------------------------


def test_a_name_is_taken_by_archived_and_hidden_flags_but_not_by_deleted_ones(world, alice, victor, apollo, conn):
    world.flag("live")
    world.flag("secret", apollo)
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    before = fingerprint(conn)
    for name in ("live", "secret", "gone"):
        for response in (victor.post(VALIDATE, json={"name": name}), alice.post(FLAGS, json={"name": name})):
            assert refused(response, 409, "NameExistsError").startswith("name: a flag with this name already")
    for more in ({}, {"projectId": None}, {"projectId": ""}, {"projectId": "default"}):
        response = victor.post(VALIDATE, json={"name": "Live"} | more)
        assert (response.status_code, response.data) == (200, b"")
    assert fingerprint(conn) == before
    assert alice.delete("/api/admin/archive/gone").status_code == 200
    assert victor.post(VALIDATE, json={"name": "gone"}).status_code == 200
    assert alice.post(FLAGS, json={"name": "Live"}).status_code == 201


def test_a_name_matches_the_naming_pattern_of_the_project_as_a_whole(world, alice, victor):
    path = f"/api/admin/projects/{world.project('strict', naming_pattern='[a-z]+-[0-9]+')}/features"
    for name in ("abc", "xabc-1x", "ABC-1"):
        message = "name: must match the naming pattern of the project, [a-z]+-[0-9]+"
        assert refused(alice.post(path, json={"name": name})) == message
        assert refused(victor.post(VALIDATE, json={"name": name, "projectId": "strict"})) == message
        assert victor.post(VALIDATE, json={"name": name, "projectId": "default"}).status_code == 200
    assert victor.post(VALIDATE, json={"name": "abc-1", "projectId": "strict"}).status_code == 200
    assert alice.post(path, json={"name": "abc-1"}).status_code == 201
    for body, says in (
        ({}, "name: is required"),
        ({"name": "a b"}, "name: must contain only"),
        ({"name": "free", "project": "default"}, "project: unknown property"),
        ({"name": "free", "projectId": "nowhere"}, "projectId: must be an existing project"),
        ({"name": "free", "projectId": world.project("hidden", mode="private")}, "projectId: must be an existing"),
    ):
        assert says in refused(victor.post(VALIDATE, json=body))


# --- Changes ----------------------------------------------------------------------------------------------------------


def test_a_change_is_recorded_with_the_flag_before_and_after(world, alice, conn):
    fixtures.tag(conn, world.flag("f", description="old"), "simple", "beta")
    before, since = core(conn), world.last_event_id()
    change = {"name": "f", "description": None, "type": "experiment", "impressionData": True}
    response = alice.put(f"{FLAGS}/f", json=change)
    assert response.status_code == 200
    assert response.json == core(conn) == before | change
    updated = event("feature-metadata-updated", data=response.json, pre_data=before, tags=[BETA])
    assert recorded(world, since, alice) == [updated]


def test_a_change_without_effect_is_not_recorded(world, alice, conn):
    world.flag("f", description="d")
    before = fingerprint(conn)
    ignored = {"archived": False, "createdAt": 5, "project": "default"}
    for change in ({}, {"name": "f"}, {"type": "release"}, {"stale": False}, ignored):
        assert alice.put(f"{FLAGS}/f", json=change).json == core(conn)
    for new in ([], [replace("description", "d")], [replace("name", "f")]):
        assert patch(alice, *new).json == core(conn)
    assert fingerprint(conn) == before


def test_omitted_fields_keep_their_values(world, alice, conn):
    world.flag("f", description="d", type="kill-switch", impression_data=True, stale_since="2024-03-01T00:00:00Z")
    before = core(conn)
    for change in ({"description": "e"}, {"type": "permission"}, {"impressionData": False}):
        before |= change
        assert alice.put(f"{FLAGS}/f", json=change).json == before
    assert value(conn, "SELECT stale_since = '2024-03-01T00:00:00Z' FROM flags")


def test_the_stale_mark_has_an_event_of_its_own(world, alice, conn):
    world.flag("f")
    since = world.last_event_id()
    for stale in (True, True, False, False):
        assert alice.put(f"{FLAGS}/f", json={"stale": stale}).json["stale"] is stale
    assert recorded(world, since, alice) == [event("feature-stale-on"), event("feature-stale-off")]
    assert value(conn, "SELECT count(*) FROM past_flag_states WHERE state = 'stale'") == 1
    since = world.last_event_id()
    response = alice.put(f"{FLAGS}/f", json={"stale": True, "description": "old"})
    assert [entry["type"] for entry in recorded(world, since)] == ["feature-metadata-updated", "feature-stale-on"]
    assert recorded(world, since)[0]["data"] == response.json


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "g"}, "name: must be omitted or unchanged"),
        ({"type": "unknown"}, "type: must be experiment"),
        ({"stale": 1}, "stale: must be true or false"),
        ({"seenAt": None}, "seenAt: unknown property"),
        ([], "body: must be a JSON object"),
    ],
)
def test_an_invalid_change_is_refused(world, alice, conn, change, message):
    world.flag("f")
    before = fingerprint(conn)
    assert message in refused(alice.put(f"{FLAGS}/f", json=change))
    assert fingerprint(conn) == before


def test_an_unknown_flag_is_404(world, alice, conn):
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    world.flag("other", world.project("apollo"))
    before = fingerprint(conn)
    for name in ("gone", "other", "unknown", "F", "f%00"):
        path = f"{FLAGS}/{name}"
        change, steps = {"description": "d"}, [replace("stale", True)]
        for response in (alice.get(path), alice.put(path, json=change), alice.request("PATCH", path, json=steps)):
            message = "This project has no such flag, or the flag is archived."
            assert refused(response, 404, "NotFoundError") == message
    assert fingerprint(conn) == before


# --- Patches ----------------------------------------------------------------------------------------------------------


def replace(name: str, new: Any) -> dict[str, Any]:
    """A step that replaces a property."""
    return {"op": "replace", "path": f"/{name}", "value": new}


def patch(caller, *steps: Any):
    """Patch flag f."""
    return caller.request("PATCH", f"{FLAGS}/f", json=list(steps))


def test_a_patched_flag_is_recorded_like_a_changed_one(world, alice, conn):
    fixtures.tag(conn, world.flag("f", description="old"), "simple", "beta")
    before, since = core(conn), world.last_event_id()
    steps = [replace("type", "experiment"), replace("stale", True), {"op": "remove", "path": "/description"}]
    response = patch(alice, *steps, {"op": "test", "path": "/name", "value": "f"})
    assert response.status_code == 200
    assert response.json == core(conn) == before | {"type": "experiment", "stale": True, "description": None}
    assert recorded(world, since, alice) == [
        event("feature-metadata-updated", data=response.json, pre_data=before, tags=[BETA]),
        event("feature-stale-on", tags=[BETA]),
    ]


FIXED = "cannot be changed by a patch"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (replace("name", "g"), f"name: {FIXED}"),
        (replace("project", "hermes"), f"project: {FIXED}"),
        (replace("archived", True), f"archived: {FIXED}"),
        (replace("createdAt", "2026-01-01T00:00:00.000Z"), f"createdAt: {FIXED}"),
        (replace("enabled", True), f"enabled: {FIXED}"),
        ({"op": "remove", "path": "/archivedAt"}, f"archivedAt: {FIXED}"),
        ({"op": "move", "from": "/name", "path": "/description"}, f"name: {FIXED}"),
        ({"op": "remove", "path": "/type"}, "type: must not be null"),
        (replace("type", "unknown"), "type: must be experiment"),
        (replace("id", 7), "path: does not exist in the document"),
        ({"op": "add", "path": "/id", "value": 7}, "id: unknown property"),
        ({"op": "add", "path": "/variants", "value": []}, "variants: unknown property"),
        ({"op": "replace", "path": "", "value": []}, "body: must be a JSON object"),
        ({"op": "test", "path": "/stale", "value": True}, "path: does not have the value"),
        ({"op": "frob", "path": "/stale"}, "op: must be add"),
        ("remove", "1: must be a JSON object"),
    ],
)
def test_an_invalid_patch_is_refused(world, alice, conn, step, says):
    world.flag("f", description="d")
    before = fingerprint(conn)
    assert says in refused(patch(alice, replace("description", "new"), step))
    assert fingerprint(conn) == before


# --- The list ---------------------------------------------------------------------------------------------------------


def names(caller, query="", path=FLAGS):
    """The names of the flags that are listed."""
    response = caller.get(f"{path}{query}")
    assert response.status_code == 200, response.text
    assert response.json["version"] == 2
    return [flag["name"] for flag in response.json["features"]]


def test_the_live_flags_of_the_project_are_listed_by_name(world, alice, conn):
    world.project("apollo")
    for name in ("b", "a", "C"):
        world.flag(name)
    world.flag("d", "apollo")
    world.flag("e", archived_at=value(conn, "SELECT now()"))
    ordered = rows(conn, "SELECT name FROM flags WHERE name = ANY(%(names)s) ORDER BY name", {"names": ["a", "b", "C"]})
    assert names(alice) == [row["name"] for row in ordered]
    assert len(ordered) == 3
    assert names(alice, path="/api/admin/projects/apollo/features") == ["d"]


def test_an_item_has_no_strategies_no_usage_and_no_archived_at(world, alice, conn):
    flag = world.flag("f", enabled_in=("production",), description="d")
    world.strategy(flag, "production", disabled=True)
    fixtures.tag(conn, flag, "simple", "beta")
    flag_favorites.add(conn, alice.id, flag)
    empty = {"variantCount": 0, "hasStrategies": False, "hasEnabledStrategies": False, "lastSeenAt": None}
    (item,) = alice.get(FLAGS).json["features"]
    assert item == {
        "name": "f",
        "type": "release",
        "description": "d",
        "project": "default",
        "enabled": True,
        "stale": False,
        "impressionData": False,
        "archived": False,
        "createdAt": core(conn)["createdAt"],
        "lastSeenAt": None,
        "favorite": True,
        "tags": [BETA],
        "environments": [
            empty
            | {"name": name, "environment": name, "type": name, "enabled": on, "sortOrder": order, "hasStrategies": on}
            for name, on, order in (("development", False, 1), ("production", True, 2))
        ],
    }
    assert world.user("Bob").get(FLAGS).json["features"][0]["favorite"] is False
    assert world.api_key().get(FLAGS).json["features"][0]["favorite"] is False


def test_flags_are_listed_by_the_beginning_of_their_names(world, alice):
    for name in ("ab", "abc", "xab", "AB", "a.b"):
        world.flag(name)
    assert names(alice, "?namePrefix=ab") == ["ab", "abc"]
    assert names(alice, "?namePrefix=a.") == ["a.b"]
    assert names(alice, "?namePrefix=%25") == names(alice, "?namePrefix=a_") == []
    assert len(names(alice, "?namePrefix=")) == 5
    assert "must not be given more than once" in refused(alice.get(f"{FLAGS}?namePrefix=a&namePrefix=b"))


def test_flags_are_listed_by_any_of_several_tags(world, alice, conn):
    tag_types.insert(conn, "team", "")
    for name, tags in (("a", ["simple:one"]), ("b", ["simple:two", "team:one"]), ("c", ["team:x:y"]), ("d", [])):
        flag = world.flag(name)
        for text in tags:
            fixtures.tag(conn, flag, *text.split(":", 1))
    for query, found in (
        ("tag=simple:one", ["a"]),
        ("tag=simple:one&tag=team:one&tag=simple:two", ["a", "b"]),
        ("tag=team:x:y", ["c"]),
        ("tag=simple:one&namePrefix=b", []),
        ("tag=team:none", []),
        ("tag=simple:ONE", []),
    ):
        assert names(alice, f"?{query}") == found, query
    message = "tag: must look like simple:beta, a type and a value"
    assert refused(alice.get(f"{FLAGS}?tag=simple:one&tag=simple")) == message
    assert "NUL" in refused(alice.get(f"{FLAGS}?tag=simple:%00"))


# --- Creators ---------------------------------------------------------------------------------------------------------


def test_creators_of_flags_are_users_each_once_by_name(world, alice, victor, conn):
    ada, bob, cyd = world.user("Ada"), world.user("Bob"), world.user("Cyd", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = ANY(%s)", [[bob.id, cyd.id]])
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [cyd.id])
    now = value(conn, "SELECT now()")
    world.flag("a", created_by_user_id=bob.id)
    world.flag("b", created_by_user_id=ada.id, archived_at=now)
    world.flag("c", created_by_user_id=bob.id)
    world.flag("d", created_by_user_id=cyd.id)
    world.flag("e")
    world.flag("deleted", created_by_user_id=victor.id, archived_at=now, deleted_at=now)
    world.flag("f", world.project("hermes"), created_by_user_id=victor.id)
    path = "/api/admin/projects/{}/flag-creators"
    named = [(ada.id, "Ada"), (bob.id, "bob"), (cyd.id, "cyd@example.org")]
    assert victor.get(path.format("default")).json == [{"id": id, "name": name} for id, name in named]
    assert victor.get(path.format("hermes")).json == [{"id": victor.id, "name": "Victor"}]
    named.append((victor.id, "Victor"))
    found = victor.get("/api/admin/flag-creators").json
    assert found == {
        "flagCreators": [{"id": id, "name": name} for id, name in sorted(named, key=lambda one: one[1])],
        "total": 4,
    }
    world.flag("g", world.project("secret", mode="private"), created_by_user_id=alice.id)
    assert victor.get("/api/admin/flag-creators").json == found
    assert alice.get("/api/admin/flag-creators").json["total"] == 5


def test_a_flag_without_a_user_has_the_name_of_its_token(world, conn):
    token = world.api_key(name="ci")
    # The name is enough.
    record = token.post(FLAGS, json={"name": "posted"}).json
    assert (record["type"], record["description"], record["impressionData"]) == ("release", None, False)
    assert value(conn, "SELECT created_by_user_id FROM flags") is None
    assert token.post(f"{FLAGS}/posted/clone", json={"name": "cloned"}).status_code == 201
    document = {"features": [{"name": "imported"}], "featureStrategies": [], "tagTypes": []}
    place = {"project": "default", "environment": "development", "data": document}
    assert token.post("/api/admin/features-batch/import", json=place).status_code == 200
    insert_flags(conn, SYSTEM, {"id": "default"}, [{"name": "own"} | NEW])
    assert token.delete(f"{FLAGS}/cloned").status_code == 202
    search = "/api/admin/search/features"
    found = token.get(search).json["features"] + token.get(f"{search}?archived=IS:true").json["features"]
    expected = {name: {"id": -42, "name": "ci", "imageUrl": ""} for name in ("posted", "cloned", "imported")}
    expected["own"] = {"id": -1337, "name": "system", "imageUrl": ""}
    assert {flag["name"]: flag["createdBy"] for flag in found} == expected
    for query, wanted in (("IS:-1337", {"own"}), ("IS_NOT:-1337", {"posted", "imported"})):
        assert {flag["name"] for flag in token.get(f"{search}?createdBy={query}").json["features"]} == wanted
    for name in ("posted", "imported", "own"):
        assert token.get(f"{FLAGS}/{name}").json["createdBy"] == expected[name]
