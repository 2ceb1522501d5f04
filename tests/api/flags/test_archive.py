"""Archived flags: the two lists, what archiving would do, and the deletion of several."""

from datetime import UTC, datetime

import pytest

from sql.database import rows
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import ARCHIVE, BETA, FLAGS, PROJECT, core, depend, event, recorded
from tests.support.world import refused

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def listed(caller, project=None):
    """The names of the archived flags of all projects, or of one."""
    answer = caller.get(f"{ARCHIVE}/features" + (f"/{project}" if project else ""))
    assert answer.json["version"] == 2
    return [flag["name"] for flag in answer.json["features"]]


# --- Lists ------------------------------------------------------------------------------------------------------------


def test_archived_flags_are_listed_by_name_without_environments(world, alice, conn):
    world.flag("live")
    for name in ("b", "a"):
        world.flag(name, description="d", archived_at=NOW)
    answer = alice.get(f"{ARCHIVE}/features").json
    assert answer == {"version": 2, "features": [core(conn, name) | {"environments": []} for name in ("a", "b")]}
    assert answer["features"][0]["archivedAt"] == "2026-05-01T00:00:00.000Z"
    alice.delete(f"{ARCHIVE}/a")
    assert listed(alice) == ["b"]


def test_archived_flags_of_a_project_are_those_of_it_alone(world, alice, victor, olga, apollo):
    for name, project in (("ours", "default"), ("theirs", apollo)):
        world.flag(name, project, archived_at=NOW)
    assert (listed(alice), listed(alice, "default"), listed(alice, apollo)) == (
        ["ours", "theirs"],
        ["ours"],
        ["theirs"],
    )
    assert (listed(olga), listed(olga, apollo)) == (["ours", "theirs"], ["theirs"])
    assert (listed(victor), listed(victor, "default")) == (["ours"], ["ours"])
    refused(victor.get(f"{ARCHIVE}/features/{apollo}"), 404, "NotFoundError")


def test_a_flag_called_features_can_be_deleted(world, alice):
    world.flag("features", archived_at=NOW)
    assert alice.delete(f"{ARCHIVE}/features").status_code == 200
    assert listed(alice) == []


# --- What archiving would do ------------------------------------------------------------------------------------------


def would(caller, *names):
    """The findings for the archiving of these flags."""
    answer = caller.post(f"{PROJECT}/archive/validate", json={"features": list(names)})
    assert answer.status_code == 200
    return answer.json["parentsWithChildFeatures"], answer.json["hasDeletedDependencies"]


def test_parents_of_others_and_lost_dependencies_are_found_and_nothing_changes(world, alice, conn):
    ids = {name: world.flag(name) for name in ("parent", "child", "second", "alone")}
    for child in ("child", "second"):
        depend(conn, ids[child], ids["parent"])
    before = fingerprint(conn)
    assert would(alice, "alone") == ([], False)
    assert would(alice, "parent") == (["parent"], True)
    assert would(alice, "child", "alone") == ([], True)
    assert would(alice, "parent", "child") == (["parent"], True)
    assert would(alice, "parent", "child", "second", "parent") == ([], True)
    assert fingerprint(conn) == before


def test_flags_that_are_unknown_or_archived_or_elsewhere_are_ignored(world, alice, conn):
    world.project("hermes")
    ids = {name: world.flag(name, project) for name, project in (("parent", "hermes"), ("child", "hermes"))}
    depend(conn, ids["child"], ids["parent"])
    depend(conn, world.flag("gone", archived_at=NOW), world.flag("of-gone"))
    assert would(alice, "unknown", "parent", "child", "gone", "of-gone") == ([], False)
    refused(alice.post(f"{PROJECT}/archive/validate", json={"features": ["a b"]}))


# --- Deletion of several ----------------------------------------------------------------------------------------------


def delete(caller, *names):
    """Delete flags of project default."""
    return caller.post(f"{PROJECT}/delete", json={"features": list(names)})


def test_archived_flags_are_deleted_and_each_is_recorded(world, alice, conn):
    for name in ("a", "b", "c"):
        fixtures.tag(conn, world.flag(name, archived_at=NOW), "simple", "beta")
    cores = {name: core(conn, name) for name in ("a", "b")}
    since = world.last_event_id()
    response = delete(alice, "b", "a", "b")
    assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, alice) == [
        event("feature-deleted", name, pre_data=cores[name], tags=[BETA]) for name in ("b", "a")
    ]
    assert listed(alice) == ["c"]
    assert alice.post(FLAGS, json={"name": "a"}).status_code == 201
    assert rows(conn, "SELECT name FROM flags JOIN flag_tags ON flag_id = flags.id") == [{"name": "c"}]


@pytest.mark.parametrize(
    ("names", "status", "says"),
    [
        (["gone", "live"], 409, "Flags must be archived before they can be deleted: live."),
        (["gone", "unknown"], 404, "features: these flags are not in this project: unknown"),
        (["gone", "theirs"], 404, "features: these flags are not in this project: theirs"),
        (["gone", ""], 400, "features.1: must not be empty"),
    ],
)
def test_if_one_cannot_be_deleted_none_is(world, alice, conn, names, status, says):
    world.flag("live")
    world.flag("gone", archived_at=NOW)
    world.flag("theirs", world.project("hermes"), archived_at=NOW)
    before = fingerprint(conn)
    kind = {400: "ValidationError", 404: "NotFoundError", 409: "ConflictError"}[status]
    assert refused(delete(alice, *names), status, kind) == says
    assert fingerprint(conn) == before
