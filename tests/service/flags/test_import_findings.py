"""Findings of an import: validation lists them, the import refuses them."""

import pytest

from rules.flags import NAME_TAKEN
from sql.catalog import context_fields, segments
from tests.support.documents import (
    IMPORT,
    ROLLOUT,
    body,
    bring_in,
    document,
    links,
    place,
    state,
    strategy,
    validated,
)
from tests.support.fingerprint import fingerprint
from tests.support.flags import depend
from tests.support.world import World, refused

NOTHING = {"errors": {}, "warnings": {}, "permissions": {}}
IN = {"contextName": "country", "operator": "IN", "values": ["NO"]}
OMITTED = "This flag is archived here. The import omits it."
TOO_MANY = "A flag can have at most 2 strategies in an environment. The setting MAX_STRATEGIES raises this limit."


@pytest.fixture
def country(conn):
    """A context field with two legal values."""
    context_fields.insert(conn, "country", legal_values=[{"value": "NO"}, {"value": "SE"}])


def is_an_error(world: World, caller, data, message, names, **where):
    """The finding is the one error of the document; the import is refused with it, and changes nothing."""
    found = validated(caller, data, **where)
    assert found["errors"] == {message: names}
    assert found["permissions"] == {}
    before = fingerprint(world.conn)
    sentence = refused(caller.post(IMPORT, json=body(data, **where)))
    assert sentence == f"{', '.join(names)}: {message.rstrip('.')}"
    assert fingerprint(world.conn) == before


# --- Warnings ---------------------------------------------------------------------------------------------------------


def test_a_valid_document_has_no_errors(world, alice):
    for name in ("g", "also"):
        world.flag(name)
    before = fingerprint(world.conn)
    data = document(
        "f",
        {"name": "g", "type": "experiment", "stale": True},
        "also",
        featureStrategies=[strategy(), strategy("g", constraints=[IN])],
        featureEnvironments=[state(enabled=True), state("g", variants=[{"name": "a", "weight": 1}])],
        contextFields=[{"name": "country"}],
        tagTypes=[{"name": "team"}],
        featureTags=[TAG],
        dependencies=[links("f", "g")],
    )
    assert validated(alice, data) == NOTHING | {"warnings": {"This flag exists. It is overwritten.": ["also", "g"]}}
    assert fingerprint(world.conn) == before
    bring_in(alice, data)


def test_a_parent_and_its_child_that_are_archived_here_are_omitted(world, alice, conn):
    for name in ("parent", "child"):
        world.flag(name, archived_at="2026-01-01T00:00:00Z")
    # What only they need may be missing here.
    parts = {"featureStrategies": [strategy("parent", segments=[1])], "segments": [{"id": 1, "name": "missing"}]}
    data = document("parent", "child", "f", dependencies=[links("child", "parent")], **parts)
    before = fingerprint(conn)
    assert validated(alice, data) == NOTHING | {"warnings": {OMITTED: ["child", "parent"]}}
    assert fingerprint(conn) == before
    bring_in(alice, data)
    # Without its parent, a live child would be on for more users.
    data = document("parent", "f", dependencies=[links("f", "parent")])
    assert validated(alice, data)["errors"] == {"feature: must be a live flag of this project, not parent": ["f"]}


def test_custom_types_of_strategies_are_reported(conn, alice):
    conn.execute("INSERT INTO strategy_types (name) VALUES ('ours'), ('theirs')")
    strategies = [strategy(name="ours"), strategy(name="default", parameters={})]
    message = "Strategies use this custom type. It must have the same meaning in this instance."
    found = validated(alice, document("f", featureStrategies=strategies))
    assert found == NOTHING | {"warnings": {message: ["ours"]}}


def test_a_validation_warns_of_what_an_import_would_lose(alice):
    data = document(
        "f",
        "g",
        featureStrategies=[strategy() | {"milestoneId": "01JB9GGTGQYEQ9D40R17T3YVW2"}, strategy("g", milestoneId=None)],
        contextFields=[{"name": "country", "project": "shop"}, {"name": "city", "project": None}],
        tagTypes=[{"name": "team", "color": "#FFFFFF"}, {"name": "simple", "color": None}],
        featureTags=[{"featureName": "g", "tagType": "team", "tagValue": "web", "color": "#FFFFFF"}],
    )
    assert validated(alice, data) == NOTHING | {
        "warnings": {
            "Tag types have no color here.": ["team"],
            "Tags have no color here.": ["g"],
            "There are no release plans here. The strategy stays.": ["f"],
            "Context fields belong to all projects here.": ["country"],
        },
    }
    bring_in(alice, data)


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("country")
def test_a_new_legal_value_of_a_context_field_is_an_error(world, alice):
    legal = [{"value": "NO"}, {"value": "DK"}]
    fields = [{"name": name, "legalValues": legal} for name in ("country", "userId", "new")]
    message = "The document has legal values of this context field that do not exist here."
    is_an_error(world, alice, document("f", contextFields=fields), message, ["country"])
    assert validated(alice, document("f", contextFields=[{"name": "country", "legalValues": legal[:1]}])) == NOTHING


@pytest.mark.usefixtures("country")
def test_constraints_must_have_fields_that_exist_and_legal_values(world, alice):
    data = document("f", featureStrategies=[strategy(constraints=[IN | {"contextName": "city"}])])
    is_an_error(world, alice, data, "constraints.0.contextName: must be an existing context field, not city", ["f"])
    assert validated(alice, data | {"contextFields": [{"name": "city"}]}) == NOTHING
    message = "constraints.0: must have only legal values of the context field country"
    entries = [strategy("f", constraints=[IN | {"values": ["DK"]}]), strategy("g", constraints=[IN])]
    is_an_error(world, alice, document("f", "g", featureStrategies=entries), message, ["f"])
    new = [{"name": "planet", "legalValues": [{"value": "Mars"}]}]
    entries = [strategy("f", constraints=[IN | {"contextName": "planet", "values": ["Venus"]}])]
    message = message.replace("country", "planet")
    is_an_error(world, alice, document("f", featureStrategies=entries, contextFields=new), message, ["f"])


@pytest.mark.parametrize("archived_at", [None, "2026-01-01T00:00:00Z"])
def test_a_name_of_another_project_is_taken_even_of_a_hidden_one(world, eve, apollo, conn, archived_at):
    conn.execute(
        "INSERT INTO role_permissions (role_id, permission) SELECT 3, name FROM permissions WHERE name <> 'ADMIN'"
    )
    world.flag("f", apollo, archived_at=archived_at)
    for caller in (eve, world.user("Vera")):
        is_an_error(world, caller, document("f", "g"), NAME_TAKEN, ["f"])


DIFFERENT = "The document has this {} more than once, with different properties."
NO_FEATURE = "The document refers to this flag, but its features do not contain it."
OFF = {"feature": "f", "dependencies": [{"feature": "g", "enabled": False}]}
TWO_SEGMENTS = [{"id": 7, "name": "a"}, {"id": 7, "name": "b"}]
TAG = {"featureName": "f", "tagType": "team", "tagValue": "web"}


@pytest.mark.parametrize(
    ("name", "message", "more"),
    [
        ("f", DIFFERENT.format("flag"), {"features": [{"name": "f"}, {"name": "f", "stale": True}]}),
        (
            "f",
            "The document has more than one strategy of this flag with one id.",
            {"featureStrategies": [strategy(id="x"), strategy(id="x", disabled=True)]},
        ),
        (
            "f",
            "The document has more than one state of this flag.",
            {"featureEnvironments": [state(enabled=True), state(enabled=False)]},
        ),
        ("c", DIFFERENT.format("context field"), {"contextFields": [{"name": "c"}, {"name": "c", "stickiness": True}]}),
        ("team", DIFFERENT.format("tag type"), {"tagTypes": [{"name": "team"}, {"name": "team", "icon": "x"}]}),
        (
            "f",
            "The document has different dependencies of this flag on one parent.",
            {"dependencies": [links("f", "g"), OFF]},
        ),
        ("7", "The document has more than one segment with this id.", {"segments": TWO_SEGMENTS}),
        ("other", NO_FEATURE, {"featureStrategies": [strategy("other")]}),
        ("other", NO_FEATURE, {"featureEnvironments": [state("other")]}),
        ("other", NO_FEATURE, {"featureTags": [TAG | {"featureName": "other", "tagType": "simple"}]}),
        ("other", NO_FEATURE, {"dependencies": [links("other")]}),
    ],
)
def test_entries_that_contradict_each_other_are_errors(world, alice, name, message, more):
    for segment in ("a", "b"):
        segments.insert(world.conn, segment, [])
    world.flag("other")
    is_an_error(world, alice, document("f", "g") | more, message, [name])


def test_the_naming_pattern_of_the_project_holds_for_new_flags(world, conn, alice):
    conn.execute("UPDATE projects SET naming_pattern = '[a-z]+' WHERE id = 'default'")
    world.flag("Old")
    message = "name: must match the naming pattern of the project, [a-z]+"
    is_an_error(world, alice, document("Old", "new", "New", "new1"), message, ["New", "new1"])
    assert validated(alice, document("Old", "new"))["errors"] == {}


def test_the_limits_count_new_flags(world, conn, app, alice, monkeypatch):
    conn.execute("UPDATE projects SET feature_limit = 2 WHERE id = 'default'")
    world.flag("f")
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    message = "The project can have at most 2 live flags. To allow more, raise its featureLimit."
    is_an_error(world, alice, document("f", "a", "b"), message, ["a", "b"])
    bring_in(alice, document("f", "gone", "a"))
    monkeypatch.setitem(app.config, "MAX_FLAGS", 3)
    conn.execute("UPDATE projects SET feature_limit = NULL")
    message = "There can be at most 3 flags in this instance. The setting MAX_FLAGS raises this limit."
    is_an_error(world, alice, document("b"), message, ["b"])
    bring_in(alice, document("f"))


def test_segments_must_be_usable_in_the_project(world, conn, alice):
    world.project("hermes")
    for name, project in (("everywhere", None), ("here", "default"), ("elsewhere", "hermes")):
        segments.insert(conn, name, [], project=project)
    places = ("everywhere", "here", "elsewhere")
    names = [{"id": number, "name": name} for number, name in enumerate(places, 1)]
    data = document("f", featureStrategies=[strategy(segments=[1, 2, 3])], segments=names)
    message = "segments: no segment named {} exists for all projects or for this one"
    is_an_error(world, alice, data, message.format("elsewhere"), ["f"])
    unknown = document("f", featureStrategies=[strategy(segments=[1, 9])], segments=names[:1])
    is_an_error(world, alice, unknown, "segments: the document has no segment with the id 9", ["f"])


def test_tags_must_have_types_and_not_be_too_many(world, alice):
    is_an_error(world, alice, document("f", featureTags=[TAG]), "featureTags: unknown tag types: team", ["f"])
    assert validated(alice, document("f", featureTags=[TAG], tagTypes=[{"name": "team"}])) == NOTHING
    many = [{"featureName": "f", "tagType": "simple", "tagValue": f"tag {number}"} for number in range(101)]
    message = "featureTags: must have at most 100 tags for each flag"
    is_an_error(world, alice, document("f", featureTags=many), message, ["f"])
    assert validated(alice, document("f", featureTags=many[1:])) == NOTHING


def test_strategies_must_keep_to_the_limits(world, conn, app, alice, monkeypatch):
    for setting, limit in (
        ("MAX_STRATEGIES", 2),
        ("MAX_CONSTRAINTS", 1),
        ("MAX_CONSTRAINT_VALUES", 1),
        ("MAX_STRATEGY_SEGMENTS", 1),
    ):
        monkeypatch.setitem(app.config, setting, limit)
    for name in ("a", "b"):
        segments.insert(conn, name, [])
    user = {"contextName": "userId", "operator": "IN", "values": ["1"]}
    named = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    many = [strategy(title=title) for title in "abc"]
    for strategies, message in (
        (many, TOO_MANY),
        ([strategy(constraints=[user] * 2)], "constraints: must have at most 1 constraint (setting MAX_CONSTRAINTS)"),
        (
            [strategy(constraints=[user | {"values": ["1", "2"]}])],
            "constraints.0.values: must have at most 1 value (setting MAX_CONSTRAINT_VALUES)",
        ),
        ([strategy(segments=[1, 2])], "segments: must have at most 1 segment (setting MAX_STRATEGY_SEGMENTS)"),
    ):
        is_an_error(world, alice, document("f", featureStrategies=strategies, segments=named), message, ["f"])
    bring_in(alice, document("f", featureStrategies=many[:2]))


def test_strategies_above_the_limit_may_stay(world, alice, app, monkeypatch):
    id = world.flag("f")
    for number in range(3):
        world.strategy(id, strategy_id=f"s{number}", sort_order=number)
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 2)
    kept = [strategy(id=f"s{number}", sortOrder=number, parameters={}) for number in range(3)]
    kept[0]["disabled"] = True
    bring_in(alice, document("f", featureStrategies=kept))
    assert [one["disabled"] for one in place(world)["strategies"]] == [True, False, False]
    more = document("f", featureStrategies=[*kept, strategy(title="x")])
    assert validated(alice, more)["errors"] == {TOO_MANY: ["f"]}
    bring_in(alice, document("f", featureStrategies=[strategy(sortOrder=order) for order in range(3)]))


def test_parents_must_be_in_the_document_or_here(world, alice):
    world.flag("here")
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    world.flag("elsewhere", world.project("hermes"))
    data = document("f", "with", dependencies=[links("f", "here", "with", "gone", "elsewhere", "nowhere")])
    unknown = ("gone", "elsewhere", "nowhere")
    messages = [f"feature: must be a live flag of this project, not {name}" for name in unknown]
    assert validated(alice, data)["errors"] == {message: ["f"] for message in messages}
    assert refused(alice.post(IMPORT, json=body(data))) == "; ".join(f"f: {message}" for message in messages)


def test_a_child_of_another_flag_cannot_be_a_parent(world, alice):
    itself = "feature: a flag cannot depend on itself"
    above = "feature: {} itself depends on another flag, so no flag can depend on it"
    below = "This flag cannot depend on another flag, because other flags depend on it."
    is_an_error(world, alice, document("f", dependencies=[links("f", "f")]), itself, ["f"])
    chain = document("f", "g", "h", dependencies=[links("f", "g"), links("g", "h")])
    assert validated(alice, chain)["errors"] == {above.format("g"): ["f"], below: ["g"]}
    depend(world.conn, world.flag("child"), world.flag("parent"))
    is_an_error(world, alice, document("f", dependencies=[links("f", "child")]), above.format("child"), ["f"])
    is_an_error(world, alice, document("parent", "f", dependencies=[links("parent", "f")]), below, ["parent"])


# --- All errors at once -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("country")
@pytest.mark.parametrize("name_is", ["new", "known", "taken"])
def test_all_errors_of_one_flag_are_reported_at_once(world, alice, conn, app, monkeypatch, name_is):
    conn.execute("UPDATE projects SET naming_pattern = '[A-Z]+' WHERE id = 'default'")
    world.project("hermes")
    if name_is != "new":
        world.flag("f", "default" if name_is == "known" else "hermes")
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 2)
    data = document(
        {"name": "f", "type": "unknown"},
        featureStrategies=[
            strategy(name="ours"),
            strategy(constraints=[IN | {"values": ["XX"]}, {"contextName": "userId", "operator": "STR_CONTAINS"}]),
            strategy(segments=[7], parameters={"rollout": "101"}),
        ],
        featureEnvironments=[state(variants=[{"name": "v", "weight": 1, "stickiness": "moon"}])],
        featureTags=[TAG, TAG | {"tagType": "simple", "tagValue": "x"}],
        segments=[{"id": 7, "name": "missing"}],
        dependencies=[links("f", "missing-parent")],
    )
    wanted = [
        "invalid flag: type: must be experiment, kill-switch, release, operational, permission or sunset",
        "invalid strategy: constraints.1.values: must have at least one value",
        "invalid tag: tagValue: must be at least 2 characters long",
        "feature: must be a live flag of this project, not missing-parent",
        "segments: no segment named missing exists for all projects or for this one",
        "featureTags: unknown tag types: team",
        "name: must be an existing strategy type, not ours",
        "constraints.0: must have only legal values of the context field country",
        "parameters.rollout: must be a whole number from 0 to 100",
    ]
    stickiness = "must be default, random, userId, sessionId or a context field with stickiness, not moon"
    wanted += [] if name_is == "known" else ["name: must match the naming pattern of the project, [A-Z]+"]
    wanted += [NAME_TAKEN] if name_is == "taken" else [TOO_MANY, f"variants.0.stickiness: {stickiness}"]
    found = validated(alice, data)
    assert sorted(found["errors"]) == sorted(wanted)
    assert all(names in (["f"], ["missing"]) for names in found["errors"].values())
    before = fingerprint(conn)
    sentence = refused(alice.post(IMPORT, json=body(data)))
    assert [message for message in wanted if message.rstrip(".") not in sentence] == []
    assert fingerprint(conn) == before


def test_errors_of_several_flags_are_reported_at_once(alice):
    number = {"contextName": "userId", "operator": "NUM_EQ"}
    entries = [
        strategy("a", constraints=[number | {"value": "x"}]),
        strategy("b", constraints=[number | {"value": "y"}]),
        strategy("c", constraints=[IN]),
        strategy("d", name="ours"),
        strategy("d", name="ours", title="again"),
        strategy("e"),
    ]
    assert validated(alice, document(*"abcde", featureStrategies=entries))["errors"] == {
        "invalid strategy: constraints.0.value: must be a number, such as 3.5": ["a", "b"],
        "constraints.0.contextName: must be an existing context field, not country": ["c"],
        "name: must be an existing strategy type, not ours": ["d"],
    }
    names = [f"flag-{number}" for number in range(7)]
    changed = [{"name": name, "stale": True} for name in names]
    data = document(*names, *changed, featureStrategies=[strategy("flag-0", name="ours")])
    assert refused(alice.post(IMPORT, json=body(data))) == (
        "flag-0, flag-1, flag-2, flag-3, flag-4 and 2 more: The document has this flag more than once, with different "
        "properties; flag-0: name: must be an existing strategy type, not ours"
    )


# --- Permissions ------------------------------------------------------------------------------------------------------

LACKING = "You lack these permissions in project default and environment development."
HERE = ["UPDATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"]
VARIANTS = "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"
NEW_STRATEGY = ["CREATE_FEATURE", "CREATE_FEATURE_STRATEGY"]
WITH_SEGMENT = document("f", featureStrategies=[strategy(segments=[1])])
SEGMENT = {"id": 1, "name": "beta", "constraints": []}


@pytest.mark.parametrize(
    ("data", "permissions"),
    [
        (document(tagTypes=[{"name": "simple"}], contextFields=[{"name": "userId"}]), []),
        (document("here"), ["DELETE_FEATURE_STRATEGY", VARIANTS]),
        (document("same", featureStrategies=[strategy("same", sortOrder=0)]), []),
        (document("f"), ["CREATE_FEATURE"]),
        (
            document("here", featureStrategies=[strategy("here", title="new")]),
            ["CREATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY", VARIANTS],
        ),
        (
            document("f", featureEnvironments=[state(variants=[{"name": "a", "weight": 1}])]),
            ["CREATE_FEATURE", VARIANTS],
        ),
        (document("f", featureTags=[TAG], tagTypes=[{"name": "team"}]), ["CREATE_FEATURE", "CREATE_TAG_TYPE"]),
        (document(contextFields=[{"name": "country"}]), ["CREATE_CONTEXT_FIELD"]),
        (document("f", "g", dependencies=[links("f", "g")]), ["CREATE_FEATURE", "UPDATE_FEATURE_DEPENDENCY"]),
        (WITH_SEGMENT | {"segments": [SEGMENT]}, [*NEW_STRATEGY, "CREATE_SEGMENT"]),
        (WITH_SEGMENT | {"segments": [SEGMENT | {"project": "any"}]}, [*NEW_STRATEGY, "UPDATE_PROJECT_SEGMENT"]),
    ],
)
def test_the_permissions_are_those_of_what_would_be_done(world, conn, victor, data, permissions):
    world.strategy(world.flag("same"), parameters=ROLLOUT)
    here = world.flag("here")
    world.strategy(here, parameters=ROLLOUT)
    conn.execute(
        "INSERT INTO variants (flag_id, environment, name, weight) VALUES (%s, 'development', 'blue', 1000)", [here]
    )
    needed = sorted(HERE + permissions)
    assert validated(victor, data)["permissions"] == {LACKING: needed}
    for lacking in needed:
        conn.execute("DELETE FROM role_permissions WHERE role_id = 3")
        conn.execute(
            "INSERT INTO role_permissions (role_id, permission) SELECT 3, name FROM permissions WHERE name = ANY(%s)",
            [[name for name in needed if name != lacking]],
        )
        assert validated(victor, data)["permissions"] == {LACKING: [lacking]}
        before = fingerprint(conn)
        assert lacking in refused(victor.post(IMPORT, json=body(data)), 403, "NoAccessError")
        assert fingerprint(conn) == before
    conn.execute("INSERT INTO role_permissions (role_id, permission) VALUES (3, %s)", [needed[-1]])
    assert validated(victor, data)["permissions"] == {}
    bring_in(victor, data)


def test_permissions_in_another_environment_or_project_do_not_count(world, conn, victor):
    world.project("hermes")
    conn.execute(
        """
        INSERT INTO role_permissions (role_id, permission, project_id, environment) VALUES
            (3, 'UPDATE_FEATURE', NULL, NULL),
            (3, 'UPDATE_FEATURE_ENVIRONMENT', NULL, 'production'),
            (3, 'CREATE_FEATURE', 'hermes', NULL)
        """
    )
    lacking = {LACKING: ["CREATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"]}
    assert validated(victor, document("f"))["permissions"] == lacking
    refused(victor.post(IMPORT, json=body(document("f"))), 403, "NoAccessError")
    bring_in(victor, document("f"), project="hermes", environment="production")


@pytest.mark.usefixtures("apollo")
def test_a_missing_permission_is_refused_before_the_errors_of_the_document(victor, max):
    wrong = document("f", "f", tagTypes=[{"name": "team"}])
    assert "UPDATE_FEATURE" in refused(victor.post(IMPORT, json=body(wrong)), 403, "NoAccessError")
    message = refused(max.post(IMPORT, json=body(wrong, project="apollo")), 403, "NoAccessError")
    assert message == "You lack these permissions in project apollo and environment development: CREATE_TAG_TYPE"
    assert "in every project" in refused(victor.post(IMPORT, json=body({})), 403, "NoAccessError")
    refused(max.post(IMPORT, json=body({})), 400)
