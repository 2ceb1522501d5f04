"""Flags of a project: made and listed."""

import pytest

from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from sql.vocabulary import tag_types
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS, core, event, recorded
from tests.support.world import refused
from validators.flags.core import TYPES

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
    unset = {
        "project": "default",
        "enabled": False,
        "stale": False,
        "archived": False,
        "archivedAt": None,
        "lastSeenAt": None,
    }
    assert record == body | unset
    assert recorded(world, since, alice) == [event("feature-created", data=response.json)]
    places = alice.get(f"{FLAGS}/f").json["environments"]
    assert [(place["name"], place["enabled"], place["strategies"]) for place in places] == [
        ("development", False, []),
        ("production", False, []),
    ]
    assert value(conn, "SELECT count(*) FROM flag_environments") == 2
    assert value(conn, "SELECT created_by_user_id FROM flags") == alice.id


def test_a_name_is_enough(world, conn):
    key = world.api_key(name="ci")
    assert key.post(FLAGS, json={"name": "f"}).status_code == 201
    record = core(conn)
    assert (record["type"], record["description"], record["impressionData"]) == ("release", None, False)
    assert value(conn, "SELECT created_by_user_id FROM flags") is None


def test_tags_of_a_new_flag_are_created_and_recorded_in_order(world, alice, conn):
    fixtures.tag(conn, world.flag("other"), "simple", "known")
    since = world.last_event_id()
    tags = [{"type": "simple", "value": value} for value in ("known", "  new ", "known")]
    response = alice.post(FLAGS, json={"name": "f", "tags": tags})
    known, new = ({"type": "simple", "value": value} for value in ("known", "new"))
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
        ({"name": ""}, "name: must not be empty"),
        ({"name": "x" * 101}, "name: must be at most 100"),
        ({"name": ".."}, "name: must not be"),
        ({"name": "a b"}, "name: must contain only"),
        ({"name": "a/b"}, "name: must contain only"),
        ({"name": "f", "type": "unknown"}, "type: must be experiment"),
        ({"name": "f", "type": "beta"}, "type: must be experiment"),
        ({"name": "f", "description": 5}, "description: must be a string"),
        ({"name": "f", "impressionData": "true"}, "impressionData: must be true or false"),
        ({"name": "f", "tags": [{"type": "simple", "value": " x "}]}, "tags.0.value: must be at least 2"),
        ({"name": "f", "tags": [{"type": "simple", "value": "x" * 51}]}, "tags.0.value: must be at most 50"),
        ({"name": "f", "tags": [{"type": "simple"}]}, "tags.0.value: is required"),
        (
            {"name": "f", "tags": [{"type": "simple", "value": "one"}, {"type": "nope", "value": "two"}]},
            "tags: unknown tag types: nope",
        ),
        ({"name": "f", "tags": [{"type": "simple", "value": "xy"}] * 101}, "tags: must have at most 100 tags"),
        ({"name": "f", "stale": 1}, "stale: must be true or false"),
        ({"name": "f", "status": "active"}, "status: unknown property"),
    ],
)
def test_a_new_flag_that_does_not_fit_is_refused_and_nothing_stays(alice, conn, body, message):
    before = fingerprint(conn)
    assert message in refused(alice.post(FLAGS, json=body))
    assert fingerprint(conn) == before


@pytest.mark.parametrize("name", ["validate", "features", "revive", "tags", "archive", "a.b", "~", "...", "x" * 100])
def test_a_name_that_looks_like_a_part_of_an_address_is_a_name(alice, name):
    assert alice.post(FLAGS, json={"name": name}).status_code == 201
    assert alice.get(f"{FLAGS}/{name}").json["name"] == name
    assert alice.put(f"{FLAGS}/{name}", json={"name": name}).status_code == 200
    assert (
        alice.post(
            f"/api/admin/features/{name}/tags", json={"type": "simple", "value": name[:50].ljust(2, "-")}
        ).status_code
        == 201
    )
    assert alice.delete(f"{FLAGS}/{name}").status_code == 202
    assert alice.post(f"/api/admin/archive/revive/{name}").status_code == 200
    assert alice.delete(f"{FLAGS}/{name}").status_code == 202
    assert alice.delete(f"/api/admin/archive/{name}").status_code == 200


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_name_is_taken_in_the_whole_instance_also_by_an_archived_flag(world, alice, conn, is_archived):
    world.project("apollo", mode="private")
    world.flag("f", "apollo", archived_at=value(conn, "SELECT now()") if is_archived else None)
    before = fingerprint(conn)
    assert refused(alice.post(FLAGS, json={"name": "f"}), 409, "NameExistsError").startswith("name: ")
    assert fingerprint(conn) == before
    assert alice.post(FLAGS, json={"name": "F"}).status_code == 201


def test_an_archived_project_gets_no_new_flag(world, alice, conn):
    world.project("past", archived_at=value(conn, "SELECT now()"))
    before = fingerprint(conn)
    for body in ({"name": "f"}, {"name": "f", "tags": [{"type": "nope", "value": "xy"}]}):
        refused(alice.post("/api/admin/projects/past/features", json=body), 404, "NotFoundError")
    refused(alice.post("/api/admin/projects/past/features", json={}))
    assert fingerprint(conn) == before
    assert alice.get("/api/admin/projects/past/features").json == {"version": 2, "features": []}


def test_the_naming_pattern_of_the_project_holds_for_the_whole_name(world, alice, conn):
    world.project("strict", naming_pattern="[a-z]+-[0-9]+")
    before = fingerprint(conn)
    path = "/api/admin/projects/strict/features"
    for name in ("abc", "xabc-1x", "ABC-1"):
        assert "naming pattern" in refused(alice.post(path, json={"name": name}))
    assert fingerprint(conn) == before
    assert alice.post(path, json={"name": "abc-1"}).status_code == 201


def test_a_full_project_takes_no_flag_but_archived_ones_do_not_count(world, alice, conn):
    world.project("small", feature_limit=1)
    world.flag("gone", "small", archived_at=value(conn, "SELECT now()"))
    path = "/api/admin/projects/small/features"
    assert alice.post(path, json={"name": "one"}).status_code == 201
    before = fingerprint(conn)
    assert "at most 1 live flag." in refused(alice.post(path, json={"name": "two"}), 409, "ConflictError")
    assert fingerprint(conn) == before
    assert alice.post(FLAGS, json={"name": "elsewhere"}).status_code == 201


def test_a_full_instance_takes_no_flag_and_archived_ones_count(world, alice, conn, app, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_FLAGS", 1)
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    before = fingerprint(conn)
    assert "at most 1 flag in" in refused(alice.post(FLAGS, json={"name": "f"}))
    assert fingerprint(conn) == before


def test_the_types_of_flags_are_those_of_the_database(conn):
    assert {row["id"] for row in conn.execute("SELECT id FROM flag_types").fetchall()} == TYPES


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
        "tags": [{"type": "simple", "value": "beta"}],
        "environments": [
            empty
            | {"name": name, "environment": name, "type": name, "enabled": on, "sortOrder": order, "hasStrategies": on}
            for name, on, order in (("development", False, 1), ("production", True, 2))
        ],
    }
    assert world.user("Bob").get(FLAGS).json["features"][0]["favorite"] is False
    assert world.api_key().get(FLAGS).json["features"][0]["favorite"] is False


def test_a_list_is_one_statement_after_the_guard(world, alice, conn, monkeypatch):
    for number in range(3):
        world.strategy(world.flag(f"f{number}"))
    alice.get(FLAGS)
    asked = []
    execute = type(conn).execute
    monkeypatch.setattr(
        type(conn), "execute", lambda self, *args, **kwargs: asked.append(args) or execute(self, *args, **kwargs)
    )
    alice.get(FLAGS)
    alice.get(f"{FLAGS}/f0")
    assert len(asked) == 4


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
        for tag in tags:
            fixtures.tag(conn, flag, *tag.split(":", 1))
    assert names(alice, "?tag=simple:one") == ["a"]
    assert names(alice, "?tag=simple:one&tag=team:one&tag=simple:two") == ["a", "b"]
    assert names(alice, "?tag=team:x:y") == ["c"]
    assert (
        names(alice, "?tag=simple:one&namePrefix=b")
        == names(alice, "?tag=team:none")
        == names(alice, "?tag=simple:ONE")
        == []
    )
    assert (
        refused(alice.get(f"{FLAGS}?tag=simple:one&tag=simple"))
        == "tag: must look like simple:beta, a type and a value"
    )
    assert "NUL" in refused(alice.get(f"{FLAGS}?tag=simple:%00"))


# --- Creators ---------------------------------------------------------------------------------------------------------


def test_creators_of_flags_are_users_each_once_by_name(world, victor, conn):
    ada, bob, cyd = world.user("Ada"), world.user("Bob"), world.user("Cyd", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = ANY(%s)", [[bob.id, cyd.id]])
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [cyd.id])
    world.flag("a", created_by_user_id=bob.id)
    world.flag("b", created_by_user_id=ada.id, archived_at=value(conn, "SELECT now()"))
    world.flag("c", created_by_user_id=bob.id)
    world.flag("d", created_by_user_id=cyd.id)
    world.flag("e")
    now = value(conn, "SELECT now()")
    world.flag("deleted", created_by_user_id=victor.id, archived_at=now, deleted_at=now)
    world.flag("f", world.project("hermes"), created_by_user_id=victor.id)
    path = "/api/admin/projects/{}/flag-creators"
    named = [(ada.id, "Ada"), (bob.id, "bob"), (cyd.id, "cyd@example.org")]
    assert victor.get(path.format("default")).json == [{"id": id, "name": name} for id, name in named]
    assert victor.get(path.format("hermes")).json == [{"id": victor.id, "name": "Victor"}]
