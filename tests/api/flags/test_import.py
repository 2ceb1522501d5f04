"""Import: what happens to the flags of a document, and the events about it."""

from sql.database import rows, value
from tests.support import fixtures
from tests.support.documents import ROLLOUT, bring_in, document, flag, happened, place, state, strategy

BLUE = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default", "overrides": []}


def test_a_new_flag_has_the_fields_of_the_document(world, eve):
    before = world.last_event_id()
    feature = {"name": "f", "type": "operational", "description": "Is it on?", "stale": False, "impressionData": True}
    ignored = {"project": "elsewhere", "archived": True, "createdAt": "2020-01-01"}
    bring_in(eve, document(feature | ignored))
    record = flag(world)
    assert {key: record[key] for key in feature} == feature
    assert (record["project"], record["archived"], record["createdBy"]["id"]) == ("default", False, eve.id)
    assert [(one["name"], one["enabled"]) for one in record["environments"]] == [
        ("development", False),
        ("production", False),
    ]
    created, imported = world.events(before)
    assert created["type"] == "feature-created"
    assert created["data"] == {key: record[key] for key in created["data"]}
    assert set(created["data"]) == {*feature, "project", "enabled", "archived", "createdAt", "archivedAt", "lastSeenAt"}
    for event in (created, imported):
        assert (event["created_by"], event["created_by_user_id"], event["project"]) == (eve.email, eve.id, "default")
        assert (event["pre_data"], event["tags"]) == (None, [])
    assert (created["feature_name"], created["environment"]) == ("f", None)
    assert (imported["type"], imported["feature_name"], imported["environment"]) == (
        "features-imported",
        None,
        "development",
    )
    assert imported["data"] is None


def test_fields_that_the_document_omits_have_the_defaults_of_a_new_flag(world, alice):
    bring_in(alice, document("f"))
    record = flag(world)
    assert (record["type"], record["description"], record["stale"], record["impressionData"]) == (
        "release",
        None,
        False,
        False,
    )


def test_a_stale_flag_is_made_and_then_marked(world, alice):
    before = world.last_event_id()
    bring_in(alice, document({"name": "f", "stale": True}))
    assert flag(world)["stale"] is True
    created, marked, _ = world.events(before)
    assert (created["type"], created["data"]["stale"]) == ("feature-created", False)
    assert (marked["type"], marked["feature_name"], marked["data"]) == ("feature-stale-on", "f", None)


def test_an_existing_flag_gets_the_fields_of_the_document(world, conn, alice):
    world.flag("f", description="Old.", stale_since="2026-01-01T00:00:00Z", created_at="2025-06-01T00:00:00Z")
    fixtures.tag(conn, value(conn, "SELECT id FROM flags WHERE name = 'f'"), "simple", "web")
    before, old = world.last_event_id(), flag(world)
    bring_in(alice, document({"name": "f", "type": "experiment", "description": None, "stale": False}))
    new = flag(world)
    assert (new["type"], new["description"], new["stale"], new["createdAt"]) == (
        "experiment",
        None,
        False,
        "2025-06-01T00:00:00.000Z",
    )
    changed, unmarked, imported = world.events(before)
    assert (changed["type"], unmarked["type"], imported["type"]) == (
        "feature-metadata-updated",
        "feature-stale-off",
        "features-imported",
    )
    assert changed["data"] == {key: new[key] for key in changed["data"]}
    assert changed["pre_data"] == {key: old[key] for key in changed["data"]}
    for event in (changed, unmarked):
        assert (event["feature_name"], event["project"], event["tags"]) == (
            "f",
            "default",
            [{"type": "simple", "value": "web"}],
        )
    assert value(conn, "SELECT count(*) FROM past_flag_states WHERE state = 'stale'") == 1


def test_a_stale_flag_keeps_the_time_at_which_it_became_stale(world, conn, alice):
    world.flag("f", stale_since="2026-01-01T00:00:00Z")
    before = world.last_event_id()
    bring_in(alice, document({"name": "f", "description": "New.", "stale": True}))
    assert value(conn, "SELECT stale_since = '2026-01-01Z' FROM flags") is True
    assert happened(world, before) == [("feature-metadata-updated", "f"), ("features-imported", None)]


def test_fields_that_the_document_omits_stay(world, conn, alice):
    id = world.flag("f", description="Old.", impression_data=True, type="experiment", enabled_in=("development",))
    world.strategy(id, parameters=ROLLOUT)
    fixtures.insert_variant(conn, id, "development", None, name="blue", weight=1000)
    fixtures.tag(conn, id, "simple", "web")
    [there], before = place(world)["strategies"], world.last_event_id()
    bring_in(alice, document("f", featureStrategies=[strategy(id=there["id"])]))
    record = flag(world)
    assert (record["type"], record["description"], record["impressionData"]) == ("experiment", "Old.", True)
    assert record["tags"] == [{"type": "simple", "value": "web"}]
    assert place(world)["enabled"] is True
    assert (place(world)["strategies"], place(world)["variants"]) == ([there], [BLUE])
    assert happened(world, before) == [("features-imported", None)]


def test_an_import_leaves_other_environments_alone(world, conn, alice):
    id = world.flag("f", enabled_in=("production",))
    world.strategy(id, "production", parameters=ROLLOUT)
    fixtures.insert_variant(conn, id, "production", None, name="blue", weight=1000)
    fixtures.insert_variant(conn, id, "development", None, name="blue", weight=1000)
    there = place(world, environment="production")
    bring_in(alice, document("f", featureEnvironments=[state(enabled=False, variants=[])]))
    assert (place(world, environment="production"), place(world)["variants"]) == (there, [])


def test_tags_are_replaced_and_missing_types_are_made(world, conn, alice):
    id = world.flag("f")
    for text in ("stays", "goes"):
        fixtures.tag(conn, id, "simple", text)
    before = world.last_event_id()
    entries = [("simple", "stays"), ("team", "web"), ("simple", "  new  "), ("team", "web")]
    tags = [{"featureName": "f", "tagType": type, "tagValue": text} for type, text in entries]
    types = [
        {"name": "team", "description": "Whose.", "icon": "group", "color": "#fff"},
        {"name": "unused"},
        {"name": "simple"},
    ]
    bring_in(alice, document("f", featureTags=tags, tagTypes=types))
    goes, stays, new, web = (
        {"type": type, "value": text} for type, text in [("simple", "goes"), *sorted_entries(entries)]
    )
    assert flag(world)["tags"] == [new, stays, web]
    events = world.events(before)
    assert [(event["type"], event["data"], event["pre_data"], event["tags"]) for event in events[:-1]] == [
        ("tag-type-created", {"name": "team", "description": "Whose.", "icon": "group"}, None, []),
        ("tag-type-created", {"name": "unused", "description": "", "icon": None}, None, []),
        ("feature-untagged", None, goes, [stays]),
        ("tag-created", new, None, []),
        ("feature-tagged", new, None, [new, stays]),
        ("tag-created", web, None, []),
        ("feature-tagged", web, None, [new, stays, web]),
    ]
    assert [event["feature_name"] for event in events] == [None, None, "f", None, "f", None, "f", None]
    assert [event["project"] for event in events] == [
        None,
        None,
        "default",
        None,
        "default",
        None,
        "default",
        "default",
    ]
    assert value(conn, "SELECT description FROM tag_types WHERE name = 'simple'") == "A plain tag."


def sorted_entries(entries):
    """stays, new and web, as they are kept."""
    return [entries[0], ("simple", "new"), entries[1]]


def test_a_missing_list_of_tags_keeps_them_an_empty_one_removes_them(world, conn, alice):
    fixtures.tag(conn, world.flag("f"), "simple", "web")
    bring_in(alice, document("f"))
    assert len(flag(world)["tags"]) == 1
    bring_in(alice, document("f", featureTags=[]))
    assert flag(world)["tags"] == []


def test_missing_context_fields_are_made_and_others_left_as_they_are(world, conn, alice):
    before = world.last_event_id()
    legal = [{"value": "NO", "description": "Norway"}, {"value": "SE"}]
    country = {"name": "country", "description": "Where.", "stickiness": True, "sortOrder": 7, "legalValues": legal}
    fields = [
        country | {"usedInProjects": 3},
        {"name": "plan"},
        {"name": "userId", "description": "Other.", "stickiness": False},
    ]
    wanted = strategy(constraints=[{"contextName": "country", "operator": "IN", "values": ["NO"]}])
    bring_in(alice, document("f", featureStrategies=[wanted], contextFields=fields))
    statement = (
        "SELECT name, description, stickiness, sort_order, legal_values "
        "FROM context_fields WHERE name = ANY(%(names)s) ORDER BY name"
    )
    assert [tuple(row.values()) for row in rows(conn, statement, {"names": ["country", "plan", "userId"]})] == [
        ("country", "Where.", True, 7, legal),
        ("plan", None, False, 10, []),
        ("userId", "The user of the application.", True, 1, []),
    ]
    record = [event for event in world.events(before) if event["type"] == "context-field-created"]
    assert [event["data"]["name"] for event in record] == ["country", "plan"]
    assert {key: record[0]["data"][key] for key in country} == country
    assert all(
        (event["project"], event["feature_name"], event["environment"]) == (None, None, None) for event in record
    )


def test_dependencies_are_added_and_changed_but_not_taken_away(world, conn, alice):
    child, parent, other = world.flag("child"), world.flag("parent"), world.flag("other")
    statement = "INSERT INTO flag_dependencies (child_id, parent_id, enabled) VALUES (%s, %s, true)"
    for id in (parent, other):
        conn.execute(statement, [child, id])
    before = world.last_event_id()
    links = [
        {"feature": "child", "dependencies": [{"feature": "parent", "enabled": False, "variants": []}]},
        {"feature": "new", "dependencies": [{"feature": "new-parent", "variants": ["blue"]}, {"feature": "parent"}]},
    ]
    bring_in(alice, document("child", "new", "new-parent", dependencies=links))
    assert flag(world, "child")["dependencies"] == [
        {"feature": "other", "enabled": True, "variants": []},
        {"feature": "parent", "enabled": False, "variants": []},
    ]
    assert flag(world, "new")["dependencies"] == [
        {"feature": "new-parent", "enabled": True, "variants": ["blue"]},
        {"feature": "parent", "enabled": True, "variants": []},
    ]
    added = [event for event in world.events(before) if event["type"] == "feature-dependency-added"]
    assert [(event["feature_name"], event["data"], event["project"], event["environment"]) for event in added] == [
        ("child", {"feature": "parent", "enabled": False}, "default", None),
        ("new", {"feature": "new-parent", "enabled": True, "variants": ["blue"]}, "default", None),
        ("new", {"feature": "parent", "enabled": True}, "default", None),
    ]


def test_archived_flags_are_left_out(world, conn, alice):
    world.flag("f", description="Old.", archived_at="2026-01-01T00:00:00Z")
    before = world.last_event_id()
    data = document({"name": "f", "description": "New."}, "g", featureStrategies=[strategy("f"), strategy("g")])
    bring_in(alice, data | {"featureTags": [{"featureName": "f", "tagType": "simple", "tagValue": "web"}]})
    assert value(conn, "SELECT description FROM flags WHERE name = 'f' AND archived_at IS NOT NULL") == "Old."
    assert value(conn, "SELECT count(*) FROM strategies") == 1
    assert happened(world, before) == [
        ("feature-created", "g"),
        ("feature-strategy-add", "g"),
        ("features-imported", None),
    ]


def test_a_name_that_a_deleted_flag_had_is_free(world, alice):
    world.flag("f", archived_at="2026-01-01T00:00:00Z")
    world.conn.execute("UPDATE flags SET deleted_at = now()")
    bring_in(alice, document("f", featureStrategies=[strategy()]))
    assert len(place(world)["strategies"]) == 1


def test_a_flag_gets_a_state_in_a_newly_linked_environment(world, conn, alice):
    world.flag("f")
    conn.execute("DELETE FROM flag_environments WHERE environment = 'development'")
    bring_in(
        alice, document("f", featureStrategies=[strategy()], featureEnvironments=[state(enabled=True, variants=[BLUE])])
    )
    assert (place(world)["enabled"], len(place(world)["strategies"]), place(world)["variants"]) == (True, 1, [BLUE])


def test_an_empty_document_is_imported_and_recorded(world, alice):
    before = world.last_event_id()
    bring_in(alice, document())
    assert happened(world, before) == [("features-imported", None)]


def test_a_key_may_import_and_no_user_has_made_its_flags(world, conn):
    bring_in(world.api_key(), document("f"))
    assert value(conn, "SELECT created_by_user_id FROM flags WHERE name = 'f'") is None
    assert [event["created_by"] for event in world.events()[-2:]] == ["a key", "a key"]
