"""Copies of flags, and flags that go into another project."""

import pytest

from sql.catalog import segments
from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import BETA, FLAGS, core, depend, event, recorded
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
    parent = {"feature": "parent", "enabled": True, "variants": ["x", "y"]}
    assert copy["dependencies"] == before["dependencies"] == [parent]
    assert copy["variants"] == before["variants"]
    told_of, own = [], ("id", "featureName", "parameters")
    for old, new in zip(before["environments"], copy["environments"], strict=True):
        assert new["enabled"] is False
        assert new["variants"] == old["variants"]
        assert len(new["strategies"]) == len(old["strategies"])
        for theirs, ours in zip(old["strategies"], new["strategies"], strict=True):
            assert theirs["id"] != ours["id"]
            assert without(ours, *own) == without(theirs, *own)
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
        event("feature-dependency-added", "copy", data=parent),
    ]
    statement = """
        SELECT parameters::text FROM strategies
          JOIN flags ON flags.id = flag_id WHERE flags.name = 'copy' AND title = 't'
    """
    # As text, because responses show it as it is stored.
    assert value(conn, statement) == '{"stickiness":"userId","groupId":"copy","rollout":"25"}'
    assert alice.post(CLONE, json={"name": "same-group", "replaceGroupId": False}).status_code == 201
    production = alice.get(f"{FLAGS}/same-group").json["environments"][1]
    assert production["strategies"][0]["parameters"]["groupId"] == "f"


def test_a_copy_of_a_bare_flag_is_one_event(world, alice, conn):
    flag = world.flag("f")
    conn.execute("UPDATE flags SET created_at = '2024-01-01'")
    since = world.last_event_id()
    response = alice.post(CLONE, json={"name": "copy"})
    assert (response.status_code, response.json["createdAt"] > "2025") == (201, True)
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
    for name in ("gone", "f"):
        refused(alice.post(path, json={"name": name}), 409, "NameExistsError")
    assert refused(alice.post(path, json={})) == "name: is required"
    message = "replaceGroupId: must be true or false"
    assert message in refused(alice.post(path, json={"name": "g", "replaceGroupId": "no"}))
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
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('qa', 'test', 3)")
    # The naming pattern is for new names.
    world.project("target", environments=("qa", "development", "production"), naming_pattern="x+")
    flag = world.flag("f", enabled_in=("production",))
    fixtures.add_segment(conn, world.strategy(flag, "production"), segments.insert(conn, "of all", []))
    theirs = segments.insert(conn, "of theirs", [], project="target")
    fixtures.add_segment(conn, world.strategy(flag, "development"), theirs)
    fixtures.tag(conn, flag, "simple", "beta")
    usage = {"project": "default", "flag": "f", "environment": "production", "app": "a", "yes": 1, "no": 0}
    fixtures.report_usage(conn, [usage | {"at": "2099-01-01T00:00:00Z"}])
    unmoved = fingerprint(conn)
    assert alice.post(MOVE, json={"newProjectId": "default"}).status_code == 200
    assert fingerprint(conn) == unmoved
    before, since = alice.get(f"{FLAGS}/f").json, world.last_event_id()
    response = alice.post(MOVE, json={"newProjectId": "target"})
    assert (response.status_code, response.data) == (200, b"")
    refused(alice.get(f"{FLAGS}/f"), 404, "NotFoundError")
    after = alice.get("/api/admin/projects/target/features/f").json
    qa = after["environments"].pop()
    assert (qa["name"], qa["enabled"], qa["strategies"]) == ("qa", False, [])
    assert value(conn, "SELECT count(*) FROM flag_environments") == 3
    assert without(after, "collaborators") == without(before, "collaborators") | {"project": "target"}
    change = {"oldProject": "default", "newProject": "target"}
    moved = event("feature-project-change", project="target", data=change, tags=[BETA])
    assert recorded(world, since, alice) == [moved]
    assert rows(conn, "SELECT project_id FROM usage_metrics") == [{"project_id": "default"}]


@pytest.mark.parametrize(
    ("obstacle", "says"),
    [
        ("environment", "lacks environments of the flag: development."),
        ("child", "has dependencies"),
        ("parent", "has dependencies"),
        ("segment", "uses segments of its current project: mine."),
        ("limit", "at most 1 live flag"),
    ],
)
def test_a_flag_with_an_obstacle_cannot_move(world, alice, conn, obstacle, says):
    world.project("target", feature_limit=1)
    flag, other = world.flag("f", enabled_in=("production",)), world.flag("other")
    if obstacle == "environment":
        conn.execute("DELETE FROM project_environments WHERE project_id = 'target' AND environment = 'development'")
    elif obstacle == "child":
        depend(conn, flag, other)
    elif obstacle == "parent":
        depend(conn, other, flag)
    elif obstacle == "segment":
        fixtures.add_segment(conn, world.strategy(flag), segments.insert(conn, "mine", [], project="default"))
    else:
        world.flag("there", "target")
    before = fingerprint(conn)
    assert says in refused(alice.post(MOVE, json={"newProjectId": "target"}), 409, "ConflictError")
    assert fingerprint(conn) == before


def test_a_live_flag_moves_only_into_a_live_project(world, alice, conn):
    fixtures.insert_project(conn, "past", "Past", archived_at=value(conn, "SELECT now()"))
    world.flag("f")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    world.project("target")
    before = fingerprint(conn)
    for target in ("past", "nowhere"):
        refused(alice.post(MOVE, json={"newProjectId": target}), 404, "NotFoundError")
    refused(alice.post(f"{FLAGS}/gone/changeProject", json={"newProjectId": "target"}), 404, "NotFoundError")
    for body in ({}, {"newProjectId": "target", "force": True}):
        refused(alice.post(MOVE, json=body))
    assert fingerprint(conn) == before


def test_a_move_needs_the_permission_in_both_projects(world, eve, olga, conn):
    world.project("hidden", mode="private")
    world.flag("f")
    world.flag("g", "apollo")
    before = fingerprint(conn)
    # Eve has it in default alone, Olga in apollo alone. Without it, a caller does not learn whether a project exists.
    for caller, path, targets in (
        (eve, MOVE, ("apollo", "hidden", "nowhere")),
        (olga, "/api/admin/projects/apollo/features/g/changeProject", ("default", "hidden", "nowhere")),
        (olga, MOVE, ("apollo",)),
    ):
        for target in targets:
            refused(caller.post(path, json={"newProjectId": target}), 403, "NoAccessError")
    assert fingerprint(conn) == before
    world.member("default", olga, 4)
    assert olga.post(MOVE, json={"newProjectId": "apollo"}).status_code == 200
