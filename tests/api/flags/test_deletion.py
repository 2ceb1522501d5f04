"""Archived flags are deleted for good, but the past still counts them."""

import pytest

from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from sql.flags import lifecycle as flag_lifecycle
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import ARCHIVE, BETA, FLAGS, PROJECT, core, depend, event, recorded
from tests.support.world import refused


@pytest.fixture
def now(conn):
    """The instant of the test."""
    return value(conn, "SELECT now()")


def hung_with_everything(world, conn, **fields):
    """The id of a flag that has a strategy with a variant and a segment, a variant, a tag, a favourite and two
    dependencies.
    """
    flag = world.flag("f", **fields)
    strategy = world.strategy(flag)
    fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=1000)
    fixtures.insert_variant(conn, flag, "development", None, name="b", weight=1000)
    fixtures.add_segment(conn, strategy, segments.insert(conn, "s", []))
    fixtures.tag(conn, flag, "simple", "beta")
    flag_favorites.add(conn, world.user("Fan").id, flag)
    depend(conn, flag, world.flag("parent"))
    depend(conn, world.flag("child", archived_at=value(conn, "SELECT now()")), flag)
    return flag


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
    flag = hung_with_everything(world, conn, archived_at=now)
    assert min(hanging(conn, flag).values()) > 0
    pre, since = core(conn), world.last_event_id()
    response = alice.delete(f"{ARCHIVE}/f")
    assert (response.status_code, response.data) == (200, b"")
    assert set(hanging(conn, flag).values()) == {0}
    assert recorded(world, since, alice) == [event("feature-deleted", pre_data=pre, tags=[BETA])]
    assert value(
        conn, "SELECT deleted_at = now() AND project_id = 'default' FROM flags WHERE id = %(id)s", {"id": flag}
    )
    assert value(conn, "SELECT count(*) FROM tags") == value(conn, "SELECT count(*) FROM segments") == 1
    for response in (
        alice.delete(f"{ARCHIVE}/f"),
        alice.post(f"{ARCHIVE}/revive/f"),
        alice.get("/api/admin/features/f/tags"),
    ):
        refused(response, 404, "NotFoundError")
    refused(alice.post(f"{PROJECT}/revive", json={"features": ["f"]}), 404, "NotFoundError")
    assert alice.post(FLAGS, json={"name": "f"}).status_code == 201
    assert alice.get(f"{FLAGS}/f").json["tags"] == []
    assert alice.get(f"{FLAGS}/f").json["collaborators"]["users"][0]["id"] == alice.id


def test_a_live_flag_is_not_deleted(world, alice, conn):
    hung_with_everything(world, conn)
    before = fingerprint(conn)
    refused(alice.delete(f"{ARCHIVE}/f"), 409, "ConflictError")
    refused(alice.delete(f"{ARCHIVE}/unknown"), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_the_past_still_counts_a_deleted_flag(world, alice):
    long_ago = {"type": "kill-switch", "created_at": "2024-02-01T12:00:00Z", "archived_at": "2024-03-06T12:00:00Z"}
    world.flag("f", **long_ago)
    path = "/api/admin/insights?from=2024-02-26&to=2024-03-17"
    before = alice.get(path).json
    assert [entry["total"] for entry in before["flagTrends"]] == [1, 0, 0]
    assert alice.delete(f"{ARCHIVE}/f").status_code == 200
    assert alice.get(path).json == before


def test_all_archived_flags_of_a_project_are_deleted_in_one_statement(world, conn, now):
    world.project("apollo")
    for name, project, at in (
        ("b", "default", now),
        ("a", "default", now),
        ("live", "default", None),
        ("other", "apollo", now),
    ):
        fixtures.tag(conn, world.flag(name, project, archived_at=at), "simple", "beta")
    before = {name: core(conn, name) for name in ("a", "b")}
    gone = flag_lifecycle.delete_archived(conn, "default")
    assert gone == [{"name": name, "record": before[name], "tags": [BETA]} for name in ("a", "b")]
    assert [row["name"] for row in rows(conn, "SELECT name FROM flags WHERE deleted_at IS NULL ORDER BY name")] == [
        "live",
        "other",
    ]
    assert value(conn, "SELECT count(*) FROM flag_tags") == 2
    assert flag_lifecycle.delete_archived(conn, "default") == []
