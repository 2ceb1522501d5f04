"""A move into this instance: flags and what applications get, second runs, conflicts and the report."""

import json

import pytest
from werkzeug.exceptions import BadRequest

from rules.import_report import Conflicts, Report
from serving import clock
from sql.database import rolled_back_transaction, value
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS
from tests.support.moves import (
    ROLLOUT,
    SECRET,
    constraint,
    contents,
    flag,
    move,
    project,
    segment,
    state,
    strategy,
    token,
    variant,
)

TAG = {"type": "simple", "value": "web"}
NOTHING = "Nothing to move: everything exists."


def served(app, secret=SECRET, **headers):
    """The flags that an application gets with a token, by name, and the segments."""
    headers = {"Authorization": secret, **headers}
    document = app.test_client().get("/api/client/features", headers=headers).json
    return {flag["name"]: flag for flag in document["features"]}, document.get("segments", [])


def kinds(world, since):
    """The types and flags of the events since then."""
    return [(event["type"], event["feature_name"]) for event in world.events(since)]


def everything():
    """A move with each kind of record that flags have."""
    country = constraint("country", "NOT_IN", "NO", inverted=True)
    beta = segment(7, "beta", constraint("userId", "IN", "1"))
    payload = {"type": "json", "value": "{}"}
    halves = [variant("b", 500, payload=payload), variant("A", 500, stickiness="userId")]
    gone = strategy("remoteAddress", disabled=True, parameters={"IPs": "10.0.0.1"})
    rollout = strategy(title="half", constraints=[country], segments=[7], variants=halves)
    overrides = [{"contextName": "country", "values": ["SE"]}]
    on = state("production", rollout, gone, strategy("default"), variants=[{**halves[0], "overrides": overrides}])
    parent = {"feature": "parent", "enabled": False, "variants": ["x"]}
    return contents(
        flag("child", on, tags=[TAG], dependencies=[parent], type="experiment", description="A child."),
        flag("parent", state("development"), state("production", enabled=False), impressionData=True, stale=True),
        flag("old", state("production", strategy()), archivedAt="2024-06-01T00:00:00.000Z", dependencies=[parent]),
        projects=[project()],
        segments=[beta],
        api_tokens=[token()],
        tags=[TAG, {"type": "simple", "value": "unused"}],
    )


# --- Flags ------------------------------------------------------------------------------------------------------------


def test_applications_get_the_same_flags_with_their_old_token(app):
    move(app, everything())
    flags, segments = served(app, **{"Unleash-Client-Spec": "5.2.0"})
    assert list(flags) == ["child", "parent"]
    child, parent = flags["child"], flags["parent"]
    plain = {"parameters": {}, "constraints": [], "variants": []}
    assert child["strategies"] == [
        {
            "name": "flexibleRollout",
            "parameters": ROLLOUT,
            "constraints": [constraint("country", "NOT_IN", "NO", inverted=True)],
            "variants": [
                variant("b", 500, payload={"type": "json", "value": "{}"}),
                variant("A", 500, stickiness="userId"),
            ],
            "segments": [segments[0]["id"]],
        },
        {"name": "default", **plain},
    ]
    (own,) = child["variants"]
    assert own["overrides"] == [{"contextName": "country", "values": ["SE"]}]
    assert child["dependencies"] == [{"feature": "parent", "enabled": False, "variants": ["x"]}]
    assert segments == [{**segments[0], "name": "beta", "constraints": [constraint("userId", "IN", "1")]}]
    found = [(one["enabled"], one["stale"], one["impressionData"], one["type"]) for one in (child, parent)]
    assert found == [(True, False, False, "experiment"), (False, True, True, "release")]
    # No default strategy is added to a flag that is on without one.
    assert parent["strategies"] == []


def test_a_moved_flag_has_its_dates_and_is_created_by_the_system(app, alice):
    move(app, everything())
    record = alice.get(f"{FLAGS}/child").json
    assert (record["createdAt"], record["createdBy"]["name"]) == ("2024-05-31T12:00:00.000Z", "system")
    assert [strategy["disabled"] for strategy in record["environments"][1]["strategies"]] == [False, True, False]
    (old,) = alice.get("/api/admin/archive/features").json["features"]
    assert (old["name"], old["archivedAt"], old["enabled"]) == ("old", "2024-06-01T00:00:00.000Z", False)


def test_a_moved_flag_that_is_too_old_already_gets_no_event_about_that(world, app):
    move(app, everything())
    since = world.last_event_id()
    with app.app_context():
        clock.run_jobs()
    assert world.events(since) == []


def test_each_record_has_its_event_and_the_last_one_sums_up(world, app):
    since = world.last_event_id()
    move(app, everything())
    assert [pair for pair in kinds(world, since) if pair[1]] == [
        ("feature-created", "child"),
        ("feature-created", "old"),
        ("feature-created", "parent"),
        ("feature-strategy-add", "child"),
        ("feature-strategy-add", "child"),
        ("feature-strategy-add", "child"),
        ("feature-strategy-add", "old"),
        ("feature-environment-variants-updated", "child"),
        ("feature-environment-enabled", "child"),
        ("feature-environment-enabled", "parent"),
        ("feature-tagged", "child"),
        ("feature-stale-on", "parent"),
        ("feature-archived", "old"),
        ("feature-dependency-added", "child"),
    ]
    catalog = [type for type, name in kinds(world, since) if name is None]
    created = ["context-field-created", "tag-created", "tag-created", "segment-created"]
    assert catalog == [*created, "api-token-created", "instance-imported"]
    found = world.events(since)
    assert {event["created_by"] for event in found} == {"system"}
    counts = {"flag": 3, "strategy": 4, "segment": 1, "context field": 1, "API token": 1, "tag": 2}
    data = {"url": "https://old.example", "version": "8.2.0", "counts": counts | {"dependency": 1}}
    assert found[-1]["data"] == data
    assert SECRET.partition(".")[2] not in json.dumps(found, default=str)


def test_a_flag_that_was_on_before_does_not_count_as_new_in_production(app, conn):
    move(app, everything())
    statement = "SELECT first_in_production_at = created_at FROM flags WHERE name = 'child'"
    assert value(conn, statement) is True


def test_dependencies_on_archived_or_missing_parents_are_left_out(world, app, conn):
    links = [{"feature": parent, "enabled": True, "variants": []} for parent in ("old", "none", "here")]
    world.flag("here")
    conn.execute("UPDATE flags SET archived_at = now()")
    old = flag("old", archivedAt="2024-06-01T00:00:00.000Z")
    report = move(app, contents(flag("f", dependencies=links), old))
    warning = "This dependency is left out, because its parent is archived or missing: f on here, f on none, f on old"
    assert report.warnings() == [warning]
    assert value(conn, "SELECT count(*) FROM flag_dependencies") == 0


def test_links_to_web_pages_move(app, alice):
    web = {"url": "https://issues.example.com/1", "title": None}
    moved = contents(flag("f", links=[web, {"url": "javascript:alert(1)", "title": "x"}]))
    report = move(app, moved)
    assert report.warnings() == ["This link is left out, because it is no web address: f: javascript:alert(1)"]
    [link] = alice.get(f"{FLAGS}/f").json["links"]
    assert {key: link[key] for key in web} == web
    assert move(app, moved).summary() == NOTHING
    assert alice.delete(f"{FLAGS}/f/link/{link['id']}").status_code == 204
    assert move(app, moved).differences == ["flag f (links)"]


def test_variants_keep_their_order_until_they_change(world, app, alice):
    move(app, everything())
    path = f"{FLAGS}/child/environments/production/variants"
    two = [variant("b", 500, overrides=[]), variant("A", 500, overrides=[])]
    move(app, contents(flag("g", state("production", strategy(), variants=two))))
    path = f"{FLAGS}/g/environments/production/variants"
    since = world.last_event_id()
    assert [one["name"] for one in alice.get(path).json["variants"]] == ["b", "A"]
    alice.put(path, json=two)
    assert (kinds(world, since), alice.get(path).json["variants"]) == ([], two)
    copy = {"name": "copy", "replaceGroupId": False}
    assert alice.post(f"{FLAGS}/g/clone", json=copy).status_code == 201
    flags, _ = served(app)
    assert [one["name"] for one in flags["copy"]["variants"]] == ["b", "A"]
    alice.put(path, json=[*two, variant("B", 0)])
    assert [one["name"] for one in alice.get(path).json["variants"]] == ["A", "B", "b"]


def test_an_unknown_type_becomes_release(app, alice):
    report = move(app, contents(flag("f", type="sunrise")))
    assert alice.get(f"{FLAGS}/f").json["type"] == "release"
    assert report.warnings() == ["There is no such flag type here. These flags are of the type release: f (sunrise)"]


def test_a_strategy_without_one_of_its_segments_refuses_the_move(app):
    with pytest.raises(Conflicts) as refusal:
        move(app, contents(flag("f", state("production", strategy(segments=[3])))))
    text = "A strategy uses segment 3, which Unleash 8.2.0 at https://old.example (OSS) does not have."
    assert refusal.value.conflicts == [text]


# --- Values that requests refuse --------------------------------------------------------------------------------------


def test_values_that_requests_refuse_are_moved_and_named(app, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 1)
    monkeypatch.setitem(app.config, "MAX_CONSTRAINT_VALUES", 2)
    users = constraint("userId", "IN", "1", "2", "3")
    version = constraint("appName", "SEMVER_GT", value="9007199254740993.0.0")
    several = state("production", strategy(), strategy(constraints=[users, version]))
    address = state("production", strategy("remoteAddress", parameters={"IPs": "all of them"}))
    number = constraint("appName", "NUM_EQ", value="many")
    fixed = state("production", strategy(constraints=[number]), variants=[variant("a", 1000, weightType="fix")])
    brought = contents(flag("f", several), flag("g", address), flag("h", fixed), api_tokens=[token()])
    brought.segments, brought.projects = [segment(1, "s", number)], [project()]
    texts = move(app, brought).warnings()
    assert all(text.startswith("Moved as it is, although requests refuse it (") for text in texts)
    found = {(text.partition("(")[2][:60], text.rpartition("): ")[2]) for text in texts}
    assert found == {
        ("A flag can have at most 1 strategy in an environment. The se", "f"),
        ("constraints.values: must have at most 2 values (setting MAX_", "f"),
        ("parameters.IPs: must be IP addresses or networks such as 10.", "g"),
        ("constraints.value: must be a number, such as 3.5): segment s", "segment s, h"),
        ("variants: must have at least one variant with the weightType", "h"),
    }
    flags, _ = served(app)
    assert flags["f"]["strategies"][1]["constraints"] == [users, version]
    assert flags["g"]["strategies"][0]["parameters"] == {"IPs": "all of them"}
    assert flags["h"]["strategies"][0]["constraints"] == [number]


def test_a_value_that_the_database_refuses_is_one_sentence(app):
    with pytest.raises(BadRequest, match=r"A value cannot be stored here \(flags_name_format\)\. .*, two words, "):
        move(app, contents(flag("two words")))
    with pytest.raises(BadRequest, match=r"A value cannot be stored here \(api_keys_name_length\)\.$"):
        move(app, contents(projects=[project()], api_tokens=[token(tokenName="")]))
    with pytest.raises(BadRequest, match="A value cannot be stored here"):
        move(app, contents(flag("f", createdAt="soon")))
    # Readers check values, but not the names of parameters.
    odd = strategy("default", parameters={"\ud800": "x"})
    with pytest.raises(BadRequest, match="A text cannot be stored here, because it has lone surrogates"):
        move(app, contents(flag("f", state("production", odd)), projects=[project()]))


# --- Second runs ------------------------------------------------------------------------------------------------------


def test_a_second_run_writes_nothing(app, conn):
    move(app, everything())
    before = fingerprint(conn)
    report = move(app, everything())
    assert fingerprint(conn) == before
    assert (report.summary(), report.differences) == (NOTHING, [])
    assert ("Flags", 0, 0, 3, 0, 0, "(1 archived)") in report.table()
    assert ("Strategies", 0, 0, 4, 0, 0, "") in report.table()


def test_local_changes_stay_and_are_named(app, alice, conn):
    move(app, everything())
    alice.post(f"{FLAGS}/child/environments/production/off", json={})
    alice.put(f"{FLAGS}/parent", json={"description": "Mine.", "type": "release"})
    alice.post(f"{FLAGS}/child/environments/production/strategies", json={"name": "default"})
    alice.delete("/api/admin/features/child/tags/simple/web")
    alice.put(f"{FLAGS}/child/environments/production/variants", json=[variant("c", 1000)])
    alice.delete(f"{FLAGS}/child/dependencies")
    alice.post("/api/admin/archive/revive/old")
    alice.post("/api/admin/projects/default/revive", json={"features": ["old"]})
    before = fingerprint(conn)
    report = move(app, everything())
    assert fingerprint(conn) == before
    child = "tags, dependencies, production is off here, variants in production, strategies in production"
    differences = [f"flag child ({child})", "flag old (is not archived here)", "flag parent (description)"]
    assert report.differences == differences
    assert report.summary() == f"{NOTHING} 3 differ: {', '.join(differences)}."


def test_what_is_new_there_is_moved_by_the_next_run(app, world):
    brought = everything()
    move(app, brought)
    brought.flags.append(flag("later", state("production", strategy(segments=[7]))))
    since = world.last_event_id()
    report = move(app, brought)
    assert report.summary(seconds=2.4) == "Moved 1 flag and 1 strategy in 2 s."
    types = [type for type, _ in kinds(world, since)]
    assert types == ["feature-created", "feature-strategy-add", "feature-environment-enabled", "instance-imported"]
    assert "later" in served(app)[0]


# --- Conflicts and limits ---------------------------------------------------------------------------------------------


def test_all_conflicts_are_listed_and_nothing_is_written(app, world, conn):
    world.project("shop")
    world.flag("child", "shop")
    world.api_key("client", name="other")
    other = value(conn, "SELECT secret FROM api_keys WHERE name = 'other'")
    brought = everything()
    brought.api_tokens.append(token(other, tokenName="mine"))
    before = fingerprint(conn)
    with pytest.raises(Conflicts) as refusal:
        move(app, brought)
    assert fingerprint(conn) == before
    assert refusal.value.lines() == [
        "Flag child of project default is in project shop here.",
        'Token "mine" (client, production): its secret exists here with another scope (client, development, *).',
        "Nothing was moved: 2 conflicts.",
    ]
    assert other.partition(".")[2] not in str(refusal.value.lines())


def test_at_most_20_conflicts_are_shown():
    lines = Conflicts([f"Conflict {number}." for number in range(23)]).lines()
    assert (len(lines), lines[19:]) == (22, ["Conflict 19.", "… and 3 more", "Nothing was moved: 23 conflicts."])
    assert Conflicts(["One."]).lines() == ["One.", "Nothing was moved: 1 conflict."]


def test_a_limit_names_its_setting_and_the_number(app, world, monkeypatch):
    world.flag("here")
    for setting in ("MAX_FLAGS", "MAX_SEGMENTS", "MAX_PROJECTS", "MAX_ENVIRONMENTS"):
        monkeypatch.setitem(app.config, setting, 1)
    brought = everything()
    brought.segments.append(segment(8, "b"))
    brought.projects.append(project("shop"))
    brought.environments.append({"name": "qa", "type": "test", "sortOrder": 3, "enabled": True})
    with pytest.raises(Conflicts) as refusal:
        move(app, brought)
    assert refusal.value.conflicts == [
        "The instance would have 4 flags. Set MAX_FLAGS to 4 or more.",
        "The instance would have 3 environments. Set MAX_ENVIRONMENTS to 3 or more.",
        "The instance would have 2 projects. Set MAX_PROJECTS to 2 or more.",
        "The instance would have 2 segments. Set MAX_SEGMENTS to 2 or more.",
    ]


def test_a_limit_that_nothing_new_exceeds_is_no_conflict(app, monkeypatch):
    move(app, everything())
    monkeypatch.setitem(app.config, "MAX_FLAGS", 1)
    assert move(app, everything()).summary() == NOTHING


# --- The report -------------------------------------------------------------------------------------------------------


def test_the_report_of_a_dry_run_has_the_same_numbers(app, conn):
    before = fingerprint(conn)
    with app.app_context(), rolled_back_transaction(conn):
        report = move(app, everything())
    assert fingerprint(conn) == before
    assert report.lines(dry_run=True) == [
        "Unleash 8.2.0 at https://old.example (OSS)            [Dry run: nothing was written.]",
        "                   new   changed   exists   differs   not moved",
        "Projects             0         0        1         0           0",
        "Context fields       1         0        0         0           0",
        "Tags                 2         0        0         0           0",
        "Segments             1         0        0         0           0",
        "Flags                3         0        0         0           0      (1 archived)",
        "Strategies           4         0        0         0           0",
        "Dependencies         1         0        0         0           0",
        "API tokens           1         0        0         0           0",
        "Warnings (1)",
        "  The source does not have this context field. It is created, because flags use it: country",
        "Would move 3 flags, 4 strategies, 1 segment, 1 context field, 1 API token, 2 tags and 1 dependency.",
    ]
    moved = move(app, everything())
    assert moved.table() == report.table()
    assert moved.summary(seconds=9.2) == report.summary(dry_run=True).replace("Would move", "Moved")[:-1] + " in 9 s."


def test_warnings_and_differences_name_ten():
    report = Report("A file", notes=["A note of the reader."])
    for number in range(12):
        report.warn("Left out", str(number))
        report.compare("flag", str(number), ["description"])
    names = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert report.warnings() == [f"Left out: {names}", "A note of the reader."]
    assert report.summary().startswith(f"{NOTHING} 12 differ: flag 0 (description), ")
    assert report.summary().endswith(" and 2 more.")
    assert report.lines()[2:5] == [
        "Flags            0         0        0        12           0",
        "Warnings (2)",
        f"  Left out: {names}",
    ]
