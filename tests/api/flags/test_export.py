"""Export: what a document says of its flags."""

import json

from sql.vocabulary import segments, tag_types
from tests.support import fixtures
from tests.support.export import PATH, export
from tests.support.world import World

KEYS = [
    "features",
    "featureStrategies",
    "featureEnvironments",
    "contextFields",
    "segments",
    "tagTypes",
    "featureTags",
    "dependencies",
]
ROLLOUT = {"rollout": "25", "stickiness": "default", "groupId": "f"}


def depend(world: World, child: int, parent: int, enabled=True, variants=()):
    """Let one flag depend on another."""
    statement = "INSERT INTO flag_dependencies (child_id, parent_id, enabled, variants) VALUES (%s, %s, %s, %s)"
    world.conn.execute(statement, [child, parent, enabled, list(variants)])


def test_the_document_of_nothing_has_every_array(victor):
    document = export(victor, features=["unknown"])
    assert list(document) == KEYS
    assert all(value == [] for value in document.values())


def test_a_bare_flag_has_one_state_and_nothing_else(world, victor):
    world.flag("f", description="What it is for.", impression_data=True, enabled_in=("development",))
    document = export(victor, features=["f"])
    expected = {
        "name": "f",
        "type": "release",
        "description": "What it is for.",
        "project": "default",
        "stale": False,
        "impressionData": True,
        "archived": False,
    }
    assert document["features"] == [expected]
    assert list(document["features"][0]) == list(expected)
    place = {"name": "f", "featureName": "f", "environment": "development", "enabled": True, "variants": []}
    assert document["featureEnvironments"] == [place]
    assert list(document["featureEnvironments"][0]) == list(place)
    assert {key for key, value in document.items() if value} == {"features", "featureEnvironments"}


def test_only_the_environment_is_exported(world, victor):
    flag = world.flag("f", enabled_in=("production",))
    here = world.strategy(flag, "development", parameters=ROLLOUT)
    there = world.strategy(flag, "production", parameters=ROLLOUT)
    fixtures.insert_variant(world.conn, flag, "production", None, name="blue", weight=1000)
    development, production = export(victor, features=["f"]), export(victor, "production", features=["f"])
    assert [one["id"] for one in development["featureStrategies"]] == [here]
    assert [one["id"] for one in production["featureStrategies"]] == [there]
    assert [one["enabled"] for one in (*development["featureEnvironments"], *production["featureEnvironments"])] == [
        False,
        True,
    ]
    blue = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default", "overrides": []}
    assert development["featureEnvironments"][0]["variants"] == []
    assert production["featureEnvironments"][0]["variants"] == [blue]


def test_a_strategy_is_exported_with_its_segments_and_fields(world, conn, victor):
    for number, name in enumerate(("country", "plan", "unused", "team"), 1):
        values = '[{"value": "NO", "description": "Norway"}]'
        conn.execute(
            "INSERT INTO context_fields (name, stickiness, sort_order, legal_values) VALUES (%s, true, %s, %s)",
            [name, number, values],
        )
    flag = world.flag("f")
    zebra, ape = (segments.insert(conn, name, []) for name in ("zebra", "ape"))
    segments.insert(conn, "unused", [])
    constraint = {
        "contextName": "country",
        "operator": "IN",
        "values": ["NO"],
        "inverted": False,
        "caseInsensitive": False,
    }
    parameters = ROLLOUT | {"stickiness": "plan"}
    id = world.strategy(
        flag, title="Norway", disabled=True, sort_order=3, parameters=parameters, constraints=[constraint]
    )
    for segment in (zebra, ape):
        fixtures.add_segment(conn, id, segment)
    payload = {"payload_type": "json", "payload_value": "{}"}
    fixtures.insert_variant(
        conn, flag, "development", id, name="b", weight=400, weight_type="fix", stickiness="team", **payload
    )
    fixtures.insert_variant(conn, flag, "development", id, name="a", weight=600)
    document = export(victor, features=["f"])
    expected = {
        "id": id,
        "featureName": "f",
        "name": "flexibleRollout",
        "title": "Norway",
        "disabled": True,
        "sortOrder": 3,
        "parameters": parameters,
        "constraints": [constraint],
        "variants": [
            {"name": "a", "weight": 600, "weightType": "variable", "stickiness": "default"},
            {
                "name": "b",
                "weight": 400,
                "weightType": "fix",
                "stickiness": "team",
                "payload": {"type": "json", "value": "{}"},
            },
        ],
        "segments": [ape, zebra],
    }
    assert document["featureStrategies"] == [expected]
    assert list(document["featureStrategies"][0]) == list(expected)
    assert document["segments"] == [{"id": ape, "name": "ape"}, {"id": zebra, "name": "zebra"}]
    assert [field["name"] for field in document["contextFields"]] == ["country", "plan", "team"]
    legal = [{"value": "NO", "description": "Norway"}]
    assert document["contextFields"][0] == {
        "name": "country",
        "description": None,
        "stickiness": True,
        "sortOrder": 1,
        "legalValues": legal,
    }


def test_the_field_of_an_override_is_one_that_is_used(world, conn, victor):
    flag = world.flag("f")
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    overrides = [{"contextName": "userId", "values": ["7"]}]
    conn.execute("UPDATE variants SET overrides = %s", [json.dumps(overrides)])
    document = export(victor, features=["f"])
    assert document["featureEnvironments"][0]["variants"][0]["overrides"] == overrides
    assert [field["name"] for field in document["contextFields"]] == ["userId"]


def test_tags_and_their_types_are_exported(world, conn, victor):
    tag_types.insert(conn, "team", "Whose it is.", "group")
    tag_types.insert(conn, "unused", "Of none.")
    f, g = world.flag("f"), world.flag("g")
    for flag, type, text in ((g, "simple", "one"), (f, "team", "web"), (f, "simple", "two"), (f, "simple", "one")):
        fixtures.tag(conn, flag, type, text)
    document = export(victor, features=["g", "f"])
    assert document["tagTypes"] == [
        {"name": "simple", "description": "A plain tag.", "icon": None},
        {"name": "team", "description": "Whose it is.", "icon": "group"},
    ]
    tags = [("f", "simple", "one"), ("f", "simple", "two"), ("f", "team", "web"), ("g", "simple", "one")]
    assert document["featureTags"] == [
        {"featureName": flag, "tagType": type, "tagValue": text} for flag, type, text in tags
    ]


def test_dependencies_are_exported_without_their_parents(world, victor):
    child, parent, other = world.flag("child"), world.flag("parent"), world.flag("other")
    depend(world, child, parent, variants=["blue"])
    depend(world, child, other, enabled=False)
    links = [
        {"feature": "other", "enabled": False, "variants": []},
        {"feature": "parent", "enabled": True, "variants": ["blue"]},
    ]
    assert export(victor, features=["child"])["dependencies"] == [{"feature": "child", "dependencies": links}]
    assert export(victor, features=["parent"])["dependencies"] == []


def test_strategies_stand_in_the_order_in_which_they_are_evaluated(world, victor):
    flag, before = world.flag("g"), world.flag("f")
    expected = [("f", 7), ("g", 0), ("g", 1), ("g", 2)]
    for order in (2, 0, 1):
        world.strategy(flag, sort_order=order)
    world.strategy(before, sort_order=7)
    assert [
        (one["featureName"], one["sortOrder"]) for one in export(victor, features=["f", "g"])["featureStrategies"]
    ] == expected


def test_a_flag_is_off_and_bare_in_an_unlinked_environment(world, conn, victor):
    world.project("hermes")
    flag = world.flag("f", "hermes", enabled_in=("development",))
    world.strategy(flag)
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    conn.execute("DELETE FROM project_environments WHERE project_id = 'hermes' AND environment = 'development'")
    document = export(victor, project="hermes")
    assert document["featureStrategies"] == []
    place = {"name": "f", "featureName": "f", "environment": "development", "enabled": False, "variants": []}
    assert document["featureEnvironments"] == [place]


def test_an_export_is_in_the_log_by_the_names_of_its_flags_alone(world, eve):
    world.flag("b")
    world.flag("a")
    before = world.last_event_id()
    export(eve, "production", features=["b", "a", "nobody"])
    [event] = world.events(before)
    assert event["type"] == "features-exported"
    assert event["data"] == {"environment": "production", "features": ["a", "b"]}
    assert (event["created_by"], event["created_by_user_id"]) == (eve.email, eve.id)
    for column in ("project", "environment", "feature_name", "pre_data"):
        assert event[column] is None
    assert event["tags"] == []


def test_a_file_is_offered_only_on_request(world, alice):
    world.flag("f")
    body = {"environment": "development", "features": ["f"]}
    plain, file = alice.post(PATH, json=body), alice.post(PATH, json=body | {"downloadFile": True})
    assert "Content-Disposition" not in plain.headers
    assert file.headers["Content-Disposition"] == 'attachment; filename="features-development.json"'
    assert plain.get_data() == file.get_data()
