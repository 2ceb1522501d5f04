"""Project overview: onboardingStatus."""

import pytest

from tests.support import fixtures
from tests.support.world import World

STARTED = {"status": "onboarding-started"}
ONBOARDED = {"status": "onboarded"}


@pytest.fixture
def gemini(world: World) -> str:
    """A project; beside it another one, vostok."""
    world.project("vostok")
    return world.project("gemini")


@pytest.fixture
def status(alice):
    """status(): that of gemini."""
    return lambda: alice.get("/api/admin/projects/gemini/overview").json["onboardingStatus"]


def report(world, flag, project, at="2024-03-01T10:00:00Z"):
    """Let usage of a flag have been reported."""
    fixtures.report_usage(
        world.conn, [dict(project=project, flag=flag, environment="development", app="web", at=at, yes=0, no=1)]
    )


def first(name):
    """The status that names the oldest flag."""
    return {"status": "first-flag-created", "feature": name}


def test_onboarding_begins_without_a_flag_and_ends_with_usage(world, gemini, status):
    assert status() == STARTED
    world.flag("a", gemini)
    assert status() == first("a")
    report(world, "a", gemini)
    assert status() == ONBOARDED


def test_the_oldest_flag_is_named(world, gemini, status):
    # Neither by name nor by the order in which they came in.
    world.flag("b", gemini, created_at="2024-03-02T00:00:00Z")
    world.flag("c", gemini, created_at="2024-03-01T00:00:00Z")
    world.flag("a", gemini, created_at="2024-03-03T00:00:00Z")
    world.flag("z", "vostok", created_at="2024-02-01T00:00:00Z")
    assert status() == first("c")


def test_an_archived_flag_is_no_live_one(world, gemini, status):
    flag_id = world.flag("a", gemini, created_at="2024-03-01T00:00:00Z", archived_at="2024-03-02T00:00:00Z")
    assert status() == STARTED
    world.flag("b", gemini, created_at="2024-03-03T00:00:00Z")
    assert status() == first("b")
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE id = %s", [flag_id])
    assert status() == first("a")


def test_usage_in_another_project_does_not_end_onboarding(world, gemini, status):
    world.flag("a", gemini)
    world.flag("z", "vostok")
    report(world, "z", "vostok")
    assert status() == first("a")


def test_usage_of_any_flag_at_any_time_ends_onboarding(world, gemini, status):
    world.flag("a", gemini, created_at="2019-01-01T00:00:00Z")
    world.flag("b", gemini, created_at="2019-01-02T00:00:00Z")
    report(world, "b", gemini, at="2019-01-03T00:00:00Z")
    assert status() == ONBOARDED


def test_a_project_whose_last_flag_was_archived_begins_again(world, gemini, status):
    # The first clause of decisions.md (Project overview) has no condition beside the live flag.
    flag_id = world.flag("a", gemini)
    report(world, "a", gemini)
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE id = %s", [flag_id])
    assert status() == STARTED


@pytest.mark.usefixtures("gemini")
def test_a_flag_that_moves_brings_its_usage_and_leaves_what_was_reported(world, status, alice):
    flag_id = world.flag("a", "vostok", created_at="2024-03-01T10:30:00Z")
    report(world, "a", "vostok")
    world.flag("b", "vostok")
    world.conn.execute("UPDATE flags SET project_id = 'gemini' WHERE id = %s", [flag_id])
    assert status() == ONBOARDED
    assert alice.get("/api/admin/projects/vostok/overview").json["onboardingStatus"] == ONBOARDED


def test_usage_of_a_former_flag_belongs_to_its_project(world, gemini, status, alice):
    world.flag("a", "vostok", created_at="2024-02-01T00:00:00Z", archived_at="2024-04-01T00:00:00Z")
    report(world, "a", "vostok")
    assert alice.delete("/api/admin/archive/a").status_code == 200
    world.flag("a", gemini)
    assert status() == first("a")
    world.flag("b", "vostok")
    assert alice.get("/api/admin/projects/vostok/overview").json["onboardingStatus"] == ONBOARDED
