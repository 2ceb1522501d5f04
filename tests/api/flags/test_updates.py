"""Changes of what a flag says of itself."""

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS, core, event, recorded
from tests.support.world import refused


def test_a_change_is_recorded_with_the_flag_before_and_after(world, alice, conn):
    fixtures.tag(conn, world.flag("f", description="old"), "simple", "beta")
    before, since = core(conn), world.last_event_id()
    change = {"name": "f", "description": None, "type": "experiment", "impressionData": True}
    response = alice.put(f"{FLAGS}/f", json=change)
    assert response.status_code == 200
    assert response.json == core(conn) == before | change
    tags = [{"type": "simple", "value": "beta"}]
    assert recorded(world, since, alice) == [
        event("feature-metadata-updated", data=response.json, pre_data=before, tags=tags)
    ]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": "f"},
        {"type": "release"},
        {"stale": False},
        {"archived": False, "createdAt": 5, "project": "default"},
    ],
)
def test_a_change_to_what_is_so_already_is_none(world, alice, conn, change):
    world.flag("f", description="d")
    before = fingerprint(conn)
    assert alice.put(f"{FLAGS}/f", json=change).json == core(conn)
    assert fingerprint(conn) == before


def test_absent_fields_stay(world, alice, conn):
    world.flag("f", description="d", type="kill-switch", impression_data=True, stale_since="2024-03-01T00:00:00Z")
    before = core(conn)
    for change in ({"description": "e"}, {"type": "permission"}, {"impressionData": False}):
        before |= change
        assert alice.put(f"{FLAGS}/f", json=change).json == before
    assert value(conn, "SELECT stale_since = '2024-03-01T00:00:00Z' FROM flags")


def test_the_stale_mark_has_an_event_of_its_own(world, alice, conn):
    world.flag("f")
    since = world.last_event_id()
    for stale in (True, True, False, False):
        assert alice.put(f"{FLAGS}/f", json={"stale": stale}).json["stale"] is stale
    assert recorded(world, since, alice) == [event("feature-stale-on"), event("feature-stale-off")]
    assert value(conn, "SELECT count(*) FROM past_flag_states WHERE state = 'stale'") == 1
    since = world.last_event_id()
    response = alice.put(f"{FLAGS}/f", json={"stale": True, "description": "old"})
    assert [entry["type"] for entry in recorded(world, since)] == ["feature-metadata-updated", "feature-stale-on"]
    assert recorded(world, since)[0]["data"] == response.json


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "g"}, "name: must be omitted or unchanged"),
        ({"type": "unknown"}, "type: must be experiment"),
        ({"stale": 1}, "stale: must be true or false"),
        ({"seenAt": None}, "seenAt: unknown property"),
        ([], "body: must be a JSON object"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(world, alice, conn, change, message):
    world.flag("f")
    before = fingerprint(conn)
    assert message in refused(alice.put(f"{FLAGS}/f", json=change))
    assert fingerprint(conn) == before


def test_a_flag_that_is_not_there_cannot_be_read_or_changed(world, alice, conn):
    world.project("apollo")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    world.flag("other", "apollo")
    before = fingerprint(conn)
    for name in ("gone", "other", "unknown", "F", "f%00"):
        why = refused(alice.put(f"{FLAGS}/{name}", json={"description": "d"}), 404, "NotFoundError")
        assert (
            why
            == refused(alice.get(f"{FLAGS}/{name}"), 404, "NotFoundError")
            == "This project has no such flag, or the flag is archived."
        )
    assert fingerprint(conn) == before


@pytest.mark.parametrize(
    "unwritable", ["feature-created", "feature-tagged", "feature-metadata-updated", "feature-stale-on"]
)
def test_a_change_is_rolled_back_if_its_event_fails(world, alice, conn, unwritable):
    world.flag("f")
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    before = fingerprint(conn)
    if unwritable in ("feature-created", "feature-tagged"):
        response = alice.post(FLAGS, json={"name": "g", "tags": [{"type": "simple", "value": "beta"}]})
    else:
        response = alice.put(f"{FLAGS}/f", json={"description": "d", "stale": True})
    refused(response, 500, "InternalError")
    assert fingerprint(conn) == before


def test_a_new_flag_can_be_stale(world, alice, conn):
    since = world.last_event_id()
    ignored = {"project": "apollo", "createdBy": "nobody", "archived": True, "environments": [{"enabled": True}]}
    response = alice.post(FLAGS, json={"name": "f", "stale": True} | ignored)
    assert response.status_code == 201
    assert response.json == core(conn)
    assert [response.json[key] for key in ("stale", "project", "archived", "enabled")] == [
        True,
        "default",
        False,
        False,
    ]
    before = response.json | {"stale": False}
    assert recorded(world, since, alice) == [event("feature-created", data=before), event("feature-stale-on")]
