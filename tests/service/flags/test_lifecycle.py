"""How flags end and come back: stale, archived, revived and deleted; one by one and many at once."""

from datetime import timedelta
from time import process_time

import pytest

from sql.catalog import segments
from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import switched_on
from tests.support.flags import ARCHIVE, BETA, FLAGS, PROJECT, core, depend, event, recorded
from tests.support.world import refused

KINDS = {400: "ValidationError", 404: "NotFoundError", 409: "ConflictError"}


@pytest.fixture
def now(conn):
    """The instant of the test."""
    return value(conn, "SELECT now()")


def do(caller, action, *names, project=PROJECT, **more):
    """Archive, revive, mark or delete several flags of a project."""
    return caller.post(f"{project}/{action}", json={"features": list(names)} | more)


def is_done(response, status=200):
    """Whether a response has this status and no body."""
    return (response.status_code, response.data) == (status, b"")


def dependencies(conn):
    """Every dependency, as (child, parent)."""
    statement = """
        SELECT children.name AS child, parents.name AS parent
          FROM flag_dependencies
          JOIN flags AS children ON children.id = child_id
          JOIN flags AS parents ON parents.id = parent_id
         ORDER BY 1, 2
    """
    return [(row["child"], row["parent"]) for row in rows(conn, statement)]


def listed(caller, project=None):
    """The names of the archived flags of all projects, or of one, as they are listed."""
    answer = caller.get(f"{ARCHIVE}/features" + (f"/{project}" if project else ""))
    assert answer.json["version"] == 2
    return [flag["name"] for flag in answer.json["features"]]


# --- Archiving --------------------------------------------------------------------------------------------------------


def test_an_archived_flag_is_off_and_depends_on_nothing(world, alice, conn):
    flag = world.flag("f", enabled_in=("development", "production"))
    fixtures.tag(conn, flag, "simple", "beta")
    parent = world.flag("parent", enabled_in=("production",))
    depend(conn, flag, parent)
    since = world.last_event_id()
    assert is_done(alice.delete(f"{FLAGS}/f"), 202)
    assert (listed(alice), switched_on(conn), dependencies(conn)) == (["f"], ["parent/production"], [])
    assert value(conn, "SELECT archived_at = now() FROM flags WHERE name = 'f'")
    assert recorded(world, since, alice) == [
        event("feature-archived", tags=[BETA]),
        event("feature-dependencies-removed", tags=[BETA]),
    ]
    since = world.last_event_id()
    refused(alice.delete(f"{FLAGS}/f"), 404, "NotFoundError")
    # An archived child does not keep its parent. Archived flags are no change.
    depend(conn, flag, parent)
    for names in ([], ["f", "parent"], ["f", "parent"]):
        assert do(alice, "archive", *names).status_code == 202
    assert recorded(world, since, alice) == [event("feature-archived", "parent")]


def test_a_flag_on_which_a_live_one_depends_stays(world, alice, conn):
    ids = {name: world.flag(name, enabled_in=("production",)) for name in ("parent", "child", "other", "late")}
    for child in ("child", "late"):
        depend(conn, ids[child], ids["parent"])
    before = fingerprint(conn)
    for response, children in (
        (alice.delete(f"{FLAGS}/parent"), "child, late"),
        (do(alice, "archive", "other", "parent", "late"), "child"),
    ):
        message = refused(response, 409, "ConflictError")
        assert message == f"Live flags depend on parent: {children}. Remove their dependencies first."
    assert fingerprint(conn) == before


def test_a_child_in_the_list_goes_with_its_parent(world, alice, conn):
    ids = {name: world.flag(name) for name in ("parent", "child", "other")}
    depend(conn, ids["child"], ids["parent"])
    since = world.last_event_id()
    assert is_done(do(alice, "archive", "parent", "child", "parent"), 202)
    assert (listed(alice), dependencies(conn)) == (["child", "parent"], [])
    assert recorded(world, since, alice) == [
        event("feature-archived", "parent"),
        event("feature-archived", "child"),
        event("feature-dependencies-removed", "child"),
    ]


UNKNOWN = "features: these flags are not in this project: "


@pytest.mark.parametrize(
    ("action", "names", "status", "says"),
    [
        ("archive", ["live", "unknown"], 404, f"{UNKNOWN}unknown"),
        ("archive", ["live", "theirs"], 404, f"{UNKNOWN}theirs"),
        ("revive", ["gone", "unknown"], 404, f"{UNKNOWN}unknown"),
        ("revive", ["gone", "theirs"], 404, f"{UNKNOWN}theirs"),
        ("delete", ["gone", "live"], 409, "Flags must be archived before they can be deleted: live."),
        ("delete", ["gone", "theirs"], 404, f"{UNKNOWN}theirs"),
        ("delete", ["gone", ""], 400, "features.1: must not be empty"),
        ("archive", ["live", 5], 400, "features.1: must be a string"),
        ("revive", ["a b"], 400, "features.0: must contain only"),
        ("stale", ["live"], 400, "stale: is required"),
        ("archive/validate", [None], 400, "features.0: must not be null"),
    ],
)
def test_an_invalid_list_of_flags_is_refused_as_a_whole(world, alice, conn, now, action, names, status, says):
    world.flag("live", enabled_in=("production",))
    world.flag("gone", enabled_in=("production",), archived_at=now)
    world.flag("theirs", world.project("hermes"), archived_at=now)
    before = fingerprint(conn)
    assert refused(do(alice, action, *names), status, KINDS[status]).startswith(says)
    assert "names: unknown property" in refused(do(alice, action, names=[]))
    assert fingerprint(conn) == before


@pytest.mark.timing
def test_a_list_as_long_as_may_be_takes_no_longer_than_its_flags(alice, conn):
    conn.execute(
        "INSERT INTO flags (name, project_id) SELECT 'f' || number, 'default' FROM generate_series(1, 3000) AS number"
    )
    names = [f"f{number}" for number in range(10_000)]
    # Of this process alone: each name looked for in the list of the others would be six seconds.
    begun = process_time()
    message = refused(do(alice, "stale", *names, stale=True), 404, "NotFoundError")
    assert process_time() - begun < 2
    assert message.endswith("f0, f3001, f3002, f3003, f3004 and 6995 more")


# --- What archiving would do ------------------------------------------------------------------------------------------


def would(caller, *names):
    """The findings for the archiving of these flags."""
    answer = do(caller, "archive/validate", *names)
    assert answer.status_code == 200
    return answer.json["parentsWithChildFeatures"], answer.json["hasDeletedDependencies"]


def test_archiving_would_lose_dependencies(world, alice, conn, now):
    world.project("hermes")
    ids = {name: world.flag(name) for name in ("parent", "child", "second", "alone", "of-gone")}
    ids |= {name: world.flag(name, "hermes") for name in ("theirs", "child-of-theirs")}
    ids["gone"] = world.flag("gone", archived_at=now)
    parents = {"child": "parent", "second": "parent", "child-of-theirs": "theirs", "gone": "of-gone"}
    for child, parent in parents.items():
        depend(conn, ids[child], ids[parent])
    before = fingerprint(conn)
    assert would(alice, "alone") == ([], False)
    assert would(alice, "parent") == (["parent"], True)
    assert would(alice, "child", "alone") == ([], True)
    assert would(alice, "parent", "child") == (["parent"], True)
    assert would(alice, "parent", "child", "second", "parent") == ([], True)
    assert would(alice, "unknown", "theirs", "child-of-theirs", "gone", "of-gone") == ([], False)
    assert fingerprint(conn) == before


# --- Archived flags ---------------------------------------------------------------------------------------------------


def test_archived_flags_are_listed_by_name_without_environments(world, alice, conn):
    world.flag("live")
    for name in ("b", "a"):
        world.flag(name, description="d", archived_at="2026-05-01T00:00:00Z")
    answer = alice.get(f"{ARCHIVE}/features").json
    assert answer == {"version": 2, "features": [core(conn, name) | {"environments": []} for name in ("a", "b")]}
    assert answer["features"][0]["archivedAt"] == "2026-05-01T00:00:00.000Z"
    alice.delete(f"{ARCHIVE}/a")
    assert listed(alice) == ["b"]


def test_archived_flags_of_hidden_projects_are_not_listed(world, alice, victor, olga, apollo, now):
    world.flag("ours", archived_at=now)
    world.flag("theirs", apollo, archived_at=now)
    for caller in (alice, olga):
        assert (listed(caller), listed(caller, apollo)) == (["ours", "theirs"], ["theirs"])
    for caller in (alice, victor):
        assert listed(caller, "default") == ["ours"]
    assert listed(victor) == ["ours"]
    refused(victor.get(f"{ARCHIVE}/features/{apollo}"), 404, "NotFoundError")


# --- Reviving ---------------------------------------------------------------------------------------------------------


def test_revived_flags_are_off_and_recorded_one_by_one(world, alice, conn, now):
    for name in ("a", "b"):
        fixtures.tag(conn, world.flag(name, enabled_in=("production",), archived_at=now), "simple", "beta")
    world.flag("c", enabled_in=("production",), archived_at=now)
    world.flag("live", enabled_in=("production",))
    since = world.last_event_id()
    assert is_done(do(alice, "revive", "b", "live", "a"))
    for _ in range(2):
        assert is_done(alice.post(f"{ARCHIVE}/revive/c"))
    assert (listed(alice), switched_on(conn)) == ([], ["live/production"])
    revived = [event("feature-revived", name, tags=[BETA]) for name in ("b", "a")]
    assert recorded(world, since, alice) == [*revived, event("feature-revived", "c")]
    assert alice.get(f"{FLAGS}/a").status_code == 200


def test_flags_of_an_archived_project_cannot_be_revived(world, alice, conn, now):
    world.project("past", archived_at=now)
    world.flag("f", "past", archived_at=now)
    before = fingerprint(conn)
    refused(do(alice, "revive", "f", project="/api/admin/projects/past"), 404, "NotFoundError")
    refused(alice.post(f"{ARCHIVE}/revive/f"), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_revived_flags_count_toward_the_limit_of_the_project(world, alice, conn, now):
    small = f"/api/admin/projects/{world.project('small', feature_limit=2)}"
    for name in ("a", "b"):
        world.flag(name, "small", archived_at=now)
    world.flag("live", "small")
    before = fingerprint(conn)
    assert "at most 2 live flags" in refused(do(alice, "revive", "a", "b", project=small), 409, "ConflictError")
    assert fingerprint(conn) == before
    assert do(alice, "revive", "a", "live", project=small).status_code == 200
    refused(alice.post(f"{ARCHIVE}/revive/b"), 409, "ConflictError")
    assert do(alice, "revive", "a", "live", project=small).status_code == 200


# --- Stale ------------------------------------------------------------------------------------------------------------


def test_only_flags_that_become_stale_are_recorded(world, alice, conn, now):
    fixtures.tag(conn, world.flag("a"), "simple", "beta")
    world.flag("b", stale_since=now - timedelta(days=3))
    world.flag("c")
    since = world.last_event_id()
    assert is_done(do(alice, "stale", "c", "b", "a", stale=True), 202)
    assert recorded(world, since, alice) == [
        event("feature-stale-on", "c"),
        event("feature-stale-on", "a", tags=[BETA]),
    ]
    assert value(conn, "SELECT count(*) FROM flags WHERE stale_since IS NOT NULL") == 3
    assert value(conn, "SELECT stale_since FROM flags WHERE name = 'b'") == now - timedelta(days=3)
    since = world.last_event_id()
    for _ in range(2):
        assert do(alice, "stale", "b", stale=False).status_code == 202
    assert recorded(world, since, alice) == [event("feature-stale-off", "b")]


def test_a_flag_of_another_project_is_409_and_a_hidden_flag_404(world, olga, conn, now):
    world.project("secret", mode="private")
    for name, project in (("mine", "apollo"), ("theirs", world.project("open")), ("hidden", "secret")):
        world.flag(name, project)
    world.flag("gone", "apollo", archived_at=now)
    before = fingerprint(conn)
    asked = {"project": "/api/admin/projects/apollo", "stale": True}
    assert "theirs" in refused(do(olga, "stale", "mine", "theirs", **asked), 409, "ConflictError")
    for name in ("hidden", "unknown", "gone"):
        message = refused(do(olga, "stale", "mine", "theirs", name, **asked), 404, "NotFoundError")
        assert message == f"features: unknown or archived flags: {name}"
    assert fingerprint(conn) == before


# --- Deletion ---------------------------------------------------------------------------------------------------------

HANGING = {
    **dict.fromkeys(("flag_environments", "strategies", "variants", "flag_tags", "flag_favorites"), "flag_id = %(id)s"),
    "strategy_segments": "true",
    "flag_dependencies": "%(id)s IN (child_id, parent_id)",
}


def hanging(conn, flag):
    """How many rows hang on the flag, by table."""
    return {
        table: value(conn, f"SELECT count(*) FROM {table} WHERE {condition}", {"id": flag})
        for table, condition in HANGING.items()
    }


def test_deleting_a_flag_deletes_its_records_and_frees_its_name(world, alice, conn, now):
    flag = world.flag("f")
    strategy = world.strategy(flag)
    fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=1000)
    fixtures.insert_variant(conn, flag, "development", None, name="b", weight=1000)
    fixtures.add_segment(conn, strategy, segments.insert(conn, "s", []))
    fixtures.tag(conn, flag, "simple", "beta")
    flag_favorites.add(conn, world.user("Fan").id, flag)
    depend(conn, flag, world.flag("parent"))
    depend(conn, world.flag("child", archived_at=now), flag)
    before = fingerprint(conn)
    refused(alice.delete(f"{ARCHIVE}/f"), 409, "ConflictError")
    refused(alice.delete(f"{ARCHIVE}/unknown"), 404, "NotFoundError")
    assert fingerprint(conn) == before
    fixtures.update(conn, "flags", flag, archived_at=now)
    assert min(hanging(conn, flag).values()) > 0
    pre, since = core(conn), world.last_event_id()
    assert is_done(alice.delete(f"{ARCHIVE}/f"))
    assert set(hanging(conn, flag).values()) == {0}
    assert recorded(world, since, alice) == [event("feature-deleted", pre_data=pre, tags=[BETA])]
    row = "SELECT deleted_at = now() AND project_id = 'default' FROM flags WHERE id = %(id)s"
    assert value(conn, row, {"id": flag})
    assert value(conn, "SELECT count(*) FROM tags") == value(conn, "SELECT count(*) FROM segments") == 1
    for response in (
        alice.delete(f"{ARCHIVE}/f"),
        alice.post(f"{ARCHIVE}/revive/f"),
        alice.get("/api/admin/features/f/tags"),
        do(alice, "revive", "f"),
    ):
        refused(response, 404, "NotFoundError")
    assert alice.post(FLAGS, json={"name": "f"}).status_code == 201
    record = alice.get(f"{FLAGS}/f").json
    assert (record["tags"], [user["id"] for user in record["collaborators"]["users"]]) == ([], [alice.id])


def test_archived_flags_are_deleted_and_each_is_recorded(world, alice, conn, now):
    for name in ("a", "b", "c"):
        fixtures.tag(conn, world.flag(name, archived_at=now), "simple", "beta")
    cores = {name: core(conn, name) for name in ("a", "b")}
    since = world.last_event_id()
    assert is_done(do(alice, "delete", "b", "a", "b"))
    deleted = [event("feature-deleted", name, pre_data=cores[name], tags=[BETA]) for name in ("b", "a")]
    assert recorded(world, since, alice) == deleted
    assert listed(alice) == ["c"]
    assert rows(conn, "SELECT name FROM flags JOIN flag_tags ON flag_id = flags.id") == [{"name": "c"}]
