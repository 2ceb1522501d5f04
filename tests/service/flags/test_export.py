"""Export: which flags a document has, and what it says of them."""

import json

import pytest

from sql.catalog import segments, tag_types
from tests.support import fixtures
from tests.support.export import PATH, export, names
from tests.support.world import refused

KEYS = "features featureStrategies featureEnvironments contextFields segments tagTypes featureTags dependencies".split()
KEYS.append("links")
ROLLOUT = {"rollout": "25", "stickiness": "default", "groupId": "f"}
BLUE = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default", "overrides": []}
ARCHIVED = {"archived_at": "2026-01-01T00:00:00Z"}

# --- The flags --------------------------------------------------------------------------------------------------------


def test_an_empty_document_has_every_array(victor):
    document = export(victor, features=["unknown"])
    assert list(document) == KEYS
    assert all(value == [] for value in document.values())


def test_flags_are_chosen_by_name_tag_or_project(world, conn, victor):
    tag_types.insert(conn, "team", "")
    world.project("hermes", environments=("development",))
    for name, project, tag, more in (
        ("b", "default", ("simple", "web"), {}),
        ("a", "hermes", ("team", "web"), {}),
        ("B", "hermes", ("simple", "website"), {}),
        ("gone", "default", ("simple", "web"), ARCHIVED),
        ("gone-too", "hermes", ("simple", "web"), ARCHIVED),
    ):
        fixtures.tag(conn, world.flag(name, project, **more), *tag)
    listed = ["b", "gone", "nobody", "a", "b", "B", "no name\U0001f600"]
    for selector, found in (
        # Unknown and archived flags are left out, and each flag is there once.
        ({"features": listed}, ["B", "a", "b"]),
        ({"features": ["b"], "tag": ""}, ["b"]),
        # A tag of any type, with the whole value.
        ({"tag": "web"}, ["a", "b"]),
        ({"tag": "we"}, []),
        ({"project": "hermes"}, ["B", "a"]),
        ({"project": "hermes", "features": ["a", "b"]}, ["a"]),
        # An empty list is the whole project, or the whole environment.
        ({"project": "hermes", "features": []}, ["B", "a"]),
        ({"features": []}, ["B", "a", "b"]),
        ({"features": [], "environment": "production"}, ["b"]),
    ):
        assert names(export(victor, **{"environment": "development"} | selector)) == found, selector


def test_flags_of_hidden_projects_are_left_out(world, conn, victor, max, apollo):
    fixtures.tag(conn, world.flag("secret", apollo), "simple", "web")
    for selector in ({"features": ["secret"]}, {"tag": "web"}, {"features": []}):
        assert names(export(victor, **selector)) == []
        assert names(export(max, **selector)) == ["secret"]


def test_an_unknown_environment_or_project_is_404(world, conn, alice, victor, apollo):
    fixtures.insert_project(conn, "old", "Old", archived_at="2026-01-01T00:00:00Z")
    assert names(export(victor, project="old")) == []
    before = world.last_event_id()
    refused(alice.post(PATH, json={"environment": "nowhere", "features": []}), 404, "NotFoundError")
    for caller, project in ((alice, "nowhere"), (victor, apollo)):
        refused(caller.post(PATH, json={"environment": "development", "project": project}), 404, "NotFoundError")
    assert world.events(before) == []


ONE_OF = "body: must have tag, features, project, or features and project"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, ONE_OF),
        ({"features": [], "tag": "a"}, ONE_OF),
        ({"project": "default", "tag": "a"}, ONE_OF),
        ({"features": None}, ONE_OF),
        ({"tag": ""}, ONE_OF),
        ({"environment": None, "features": []}, "environment: must not be null"),
        ({"features": "f"}, "features: must be a list"),
        ({"tag": 5}, "tag: must be a string"),
        ({"features": [], "downloadFile": "true"}, "downloadFile: must be true or false"),
        ({"features": [], "format": "csv"}, "format: unknown property"),
    ],
)
def test_an_invalid_export_is_refused(world, alice, body, says):
    before = world.last_event_id()
    assert says in refused(alice.post(PATH, json={"environment": "development"} | body))
    assert world.events(before) == []


# --- What the document says of them -----------------------------------------------------------------------------------


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


def test_only_the_environment_is_exported(world, conn, victor):
    flag = world.flag("f", enabled_in=("production",))
    here, there = (world.strategy(flag, name, parameters=ROLLOUT) for name in ("development", "production"))
    fixtures.insert_variant(conn, flag, "production", None, name="blue", weight=1000)
    found = []
    for environment in ("development", "production"):
        document = export(victor, environment, features=["f"])
        [state] = document["featureEnvironments"]
        found.append(([one["id"] for one in document["featureStrategies"]], state["enabled"], state["variants"]))
    assert found == [([here], False, []), ([there], True, [BLUE])]
    # In an environment that its project lost, a flag is off and bare.
    conn.execute("DELETE FROM project_environments WHERE environment = 'production'")
    document = export(victor, "production", project="default")
    assert document["featureStrategies"] == []
    place = {"name": "f", "featureName": "f", "environment": "production", "enabled": False, "variants": []}
    assert document["featureEnvironments"] == [place]


def test_a_strategy_is_exported_with_its_segments_and_fields(world, conn, victor):
    legal = [{"value": "NO", "description": "Norway"}]
    for number, name in enumerate(("country", "plan", "unused", "team"), 1):
        conn.execute(
            "INSERT INTO context_fields (name, stickiness, sort_order, legal_values) VALUES (%s, true, %s, %s)",
            [name, number, json.dumps(legal)],
        )
    flag = world.flag("f")
    zebra, ape = (segments.insert(conn, name, []) for name in ("zebra", "ape"))
    segments.insert(conn, "unused", [])
    country = {"contextName": "country", "operator": "IN", "values": ["NO"], "inverted": False}
    fields = {"constraints": [country | {"caseInsensitive": False}], "parameters": ROLLOUT | {"stickiness": "plan"}}
    id = world.strategy(flag, title="Norway", disabled=True, sort_order=3, **fields)
    for segment in (zebra, ape):
        fixtures.add_segment(conn, id, segment)
    special = {"weight_type": "fix", "stickiness": "team", "payload_type": "json", "payload_value": "{}"}
    fixtures.insert_variant(conn, flag, "development", id, name="b", weight=400, **special)
    fixtures.insert_variant(conn, flag, "development", id, name="a", weight=600)
    overrides = [{"contextName": "userId", "values": ["7"]}]
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    conn.execute("UPDATE variants SET overrides = %s WHERE name = 'blue'", [json.dumps(overrides)])
    document = export(victor, features=["f"])
    b = {"name": "b", "weight": 400, "weightType": "fix", "stickiness": "team"}
    expected = {
        "id": id,
        "featureName": "f",
        "name": "flexibleRollout",
        "title": "Norway",
        "disabled": True,
        "sortOrder": 3,
        "parameters": fields["parameters"],
        "constraints": fields["constraints"],
        "variants": [
            {"name": "a", "weight": 600, "weightType": "variable", "stickiness": "default"},
            b | {"payload": {"type": "json", "value": "{}"}},
        ],
        "segments": [ape, zebra],
    }
    assert document["featureStrategies"] == [expected]
    assert list(document["featureStrategies"][0]) == list(expected)
    assert document["featureEnvironments"][0]["variants"] == [BLUE | {"overrides": overrides}]
    empty = {"description": None, "project": None, "constraints": []}
    assert document["segments"] == [{"id": ape, "name": "ape"} | empty, {"id": zebra, "name": "zebra"} | empty]
    assert [field["name"] for field in document["contextFields"]] == ["country", "plan", "team", "userId"]
    first = {"name": "country", "description": None, "stickiness": True, "sortOrder": 1, "legalValues": legal}
    assert document["contextFields"][0] == first


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
    assert [tuple(tag.values()) for tag in document["featureTags"]] == tags
    assert list(document["featureTags"][0]) == ["featureName", "tagType", "tagValue"]


def test_dependencies_are_exported_without_their_parents(world, conn, victor):
    child = world.flag("child")
    for name, enabled, variants in (("parent", True, ["blue"]), ("other", False, [])):
        columns = {"child_id": child, "parent_id": world.flag(name), "enabled": enabled, "variants": variants}
        fixtures.insert(conn, "flag_dependencies", **columns)
    links = [
        {"feature": "other", "enabled": False, "variants": []},
        {"feature": "parent", "enabled": True, "variants": ["blue"]},
    ]
    assert export(victor, features=["child"])["dependencies"] == [{"feature": "child", "dependencies": links}]
    assert export(victor, features=["parent"])["dependencies"] == []


def test_strategies_are_in_the_order_in_which_they_are_evaluated(world, victor):
    flag = world.flag("g")
    for order in (2, 0, 1):
        world.strategy(flag, sort_order=order)
    world.strategy(world.flag("f"), sort_order=7)
    found = export(victor, features=["f", "g"])["featureStrategies"]
    places = [(one["featureName"], one["sortOrder"]) for one in found]
    assert places == [("f", 7), ("g", 0), ("g", 1), ("g", 2)]


def test_an_export_is_in_the_log_by_the_names_of_its_flags_alone(world, eve):
    for name in ("b", "a"):
        world.flag(name)
    before = world.last_event_id()
    export(eve, "production", features=["b", "a", "nobody"])
    [event] = world.events(before)
    assert event["type"] == "features-exported"
    assert event["data"] == {"environment": "production", "features": ["a", "b"]}
    assert (event["created_by"], event["created_by_user_id"], event["tags"]) == (eve.email, eve.id, [])
    for column in ("project", "environment", "feature_name", "pre_data"):
        assert event[column] is None


def test_a_file_is_offered_only_on_request(world, alice):
    world.flag("f")
    body = {"environment": "development", "features": ["f"]}
    plain, file = alice.post(PATH, json=body), alice.post(PATH, json=body | {"downloadFile": True})
    assert "Content-Disposition" not in plain.headers
    assert file.headers["Content-Disposition"] == 'attachment; filename="features-development.json"'
    assert plain.get_data() == file.get_data()
