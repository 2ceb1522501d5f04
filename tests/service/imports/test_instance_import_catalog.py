"""A move of what flags are described with: environments, context fields, types, tags, segments and projects."""

import pytest

from rules.import_report import Conflicts
from rules.instance_import_catalog import CONTEXT_FIELD, ENVIRONMENT, FLAG_TYPE, TAG_TYPE, records_of
from rules.instance_import_projects import COMPARED, INSTALLED
from sql.projects import core as projects
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS
from tests.support.moves import constraint, contents, flag, move, project, segment, state, strategy, variant

NOTHING = "Nothing to move: everything exists."
BETA, OTHER = constraint("userId", "IN", "1"), constraint("userId", "IN", "2")


def field(name, **more):
    return {"name": name, "description": None, "legalValues": [], "stickiness": False, "sortOrder": 10} | more


def records(world, path, key=None):
    """The records of a list by their names or ids."""
    found = world.api_key().get(f"/api/admin/{path}").json
    items = found[key] if key else found
    return {item.get("name", item.get("id")) if path != "feature-types" else item["id"]: item for item in items}


# --- Records that are built in ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ENVIRONMENT, CONTEXT_FIELD, TAG_TYPE, FLAG_TYPE], ids=lambda kind: kind.noun)
def test_installed_values_are_those_of_a_new_instance(conn, kind):
    found = records_of(kind.statements.list_all(conn))
    here = {record[kind.key]: tuple(record[name] for name in kind.blank) for record in found}
    assert here.items() <= kind.installed.items()


def test_the_installed_project_is_that_of_a_new_instance(conn):
    logged = (projects.lock(conn, "default") or {})["logged"]
    assert {name: logged[name] for name in COMPARED} == {name: INSTALLED[name] for name in COMPARED}


def test_built_in_records_that_nobody_changed_take_the_values_of_the_source(world, app, alice):
    alice.put("/api/admin/context/sessionId", json={"description": "Mine."})
    brought = contents(
        context_fields=[field("userId", description="A user.", sortOrder=1), field("sessionId")],
        tag_types=[{"name": "simple", "description": "A tag.", "icon": "#"}],
        flag_types=[{"id": "release", "name": "Release", "description": "", "lifetimeDays": None}],
        environments=[{"name": "production", "type": "production", "sortOrder": 200, "enabled": True}],
        projects=[project(name="Shop", mode="protected")],
    )
    since = world.last_event_id()
    report = move(app, brought)
    assert report.summary() == "Moved 1 context field, 1 project, 1 environment, 1 tag type and 1 flag type."
    assert report.differences == ["context field sessionId (description, sortOrder)"]
    assert report.changes == [
        "environment production (sortOrder)",
        "context field userId (description)",
        "tag type simple (description, icon)",
        "flag type release (lifetimeDays)",
        "project default (name, mode)",
    ]
    assert {row[0]: row[1:3] for row in report.table()}["Environments"] == (0, 1)
    assert records(world, "context")["userId"]["description"] == "A user."
    assert records(world, "context")["userId"]["stickiness"] is True
    assert records(world, "context")["sessionId"]["description"] == "Mine."
    assert records(world, "tag-types", "tagTypes")["simple"] == brought.tag_types[0]
    assert records(world, "feature-types", "types")["release"]["lifetimeDays"] is None
    assert records(world, "environments", "environments")["production"]["sortOrder"] == 200
    assert alice.get("/api/admin/projects/default/overview").json["name"] == "Shop"
    updated = ["environment-updated", "context-field-updated", "tag-type-updated", "feature-type-updated"]
    assert [event["type"] for event in world.events(since)] == [*updated, "project-updated", "instance-imported"]
    assert {event["created_by"] for event in world.events(since)} == {"system"}
    again = move(app, brought)
    assert (again.differences, again.changes) == (report.differences, [])


def test_project_default_with_flags_stays_as_it_is(world, app):
    world.flag("here")
    report = move(app, contents(projects=[project(mode="protected")]))
    assert report.differences == ["project default (mode)"]


def test_a_built_in_strategy_type_stays_as_it_is(world, app):
    type = {"name": "userWithId", "title": "Ids", "description": "Old.", "parameters": [], "deprecated": False}
    custom = {**type, "name": "byMoon", "displayName": None}
    report = move(app, contents(flag("f", state("production", strategy("byMoon"))), strategy_types=[type, custom]))
    found = records(world, "strategies", "strategies")
    assert found["userWithId"]["deprecated"] is True
    assert found["byMoon"] == custom | {"editable": True}
    assert report.warnings() == ["Flags use this strategy type, which only SDKs that have it evaluate: byMoon"]
    assert move(app, contents(strategy_types=[type, custom])).summary() == NOTHING


# --- Records that the source does not have ----------------------------------------------------------------------------


def test_missing_records_that_flags_use_are_created_and_named(world, app):
    rollout = {"rollout": "1", "groupId": "g", "stickiness": "tenant"}
    used = strategy(
        parameters=rollout, constraints=[constraint("country", "IN", "NO"), constraint("two words", "IN", "x")]
    )
    overrides = [{"contextName": "plan", "values": ["free"]}]
    varied = [variant("a", 1000, stickiness="account", overrides=overrides)]
    states = state("qa", used, variants=varied), state("production", strategy("byMoon"))
    brought = contents(flag("f", *states, project="shop", tags=[{"type": "team", "value": "web"}]))
    brought.segments.append(segment(1, "s", constraint("region", "IN", "EU")))
    report = move(app, brought)
    fields = records(world, "context")
    found = {name: fields[name]["stickiness"] for name in fields if fields[name]["sortOrder"] == 10}
    assert found == {"account": True, "country": False, "plan": False, "region": False, "tenant": True}
    created = ". It is created, because flags use it"
    assert report.warnings()[:5] == [
        f"The source does not have this environment{created}: qa",
        f"The source does not have this context field{created}: account, country, plan, region, tenant",
        f"The source does not have this tag type{created}: team",
        f"The source does not have this strategy type{created}: byMoon",
        "The source does not have this project. It is created for its flags: shop",
    ]
    assert "must be an existing context field, not two words" not in str(report.warnings())
    assert "constraints.contextName: must be an existing context field" in report.warnings()[5]
    assert records(world, "environments/project/shop", "environments").keys() == {"qa", "production"}


def test_a_flag_type_that_does_not_exist_here_is_not_moved(app):
    type = {"id": "sunrise", "name": "Sunrise", "description": "", "lifetimeDays": 9}
    report = move(app, contents(flag_types=[type]))
    assert report.table() == [("Flag types", 0, 0, 0, 0, 1, "")]


# --- Segments ---------------------------------------------------------------------------------------------------------


def of_segment(name, *strategies):
    return flag(name, state("production", *strategies))


def segments_of(alice, flag="f"):
    """The names of the segments of the first strategy of a flag in production."""
    names = {one["id"]: one["name"] for one in alice.get("/api/admin/segments").json["segments"]}
    places = alice.get(f"{FLAGS}/{flag}").json["environments"]
    return [names[number] for number in places[1]["strategies"][0]["segments"]]


def test_a_segment_of_another_meaning_is_moved_under_another_name(app, alice, conn):
    alice.post("/api/admin/segments", json={"name": "beta", "constraints": [OTHER]})
    brought = contents(of_segment("f", strategy(segments=[7])), segments=[segment(7, "beta", BETA)])
    report = move(app, brought)
    assert segments_of(alice) == ["beta (moved)"]
    text = "Segments of these names have other constraints here. The moved ones are named NAME (moved): beta"
    assert report.warnings() == [text]
    before = fingerprint(conn)
    assert move(app, brought).summary() == NOTHING
    assert fingerprint(conn) == before


def test_a_source_can_have_a_segment_of_an_earlier_move(app, alice, conn):
    alice.post("/api/admin/segments", json={"name": "beta", "constraints": [OTHER]})
    both = [segment(7, "beta", BETA), segment(8, "beta (moved)", OTHER)]
    brought = contents(of_segment("f", strategy(segments=[7]), strategy(segments=[8])), segments=both)
    move(app, brought)
    names = [one["name"] for one in alice.get("/api/admin/segments").json["segments"]]
    assert sorted(names) == ["beta", "beta (moved)", "beta (moved) (moved)"]
    before = fingerprint(conn)
    assert move(app, brought).summary() == NOTHING
    assert fingerprint(conn) == before


def test_an_equal_segment_is_used_and_a_description_only_differs(app, alice):
    alice.post("/api/admin/segments", json={"name": "beta", "constraints": [BETA], "description": "Mine."})
    report = move(app, contents(of_segment("f", strategy(segments=[7])), segments=[segment(7, "beta", BETA)]))
    assert (segments_of(alice), report.differences) == (["beta"], ["segment beta (description)"])


def test_a_moved_segment_that_was_changed_here_is_left_alone_but_not_used_by_new_flags(app, alice, conn):
    brought = contents(of_segment("f", strategy(segments=[7])), segments=[segment(7, "beta", BETA)])
    move(app, brought)
    path = "/api/admin/segments/" + str(alice.get("/api/admin/segments").json["segments"][0]["id"])
    alice.put(path, json={"name": "beta", "constraints": [OTHER]})
    before = fingerprint(conn)
    report = move(app, brought)
    assert (fingerprint(conn), report.differences) == (before, ["segment beta (constraints)"])
    brought.flags.append(of_segment("g", strategy(segments=[7])))
    move(app, brought)
    assert (segments_of(alice, "f"), segments_of(alice, "g")) == (["beta"], ["beta (moved)"])
    alice.put(
        f"/api/admin/segments/{alice.get('/api/admin/segments').json['segments'][1]['id']}",
        json={"name": "beta (moved)", "constraints": []},
    )
    brought.flags.append(of_segment("h", strategy(segments=[7])))
    with pytest.raises(Conflicts) as refusal:
        move(app, brought)
    assert refusal.value.conflicts == ["Segment beta (moved) has other constraints here. Rename it first."]


def test_a_segment_of_a_project_that_does_not_move_stays(app):
    report = move(app, contents(segments=[segment(7, "beta", project="elsewhere")]))
    assert report.table() == [("Segments", 0, 0, 0, 0, 1, "")]
    assert report.warnings() == ["This segment is not moved, because its project is not: beta"]


# --- Projects ---------------------------------------------------------------------------------------------------------


def test_a_new_project_has_its_settings_and_its_pattern_refuses_no_moved_flag(world, app, alice):
    naming = {"pattern": "[a-z]+-[0-9]+", "example": "shop-1", "description": None}
    stored = {"description": "Sells.", "mode": "protected", "defaultStickiness": "tenant", "featureLimit": 1}
    default = strategy(title="few", parameters={"rollout": "5", "stickiness": "default"}, segments=[7])
    places = [{"environment": "production", "defaultStrategy": {**default, "sortOrder": 3}}]
    shop = project("shop", **stored, featureNaming=naming)
    brought = contents(
        *(flag(name, project="shop") for name in ("Odd name".replace(" ", "_"), "shop-2")),
        projects=[{**shop, "environments": places}],
        segments=[segment(7, "beta", BETA)],
    )
    since = world.last_event_id()
    move(app, brought)
    overview = alice.get("/api/admin/projects/shop/overview").json
    assert {key: overview[key] for key in stored} == stored
    assert overview["featureNaming"] == naming
    (place,) = alice.get("/api/admin/environments/project/shop").json["environments"]
    (beta,) = alice.get("/api/admin/segments").json["segments"]
    assert place["defaultStrategy"] == default | {"segments": [beta["id"]]}
    of_projects = [event["type"] for event in world.events(since) if event["project"] == "shop"]
    created = ["feature-created"] * 2
    assert of_projects == ["project-created", "project-updated", *created, "default-strategy-updated"]
    assert move(app, brought).summary() == NOTHING


def test_a_pattern_that_our_engine_refuses_is_left_out(app, alice):
    brought = contents(projects=[project("shop", featureNaming={"pattern": "(?=a).*"})])
    (warning,) = move(app, brought).warnings()
    assert warning.startswith("The naming pattern of this project is left out: shop ((?=a).* must not use lookaround")
    assert alice.get("/api/admin/projects/shop/overview").json["featureNaming"]["pattern"] is None
    assert move(app, brought).summary() == NOTHING


def test_an_archived_project_is_a_conflict(app, alice, world):
    world.project("shop")
    alice.post("/api/admin/projects/archive/shop")
    with pytest.raises(Conflicts) as refusal:
        move(app, contents(projects=[project("shop")]))
    assert refusal.value.conflicts == ["Project shop is archived here. Revive it first."]


def test_an_existing_project_gets_environments_that_are_new_or_needed(world, app):
    world.project("shop", environments=("development",))
    qa = {"name": "qa", "type": "test", "sortOrder": 9, "enabled": False}
    brought = contents(projects=[project("shop", "development", "production", "qa", name="Shop")], environments=[qa])
    since = world.last_event_id()
    report = move(app, brought)
    added = [event["environment"] for event in world.events(since) if event["type"] == "project-environment-added"]
    assert added == ["qa"]
    assert report.differences == ["project shop (production is not linked here)"]
    assert records(world, "environments", "environments")["qa"]["enabled"] is False
    brought.flags.append(flag("f", state("production", strategy()), project="shop"))
    report = move(app, brought)
    assert report.differences == []
    assert records(world, "environments/project/shop", "environments")["production"]["projectEnabledToggleCount"] == 1


def test_another_default_strategy_stays(app, alice):
    path = "/api/admin/projects/default/environments/production/default-strategy"
    alice.post(path, json={"name": "flexibleRollout", "parameters": {"rollout": "9"}})
    places = [{"environment": "production", "defaultStrategy": strategy()}]
    report = move(app, contents(projects=[{**project(), "environments": places}]))
    assert report.differences == ["default strategy production of default (parameters)"]
