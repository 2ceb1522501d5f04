"""Removal of a strategy: who may not, and what is not there."""

import pytest

from sql.database import rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.strategy_deletion import NO_STRATEGY, delete, deleted, is_there, switched_on, two_projects
from tests.support.world import refused


@pytest.mark.parametrize(
    "place",
    [
        {"project": "apollo"},
        {"project": "unknown"},
        {"project": "Default"},
        {"project": "default%00"},
        {"flag": "g"},
        {"flag": "h"},
        {"flag": "unknown"},
        {"flag": "F"},
        {"flag": "f%20"},
        {"flag": "%F0%9F%90%98"},
        {"environment": "production"},
        {"environment": "unknown"},
        {"environment": "Development"},
        {"project": "apollo", "flag": "h"},
    ],
)
def test_a_strategy_of_another_place_is_404_and_stays(world, alice, conn, place):
    strategy, before = two_projects(world)
    since = world.last_event_id()
    refused(delete(alice, strategy, **place), 404, "NotFoundError")
    assert rows(conn, "SELECT * FROM strategies ORDER BY id") == before
    assert switched_on(conn) == ["f/development", "g/development", "h/development"]
    assert world.events(since) == []


@pytest.mark.parametrize(
    "unknown", [NO_STRATEGY, "1", "-", "%00", "%27%20OR%20true%20--", "x" * 5000, "%ED%A0%80", "%F0%9F%90%98"]
)
def test_an_unknown_strategy_is_404(world, alice, conn, unknown):
    _, before = two_projects(world)
    since = world.last_event_id()
    refused(delete(alice, unknown), 404, "NotFoundError")
    assert rows(conn, "SELECT * FROM strategies ORDER BY id") == before
    assert world.events(since) == []


def test_an_id_is_exact(world, alice, conn):
    strategy = world.strategy(world.flag("f"), strategy_id="abcdefab-cdef-4abc-8def-abcdefabcdef")
    since = world.last_event_id()
    for similar in (
        strategy.upper(),
        strategy.replace("-", ""),
        strategy[:-1],
        strategy + "%20",
        strategy + "/",
        f"{{{strategy}}}",
    ):
        refused(delete(alice, similar), 404, "NotFoundError")
    assert is_there(conn, strategy)
    assert world.events(since) == []


def test_a_strategy_of_an_archived_flag_is_404_and_stays(world, alice, conn):
    strategy = world.strategy(world.flag("f", enabled_in=("development",), archived_at=value(conn, "SELECT now()")))
    since = world.last_event_id()
    refused(delete(alice, strategy), 404, "NotFoundError")
    assert is_there(conn, strategy)
    assert switched_on(conn) == ["f/development"]
    assert world.events(since) == []


def test_the_permission_is_checked_first(world, eve, victor, max, stranger, conn):
    strategy = world.strategy(world.flag("f", "apollo"))
    since = world.last_event_id()
    for place in ({"project": "apollo"}, {"project": "unknown"}, {"project": "apollo", "flag": "unknown"}):
        for path in (strategy, NO_STRATEGY):
            for caller in (eve, victor):
                refused(delete(caller, path, **place), 403, "NoAccessError")
            refused(delete(stranger, path, **place), 401, "AuthenticationRequired")
    for place in ({"project": "default"}, {"project": "unknown"}):
        refused(delete(max, strategy, **place), 403, "NoAccessError")
    assert is_there(conn, strategy)
    assert world.events(since) == []


def test_owners_members_and_editors_may(world, olga, max, eve, conn):
    flag = world.flag("f", "apollo")
    assert deleted(delete(olga, world.strategy(flag), project="apollo"))
    assert deleted(delete(max, world.strategy(flag), project="apollo"))
    assert deleted(delete(eve, world.strategy(world.flag("g")), flag="g"))
    assert value(conn, "SELECT count(*) FROM strategies") == 0


def test_a_permission_can_hold_in_one_environment_alone(world, victor, conn):
    role = roles.insert(conn, "Cleaner of development")
    fixtures.allow(conn, role, "DELETE_FEATURE_STRATEGY", environment="development")
    world.member("default", victor, role)
    flag = world.flag("f")
    here, there = world.strategy(flag), world.strategy(flag, "production")
    assert deleted(delete(victor, here))
    refused(delete(victor, there, environment="production"), 403, "NoAccessError")
    refused(delete(victor, NO_STRATEGY), 404, "NotFoundError")
    assert is_there(conn, there)
