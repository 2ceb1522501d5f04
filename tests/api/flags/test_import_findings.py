"""Findings of an import: validation lists them, the import refuses them."""

import json

import pytest

from rules.flags import NAME_TAKEN
from sql.vocabulary import segments
from tests.support.documents import IMPORT, ROLLOUT, body, bring_in, document, links, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.world import World, refused

NOTHING = {"errors": {}, "warnings": {}, "permissions": {}}
IN = {"contextName": "country", "operator": "IN", "values": ["NO"]}


@pytest.fixture
def country(conn):
    """A context field with two legal values."""
    legal = json.dumps([{"value": "NO"}, {"value": "SE"}])
    conn.execute("INSERT INTO context_fields (name, legal_values) VALUES ('country', %s)", [legal])


def depend(world: World, child: int, parent: int):
    """Let one flag depend on another."""
    world.conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", [child, parent])


def is_an_error(world: World, caller, data, message, names, **where):
    """The finding is the one error of the document; the import is refused with it, and changes nothing."""
    found = validated(caller, data, **where)
    assert found["errors"] == {message: names}
    assert found["permissions"] == {}
    before = fingerprint(world.conn)
    sentence = refused(caller.post(IMPORT, json=body(data, **where)))
    assert sentence == f"{', '.join(names)}: {message.rstrip('.')}"
    assert fingerprint(world.conn) == before


def test_a_valid_document_has_no_errors(world, alice):
    world.flag("g")
    before = fingerprint(world.conn)
    data = document(
        "f",
        {"name": "g", "type": "experiment", "stale": True},
        featureStrategies=[strategy(), strategy("g", constraints=[IN])],
        featureEnvironments=[state(enabled=True), state("g", variants=[{"name": "a", "weight": 1}])],
        contextFields=[{"name": "country"}],
        tagTypes=[{"name": "team"}],
        featureTags=[{"featureName": "g", "tagType": "team", "tagValue": "web"}],
        dependencies=[links("f", "g")],
    )
    assert validated(alice, data) == NOTHING | {"warnings": {"This flag exists. It is overwritten.": ["g"]}}
    assert fingerprint(world.conn) == before
    bring_in(alice, data)


def test_a_warning_lists_the_flags_that_are_overwritten(world, alice):
    for name in ("b", "a"):
        world.flag(name)
    found = validated(alice, document("b", "a", "new"))
    assert found == NOTHING | {"warnings": {"This flag exists. It is overwritten.": ["a", "b"]}}


def test_archived_flags_are_left_out(world, alice):
    world.flag("f", archived_at="2026-01-01T00:00:00Z")
    assert validated(alice, document("f")) == NOTHING | {
        "warnings": {"This flag is archived here. The import omits it.": ["f"]}
    }


def test_custom_types_of_strategies_are_reported(conn, alice):
    conn.execute("INSERT INTO strategy_types (name) VALUES ('ours'), ('theirs')")
    strategies = [strategy(name="ours"), strategy(name="default", parameters={})]
    found = validated(alice, document("f", featureStrategies=strategies))
    assert found == NOTHING | {
        "warnings": {"Strategies use this custom type. It must have the same meaning in this instance.": ["ours"]}
    }


def test_an_unknown_type_of_strategy(world, alice):
    standard = strategy(name="default", parameters={})
    data = document("f", featureStrategies=[strategy(name="ours"), strategy(name="ours", title="again"), standard])
    is_an_error(world, alice, data, "name: must be an existing strategy type, not ours", ["f"])


@pytest.mark.usefixtures("country")
def test_a_new_legal_value_of_a_context_field_is_an_error(world, alice):
    legal = [{"value": "NO"}, {"value": "DK"}]
    fields = [
        {"name": "country", "legalValues": legal},
        {"name": "userId", "legalValues": legal},
        {"name": "new", "legalValues": legal},
    ]
    message = "The document has legal values of this context field that do not exist here."
    is_an_error(world, alice, document("f", contextFields=fields), message, ["country"])
    assert validated(alice, document("f", contextFields=[{"name": "country", "legalValues": legal[:1]}])) == NOTHING


def test_a_constraint_on_no_context_field(world, alice):
    data = document("f", featureStrategies=[strategy(constraints=[IN])])
    is_an_error(world, alice, data, "constraints.0.contextName: must be an existing context field, not country", ["f"])
    assert validated(alice, data | {"contextFields": [{"name": "country"}]}) == NOTHING


@pytest.mark.usefixtures("country")
def test_a_constraint_for_a_value_that_its_field_cannot_have(world, alice):
    message = "constraints.0: must have only legal values of the context field country"
    entries = [strategy("f", constraints=[IN | {"values": ["DK"]}]), strategy("g", constraints=[IN])]
    is_an_error(world, alice, document("f", "g", featureStrategies=entries), message, ["f"])
    new = [{"name": "planet", "legalValues": [{"value": "Mars"}]}]
    entries = [strategy("f", constraints=[IN | {"contextName": "planet", "values": ["Venus"]}])]
    message = message.replace("country", "planet")
    is_an_error(world, alice, document("f", featureStrategies=entries, contextFields=new), message, ["f"])


@pytest.mark.parametrize("archived_at", [None, "2026-01-01T00:00:00Z"])
def test_a_flag_of_that_name_in_another_project_even_one_that_is_hidden(world, eve, apollo, conn, archived_at):
    conn.execute(
        "INSERT INTO role_permissions (role_id, permission) SELECT 3, name FROM permissions WHERE name <> 'ADMIN'"
    )
    victor = world.user("Vera")
    world.flag("f", apollo, archived_at=archived_at)
    for caller in (eve, victor):
        is_an_error(world, caller, document("f", "g"), NAME_TAKEN, ["f"])


def test_different_entries_for_one_name_are_errors(world, alice):
    data = document("f", "g", {"name": "f", "stale": True})
    is_an_error(world, alice, data, "The document has this flag more than once, with different properties.", ["f"])
    data = document("f", featureStrategies=[strategy(id="x"), strategy(id="x", disabled=True)])
    is_an_error(world, alice, data, "The document has more than one strategy of this flag with one id.", ["f"])
    data = document("f", featureEnvironments=[state(enabled=True), state(enabled=False)])
    is_an_error(world, alice, data, "The document has more than one state of this flag.", ["f"])
    data = document("f", contextFields=[{"name": "c"}, {"name": "c", "stickiness": True}])
    message = "The document has this {} more than once, with different properties."
    is_an_error(world, alice, data, message.format("context field"), ["c"])
    data = document("f", tagTypes=[{"name": "team"}, {"name": "team", "icon": "x"}])
    is_an_error(world, alice, data, message.format("tag type"), ["team"])
    off = {"feature": "f", "dependencies": [{"feature": "g", "enabled": False}]}
    data = document("f", "g", dependencies=[links("f", "g"), off])
    is_an_error(world, alice, data, "The document has different dependencies of this flag on one parent.", ["f"])


def test_segments_that_stand_twice(world, alice):
    for name in ("a", "b"):
        segments.insert(world.conn, name, [])
    data = document("f", segments=[{"id": 7, "name": "a"}, {"id": 7, "name": "b"}])
    is_an_error(world, alice, data, "The document has more than one segment with this id.", ["7"])


@pytest.mark.parametrize(
    "more",
    [
        {"featureStrategies": [strategy("other")]},
        {"featureEnvironments": [state("other")]},
        {"featureTags": [{"featureName": "other", "tagType": "simple", "tagValue": "web"}]},
        {"dependencies": [links("other")]},
    ],
)
def test_entries_of_a_flag_that_is_not_in_the_document_are_errors(world, alice, more):
    world.flag("other")
    is_an_error(
        world,
        alice,
        document("f", **more),
        "The document refers to this flag, but its features do not contain it.",
        ["other"],
    )


def test_the_naming_pattern_of_the_project_holds_for_new_flags(world, conn, alice):
    conn.execute("UPDATE projects SET naming_pattern = '[a-z]+' WHERE id = 'default'")
    world.flag("Old")
    message = "name: must match the naming pattern of the project, [a-z]+"
    is_an_error(world, alice, document("Old", "new", "New", "new1"), message, ["New", "new1"])
    assert validated(alice, document("Old", "new"))["errors"] == {}


def test_the_limits_count_new_flags(world, conn, app, alice):
    conn.execute("UPDATE projects SET feature_limit = 2 WHERE id = 'default'")
    world.flag("f")
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    message = "The project can have at most 2 live flags. To allow more, raise its featureLimit."
    is_an_error(world, alice, document("f", "a", "b"), message, ["a", "b"])
    bring_in(alice, document("f", "gone", "a"))
    app.config["MAX_FLAGS"], usual = 3, app.config["MAX_FLAGS"]
    try:
        conn.execute("UPDATE projects SET feature_limit = NULL")
        message = "There can be at most 3 flags in this instance. The setting MAX_FLAGS raises this limit."
        is_an_error(world, alice, document("b"), message, ["b"])
        bring_in(alice, document("f"))
    finally:
        app.config["MAX_FLAGS"] = usual


def test_segments_must_be_usable_in_the_project(world, conn, alice):
    world.project("hermes")
    segments.insert(conn, "everywhere", [])
    segments.insert(conn, "here", [], project="default")
    segments.insert(conn, "elsewhere", [], project="hermes")
    names = [
        {"id": number, "name": name} for number, name in enumerate(("everywhere", "here", "elsewhere", "nowhere"), 1)
    ]
    data = document("f", featureStrategies=[strategy(segments=[1, 2, 3])], segments=names[:3])
    message = "segments: no segment named {} exists for all projects or for this one"
    is_an_error(world, alice, data, message.format("elsewhere"), ["f"])
    is_an_error(world, alice, document("f", segments=names[3:]), message.format("nowhere"), ["nowhere"])
    message = "segments: the document has no segment with the id 9"
    is_an_error(
        world, alice, document("f", featureStrategies=[strategy(segments=[1, 9])], segments=names[:1]), message, ["f"]
    )
    # A refused flag is not overwritten, so there is no warning about it.
    world.flag("f")
    assert validated(alice, data)["warnings"] == {}


def test_tags_must_have_types_and_not_be_too_many(world, alice):
    tag = {"featureName": "f", "tagType": "team", "tagValue": "web"}
    is_an_error(world, alice, document("f", featureTags=[tag]), "featureTags: unknown tag types: team", ["f"])
    assert validated(alice, document("f", featureTags=[tag], tagTypes=[{"name": "team"}])) == NOTHING
    many = [{"featureName": "f", "tagType": "simple", "tagValue": f"tag {number}"} for number in range(101)]
    is_an_error(
        world, alice, document("f", featureTags=many), "featureTags: must have at most 100 tags for each flag", ["f"]
    )
    assert validated(alice, document("f", featureTags=many[1:])) == NOTHING


def test_strategies_must_keep_to_the_limits(world, conn, app, alice):
    config = app.config
    limits = {"MAX_STRATEGIES": 2, "MAX_CONSTRAINTS": 1, "MAX_CONSTRAINT_VALUES": 1, "MAX_STRATEGY_SEGMENTS": 1}
    usual = {name: config[name] for name in limits}
    for name in ("a", "b"):
        segments.insert(conn, name, [])
    constraint = {"contextName": "userId", "operator": "IN", "values": ["1"]}
    named = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    try:
        config.update(limits)
        many = [strategy(title=title) for title in "abc"]
        message = (
            "A flag can have at most 2 strategies in an environment. The setting MAX_STRATEGIES raises this limit."
        )
        is_an_error(world, alice, document("f", featureStrategies=many), message, ["f"])
        bring_in(alice, document("f", featureStrategies=many[:2]))
        for constraints, message in (
            ([constraint, constraint], "constraints: must have at most 1 constraint (setting MAX_CONSTRAINTS)"),
            (
                [constraint | {"values": ["1", "2"]}],
                "constraints.0.values: must have at most 1 value (setting MAX_CONSTRAINT_VALUES)",
            ),
        ):
            is_an_error(
                world, alice, document("f", featureStrategies=[strategy(constraints=constraints)]), message, ["f"]
            )
        data = document("f", featureStrategies=[strategy(segments=[1, 2])], segments=named)
        is_an_error(world, alice, data, "segments: must have at most 1 segment (setting MAX_STRATEGY_SEGMENTS)", ["f"])
    finally:
        config.update(usual)


def test_strategies_above_the_limit_may_stay(world, app, alice):
    id = world.flag("f")
    for order in range(3):
        world.strategy(id, sort_order=order, parameters=ROLLOUT)
    app.config["MAX_STRATEGIES"], usual = 2, app.config["MAX_STRATEGIES"]
    try:
        bring_in(alice, document("f", featureStrategies=[strategy(sortOrder=order) for order in range(3)]))
    finally:
        app.config["MAX_STRATEGIES"] = usual


def test_parents_must_be_in_the_document_or_here(world, alice):
    world.project("hermes")
    world.flag("here")
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    world.flag("elsewhere", "hermes")
    data = document("f", "with", dependencies=[links("f", "here", "with", "gone", "elsewhere", "nowhere")])
    messages = [
        f"feature: must be a live flag of this project, not {name}" for name in ("gone", "elsewhere", "nowhere")
    ]
    assert validated(alice, data)["errors"] == {message: ["f"] for message in messages}
    assert refused(alice.post(IMPORT, json=body(data))) == "; ".join(f"f: {message}" for message in messages)


def test_a_child_of_another_flag_cannot_be_a_parent(world, alice):
    itself, above, below = (
        "feature: a flag cannot depend on itself",
        "feature: {} itself depends on another flag, so no flag can depend on it",
        "This flag cannot depend on another flag, because other flags depend on it.",
    )
    is_an_error(world, alice, document("f", dependencies=[links("f", "f")]), itself, ["f"])
    chain = document("f", "g", "h", dependencies=[links("f", "g"), links("g", "h")])
    assert validated(alice, chain)["errors"] == {above.format("g"): ["f"], below: ["g"]}
    depend(world, world.flag("child"), world.flag("parent"))
    is_an_error(world, alice, document("f", dependencies=[links("f", "child")]), above.format("child"), ["f"])
    is_an_error(world, alice, document("parent", "f", dependencies=[links("parent", "f")]), below, ["parent"])
