"""Import: which documents are read, what happens to the flags of one, and the events about it."""

import json

import pytest

from rules.import_documents import ImportedFlag
from sql.catalog import segments
from sql.database import rows, value
from tests.support import fixtures
from tests.support.documents import (
    IMPORT,
    ROLLOUT,
    VALIDATE,
    body,
    bring_in,
    document,
    flag,
    happened,
    links,
    place,
    state,
    strategy,
    validated,
)
from tests.support.fingerprint import fingerprint
from tests.support.flags import event, recorded
from tests.support.world import refused

ID = "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f"
OTHER_ID = "c5be8c9b-4a6e-4b1d-8e7f-2d3c4b5e6f70"
VARIANT = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
BLUE = VARIANT | {"overrides": []}
WEB = {"type": "simple", "value": "web"}
IMPORTED = ("features-imported", None)


def imported(environment="development"):
    """The event of an import into project default."""
    return {"type": "features-imported", "project": "default", "environment": environment, "tags": []}


# --- Flags ------------------------------------------------------------------------------------------------------------


def test_a_new_flag_has_the_fields_of_the_document(world, eve):
    before = world.last_event_id()
    feature = {"name": "f", "type": "operational", "description": "Is it on?", "stale": False, "impressionData": True}
    ignored = {"project": "elsewhere", "archived": True, "createdAt": "2020-01-01"}
    bring_in(eve, document(feature | ignored))
    record = flag(world)
    assert {key: record[key] for key in feature} == feature
    assert (record["project"], record["archived"], record["createdBy"]["id"]) == ("default", False, eve.id)
    places = [(one["name"], one["enabled"]) for one in record["environments"]]
    assert places == [("development", False), ("production", False)]
    core = ("project", "enabled", "archived", "createdAt", "archivedAt", "lastSeenAt")
    data = {key: record[key] for key in (*feature, *core)}
    assert recorded(world, before, eve) == [event("feature-created", data=data), imported()]


def test_omitted_fields_of_a_new_flag_have_their_defaults_and_its_creator_may_be_a_token(world, conn):
    bring_in(world.api_key(), document("f"))
    record = flag(world)
    values = [record[key] for key in ("type", "description", "stale", "impressionData")]
    assert values == ["release", None, False, False]
    assert value(conn, "SELECT created_by_user_id FROM flags WHERE name = 'f'") is None
    assert [event["created_by"] for event in world.events()[-2:]] == ["a key", "a key"]


def test_a_stale_flag_is_created_and_then_marked_and_keeps_its_time(world, conn, alice):
    before = world.last_event_id()
    bring_in(alice, document({"name": "f", "stale": True}))
    assert flag(world)["stale"] is True
    created, marked, _ = recorded(world, before, alice)
    assert (created["type"], created["data"]["stale"]) == ("feature-created", False)
    assert marked == event("feature-stale-on")
    conn.execute("UPDATE flags SET stale_since = '2026-01-01Z'")
    before = world.last_event_id()
    bring_in(alice, document({"name": "f", "description": "New.", "stale": True}))
    assert value(conn, "SELECT stale_since = '2026-01-01Z' FROM flags") is True
    assert happened(world, before) == [("feature-metadata-updated", "f"), IMPORTED]


def test_an_existing_flag_gets_the_fields_of_the_document(world, conn, alice):
    times = {"stale_since": "2026-01-01T00:00:00Z", "created_at": "2025-06-01T00:00:00Z"}
    fixtures.tag(conn, world.flag("f", description="Old.", **times), "simple", "web")
    before, old = world.last_event_id(), flag(world)
    bring_in(alice, document({"name": "f", "type": "experiment", "description": None, "stale": False}))
    new = flag(world)
    values = [new[key] for key in ("type", "description", "stale", "createdAt")]
    assert values == ["experiment", None, False, "2025-06-01T00:00:00.000Z"]
    changed, unmarked, last = recorded(world, before, alice)
    data, pre_data = ({key: record[key] for key in changed["data"]} for record in (new, old))
    assert changed == event("feature-metadata-updated", tags=[WEB], data=data, pre_data=pre_data)
    assert (unmarked, last) == (event("feature-stale-off", tags=[WEB]), imported())
    assert value(conn, "SELECT count(*) FROM past_flag_states WHERE state = 'stale'") == 1


def test_what_the_document_omits_stays(world, conn, alice):
    id = world.flag("f", description="Old.", impression_data=True, type="experiment", enabled_in=("development",))
    world.strategy(id, parameters=ROLLOUT)
    fixtures.insert_variant(conn, id, "development", None, name="blue", weight=1000)
    fixtures.tag(conn, id, "simple", "web")
    [there], before = place(world)["strategies"], world.last_event_id()
    bring_in(alice, document("f", featureStrategies=[strategy(id=there["id"])]))
    record = flag(world)
    assert (record["type"], record["description"], record["impressionData"]) == ("experiment", "Old.", True)
    assert record["tags"] == [WEB]
    assert place(world)["enabled"] is True
    assert (place(world)["strategies"], place(world)["variants"]) == ([there], [BLUE])
    assert happened(world, before) == [IMPORTED]
    # An empty list of tags is none.
    bring_in(alice, document("f", featureTags=[], featureStrategies=[strategy(id=there["id"])]))
    assert flag(world)["tags"] == []


def test_an_import_leaves_other_environments_alone(world, conn, alice):
    id = world.flag("f", enabled_in=("production",))
    world.strategy(id, "production", parameters=ROLLOUT)
    for environment in ("production", "development"):
        fixtures.insert_variant(conn, id, environment, None, name="blue", weight=1000)
    there = place(world, environment="production")
    bring_in(alice, document("f", featureEnvironments=[state(enabled=False, variants=[])]))
    assert (place(world, environment="production"), place(world)["variants"]) == (there, [])


def test_tags_are_replaced_and_missing_types_are_created(world, conn, alice):
    id = world.flag("f")
    for text in ("stays", "goes"):
        fixtures.tag(conn, id, "simple", text)
    before = world.last_event_id()
    entries = [("simple", "stays"), ("team", "web"), ("simple", "  new  "), ("team", "web")]
    tags = [{"featureName": "f", "tagType": type, "tagValue": text} for type, text in entries]
    team = {"name": "team", "description": "Whose.", "icon": "group"}
    types = [team | {"color": "#fff"}, {"name": "unused"}, {"name": "simple"}]
    bring_in(alice, document("f", featureTags=tags, tagTypes=types))
    goes, stays, new = ({"type": "simple", "value": text} for text in ("goes", "stays", "new"))
    web = {"type": "team", "value": "web"}
    assert flag(world)["tags"] == [new, stays, web]
    assert recorded(world, before, alice) == [
        {"type": "tag-type-created", "data": team, "tags": []},
        {"type": "tag-type-created", "data": {"name": "unused", "description": "", "icon": None}, "tags": []},
        event("feature-untagged", pre_data=goes, tags=[stays]),
        {"type": "tag-created", "data": new, "tags": []},
        event("feature-tagged", data=new, tags=[new, stays]),
        {"type": "tag-created", "data": web, "tags": []},
        event("feature-tagged", data=web, tags=[new, stays, web]),
        imported(),
    ]
    assert value(conn, "SELECT description FROM tag_types WHERE name = 'simple'") == "A plain tag."


def test_missing_context_fields_are_created_and_others_left_as_they_are(world, conn, alice):
    before = world.last_event_id()
    legal = [{"value": "NO", "description": "Norway"}, {"value": "SE"}]
    country = {"name": "country", "description": "Where.", "stickiness": True, "sortOrder": 7, "legalValues": legal}
    user = {"name": "userId", "description": "Other.", "stickiness": False}
    wanted = strategy(constraints=[{"contextName": "country", "operator": "IN", "values": ["NO"]}])
    fields = [country | {"usedInProjects": 3}, {"name": "plan"}, user]
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
    record = [event for event in recorded(world, before) if event["type"] == "context-field-created"]
    assert [event["data"]["name"] for event in record] == ["country", "plan"]
    assert record[0]["data"] | country == record[0]["data"]
    assert all(event.keys() == {"type", "data", "tags"} for event in record)


def test_dependencies_are_added_and_changed_but_not_removed(world, conn, alice):
    child = world.flag("child")
    for name in ("parent", "other"):
        fixtures.insert(conn, "flag_dependencies", child_id=child, parent_id=world.flag(name))
    before = world.last_event_id()
    changes = [
        {"feature": "child", "dependencies": [{"feature": "parent", "enabled": False, "variants": []}]},
        {"feature": "new", "dependencies": [{"feature": "new-parent", "variants": ["blue"]}, {"feature": "parent"}]},
    ]
    bring_in(alice, document("child", "new", "new-parent", dependencies=changes))
    assert flag(world, "child")["dependencies"] == [
        {"feature": "other", "enabled": True, "variants": []},
        {"feature": "parent", "enabled": False, "variants": []},
    ]
    assert flag(world, "new")["dependencies"] == [
        {"feature": "new-parent", "enabled": True, "variants": ["blue"]},
        {"feature": "parent", "enabled": True, "variants": []},
    ]
    added = "feature-dependency-added"
    assert [event for event in recorded(world, before) if event["type"] == added] == [
        event(added, "child", data={"feature": "parent", "enabled": False}),
        event(added, "new", data={"feature": "new-parent", "enabled": True, "variants": ["blue"]}),
        event(added, "new", data={"feature": "parent", "enabled": True}),
    ]


def test_archived_flags_are_left_out(world, conn, alice):
    world.flag("f", description="Old.", archived_at="2026-01-01T00:00:00Z")
    before = world.last_event_id()
    tags = [{"featureName": "f", "tagType": "simple", "tagValue": "web"}]
    strategies = [strategy("f"), strategy("g")]
    data = document({"name": "f", "description": "New."}, "g", featureStrategies=strategies, featureTags=tags)
    bring_in(alice, data)
    assert value(conn, "SELECT description FROM flags WHERE name = 'f' AND archived_at IS NOT NULL") == "Old."
    assert value(conn, "SELECT count(*) FROM strategies") == 1
    assert happened(world, before) == [("feature-created", "g"), ("feature-strategy-add", "g"), IMPORTED]
    # The name of a deleted flag is free.
    conn.execute("UPDATE flags SET deleted_at = now() WHERE name = 'f'")
    bring_in(alice, document("f", featureStrategies=[strategy()]))
    assert len(place(world)["strategies"]) == 1


def test_a_flag_gets_a_state_in_a_newly_linked_environment(world, conn, alice):
    world.flag("f")
    conn.execute("DELETE FROM flag_environments WHERE environment = 'development'")
    states = [state(enabled=True, variants=[BLUE])]
    bring_in(alice, document("f", featureStrategies=[strategy()], featureEnvironments=states))
    assert (place(world)["enabled"], len(place(world)["strategies"]), place(world)["variants"]) == (True, 1, [BLUE])


# --- Strategies -------------------------------------------------------------------------------------------------------


def test_strategies_are_replaced_with_what_is_in_the_document(world, conn, alice):
    segment, other = segments.insert(conn, "beta", []), segments.insert(conn, "norway", [])
    id = world.flag("f", enabled_in=("development",))
    world.strategy(id, parameters=ROLLOUT)
    fixtures.tag(conn, id, "simple", "web")
    [gone], before = place(world)["strategies"], world.last_event_id()
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    wanted = strategy(
        id=ID,
        title="New",
        disabled=False,
        sortOrder=4,
        constraints=[constraint],
        variants=[VARIANT | {"name": name, "weight": 0} for name in ("b", "a")],
        segments=[900, 901],
        name="default",
        parameters={},
    )
    named = [{"id": 900, "name": "norway"}, {"id": 901, "name": "beta"}]
    bring_in(alice, document("f", featureStrategies=[wanted], segments=named, contextFields=[]))
    [created] = place(world)["strategies"]
    assert created == wanted | {
        "constraints": [constraint | {"inverted": False, "caseInsensitive": False}],
        "variants": [VARIANT | {"name": name, "weight": 500} for name in ("a", "b")],
        "segments": [segment, other],
    }
    where = {"environment": "development", "tags": [WEB]}
    assert recorded(world, before, alice)[:2] == [
        event("feature-strategy-remove", pre_data=gone, **where),
        event("feature-strategy-add", data=created, **where),
    ]


def test_strategies_get_what_every_new_one_gets(world, conn, alice):
    conn.execute("UPDATE projects SET default_stickiness = 'userId' WHERE id = 'default'")
    sent = [{}, {"rollout": 5, "stickiness": ""}]
    entries = [*(strategy(parameters=parameters) for parameters in sent), strategy(name="default", parameters={})]
    bring_in(alice, document("f", featureStrategies=entries))
    assert [one["parameters"] for one in place(world)["strategies"]] == [
        {"rollout": "100", "groupId": "f", "stickiness": "userId"},
        {"rollout": "5", "stickiness": "default", "groupId": "f"},
        {},
    ]
    assert [one["sortOrder"] for one in place(world)["strategies"]] == [0, 1, 2]
    entries = [strategy(title=title, sortOrder=0) for title in ("zebra", "ape", "lion", "cat")]
    bring_in(alice, document("f", featureStrategies=entries))
    assert [one["title"] for one in place(world)["strategies"]] == ["zebra", "ape", "lion", "cat"]


def test_an_invalid_or_used_id_becomes_a_new_one(world, alice):
    world.strategy(world.flag("taken"), strategy_id=ID)
    world.strategy(world.flag("f"), "production", strategy_id=OTHER_ID)
    sent = ["not-a-uuid", "", ID + "0", ID, OTHER_ID]
    entries = [strategy(), *(strategy(id=id, title=id) for id in sent)]
    bring_in(alice, document("f", featureStrategies=entries))
    ids = {one["id"] for one in place(world)["strategies"]}
    assert ids & {*sent} == set()
    assert [len(id) for id in ids] == [len(ID)] * len(entries)


def test_an_id_is_that_of_the_first_and_free_when_its_strategy_is_removed(world, alice):
    bring_in(alice, document("f", "g", featureStrategies=[strategy("f", id=ID), strategy("g", id=ID)]))
    assert place(world, "f")["strategies"][0]["id"] == ID
    assert place(world, "g")["strategies"][0]["id"] != ID
    before = world.last_event_id()
    bring_in(alice, document("f", featureStrategies=[strategy(id=ID, title="changed")]))
    assert [(one["id"], one["title"]) for one in place(world)["strategies"]] == [(ID, "changed")]
    assert happened(world, before)[:2] == [("feature-strategy-remove", "f"), ("feature-strategy-add", "f")]


def test_equal_strategies_are_matched_by_id_first(world, alice):
    id = world.flag("f")
    for strategy_id in (ID, OTHER_ID):
        world.strategy(id, strategy_id=strategy_id, parameters=ROLLOUT)
    before = world.last_event_id()
    entries = [strategy(sortOrder=0), strategy(sortOrder=0, id=ID), strategy(sortOrder=0, id="x")]
    bring_in(alice, document("f", featureStrategies=entries))
    ids = [one["id"] for one in place(world)["strategies"]]
    assert len(set(ids)) == 3
    assert {ID, OTHER_ID} < set(ids)
    assert happened(world, before) == [("feature-strategy-add", "f"), IMPORTED]
    bring_in(alice, document("f", featureStrategies=[strategy(sortOrder=0, id=OTHER_ID)]))
    assert [one["id"] for one in place(world)["strategies"]] == [OTHER_ID]


def test_variants_are_replaced_and_an_empty_list_clears_them(world, alice):
    before = world.last_event_id()
    more = {"payload": {"type": "csv", "value": "a,b"}, "overrides": [{"contextName": "userId", "values": ["7"]}]}
    bring_in(alice, document("f", featureEnvironments=[state(variants=[{"name": "red", "weight": 5} | more])]))
    red = [BLUE | {"name": "red"} | more]
    assert place(world)["variants"] == red
    bring_in(alice, document("f", featureEnvironments=[state(variants=[])]))
    assert place(world)["variants"] == []
    type = "feature-environment-variants-updated"
    assert [event for event in recorded(world, before) if event["type"] == type] == [
        event(type, environment="development", data={"variants": red}, pre_data={"variants": []}),
        event(type, environment="development", data={"variants": []}, pre_data={"variants": red}),
    ]
    # Variants of strategies have no overrides.
    bring_in(alice, document("f", featureStrategies=[strategy(variants=[VARIANT | more])]))
    [variants] = [one["variants"] for one in place(world)["strategies"]]
    assert variants == [VARIANT | {"payload": more["payload"]}]


# --- On and off -------------------------------------------------------------------------------------------------------


def test_flags_are_switched_off_first_and_on_last(world, alice):
    for name, on in (("a", ("development",)), ("b", ()), ("c", ("development",))):
        world.strategy(world.flag(name, enabled_in=on), parameters=ROLLOUT)
    before = world.last_event_id()
    new = [strategy(name, title="new") for name in ("a", "b")]
    states = [state("a", enabled=False), state("b", enabled=True), state("c", enabled=True)]
    strategies = [*new, strategy("c", sortOrder=0)]
    bring_in(alice, document("a", "b", "c", featureStrategies=strategies, featureEnvironments=states))
    assert [place(world, name)["enabled"] for name in "abc"] == [False, True, True]
    assert happened(world, before) == [
        ("feature-environment-disabled", "a"),
        ("feature-strategy-remove", "a"),
        ("feature-strategy-remove", "b"),
        ("feature-strategy-add", "a"),
        ("feature-strategy-add", "b"),
        ("feature-environment-enabled", "b"),
        IMPORTED,
    ]
    assert {event["environment"] for event in world.events(before)} == {"development"}


def test_the_first_time_in_production_is_kept(conn, alice):
    statement = "SELECT first_in_production_at = now() FROM flags WHERE name = 'f'"
    wanted = document("f", featureStrategies=[strategy()], featureEnvironments=[state(enabled=True)])
    bring_in(alice, wanted)
    assert value(conn, statement) is None
    bring_in(alice, wanted, environment="production")
    assert value(conn, statement) is True
    conn.execute(
        "UPDATE flags SET first_in_production_at = '2020-01-01Z'; UPDATE flag_environments SET enabled = false"
    )
    bring_in(alice, wanted, environment="production")
    assert value(conn, statement) is False


@pytest.mark.parametrize("there", [[], [strategy(disabled=True)]], ids=["none", "disabled ones"])
def test_a_state_that_is_on_gets_the_default_strategy(world, alice, there):
    data = document("f", featureStrategies=there, featureEnvironments=[state(enabled=True)])
    bring_in(alice, data)
    [*_, created] = place(world)["strategies"]
    assert (place(world)["enabled"], created["disabled"], created["sortOrder"]) == (True, False, len(there))
    parameters = {"rollout": "100", "groupId": "f", "stickiness": "default"}
    assert (created["name"], created["parameters"]) == ("flexibleRollout", parameters)
    before = world.last_event_id()
    bring_in(alice, data)
    assert happened(world, before) == [IMPORTED]


def set_default(conn, strategy):
    """Give project default a default strategy in development."""
    statement = (
        "UPDATE project_environments SET default_strategy = %s "
        "WHERE project_id = 'default' AND environment = 'development'"
    )
    conn.execute(statement, [json.dumps(strategy)])


def test_the_default_strategy_is_that_of_the_project(world, conn, alice):
    constraint = {"contextName": "gone", "operator": "IN", "values": ["1"], "inverted": False, "caseInsensitive": False}
    default = {
        "name": "flexibleRollout",
        "title": "Usual",
        "disabled": True,
        "segments": [segments.insert(conn, "beta", [])],
        "sortOrder": 9,
        "constraints": [constraint],
        "parameters": {"rollout": "5", "stickiness": "userId", "groupId": "all"},
    }
    set_default(conn, default)
    data = document("f", featureEnvironments=[state(enabled=True)])
    bring_in(alice, data)
    [created] = place(world)["strategies"]
    own = {"featureName": "f", "disabled": False, "sortOrder": 0, "variants": [], "id": created["id"]}
    assert created == default | own | {"parameters": default["parameters"] | {"groupId": "f"}}
    before = world.last_event_id()
    bring_in(alice, data)
    assert happened(world, before) == [IMPORTED]


@pytest.mark.parametrize("gone", [{"name": "gone"}, {"name": "default", "segments": [10**6]}])
def test_an_unusable_default_strategy_is_an_error_where_needed(world, conn, alice, gone):
    set_default(conn, gone)
    data = document("f", featureEnvironments=[state(enabled=True)])
    assert refused(alice.post(IMPORT, json=body(data))).startswith("f: The default strategy of this environment uses")
    assert flag(world) is None
    bring_in(alice, data | {"featureStrategies": [strategy()]})


def test_a_flag_that_loses_its_last_strategy_is_switched_off(world, alice):
    world.strategy(world.flag("f", enabled_in=("development",)))
    before = world.last_event_id()
    bring_in(alice, document("f"))
    assert (place(world)["enabled"], place(world)["strategies"]) == (False, [])
    assert happened(world, before)[:2] == [("feature-environment-disabled", "f"), ("feature-strategy-remove", "f")]


# --- Documents --------------------------------------------------------------------------------------------------------


def test_an_archived_project_or_unlinked_environment_is_404(world, conn, alice):
    fixtures.insert_project(conn, "old", "Old", archived_at="2026-01-01T00:00:00Z")
    fixtures.add_project_environment(conn, "old", "development")
    world.project("hermes", environments=("production",))
    before = fingerprint(conn)
    for where in (("old", "development"), ("hermes", "development"), ("default", "nowhere"), ("nowhere", "production")):
        for path in (IMPORT, VALIDATE):
            refused(alice.post(path, json=body(document("f"), *where)), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_unknown_properties_of_other_versions_are_ignored_at_every_level(world, alice):
    extra = {"other": [1]}
    variant = VARIANT | {"payload": {"type": "csv", "value": "", "other": 1}} | extra
    constraint = {"contextName": "userId", "operator": "IN", "values": []}
    overrides = {"overrides": [{"contextName": "userId", "values": []} | extra]}
    legal = [{"value": "a", "createdAt": None}]
    tag = {"featureName": "f", "tagType": "team", "tagValue": "web", "createdByUserId": 7}
    data = {
        "features": [{"name": "f", "lastSeenAt": None, "variants": 7} | extra, {"name": "g"}],
        "featureStrategies": [strategy(milestoneId=None, constraints=[constraint | extra], variants=[variant])],
        "featureEnvironments": [state(variants=[variant | overrides]) | extra],
        "contextFields": [{"name": "plan", "createdAt": "x", "legalValues": legal} | extra],
        "segments": [],
        "tagTypes": [{"name": "team", "color": None} | extra],
        "featureTags": [tag | extra],
        "dependencies": [{"feature": "f", "dependencies": [{"feature": "g"} | extra]} | extra],
        "more": extra,
    }
    bring_in(alice, data)
    [created] = place(world)["strategies"]
    assert created["constraints"] == [constraint | {"inverted": False, "caseInsensitive": False}]
    assert created["variants"][0]["payload"] == {"type": "csv", "value": ""}
    assert "other" not in json.dumps(flag(world))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "data: must not be null"),
        ([], "data: must be a JSON object"),
        ({}, "data.features: is required; data.featureStrategies: is required; data.tagTypes: is required"),
        (document("f", segments={}), "data.segments: must be a list"),
        (document("h", links="none"), "data.links: must be a list"),
    ],
)
def test_a_document_without_its_lists_is_refused(world, alice, data, message):
    before = fingerprint(world.conn)
    for path in (IMPORT, VALIDATE):
        assert refused(alice.post(path, json=body(data))) == message
    assert "is required" in refused(alice.post(IMPORT, json={"data": document()}))
    assert "mode: unknown property" in refused(alice.post(IMPORT, json=body(document()) | {"mode": "x"}))
    assert fingerprint(world.conn) == before


def test_an_empty_document_is_imported_and_recorded(world, alice):
    before = world.last_event_id()
    bring_in(alice, document())
    assert happened(world, before) == [IMPORTED]


LIKE = {"contextName": "userId", "operator": "LIKE"}
NOT_A_NUMBER = VARIANT | {"payload": {"type": "number", "value": "x"}}
SHORT = {"featureName": "f", "tagType": "simple", "tagValue": " x "}
TWICE = {"name": "c", "legalValues": [{"value": "a"}, {"value": "a"}]}
WHILE_OFF = {"feature": "f", "dependencies": [{"feature": "g", "enabled": False, "variants": ["a"]}]}


@pytest.mark.parametrize(
    ("name", "message", "list_name", "entry"),
    [
        ("a b", "flag: name: must contain only A-Z", "features", {"name": "a b"}),
        ("f", "flag: type: must be experiment, kill-switch, release", "features", {"name": "f", "type": "x"}),
        ("f", "flag: stale: must be true or false", "features", {"name": "f", "stale": 1}),
        ("features.0", "flag: body: must be a JSON object", "features", 7),
        ("features.0", "flag: name: must not contain lone surrogates", "features", {"name": "\ud800"}),
        ("featureStrategies.0", "strategy: featureName: is required", "featureStrategies", {"name": "default"}),
        ("f", "strategy: parameters.a: must be a string", "featureStrategies", strategy(parameters={"a": []})),
        ("f", "strategy: parameters", "featureStrategies", strategy(parameters={"\ud800": "x"})),
        ("f", "strategy: sortOrder: must be a whole number", "featureStrategies", strategy(sortOrder=1.5)),
        ("f", "strategy: constraints.0.operator: must be", "featureStrategies", strategy(constraints=[LIKE])),
        (
            "f",
            "strategy: variants: must have at least one variant with the weightType variable",
            "featureStrategies",
            strategy(variants=[VARIANT | {"weightType": "fix"}]),
        ),
        ("f", "strategy: variants.0.payload.value: must be", "featureStrategies", strategy(variants=[NOT_A_NUMBER])),
        ("f", "state: variants: must not contain a name", "featureEnvironments", state(variants=[VARIANT, VARIANT])),
        ("featureEnvironments.0", "state: featureName: is required", "featureEnvironments", {"enabled": True}),
        ("c", "context field: legalValues: must not contain a value twice", "contextFields", TWICE),
        ("segments.0", "segment: name: is required", "segments", {"id": 1}),
        ("t", "tag type: name: must be at least 2 characters long", "tagTypes", {"name": "t"}),
        ("f", "tag: tagValue: must be at least 2 characters long", "featureTags", SHORT),
        ("f", "dependency: dependencies.0.variants: can only be set if enabled", "dependencies", WHILE_OFF),
    ],
)
def test_an_invalid_entry_is_an_error_of_its_flag(world, alice, name, message, list_name, entry):
    before, data = fingerprint(world.conn), document("f") | {list_name: [entry]}
    [(found, names)] = validated(alice, data)["errors"].items()
    assert found.startswith(f"invalid {message}")
    assert names == [name]
    assert refused(alice.post(IMPORT, json=body(data))) == f"{name}: {found}"
    assert fingerprint(world.conn) == before


def test_a_date_without_a_time_is_midnight_in_utc(world, alice):
    after = {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2026-01-02"}
    name = {"contextName": "userId", "operator": "STR_CONTAINS", "values": ["x"], "value": "2026-01-02"}
    bring_in(alice, document("f", featureStrategies=[strategy(constraints=[after, name])]))
    [added] = place(world)["strategies"]
    assert [constraint["value"] for constraint in added["constraints"]] == ["2026-01-02T00:00:00.000Z", "2026-01-02"]
    message = "invalid strategy: constraints.0.value: must be a date-time with an offset such as 2024-05-31T12:00:00Z"
    data = document("f", featureStrategies=[strategy(constraints=[after | {"value": "2026-02-30"}])])
    assert validated(alice, data)["errors"] == {message: ["f"]}
    path = "/api/admin/projects/default/features/f/environments/development/strategies"
    assert "date-time" in refused(alice.post(path, json={"name": "default", "constraints": [after]}))


def test_every_entry_of_a_flag_adds_to_its_size():
    lists = {"strategies": [{}] * 2, "tags": [{}] * 4, "parents": [{}] * 5, "links": [{}] * 6}
    assert ImportedFlag("f", {}, state={"variants": [{}] * 3}, **lists).size == 21


def test_equal_entries_count_once(world, alice, conn):
    segments.insert(conn, "beta", [])
    lists = {
        "features": [{"name": "f", "description": None}, {"name": "f", "description": None}, {"name": "g"}],
        "featureStrategies": [strategy(segments=[7], id="x"), strategy(segments=[7], id="x", title=None)],
        "featureEnvironments": [state(enabled=True), state(enabled=True)],
        "contextFields": [{"name": "c"}, {"name": "c", "stickiness": False}],
        "segments": [{"id": 7, "name": "beta"}] * 2,
        "tagTypes": [{"name": "team"}, {"name": "team", "description": None}],
        "featureTags": [{"featureName": "f", "tagType": "team", "tagValue": "web"}] * 2,
        "dependencies": [links("f", "g"), links("f", "g", "g")],
    }
    assert validated(alice, document(**lists)) == {"errors": {}, "warnings": {}, "permissions": {}}
    bring_in(alice, document(**lists))
    assert len(place(world)["strategies"]) == 1
