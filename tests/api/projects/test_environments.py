"""Environments of a project: listed, added, removed."""

import pytest

from sql.database import Connection, rows, value
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.project_environments import STRATEGY, logged, read
from tests.support.world import refused


def url(project: str = "default", environment: str | None = None) -> str:
    """Where a project's environments are added, or where one is removed."""
    return f"/api/admin/projects/{project}/environments" + ("" if environment is None else f"/{environment}")


def states(conn: Connection) -> list[tuple[str, str, bool]]:
    """Every flag's states: flag, environment, enabled."""
    found = rows(
        conn, "SELECT name, environment, enabled FROM flag_environments JOIN flags ON flags.id = flag_id ORDER BY 1, 2"
    )
    return [tuple(row.values()) for row in found]


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_linked_environments_are_listed_in_order_with_counts(world, victor, conn):
    for name, order in (("unlinked", 1), ("b-staging", 2), ("a-staging", 2)):
        environments.insert(conn, name, "preproduction", sort_order=order, enabled=name != "a-staging")
    conn.execute("UPDATE environments SET protected = true WHERE name = 'development'")
    world.project("gemini", ("a-staging", "development"))
    fixtures.add_project_environment(conn, "gemini", "b-staging", STRATEGY)
    for name in ("one", "two"):
        world.flag(name, "gemini", enabled_in=("development",))
    world.flag("old", "gemini", enabled_in=("development", "a-staging"), archived_at="2026-01-01T00:00:00Z")
    world.flag("other", enabled_in=("development", "production"))
    # Of gemini's keys, keys of all projects, and keys of others.
    world.api_key("client", projects=["gemini", "default"])
    world.api_key("client")
    world.api_key("client", projects=["default"])
    world.api_key("frontend", environment="a-staging", projects=["gemini"])
    keys = ["name", "type", "enabled", "protected", "sortOrder", "projectApiTokenCount", "projectEnabledToggleCount"]
    found = read(victor, "gemini")
    assert [list(environment) for environment in found] == [
        [*keys, "visible"],
        [*keys, "visible"],
        [*keys, "defaultStrategy", "visible"],
    ]
    assert [tuple(environment.values()) for environment in found] == [
        ("development", "development", True, True, 1, 2, 2, True),
        ("a-staging", "preproduction", False, False, 2, 1, 0, True),
        ("b-staging", "preproduction", True, False, 2, 0, 0, STRATEGY, True),
    ]


def test_empty_and_archived_projects_can_be_read(world, victor):
    world.project("empty", ())
    world.project("archived", ("production",), archived_at="2026-01-01T00:00:00Z")
    assert read(victor, "empty") == []
    assert [environment["name"] for environment in read(victor, "archived")] == ["production"]


def test_the_environments_of_a_hidden_project_are_404(victor, max, apollo):
    assert len(read(max, apollo)) == 2
    for project in (apollo, "nowhere"):
        refused(victor.get(f"/api/admin/environments/project/{project}"), 404, "NotFoundError")


# --- Adding -----------------------------------------------------------------------------------------------------------


def test_every_flag_gets_an_added_environment_switched_off(world, alice, conn):
    environments.insert(conn, "staging", "preproduction")
    world.project("gemini", ("production",))
    world.flag("live", enabled_in=("production",))
    archived = world.flag("archived", archived_at="2026-01-01T00:00:00Z")
    world.flag("deleted", archived_at="2026-01-01T00:00:00Z")
    conn.execute(
        "DELETE FROM flag_environments WHERE flag_id <> ALL(SELECT id FROM flags WHERE name IN ('live', 'archived'))"
    )
    conn.execute("UPDATE flags SET deleted_at = now() WHERE name = 'deleted'")
    world.flag("elsewhere", "gemini")
    # A state that was left behind is no obstacle, and does not come to life.
    fixtures.add_flag_environment(conn, archived, "staging", enabled=True)
    before, since = {state for state in states(conn) if state[1] != "staging"}, world.last_event_id()
    answer = alice.post(url(), json={"environment": "staging"})
    assert (answer.status_code, answer.text) == (200, "")
    assert set(states(conn)) == {*before, ("live", "staging", False), ("archived", "staging", False)}
    assert [environment["name"] for environment in read(alice)] == ["development", "production", "staging"]
    assert logged(world, since, alice, "staging") == [("project-environment-added", None, None)]
    assert [environment["name"] for environment in read(alice, "gemini")] == ["production"]


def test_additional_properties_of_old_clients_are_ignored(alice, conn):
    environments.insert(conn, "staging", "preproduction")
    asked = {"environment": "staging", "changeRequestsEnabled": True, "defaultStrategy": {"name": "default"}}
    assert alice.post(url(), json=asked).status_code == 200
    assert "defaultStrategy" not in read(alice)[2]


def test_an_environment_that_is_switched_off_can_be_added(alice, conn):
    environments.insert(conn, "staging", "preproduction", enabled=False)
    assert alice.post(url(), json={"environment": "staging"}).status_code == 200


def test_an_environment_is_added_once(world, alice, conn):
    world.flag("checkout", enabled_in=("production",))
    since, before = world.last_event_id(), states(conn)
    message = refused(alice.post(url(), json={"environment": "production"}), 409, "NameExistsError")
    assert message.startswith("environment: ")
    assert (states(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize(
    "asked",
    [{}, {"environment": None}, {"environment": ""}, {"environment": 1}, {"environment": "a\0"}, {"name": "qa"}],
)
def test_an_invalid_body_adds_nothing(world, alice, asked):
    since = world.last_event_id()
    refused(alice.post(url(), json=asked))
    assert (len(read(alice)), world.events(since)) == (2, [])


@pytest.mark.parametrize("environment", ["nowhere", "Production", "a b", "x" * 100])
def test_an_unknown_environment_cannot_be_added(world, alice, environment):
    since = world.last_event_id()
    refused(alice.post(url(), json={"environment": environment}), 404, "NotFoundError")
    assert (len(read(alice)), world.events(since)) == (2, [])


def test_an_archived_project_gets_no_environment_and_can_lose_one(world, alice):
    world.project("archived", ("production",), archived_at="2026-01-01T00:00:00Z")
    since = world.last_event_id()
    for environment in ("development", "production"):
        refused(alice.post(url("archived"), json={"environment": environment}), 404, "NotFoundError")
    assert ([entry["name"] for entry in read(alice, "archived")], world.events(since)) == (["production"], [])
    assert alice.delete(url("archived", "production")).status_code == 200
    assert read(alice, "archived") == []


# --- Removing ---------------------------------------------------------------------------------------------------------


def test_removing_an_environment_deletes_its_strategies_and_variants_and_nothing_else(world, alice, conn):
    world.project("gemini")
    instant = "2026-01-01T00:00:00Z"
    found = [
        world.flag("live", enabled_in=("production",), first_in_production_at=instant),
        world.flag("archived", enabled_in=("production",), archived_at=instant),
        world.flag("elsewhere", "gemini", enabled_in=("production",)),
    ]
    for flag in found:
        for environment in ("development", "production"):
            strategy = world.strategy(flag, environment)
            fixtures.insert_variant(conn, flag, environment, strategy, name="blue", weight=1000)
            fixtures.insert_variant(conn, flag, environment, None, name="red", weight=1000)
    world.api_key("client", environment="production", projects=["default"])
    since = world.last_event_id()
    answer = alice.delete(url("default", "production"), data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert [entry["name"] for entry in read(alice)] == ["development"]
    expected = [("archived", False), ("elsewhere", False), ("elsewhere", True), ("live", False)]
    assert [(name, enabled) for name, _, enabled in states(conn)] == expected
    for table, number in (("strategies", 4), ("variants", 8)):
        assert value(conn, f"SELECT count(*) FROM {table}") == number, table
    assert (
        value(conn, "SELECT iso(first_in_production_at) FROM flags WHERE name = 'live'") == "2026-01-01T00:00:00.000Z"
    )
    assert value(conn, "SELECT count(*) FROM api_keys WHERE environment = 'production'") == 1
    assert logged(world, since, alice, "production") == [("project-environment-removed", None, None)]


def test_removing_what_is_not_there_is_no_event(world, alice, conn):
    environments.insert(conn, "staging", "preproduction")
    flag = world.flag("checkout")
    # A state without a link belongs to no project.
    fixtures.add_flag_environment(conn, flag, "staging", enabled=True)
    before, since = states(conn), world.last_event_id()
    for environment in ("staging", "nowhere", "a%20b"):
        answer = alice.delete(url("default", environment))
        assert (answer.status_code, answer.text) == (200, "")
    assert (states(conn), world.events(since)) == (before, [])


def test_the_last_environment_can_be_removed_and_one_added_again_is_fresh(world, alice, conn):
    flag = world.flag("checkout", enabled_in=("development", "production"))
    world.strategy(flag, "production")
    projects_default = 'UPDATE project_environments SET default_strategy = \'{"name": "flexibleRollout"}\''
    conn.execute(projects_default)
    for environment in ("development", "production"):
        assert alice.delete(url("default", environment)).status_code == 200
    assert (read(alice), states(conn)) == ([], [])
    assert alice.post(url(), json={"environment": "production"}).status_code == 200
    assert states(conn) == [("checkout", "production", False)]
    assert value(conn, "SELECT count(*) FROM strategies") == 0
    assert "defaultStrategy" not in read(alice)[0]
