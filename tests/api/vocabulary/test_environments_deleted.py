"""The end of an environment, and what is deleted too."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from flask import Flask

from sql.database import Connection, connect, rows, value
from sql.people import roles
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.environments import STAGING, URL, logged, names, stored
from tests.support.races import at_the_gate, statuses, wait_for
from tests.support.world import Caller, World, refused


def test_an_environment_is_deleted(world, alice, conn, staging):
    since = world.last_event_id()
    answer = alice.delete(f"{URL}/{staging}", data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert names(conn) == ["development", "production"]
    assert logged(world, since, alice) == [("environment-deleted", "staging", None, STAGING)]
    refused(alice.delete(f"{URL}/{staging}"), 404, "NotFoundError")
    assert len(world.events(since)) == 1


def test_a_protected_one_stays(world, alice, conn, staging):
    conn.execute("UPDATE environments SET protected = true WHERE name = 'staging'")
    since = world.last_event_id()
    refused(alice.delete(f"{URL}/{staging}"), 409, "ConflictError")
    assert stored(conn, staging) == STAGING | {"protected": True}
    assert world.events(since) == []


def test_deleting_an_environment_deletes_its_contents_and_nothing_else(world, alice, conn, staging):
    world.project("apollo", ("staging", "production"))
    flag = world.flag(
        "checkout", "apollo", enabled_in=("staging", "production"), first_in_production_at="2026-01-01T00:00:00Z"
    )
    segment = value(conn, "INSERT INTO segments (name) VALUES ('a segment') RETURNING id")
    for environment in ("staging", "production"):
        strategy = world.strategy(flag, environment)
        fixtures.add_segment(conn, strategy, segment)
        fixtures.insert_variant(conn, flag, environment, strategy, name="blue", weight=1000)
        fixtures.insert_variant(conn, flag, environment, None, name="red", weight=1000)
    key = world.api_key("client", environment="staging", projects=["apollo"])
    other = world.api_key("client", environment="production", projects=["apollo"])
    tester = roles.insert(conn, "Tester")
    for environment in ("staging", "production", None):
        fixtures.allow(conn, tester, "UPDATE_FEATURE_ENVIRONMENT", environment=environment)
    since = world.last_event_id()
    assert alice.delete(f"{URL}/{staging}").status_code == 200
    for table in (
        "flag_environments",
        "strategies",
        "variants",
        "api_keys",
        "project_environments",
        "role_permissions",
    ):
        assert value(conn, f"SELECT count(*) FROM {table} WHERE environment = 'staging'") == 0, table
    for table, number in (("flag_environments", 1), ("strategies", 1), ("variants", 2), ("api_keys", 1)):
        assert value(conn, f"SELECT count(*) FROM {table} WHERE environment = 'production'") == number, table
    assert value(conn, "SELECT count(*) FROM strategy_segments") == 1
    assert value(conn, "SELECT count(*) FROM segments") == 1
    # What was allowed there alone is not allowed anywhere in its place.
    left = rows(conn, "SELECT environment FROM role_permissions WHERE role_id = %(id)s ORDER BY 1", {"id": tester})
    assert [row["environment"] for row in left] == ["production", None]
    assert api_keys_of(conn) == ["production"]
    assert value(conn, "SELECT first_in_production_at IS NOT NULL FROM flags") is True
    assert [event["type"] for event in world.events(since)] == ["environment-deleted"]
    refused(key.get(URL), 401, "AuthenticationRequired")
    refused(other.get(URL), 403, "NoAccessError")


def api_keys_of(conn: Connection) -> list[str]:
    """The environments of the keys that are left."""
    return [row["environment"] for row in rows(conn, "SELECT environment FROM api_keys WHERE environment IS NOT NULL")]


def test_a_permission_for_a_deleted_environment_ends_at_once(world, conn, alice, victor, staging):
    world.project("apollo", ("staging",))
    flag = world.flag("checkout", "apollo", enabled_in=("staging",))
    strategy = world.strategy(flag, "staging")
    tester = roles.insert(conn, "Tester")
    fixtures.allow(conn, tester, "DELETE_FEATURE_STRATEGY", environment="staging")
    fixtures.add_project_user(conn, "apollo", victor.id, tester)
    place = f"/api/admin/projects/apollo/features/checkout/environments/staging/strategies/{strategy}"
    assert alice.delete(f"{URL}/{staging}").status_code == 200
    refused(victor.delete(place), 403, "NoAccessError")
    refused(alice.delete(place), 404, "NotFoundError")


# --- Races, on real connections that commit ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The database of the races."""
    return make_database()


@pytest.fixture
def racers(make_app: Callable[..., Flask], url: str) -> Iterator[tuple[World, Connection, Caller]]:
    """A world that commits each statement, a connection that holds the gate, and a key for everything."""
    with connect(url) as conn, connect(url) as gate:
        world = World(make_app(url), conn)
        admin = world.api_key()
        # At its first use a key is marked as seen, and its next use would wait for that.
        admin.get(URL)
        yield world, gate, admin


def test_an_environment_that_is_being_deleted_cannot_be_added(racers):
    world, gate, admin = racers
    environments.insert(world.conn, "qa", "test")
    world.project("apollo")
    delete = "DELETE FROM environments WHERE name = 'qa'"
    [answer] = at_the_gate(
        world.conn,
        gate,
        delete,
        lambda: admin.post("/api/admin/projects/apollo/environments", json={"environment": "qa"}),
    )
    refused(answer, 404, "NotFoundError")
    assert value(world.conn, "SELECT count(*) FROM events WHERE project = 'apollo'") == 0


@pytest.mark.parametrize(
    "end", ["/api/admin/environments/{}", "/api/admin/projects/{}/environments/{}"], ids=["deleted", "removed"]
)
@pytest.mark.parametrize(
    "held", ["projects WHERE id = %s FOR SHARE", "flags WHERE project_id = %s FOR UPDATE"], ids=["project", "flag"]
)
def test_deletion_waits_for_changes_of_its_flags(racers, end, held):
    world, gate, admin = racers
    name = f"race-{uuid4().hex}"
    environments.insert(world.conn, name, "test")
    flag = world.flag(name, world.project(name, ()))
    fixtures.add_project_environment(world.conn, name, name)
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute(f"SELECT FROM {held}", [name])
            ended = thread.submit(admin.delete, end.format(name, name))
            wait_for(world.conn, [ended])
            gate.execute("INSERT INTO flag_environments (flag_id, environment) VALUES (%s, %s)", [flag, name])
        assert ended.result().status_code == 200
    assert value(world.conn, "SELECT count(*) FROM flag_environments WHERE flag_id = %(id)s", {"id": flag}) == 0


def test_of_two_deletions_one_gets_404(racers):
    world, gate, admin = racers
    environments.insert(world.conn, "load", "test")
    hold = "SELECT FROM environments WHERE name = 'load' FOR UPDATE"
    answers = at_the_gate(world.conn, gate, hold, *[lambda: admin.delete(f"{URL}/load")] * 2)
    assert statuses(answers) == {200: 1, 404: 1}
    deleted = "SELECT count(*) FROM events WHERE type = 'environment-deleted' AND environment = 'load'"
    assert value(world.conn, deleted) == 1
