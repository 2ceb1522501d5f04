"""Import: entries that occur twice, all problems at once, and what an import leaves out."""

import pytest

from rules.flags import NAME_TAKEN
from sql.vocabulary import context_fields, segments
from tests.support.documents import IMPORT, body, bring_in, document, links, place, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.world import refused

NOTHING = {"errors": {}, "warnings": {}, "permissions": {}}


def test_an_import_keeps_as_many_strategies_as_before(world, alice, app, monkeypatch):
    id = world.flag("f")
    for number in range(3):
        world.strategy(id, strategy_id=f"s{number}", sort_order=number)
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 2)
    kept = [strategy(id=f"s{number}", sortOrder=number, parameters={}) for number in range(3)]
    kept[0]["disabled"] = True
    bring_in(alice, document("f", featureStrategies=kept))
    assert [one["disabled"] for one in place(world)["strategies"]] == [True, False, False]
    message = "A flag can have at most 2 strategies in an environment. The setting MAX_STRATEGIES raises this limit."
    assert validated(alice, document("f", featureStrategies=[*kept, strategy(title="x")]))["errors"] == {message: ["f"]}


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
    assert validated(alice, document(**lists)) == NOTHING
    bring_in(alice, document(**lists))
    assert len(place(world)["strategies"]) == 1
    # Two flags can have strategies with one id: the second gets another one.
    bring_in(alice, document("f", "g", featureStrategies=[strategy(id="x"), strategy("g", id="x")]))


def test_a_parent_and_its_child_that_are_archived_here_are_omitted(world, alice, conn):
    for name in ("parent", "child"):
        world.flag(name, archived_at="2026-01-01T00:00:00Z")
    # What only they need may be missing here.
    parts = {"featureStrategies": [strategy("parent", segments=[1])], "segments": [{"id": 1, "name": "missing"}]}
    data = document("parent", "child", "f", dependencies=[links("child", "parent")], **parts)
    before = fingerprint(conn)
    message = "This flag is archived here. The import omits it."
    assert validated(alice, data) == NOTHING | {"warnings": {message: ["child", "parent"]}}
    assert fingerprint(conn) == before
    bring_in(alice, data)
    # Without its parent, a live child would be on for more users.
    data = document("parent", "f", dependencies=[links("f", "parent")])
    assert validated(alice, data)["errors"] == {"feature: must be a live flag of this project, not parent": ["f"]}


@pytest.mark.parametrize("name_is", ["new", "known", "taken"])
def test_all_problems_of_one_flag_are_told_at_once(world, alice, conn, app, monkeypatch, name_is):
    conn.execute("UPDATE projects SET naming_pattern = '[A-Z]+' WHERE id = 'default'")
    world.project("hermes")
    if name_is != "new":
        world.flag("f", "default" if name_is == "known" else "hermes")
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 2)
    context_fields.insert(conn, "country", legal_values=[{"value": "NO"}])
    illegal = {"contextName": "country", "operator": "IN", "values": ["XX"]}
    data = document(
        {"name": "f", "type": "unknown"},
        featureStrategies=[
            strategy(name="ours"),
            strategy(constraints=[illegal, {"contextName": "userId", "operator": "STR_CONTAINS"}], id="a"),
            strategy(segments=[7], parameters={"rollout": "101"}, id="b"),
        ],
        featureEnvironments=[state(variants=[{"name": "v", "weight": 1, "stickiness": "moon"}])],
        featureTags=[
            {"featureName": "f", "tagType": "team", "tagValue": "web"},
            {"featureName": "f", "tagType": "simple", "tagValue": "x"},
        ],
        segments=[{"id": 7, "name": "missing"}],
        dependencies=[links("f", "missing-parent")],
    )
    wanted = [
        "invalid flag: type: must be experiment, kill-switch, release, operational or permission",
        "invalid strategy: constraints.1.values: must have at least one value",
        "invalid tag: tagValue: must be at least 2 characters long",
        "feature: must be a live flag of this project, not missing-parent",
        "segments: no segment named missing exists for all projects or for this one",
        "featureTags: unknown tag types: team",
        "name: must be an existing strategy type, not ours",
        "constraints.0: must have only legal values of the context field country",
        "parameters.rollout: must be a whole number from 0 to 100",
    ]
    if name_is != "known":
        wanted.append("name: must match the naming pattern of the project, [A-Z]+")
    if name_is == "taken":
        wanted.append(NAME_TAKEN)
    else:
        wanted.append(
            "A flag can have at most 2 strategies in an environment. The setting MAX_STRATEGIES raises this limit."
        )
        wanted.append(
            "variants.0.stickiness: must be default, random, userId, sessionId or a context field with "
            "stickiness, not moon"
        )
    found = validated(alice, data)
    assert sorted(found["errors"]) == sorted(wanted)
    assert all(names in (["f"], ["missing"]) for names in found["errors"].values())
    before = fingerprint(conn)
    sentence = refused(alice.post(IMPORT, json=body(data)))
    assert [message for message in wanted if message.rstrip(".") not in sentence] == []
    assert fingerprint(conn) == before


def test_several_errors_are_reported_at_once(alice):
    names = [f"flag-{number}" for number in range(7)]
    changed = [{"name": name, "stale": True} for name in names]
    data = document(*names, *changed, featureStrategies=[strategy("flag-0", name="ours")])
    sentence = refused(alice.post(IMPORT, json=body(data)))
    assert sentence == (
        "flag-0, flag-1, flag-2, flag-3, flag-4 and 2 more: The document has this flag more than once, with different "
        "properties; flag-0: name: must be an existing strategy type, not ours"
    )
