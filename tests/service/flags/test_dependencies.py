"""Flags that depend on others: which flags may, what is stored and recorded, and which parents can be chosen."""

from datetime import UTC, datetime
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, rows
from tests.support import fixtures
from tests.support.flags import BETA, FLAGS, event, recorded
from tests.support.world import Caller, World, refused


def path(what: str, flag: str = "child") -> str:
    """The address of something of a flag."""
    return f"{FLAGS}/{flag}/{what}"


def depend(caller: Caller, parent: str = "parent", flag: str = "child", **how: Any) -> TestResponse:
    """Let a flag depend on another."""
    return caller.post(path("dependencies", flag), json={"feature": parent} | how)


def kept(conn: Connection) -> list[tuple[Any, ...]]:
    """All dependencies: child, parent, enabled, variants."""
    statement = """
        SELECT children.name AS child, parents.name AS parent, enabled, variants
          FROM flag_dependencies
          JOIN flags AS children ON children.id = child_id
          JOIN flags AS parents ON parents.id = parent_id
         ORDER BY 1, 2
    """
    return [tuple(row.values()) for row in rows(conn, statement)]


@pytest.fixture(autouse=True)
def family(world: World) -> None:
    """Flags child, with a tag, parent and other; an archived flag, and one of another project."""
    fixtures.tag(world.conn, world.flag("child"), "simple", "beta")
    for name in ("parent", "other"):
        world.flag(name)
    world.flag("archived", archived_at=datetime.now(UTC))
    world.flag("of-hermes", world.project("hermes"))


def done(response: TestResponse) -> bool:
    """Whether the answer is 200 without a body."""
    return (response.status_code, response.data) == (200, b"")


def change(type: str, **payload: Any) -> dict[str, Any]:
    """An event of flag child."""
    return event(type, "child", tags=[BETA], **payload)


def test_the_same_parent_again_replaces_the_dependency(world, alice, conn):
    for how, enabled, variants in (
        ({}, True, []),
        ({"enabled": False, "variants": []}, False, []),
        ({"enabled": True, "variants": ["red", "blue", "red"]}, True, ["red", "blue"]),
        ({"variants": ["blue"]}, True, ["blue"]),
    ):
        since = world.last_event_id()
        assert done(depend(alice, **how))
        assert kept(conn) == [("child", "parent", enabled, variants)]
        data = {"feature": "parent", "enabled": enabled} | ({"variants": variants} if variants else {})
        assert recorded(world, since, alice) == [change("feature-dependency-added", data=data)]
    depend(alice, "other")
    since = world.last_event_id()
    assert done(depend(alice, variants=["blue"]))
    assert done(depend(alice, "other", enabled=True))
    assert world.events(since) == []
    assert done(depend(alice, enabled=False))
    assert kept(conn) == [("child", "other", True, []), ("child", "parent", False, [])]
    added = change("feature-dependency-added", data={"feature": "parent", "enabled": False})
    assert recorded(world, since, alice) == [added]


def test_an_impossible_parent_is_409(world, alice, conn):
    world.flag("grandchild")
    depend(alice)
    before, since = kept(conn), world.last_event_id()
    for flag, parent, words in (
        ("child", "child", "itself"),
        ("child", "unknown", "must be a live flag"),
        ("child", "Parent", "must be a live flag"),
        ("child", "archived", "must be a live flag"),
        ("child", "of-hermes", "must be a live flag"),
        ("grandchild", "child", "itself depends"),
        ("parent", "other", "other flags depend"),
        ("parent", "child", "itself depends"),
    ):
        assert words in refused(depend(alice, parent, flag), 409, "ConflictError")
    assert (kept(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize("flag", ["unknown", "archived", "of-hermes", "Child"])
def test_an_unknown_child_is_404(alice, conn, flag):
    refused(depend(alice, "parent", flag), 404, "NotFoundError")
    for what in ("dependencies", "dependencies/parent"):
        refused(alice.delete(path(what, flag)), 404, "NotFoundError")
    for what in ("parents", "parent-variants"):
        refused(alice.get(path(what, flag)), 404, "NotFoundError")
    assert kept(conn) == []


def test_an_invalid_dependency_is_refused(world, alice, conn):
    since = world.last_event_id()
    for sent in (
        {},
        {"feature": ""},
        {"feature": "parent", "enabled": "true"},
        {"feature": "parent", "variants": [""]},
        {"feature": "parent", "enabled": False, "variants": ["blue"]},
        {"feature": "parent", "more": 1},
    ):
        refused(alice.post(path("dependencies"), json=sent))
    assert (kept(conn), world.events(since)) == ([], [])


def test_one_dependency_is_removed(world, alice, conn):
    depend(alice)
    depend(alice, "other")
    since = world.last_event_id()
    assert done(alice.delete(path("dependencies/parent")))
    # A dependency that does not exist is removed without an event.
    for parent in ("parent", "unknown", "child", "Other", "%00"):
        assert done(alice.delete(path(f"dependencies/{parent}")))
    assert kept(conn) == [("child", "other", True, [])]
    removed = change("feature-dependency-removed", data={"feature": "parent"})
    assert recorded(world, since, alice) == [removed]


def test_all_dependencies_are_removed(world, alice, conn):
    world.flag("sibling")
    for flag in ("child", "sibling"):
        depend(alice, "parent", flag)
    depend(alice, "other")
    since = world.last_event_id()
    assert done(alice.delete(path("dependencies"), data=b"any", content_type="text/plain"))
    assert done(alice.delete(path("dependencies")))
    assert kept(conn) == [("sibling", "parent", True, [])]
    assert recorded(world, since, alice) == [change("feature-dependencies-removed")]


def test_possible_parents_are_live_flags_of_the_project_without_parents(alice):
    assert alice.get(path("parents")).json == ["other", "parent"]
    depend(alice)
    assert alice.get(path("parents")).json == ["other", "parent"]
    assert alice.get(path("parents", "other")).json == ["parent"]
    assert alice.get("/api/admin/projects/hermes/features/of-hermes/parents").json == []


def test_variants_of_all_environments_and_strategies_can_be_chosen_from(world, alice, conn):
    flag, other = world.flag("many"), world.flag("more")
    strategy = world.strategy(flag)
    for environment, of, name in (
        ("development", None, "red"),
        ("production", None, "red"),
        ("production", None, "blue"),
        ("development", strategy, "amber"),
    ):
        fixtures.insert_variant(conn, flag, environment, of, name=name, weight=1000)
    fixtures.insert_variant(conn, other, "development", None, name="of another", weight=1000)
    assert alice.get(path("parent-variants", "many")).json == ["amber", "blue", "red"]
    assert alice.get(path("parent-variants")).json == []


def test_a_project_reports_whether_flags_have_dependencies(alice):
    assert alice.get("/api/admin/projects/default/dependencies").json is False
    depend(alice)
    assert alice.get("/api/admin/projects/default/dependencies").json is True
    assert alice.get("/api/admin/projects/hermes/dependencies").json is False
