"""Copies of flags, and flags that go into another project."""

import pytest

from sql.database import rows, value
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS, core, depend, event, recorded
from tests.support.world import refused

CLONE = f"{FLAGS}/f/clone"
MOVE = f"{FLAGS}/f/changeProject"


def rich(world, conn):
    """The id of a flag f that has something of everything, in two environments in which it is on."""
    details = {"type": "experiment", "description": "d", "impression_data": True, "stale_since": "2024-03-01T00:00:00Z"}
    flag = world.flag("f", enabled_in=("development", "production"), **details)
    parameters = {"stickiness": "userId", "groupId": "f", "rollout": "25"}
    constraints = [
        {"contextName": "userId", "operator": "IN", "values": ["1"], "inverted": False, "caseInsensitive": False}
    ]
    first = world.strategy(flag, "production", title="t", sort_order=3, parameters=parameters, constraints=constraints)
    world.strategy(flag, "production", name="default", disabled=True, sort_order=4)
    world.strategy(flag, "development", parameters={"userIds": "1"}, name="userWithId")
    fixtures.insert_variant(
        conn, flag, "production", first, name="a", weight=1000, payload_type="json", payload_value="{}"
    )
    fixtures.add_segment(conn, first, segments.insert(conn, "everywhere", []))
    fixtures.insert_variant(conn, flag, "production", None, name="b", weight=1000, weight_type="variable")
    conn.execute("""UPDATE variants SET overrides = '[{"contextName":"userId","values":["7"]}]' WHERE name = 'b'""")
    depend(conn, flag, world.flag("parent"))
    conn.execute("UPDATE flag_dependencies SET variants = '{x,y}'")
    fixtures.tag(conn, flag, "simple", "beta")
    return flag


def without(record, *keys):
    """A record without some of its fields."""
    return {key: value for key, value in record.items() if key not in keys}


def test_a_copy_has_what_the_flag_has_and_is_off(world, alice, conn):
    rich(world, conn)
    before = alice.get(f"{FLAGS}/f").json
    since = world.last_event_id()
    response = alice.post(CLONE, json={"name": "copy"})
    assert response.status_code == 201
    assert response.headers["Location"] == "../copy"
    assert response.json == core(conn, "copy")
    shared = {"type": "experiment", "description": "d", "impressionData": True, "project": "default"}
    assert response.json | shared | {"name": "copy", "stale": False} == response.json
    assert alice.get(f"{FLAGS}/f").json == before
    copy = alice.get(f"{FLAGS}/copy").json
    assert (copy["tags"], copy["createdBy"]["id"]) == ([], alice.id)
    assert (
        copy["dependencies"]
        == before["dependencies"]
        == [{"feature": "parent", "enabled": True, "variants": ["x", "y"]}]
    )
    assert copy["variants"] == before["variants"]
    told_of = []
    for old, new in zip(before["environments"], copy["environments"], strict=True):
        assert new["enabled"] is False
        assert new["variants"] == old["variants"]
        assert len(new["strategies"]) == len(old["strategies"])
        for theirs, ours in zip(old["strategies"], new["strategies"], strict=True):
            assert theirs["id"] != ours["id"]
            assert without(ours, "id", "featureName", "parameters") == without(
                theirs, "id", "featureName", "parameters"
            )
            renamed = {"groupId": "copy"} if "groupId" in theirs["parameters"] else {}
            assert ours["parameters"] == theirs["parameters"] | renamed
            told_of.append(event("feature-strategy-add", "copy", environment=new["environment"], data=ours))
    assert len(told_of) == 3
    assert recorded(world, since, alice) == [
        event("feature-created", "copy", data=response.json),
        *told_of,
        event(
            "feature-environment-variants-updated",
            "copy",
            environment="production",
            data={"variants": copy["environments"][1]["variants"]},
            pre_data={"variants": []},
        ),
        event("feature-dependency-added", "copy", data={"feature": "parent", "enabled": True, "variants": ["x", "y"]}),
    ]


def test_the_parameters_of_a_copy_keep_their_order_and_spaces(world, alice, conn):
    rich(world, conn)
    assert alice.post(CLONE, json={"name": "copy"}).status_code == 201
    statement = """
        SELECT parameters::text FROM strategies
          JOIN flags ON flags.id = flag_id WHERE flags.name = 'copy' AND title = 't'
    """
    # As text, because responses show it as it is stored.
    assert value(conn, statement) == '{"stickiness":"userId","groupId":"copy","rollout":"25"}'


def test_the_group_can_stay_that_of_the_flag(world, alice, conn):
    rich(world, conn)
    assert alice.post(CLONE, json={"name": "copy", "replaceGroupId": False}).status_code == 201
    production = alice.get(f"{FLAGS}/copy").json["environments"][1]
    assert production["strategies"][0]["parameters"]["groupId"] == "f"


def test_a_copy_of_a_bare_flag_is_one_event(world, alice, conn):
    flag = world.flag("f")
    since = world.last_event_id()
    assert alice.post(CLONE, json={"name": "copy"}).status_code == 201
    assert [entry["type"] for entry in recorded(world, since)] == ["feature-created"]
    depend(conn, flag, world.flag("parent"))
    since = world.last_event_id()
    assert alice.post(CLONE, json={"name": "copy-2"}).status_code == 201
    assert recorded(world, since)[1:] == [
        event("feature-dependency-added", "copy-2", data={"feature": "parent", "enabled": True})
    ]


def test_a_copy_is_refused_as_a_new_flag_would_be(world, alice, conn, app, monkeypatch):
    world.project("strict", naming_pattern="[a-z]+", feature_limit=2)
    world.flag("f", "strict")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    path = "/api/admin/projects/strict/features/f/clone"
    before = fingerprint(conn)
    assert "naming pattern" in refused(alice.post(path, json={"name": "F2"}))
    refused(alice.post(path, json={"name": "gone"}), 409, "NameExistsError")
    refused(alice.post(path, json={"name": "f"}), 409, "NameExistsError")
    assert refused(alice.post(path, json={})) == "name: is required"
    assert "replaceGroupId: must be true or false" in refused(
        alice.post(path, json={"name": "g", "replaceGroupId": "no"})
    )
    for name in ("unknown", "gone"):
        refused(alice.post(f"{FLAGS}/{name}/clone", json={"name": "g"}), 404, "NotFoundError")
    assert fingerprint(conn) == before
    assert alice.post(path, json={"name": "g"}).status_code == 201
    refused(alice.post(path, json={"name": "h"}), 409, "ConflictError")
    monkeypatch.setitem(app.config, "MAX_FLAGS", 3)
    world.flag("other")
    assert "at most 3 flags" in refused(alice.post(f"{FLAGS}/other/clone", json={"name": "h"}))


# --- Into another project ---------------------------------------------------------------------------------------------


def test_a_flag_moves_with_all_its_records(world, alice, conn):
    world.project("target")
    world.flag("f", enabled_in=("production",))
    flag = value(conn, "SELECT id FROM flags")
    fixtures.add_segment(conn, world.strategy(flag, "production"), segments.insert(conn, "of all", []))
    fixtures.add_segment(
        conn, world.strategy(flag, "development"), segments.insert(conn, "of theirs", [], project="target")
    )
    fixtures.tag(conn, flag, "simple", "beta")
    fixtures.report_usage(
        conn,
        [
            {
                "project": "default",
                "flag": "f",
                "environment": "production",
                "app": "a",
                "yes": 1,
                "no": 0,
                "at": "2099-01-01T00:00:00Z",
            }
        ],
    )
    before, since = alice.get(f"{FLAGS}/f").json, world.last_event_id()
    response = alice.post(MOVE, json={"newProjectId": "target"})
    assert (response.status_code, response.data) == (200, b"")
    refused(alice.get(f"{FLAGS}/f"), 404, "NotFoundError")
    after = alice.get("/api/admin/projects/target/features/f").json
    assert without(after, "collaborators") == without(before, "collaborators") | {"project": "target"}
    change = {"oldProject": "default", "newProject": "target"}
    tags = [{"type": "simple", "value": "beta"}]
    assert recorded(world, since, alice) == [event("feature-project-change", project="target", data=change, tags=tags)]
    assert rows(conn, "SELECT project_id FROM usage_metrics") == [{"project_id": "default"}]


def test_a_moved_flag_gets_the_environments_of_the_new_project(world, alice, conn):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('qa', 'test', 3)")
    world.project("target", environments=("qa", "development", "production"))
    flag = world.flag("f", enabled_in=("production",))
    assert alice.post(MOVE, json={"newProjectId": "target"}).status_code == 200
    statement = "SELECT environment, enabled FROM flag_environments WHERE flag_id = %(id)s ORDER BY environment"
    assert [(row["environment"], row["enabled"]) for row in rows(conn, statement, {"id": flag})] == [
        ("development", False),
        ("production", True),
        ("qa", False),
    ]


def test_into_its_own_project_is_no_change(world, alice, conn):
    depend(conn, world.flag("f"), world.flag("parent"))
    before = fingerprint(conn)
    assert alice.post(MOVE, json={"newProjectId": "default"}).status_code == 200
    assert fingerprint(conn) == before


def missing_environment(world, conn, flag):  # noqa: ARG001
    """The other project lacks an environment."""
    conn.execute("DELETE FROM project_environments WHERE project_id = 'target' AND environment = 'development'")


def is_child(world, conn, flag):
    """It depends on another one."""
    depend(conn, flag, world.flag("other"))


def is_parent(world, conn, flag):
    """Another one depends on it."""
    depend(conn, world.flag("other"), flag)


def uses_segment(world, conn, flag):
    """It uses a segment of its project."""
    fixtures.add_segment(conn, world.strategy(flag), segments.insert(conn, "mine", [], project="default"))


def is_full(world, conn, flag):  # noqa: ARG001
    """The other project has as many flags as it may."""
    conn.execute("UPDATE projects SET feature_limit = 1 WHERE id = 'target'")
    world.flag("there", "target")


@pytest.mark.parametrize("obstacle", [missing_environment, is_child, is_parent, uses_segment, is_full])
def test_a_flag_with_an_obstacle_cannot_move(world, alice, conn, obstacle):
    world.project("target")
    flag = world.flag("f", enabled_in=("production",))
    obstacle(world, conn, flag)
    before = fingerprint(conn)
    refused(alice.post(MOVE, json={"newProjectId": "target"}), 409, "ConflictError")
    assert fingerprint(conn) == before


def test_the_naming_pattern_of_the_other_project_is_for_new_names(world, alice, conn):
    world.project("target", naming_pattern="x+")
    world.flag("f")
    assert alice.post(MOVE, json={"newProjectId": "target"}).status_code == 200
    assert core(conn)["project"] == "target"


def test_a_live_flag_moves_only_into_a_live_project(world, alice, conn):
    fixtures.insert_project(conn, "past", "Past", archived_at=value(conn, "SELECT now()"))
    world.flag("f")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    world.project("target")
    before = fingerprint(conn)
    for target in ("past", "nowhere"):
        refused(alice.post(MOVE, json={"newProjectId": target}), 404, "NotFoundError")
    for name in ("gone", "unknown"):
        refused(alice.post(f"{FLAGS}/{name}/changeProject", json={"newProjectId": "target"}), 404, "NotFoundError")
    for body in ({}, {"newProjectId": None}, {"newProjectId": "a b"}, {"newProjectId": "target", "force": True}):
        refused(alice.post(MOVE, json=body))
    assert fingerprint(conn) == before


def test_the_caller_needs_the_permission_in_both_projects(world, eve, olga, conn):
    world.project("hidden", mode="private")
    world.flag("f")
    world.flag("g", "apollo")
    before = fingerprint(conn)
    # Eve may in default alone, Olga in apollo alone; who lacks the permission does not learn whether the project is
    # there.
    for target in ("apollo", "hidden", "nowhere"):
        refused(eve.post(MOVE, json={"newProjectId": target}), 403, "NoAccessError")
    for target in ("default", "hidden", "nowhere"):
        refused(
            olga.post("/api/admin/projects/apollo/features/g/changeProject", json={"newProjectId": target}),
            403,
            "NoAccessError",
        )
    refused(olga.post(MOVE, json={"newProjectId": "apollo"}), 403, "NoAccessError")
    assert fingerprint(conn) == before
    world.member("default", olga, 4)
    assert olga.post(MOVE, json={"newProjectId": "apollo"}).status_code == 200


@pytest.mark.parametrize(
    "unwritable", ["feature-created", "feature-strategy-add", "feature-dependency-added", "feature-project-change"]
)
def test_a_move_is_rolled_back_if_its_event_fails(world, alice, conn, unwritable):
    world.project("target")
    rich(world, conn)
    world.flag("bare")
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    before = fingerprint(conn)
    if unwritable == "feature-project-change":
        response = alice.post(f"{FLAGS}/bare/changeProject", json={"newProjectId": "target"})
    else:
        response = alice.post(CLONE, json={"name": "copy"})
    refused(response, 500, "InternalError")
    assert fingerprint(conn) == before
