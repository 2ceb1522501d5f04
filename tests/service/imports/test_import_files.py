"""What is read from export documents and state files, and that applications get the same flags as before."""

import json

import pytest
from werkzeug.exceptions import BadRequest

from rules.import_files import read_file
from rules.import_report import Conflicts
from sql.catalog import segments
from tests.support import moves
from tests.support.import_files import STATES, parsed
from tests.support.moves import move

CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"]}
READ = moves.constraint("userId", "IN", "7")
ROLLOUT = {"name": "flexibleRollout", "parameters": {"rollout": "25", "stickiness": "default", "groupId": "f"}}
BLUE = {"name": "blue", "weight": 1000}
SEGMENT = {"id": 7, "name": "beta", "constraints": [CONSTRAINT]}


def read(document, *where):
    return read_file(document, "flags.json", *where)


def document(*features, **lists):
    """An export document of environment production."""
    named = [{"name": name} for name in features]
    states = [{"featureName": name, "environment": "production", "enabled": True} for name in features]
    return {"features": named, "featureStrategies": [], "featureEnvironments": states, **lists}


def strategy(**more):
    return {"featureName": "f", "environment": "production", **ROLLOUT, **more}


def places(contents):
    """The environments of each flag, with the names of their strategies."""
    return {
        flag["name"]: {
            state["environment"]: [one["name"] for one in state["strategies"]] for state in flag["environments"]
        }
        for flag in contents.flags
    }


# --- Kinds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ({"version": 1, "features": []}, "State file of version 1"),
        (parsed("state-4.19.5.json"), "State file of version 3"),
        (parsed("state-5.12.8.json"), "State file of version 4"),
        (parsed("export-5.12.8.json"), "Export document"),
        ({"project": "default", "environment": "production", "data": document()}, "Export document"),
        ({"data": {"version": 2, "features": []}}, "State file of version 2"),
    ],
)
def test_the_content_tells_the_kind(file, source):
    assert read(file).source == source


@pytest.mark.parametrize(
    "file",
    [
        *(None, [], "text", 7, {}, {"features": []}, {"version": 4}, {"version": 5, "features": []}, {"data": []}),
        *({"version": "4", "features": []}, {"version": True, "features": []}, {"version": None, "features": []}),
        {"flags": [], "segments": []},
    ],
)
def test_other_files_are_refused(file):
    with pytest.raises(BadRequest) as caught:
        read(file)
    assert caught.value.description == "flags.json is neither an export document nor a state file of Unleash."


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (document("a b"), "features.0.name is invalid"),
        (document("f", "f"), "it has the flag f more than once"),
        (document() | {"features": {}}, "features must be an array"),
        (document() | {"features": [7]}, "features.0 must be an object"),
        (document() | {"features": [{}]}, "features.0.name is invalid"),
        (document("f", featureStrategies=[strategy(name=None)]), "a strategy of the flag f has no name"),
        (
            document("f", featureStrategies=[strategy(constraints=[{}])]),
            "featureStrategies.0.constraints.0.contextName is missing",
        ),
        (
            document("f", featureStrategies=[strategy(disabled="no")]),
            "featureStrategies.0.disabled has an unknown type",
        ),
        (document(segments=[{"id": 1}]), "segments.0.name is missing"),
        (document() | {"features": [{"name": "f", "createdAt": "yesterday"}]}, "features.0.createdAt is invalid"),
        (document(tags=[{"type": "simple", "value": "a\0b"}]), "tags.0.value must not contain the character NUL"),
        (document() | {"features": [{"name": "f", "project": "a b"}]}, "features.0.project is invalid"),
        (document(segments=[SEGMENT, SEGMENT | {"id": 8}]), "it has the segment beta more than once"),
        ({"project": 7, "data": document()}, "project is invalid"),
        (
            {"environment": "", "data": document("a b", "f", "f", tags=[{}, {"type": "simple", "value": 7}])},
            "features.0.name is invalid; tags.0.type is missing; tags.1.value has an unknown type; it has the flag f "
            "more than once",
        ),
    ],
)
def test_all_invalid_values_are_named(file, problem):
    with pytest.raises(BadRequest) as caught:
        read(file)
    assert caught.value.description == f"flags.json cannot be read: {problem}."


# --- State files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_state_file_has_one_environment(version):
    feature = {
        "name": "f",
        "enabled": True,
        "strategies": [
            {"name": "default"},
            {"name": "userWithId", "parameters": {"userIds": "7"}, "constraints": [CONSTRAINT]},
        ],
        "variants": [BLUE | {"overrides": [{"contextName": "userId", "values": ["7"]}]}],
    }
    types = [{"name": "byDevice", "description": "", "parameters": [{"name": "devices", "type": "list"}]}]
    contents = read({"version": version, "features": [feature], "strategies": types})
    [flag] = contents.flags
    expected = [
        moves.strategy("default"),
        moves.strategy("userWithId", parameters={"userIds": "7"}, constraints=[READ]),
    ]
    variant = moves.variant("blue", overrides=feature["variants"][0]["overrides"])
    assert flag["environments"] == [
        {"environment": "development", "enabled": True, "variants": [variant], "strategies": expected}
    ]
    assert (flag["type"], flag["project"], flag["archivedAt"]) == ("release", "default", None)
    assert [type["name"] for type in contents.strategy_types] == ["byDevice"]
    assert contents.warnings == ["State files have no archived flags, dependencies, context fields and API tokens."]
    renamed = read({"version": version, "features": [feature]}, "shop", "production").flags[0]
    assert (renamed["project"], renamed["environments"][0]["environment"]) == ("shop", "production")


def test_an_archived_flag_stays_archived():
    features = [{"name": "f", "archived": True}, {"name": "g", "archivedAt": "2024-01-01T00:00:00Z"}, {"name": "h"}]
    dates = [flag["archivedAt"] for flag in read({"version": 1, "features": features}).flags]
    assert (dates[0] is None, *dates[1:]) == (False, "2024-01-01T00:00:00.000Z", None)


def test_variants_of_version_3_are_those_of_each_environment():
    states = [{"featureName": "f", "environment": name} for name in ("development", "production")]
    flag = read({"version": 3, "features": [{"name": "f", "variants": [BLUE]}], "featureEnvironments": states}).flags[0]
    assert [state["variants"] for state in flag["environments"]] == [[moves.variant("blue", overrides=[])]] * 2


@pytest.mark.parametrize(
    ("name", "stickiness"),
    [("gradualRolloutUserId", "userId"), ("gradualRolloutSessionId", "sessionId"), ("gradualRolloutRandom", "random")],
)
def test_gradual_rollouts_become_flexible(name, stickiness):
    old = {"name": name, "parameters": {"percentage": 30, "groupId": "g"}}
    file = {
        "version": 1,
        "features": [{"name": "f", "strategies": [old, {"name": name}]}],
        "strategies": [{"name": name}],
    }
    contents = read(file)
    assert contents.strategy_types == []
    assert contents.flags[0]["environments"][0]["strategies"] == [
        moves.strategy(parameters={"rollout": "30", "groupId": "g", "stickiness": stickiness}),
        moves.strategy(parameters={"rollout": "0", "groupId": "", "stickiness": stickiness}),
    ]


@pytest.mark.parametrize("name", ["gradualRolloutUserId", "gradualRolloutSessionId"])
@pytest.mark.parametrize("group", ["", "f", "another"])
def test_gradual_rollouts_give_users_the_same_answers(name, group):
    from yggdrasil_engine.engine import UnleashEngine

    old = {"name": name, "parameters": {"percentage": "30", "groupId": group}}
    contents = read({"version": 1, "features": [{"name": "f", "strategies": [old]}]})
    answers = []
    for strategies in ([old], contents.flags[0]["environments"][0]["strategies"]):
        engine = UnleashEngine()
        engine.take_state(
            json.dumps({"version": 2, "features": [{"name": "f", "enabled": True, "strategies": strategies}]})
        )
        users = [{"userId": str(number), "sessionId": f"s{number}"} for number in range(2000)]
        answers.append([engine.get_variant("f", user).variant.feature_enabled for user in users])
    assert answers[0] == answers[1]
    assert 500 < sum(answers[0]) < 700


def test_segments_of_a_state_file_are_joined():
    links = [{"featureStrategyId": "a", "segmentId": 7}, {"featureStrategyId": "other", "segmentId": 8}]
    file = document("f", featureStrategies=[strategy(id="a")], featureStrategySegments=links)
    flag = read(file | {"version": 4}).flags[0]
    assert flag["environments"][0]["strategies"][0]["segments"] == [7]


# --- Order, names and what is left out --------------------------------------------------------------------------------

UNORDERED = "The file does not tell the order of strategies. It is that of their creation. Flags with several: f."


def test_strategies_are_sorted():
    def titles(*entries):
        contents = read(document("f", featureStrategies=[strategy(**entry) for entry in entries]))
        return [one["title"] for one in contents.flags[0]["environments"][0]["strategies"]], contents.warnings

    assert titles({"title": "b", "sortOrder": 2}, {"title": "a", "sortOrder": 1}) == (["a", "b"], [])
    dated = [{"title": title, "createdAt": f"2024-01-0{day}T00:00:00Z"} for title, day in (("b", 2), ("a", 1))]
    assert titles(*dated) == (["a", "b"], [UNORDERED])
    assert titles({"title": "b"}, {"title": "a"}) == (["b", "a"], [UNORDERED])
    assert titles({"title": "only"}) == (["only"], [])


def test_the_only_environment_gets_the_new_name():
    # Unleash exports strategies without their environment.
    file = document("f", featureStrategies=[strategy(environment=None)])
    assert places(read(file)) == {"f": {"production": ["flexibleRollout"]}}
    assert places(read(file, None, "staging")) == {"f": {"staging": ["flexibleRollout"]}}
    assert places(read({"environment": "staging", "data": file})) == {"f": {"staging": ["flexibleRollout"]}}
    everywhere = json.loads(json.dumps(file).replace("production", ":global:"))
    environments = [{"name": ":global:", "type": "production"}]
    assert places(read(everywhere)) == {"f": {"default": ["flexibleRollout"]}}
    assert [item["name"] for item in read(everywhere | {"environments": environments}).environments] == ["default"]
    assert read(everywhere | {"environments": environments}, None, "staging").environments == []


def test_several_environments_keep_their_names():
    more = [{"featureName": "f", "environment": "development"}]
    file = document("f", featureStrategies=[strategy()])
    file["featureEnvironments"] += more
    contents = read(file, None, "staging")
    assert places(contents) == {"f": {"production": ["flexibleRollout"], "development": []}}
    assert contents.warnings == ["The file has several environments, which keep their names: development, production."]
    assert read(file).warnings == []


def test_the_only_project_gets_the_new_name():
    features = [{"name": "f", "project": "shop"}, {"name": "g", "project": "shop"}, {"name": "h"}]
    listed = [{"id": "shop", "name": "Shop"}, {"id": "empty", "name": "Empty"}]
    segments = [{"id": 1, "name": "beta", "project": "shop", "constraints": []}]
    file = document() | {"features": features, "projects": listed, "segments": segments}
    contents = read(file)
    assert {flag["project"] for flag in contents.flags} == {"shop"}
    assert [project["id"] for project in contents.projects] == ["shop", "empty"]
    contents = read(file, "new")
    assert {flag["project"] for flag in contents.flags} == {"new"}
    assert ([project["id"] for project in contents.projects], contents.segments[0]["project"]) == (["empty"], "new")
    features[1]["project"] = "other"
    contents = read(file, "new")
    assert [flag["project"] for flag in contents.flags] == ["shop", "other", "default"]
    assert contents.warnings == ["The file has several projects, which keep their names: other, shop."]


def test_what_belongs_to_no_flag_is_left_out():
    contents = read(document("f", featureStrategies=[strategy(featureName="gone")]))
    assert places(contents) == {"f": {"production": []}}
    message = "The file has strategies or states of flags that it does not have. They are left out: gone."
    assert contents.warnings == [message]


def test_what_is_listed_twice_is_imported_once(app):
    parent = [{"feature": "f", "dependencies": [{"feature": "g"}, {"feature": "g", "enabled": False}]}]
    strategies = [strategy(id="a", segments=[7, 7])]
    links = [{"featureStrategyId": "a", "segmentId": 7}]
    file = document("f", "g", featureStrategies=strategies, segments=[SEGMENT], dependencies=parent * 2)
    report = move(app, read(file | {"featureStrategySegments": links}))
    assert (report.counts["strategy"]["new"], report.counts["dependency"]["new"]) == (1, 1)


def test_colors_are_named():
    types = [{"name": "team", "color": "#FF0000"}, {"name": "simple", "color": "#FFFFFF"}]
    assert read(document(tagTypes=types)).warnings == ["Colors of tag types are not stored here: team."]


# --- Real files -------------------------------------------------------------------------------------------------------


def plain(features):
    """Return the flags of a document for applications without what means the same, by name."""
    return {
        flag["name"]: {
            "enabled": flag["enabled"],
            "stale": flag["stale"],
            "type": flag["type"],
            "impressionData": flag.get("impressionData", False),
            "variants": [{"overrides": [], **variant} for variant in flag.get("variants") or ()],
            "strategies": [plain_strategy(one) for one in flag["strategies"]],
        }
        for flag in features
    }


def plain_strategy(strategy):
    contents = read({"version": 1, "features": [{"name": "f", "strategies": [strategy]}]})
    return contents.flags[0]["environments"][0]["strategies"][0] | {"segments": [], "title": None}


@pytest.mark.parametrize("version", STATES.values())
def test_applications_get_the_same_flags_as_before(app, world, version):
    report = move(app, read(parsed(f"state-{version}.json")))
    assert (report.counts["flag"]["new"], report.counts["strategy"]["new"]) == (5, 9)
    for environment in ("development", "production"):
        ours = world.api_key("client", environment=environment).get("/api/client/features").json["features"]
        theirs = parsed(f"client-{version}-{environment}.json")["features"]
        assert plain(ours) == plain(theirs)
    again = move(app, read(parsed(f"state-{version}.json")))
    assert again.summary().startswith("Nothing to move")
    assert again.differences == []


def test_an_export_of_unleash_needs_its_segments(app, conn):
    with pytest.raises(Conflicts) as caught:
        move(app, read(parsed("export-5.12.8.json")))
    message = "Segment beta testers does not exist here, and the file does not have its constraints."
    assert caught.value.conflicts == [message]
    # The file does not have the project of the segment.
    segments.insert(conn, "beta testers", [READ], project="default")
    assert move(app, read(parsed("export-5.12.8.json"))).counts["flag"]["new"] == 2
