"""How flags end and come back: stale, archived and revived; one by one and many at once."""

from datetime import UTC, datetime, timedelta
from time import process_time

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import ARCHIVE, BETA, FLAGS, PROJECT, depend, event, recorded
from tests.support.world import refused


@pytest.fixture
def now(conn):
    """The instant of the test."""
    return value(conn, "SELECT now()")


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


def archived(conn):
    """The names of the archived flags."""
    return [
        row["name"]
        for row in rows(
            conn, "SELECT name FROM flags WHERE archived_at IS NOT NULL AND deleted_at IS NULL ORDER BY name"
        )
    ]


def switched_on(conn):
    """Where flags are on."""
    statement = (
        "SELECT name || '/' || environment AS place FROM flag_environments "
        "JOIN flags ON id = flag_id WHERE enabled ORDER BY 1"
    )
    return [row["place"] for row in rows(conn, statement)]


# --- Archiving --------------------------------------------------------------------------------------------------------


def test_an_archived_flag_is_off_and_depends_on_nothing(world, alice, conn):
    flag, parent = (
        world.flag("f", enabled_in=("development", "production")),
        world.flag("parent", enabled_in=("production",)),
    )
    fixtures.tag(conn, flag, "simple", "beta")
    depend(conn, flag, parent)
    since = world.last_event_id()
    response = alice.delete(f"{FLAGS}/f")
    assert (response.status_code, response.data) == (202, b"")
    assert (archived(conn), switched_on(conn), dependencies(conn)) == (["f"], ["parent/production"], [])
    assert value(conn, "SELECT archived_at = now() FROM flags WHERE name = 'f'")
    assert recorded(world, since, alice) == [
        event("feature-archived", tags=[BETA]),
        event("feature-dependencies-removed", tags=[BETA]),
    ]
    assert recorded(world, since)[0].keys().isdisjoint({"data", "pre_data", "environment"})


def test_archiving_a_flag_without_parents_is_one_event_and_again_is_404(world, alice, conn):
    world.flag("f", enabled_in=("production",))
    since = world.last_event_id()
    assert alice.delete(f"{FLAGS}/f").status_code == 202
    before = fingerprint(conn)
    refused(alice.delete(f"{FLAGS}/f"), 404, "NotFoundError")
    refused(alice.delete(f"{FLAGS}/unknown"), 404, "NotFoundError")
    assert fingerprint(conn) == before
    assert recorded(world, since, alice) == [event("feature-archived")]


@pytest.mark.parametrize("how", ["alone", "in a list"])
def test_a_flag_on_which_a_live_one_depends_stays(world, alice, conn, how):
    ids = {name: world.flag(name, enabled_in=("production",)) for name in ("parent", "child", "other", "late")}
    depend(conn, ids["child"], ids["parent"])
    depend(conn, ids["late"], ids["parent"])
    before = fingerprint(conn)
    if how == "alone":
        response, children = alice.delete(f"{FLAGS}/parent"), "child, late"
    else:
        body, children = {"features": ["other", "parent", "late"]}, "child"
        response = alice.post(f"{PROJECT}/archive", json=body)
    message = refused(response, 409, "ConflictError")
    assert message == f"Live flags depend on parent: {children}. Remove their dependencies first."
    assert fingerprint(conn) == before


def test_an_archived_child_does_not_keep_its_parent(world, alice, conn, now):
    depend(conn, world.flag("child", archived_at=now), world.flag("parent"))
    assert alice.delete(f"{FLAGS}/parent").status_code == 202
    assert archived(conn) == ["child", "parent"]


def test_a_child_in_the_list_goes_with_its_parent(world, alice, conn):
    ids = {name: world.flag(name) for name in ("parent", "child", "other")}
    depend(conn, ids["child"], ids["parent"])
    since = world.last_event_id()
    response = alice.post(f"{PROJECT}/archive", json={"features": ["parent", "child", "parent"]})
    assert (response.status_code, response.data) == (202, b"")
    assert (archived(conn), dependencies(conn)) == (["child", "parent"], [])
    assert recorded(world, since, alice) == [
        event("feature-archived", "parent"),
        event("feature-archived", "child"),
        event("feature-dependencies-removed", "child"),
    ]


@pytest.mark.parametrize("stray", ["unknown", "elsewhere"])
@pytest.mark.parametrize("action", ["archive", "revive"])
def test_a_list_with_a_flag_that_is_not_in_the_project_does_nothing(world, alice, conn, now, action, stray):
    world.project("apollo")
    world.flag("elsewhere", "apollo")
    world.flag("f", enabled_in=("production",), archived_at=None if action == "archive" else now)
    before = fingerprint(conn)
    message = refused(alice.post(f"{PROJECT}/{action}", json={"features": ["f", stray]}), 404, "NotFoundError")
    assert message == f"features: these flags are not in this project: {stray}"
    assert fingerprint(conn) == before


@pytest.mark.timing
def test_a_list_as_long_as_may_be_takes_no_longer_than_its_flags(alice, conn):
    conn.execute(
        "INSERT INTO flags (name, project_id) SELECT 'f' || number, 'default' FROM generate_series(1, 3000) AS number"
    )
    names = [f"f{number}" for number in range(10_000)]
    # Of this process alone: each name looked for in the list of the others would be six seconds.
    begun = process_time()
    message = refused(alice.post(f"{PROJECT}/stale", json={"features": names, "stale": True}), 404, "NotFoundError")
    assert process_time() - begun < 2
    assert message.endswith("f0, f3001, f3002, f3003, f3004 and 6995 more")


def test_archiving_no_flag_or_an_archived_flag_changes_nothing(world, alice, conn, now):
    world.flag("f", archived_at=now - timedelta(days=1))
    before = fingerprint(conn)
    for asked in ([], ["f"]):
        assert alice.post(f"{PROJECT}/archive", json={"features": asked}).status_code == 202
    assert fingerprint(conn) == before


@pytest.mark.parametrize("action", ["archive", "revive", "stale"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": None}, "features: must not be null"),
        ({"features": "f"}, "features: must be a list"),
        ({"features": ["f", 5]}, "features.1: must be a string"),
        ({"features": ["a b"]}, "features.0: must contain only"),
        ({"names": ["f"]}, "names: unknown property"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(world, alice, conn, action, change, message):
    world.flag("f")
    before = fingerprint(conn)
    body = {"features": ["f"]} | ({"stale": True} if action == "stale" else {}) | change
    assert message in refused(alice.post(f"{PROJECT}/{action}", json=body))
    assert fingerprint(conn) == before


# --- Reviving ---------------------------------------------------------------------------------------------------------


def test_revived_flags_are_off_and_recorded_one_by_one(world, alice, conn, now):
    for name in ("a", "b"):
        fixtures.tag(conn, world.flag(name, enabled_in=("production",), archived_at=now), "simple", "beta")
    world.flag("live", enabled_in=("production",))
    since = world.last_event_id()
    response = alice.post(f"{PROJECT}/revive", json={"features": ["b", "live", "a"]})
    assert (response.status_code, response.data) == (200, b"")
    assert (archived(conn), switched_on(conn)) == ([], ["live/production"])
    assert recorded(world, since, alice) == [event("feature-revived", name, tags=[BETA]) for name in ("b", "a")]
    assert alice.get(f"{FLAGS}/a").status_code == 200


def test_a_flag_is_revived_by_its_name_alone(world, alice, conn, now):
    world.flag("f", enabled_in=("production",), archived_at=now)
    since = world.last_event_id()
    for _ in range(2):
        response = alice.post(f"{ARCHIVE}/revive/f")
        assert (response.status_code, response.data) == (200, b"")
    assert (archived(conn), switched_on(conn)) == ([], [])
    assert recorded(world, since, alice) == [event("feature-revived")]


def test_flags_of_an_archived_project_cannot_be_revived(world, alice, conn, now):
    world.project("past", archived_at=now)
    world.flag("f", "past", archived_at=now)
    before = fingerprint(conn)
    refused(alice.post("/api/admin/projects/past/revive", json={"features": ["f"]}), 404, "NotFoundError")
    refused(alice.post(f"{ARCHIVE}/revive/f"), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_revived_flags_count_toward_the_limit_of_the_project(world, alice, conn, now):
    world.project("small", feature_limit=2)
    for name in ("a", "b"):
        world.flag(name, "small", archived_at=now)
    world.flag("live", "small")
    before = fingerprint(conn)
    assert "at most 2 live flags" in refused(
        alice.post("/api/admin/projects/small/revive", json={"features": ["a", "b"]}), 409, "ConflictError"
    )
    assert fingerprint(conn) == before
    assert alice.post("/api/admin/projects/small/revive", json={"features": ["a", "live"]}).status_code == 200
    refused(alice.post(f"{ARCHIVE}/revive/b"), 409, "ConflictError")
    assert alice.post("/api/admin/projects/small/revive", json={"features": ["a", "live"]}).status_code == 200


# --- Stale ------------------------------------------------------------------------------------------------------------


def test_only_flags_that_become_stale_are_recorded(world, alice, conn, now):
    fixtures.tag(conn, world.flag("a"), "simple", "beta")
    world.flag("b", stale_since=now - timedelta(days=3))
    world.flag("c")
    since = world.last_event_id()
    response = alice.post(f"{PROJECT}/stale", json={"features": ["c", "b", "a"], "stale": True})
    assert (response.status_code, response.data) == (202, b"")
    assert recorded(world, since, alice) == [
        event("feature-stale-on", "c"),
        event("feature-stale-on", "a", tags=[BETA]),
    ]
    assert value(conn, "SELECT count(*) FROM flags WHERE stale_since IS NOT NULL") == 3
    assert value(conn, "SELECT stale_since FROM flags WHERE name = 'b'") == now - timedelta(days=3)
    since = world.last_event_id()
    for _ in range(2):
        assert alice.post(f"{PROJECT}/stale", json={"features": ["b"], "stale": False}).status_code == 202
    assert recorded(world, since, alice) == [event("feature-stale-off", "b")]


def test_a_flag_of_another_project_is_409_and_a_hidden_flag_404(world, olga, conn, now):
    world.project("open")
    world.project("secret", mode="private")
    for name, project in (("mine", "apollo"), ("theirs", "open"), ("hidden", "secret")):
        world.flag(name, project)
    world.flag("gone", "apollo", archived_at=now)
    before = fingerprint(conn)
    path = "/api/admin/projects/apollo/stale"
    asked = {"stale": True}
    assert "theirs" in refused(olga.post(path, json=asked | {"features": ["mine", "theirs"]}), 409, "ConflictError")
    for name in ("hidden", "unknown", "gone"):
        message = refused(olga.post(path, json=asked | {"features": ["mine", "theirs", name]}), 404, "NotFoundError")
        assert message == f"features: unknown or archived flags: {name}"
    assert fingerprint(conn) == before


def test_stale_is_required(world, alice):
    world.flag("f")
    assert refused(alice.post(f"{PROJECT}/stale", json={"features": ["f"]})) == "stale: is required"


# --- All of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unwritable", "method", "path", "body"),
    [
        ("feature-archived", "DELETE", f"{FLAGS}/live", None),
        ("feature-dependencies-removed", "POST", f"{PROJECT}/archive", {"features": ["live", "child"]}),
        ("feature-revived", "POST", f"{PROJECT}/revive", {"features": ["gone"]}),
        ("feature-deleted", "DELETE", f"{ARCHIVE}/gone", None),
        ("feature-stale-on", "POST", f"{PROJECT}/stale", {"features": ["live"], "stale": True}),
    ],
)
def test_a_change_is_rolled_back_if_its_event_fails(world, alice, conn, now, unwritable, method, path, body):
    live = world.flag("live", enabled_in=("production",))
    depend(conn, world.flag("child"), world.flag("parent"))
    fixtures.tag(conn, world.flag("gone", archived_at=now), "simple", "beta")
    assert live
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    before = fingerprint(conn)
    refused(alice.request(method, path, **({} if body is None else {"json": body})), 500, "InternalError")
    assert fingerprint(conn) == before


def test_a_revived_flag_begins_its_life_anew(world, alice, conn):
    long_ago = datetime.now(UTC) - timedelta(days=30)
    world.flag("f", enabled_in=("production",), created_at=long_ago)
    report = {"project": "default", "flag": "f", "environment": "production", "app": "a", "yes": 1, "no": 0}
    fixtures.report_usage(conn, [report | {"at": long_ago + timedelta(days=1)}])
    assert alice.get(f"{FLAGS}/f").json["lifecycle"]["stage"] == "live"
    assert alice.delete(f"{FLAGS}/f").status_code == 202
    assert alice.post(f"{ARCHIVE}/revive/f").status_code == 200
    found = alice.get(f"{FLAGS}/f").json
    assert found["lifecycle"]["stage"] == "initial"
    assert found["lifecycle"]["enteredStageAt"] > found["createdAt"]
    assert found["lastSeenAt"] is not None
