"""Flags that depend on others: which flags may, what is stored and recorded, and which parents can be chosen."""

from datetime import UTC, datetime
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, rows
from tests.support import fixtures
from tests.support.world import Caller, World, refused


def path(what: str, flag: str = "child", project: str = "default") -> str:
    """The address of something of a flag."""
    return f"/api/admin/projects/{project}/features/{flag}/{what}"


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


def family(world: World) -> None:
    """Flags child, with a tag, parent and other."""
    for name in ("child", "parent", "other"):
        flag = world.flag(name)
        if name == "child":
            fixtures.tag(world.conn, flag, "simple", "beta")


def done(response: TestResponse) -> bool:
    """Whether the answer is 200 without a body."""
    return (response.status_code, response.data) == (200, b"")


def recorded(world: World, since: int) -> list[tuple[str, Any]]:
    """Types and data of the events since then; each must be of flag child, with its tags and by alice."""
    events = world.events(since)
    for event in events:
        about = [
            event[column] for column in ("project", "feature_name", "environment", "pre_data", "created_by", "tags")
        ]
        assert about == ["default", "child", None, None, "alice@example.org", [{"type": "simple", "value": "beta"}]]
    return [(event["type"], event["data"]) for event in events]


@pytest.mark.parametrize(
    ("how", "enabled", "variants"),
    [
        ({}, True, []),
        ({"enabled": True, "variants": ["red", "blue", "red"]}, True, ["red", "blue"]),
        ({"variants": []}, True, []),
        ({"enabled": False}, False, []),
        ({"enabled": False, "variants": []}, False, []),
    ],
)
def test_a_flag_depends_on_another(world, alice, conn, how, enabled, variants):
    family(world)
    since = world.last_event_id()
    assert done(depend(alice, **how))
    assert kept(conn) == [("child", "parent", enabled, variants)]
    data = {"feature": "parent", "enabled": enabled} | ({"variants": variants} if variants else {})
    assert recorded(world, since) == [("feature-dependency-added", data)]


def test_the_same_parent_again_replaces_the_dependency(world, alice, conn):
    family(world)
    depend(alice, variants=["blue"])
    depend(alice, "other")
    since = world.last_event_id()
    assert done(depend(alice, variants=["blue"]))
    assert done(depend(alice, "other", enabled=True))
    assert world.events(since) == []
    assert done(depend(alice, enabled=False))
    assert kept(conn) == [("child", "other", True, []), ("child", "parent", False, [])]
    assert recorded(world, since) == [("feature-dependency-added", {"feature": "parent", "enabled": False})]


def test_an_impossible_parent_is_409(world, alice, conn):
    family(world)
    world.project("hermes")
    world.flag("of-hermes", "hermes")
    world.flag("archived", archived_at=datetime.now(UTC))
    world.flag("grandchild")
    depend(alice)
    before, since = kept(conn), world.last_event_id()
    says = {
        ("child", "child"): "itself",
        ("child", "unknown"): "must be a live flag",
        ("child", "Parent"): "must be a live flag",
        ("child", "archived"): "must be a live flag",
        ("child", "of-hermes"): "must be a live flag",
        ("grandchild", "child"): "itself depends",
        ("parent", "other"): "other flags depend",
        ("parent", "child"): "itself depends",
    }
    for (flag, parent), words in says.items():
        assert words in refused(depend(alice, parent, flag), 409, "ConflictError")
    assert (kept(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize("flag", ["unknown", "archived", "of-hermes", "Child"])
def test_a_child_that_is_not_there_is_404(world, alice, conn, flag):
    family(world)
    world.project("hermes")
    world.flag("of-hermes", "hermes")
    world.flag("archived", archived_at=datetime.now(UTC))
    refused(depend(alice, "parent", flag), 404, "NotFoundError")
    refused(alice.delete(path("dependencies", flag)), 404, "NotFoundError")
    refused(alice.delete(path("dependencies/parent", flag)), 404, "NotFoundError")
    refused(alice.get(path("parents", flag)), 404, "NotFoundError")
    refused(alice.get(path("parent-variants", flag)), 404, "NotFoundError")
    assert kept(conn) == []


@pytest.mark.parametrize(
    "sent",
    [
        {},
        [],
        {"feature": ""},
        {"feature": None},
        {"feature": 5},
        {"feature": "parent", "enabled": "true"},
        {"feature": "parent", "variants": "blue"},
        {"feature": "parent", "variants": [""]},
        {"feature": "parent", "enabled": False, "variants": ["blue"]},
        {"feature": "parent", "more": 1},
    ],
)
def test_a_body_that_does_not_fit_is_400(world, alice, conn, sent):
    family(world)
    since = world.last_event_id()
    refused(alice.post(path("dependencies"), json=sent))
    assert (kept(conn), world.events(since)) == ([], [])


def test_a_body_is_needed_and_must_be_json(world, alice):
    family(world)
    refused(alice.post(path("dependencies")))
    refused(
        alice.post(path("dependencies"), data=b'{"feature": "parent"}', content_type="text/plain"),
        415,
        "ContentTypeError",
    )


def test_one_dependency_is_removed(world, alice, conn):
    family(world)
    depend(alice)
    depend(alice, "other")
    since = world.last_event_id()
    assert done(alice.delete(path("dependencies/parent")))
    assert kept(conn) == [("child", "other", True, [])]
    assert recorded(world, since) == [("feature-dependency-removed", {"feature": "parent"})]


@pytest.mark.parametrize("parent", ["parent", "unknown", "child", "Other", "%00"])
def test_a_dependency_that_is_not_there_is_removed_in_silence(world, alice, conn, parent):
    family(world)
    depend(alice, "other")
    since = world.last_event_id()
    assert done(alice.delete(path(f"dependencies/{parent}")))
    assert (kept(conn), world.events(since)) == ([("child", "other", True, [])], [])


def test_all_dependencies_are_removed(world, alice, conn):
    family(world)
    world.flag("sibling")
    for flag in ("child", "sibling"):
        depend(alice, "parent", flag)
    depend(alice, "other")
    since = world.last_event_id()
    assert done(alice.delete(path("dependencies"), data=b"any", content_type="text/plain"))
    assert done(alice.delete(path("dependencies")))
    assert kept(conn) == [("sibling", "parent", True, [])]
    assert recorded(world, since) == [("feature-dependencies-removed", None)]


def test_possible_parents_are_live_flags_of_the_project_without_parents(world, alice):
    family(world)
    world.project("hermes")
    world.flag("of-hermes", "hermes")
    world.flag("archived", archived_at=datetime.now(UTC))
    assert alice.get(path("parents")).json == ["other", "parent"]
    depend(alice)
    assert alice.get(path("parents")).json == ["other", "parent"]
    assert alice.get(path("parents", "other")).json == ["parent"]
    assert alice.get(path("parents", "of-hermes", "hermes")).json == []


def test_variants_of_all_environments_and_strategies_can_be_chosen_from(world, alice, conn):
    family(world)
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


def test_a_project_reports_whether_flags_have_dependencies(world, alice, apollo):
    family(world)
    assert alice.get("/api/admin/projects/default/dependencies").json is False
    depend(alice)
    assert alice.get("/api/admin/projects/default/dependencies").json is True
    assert alice.get(f"/api/admin/projects/{apollo}/dependencies").json is False


def test_a_dependency_is_rolled_back_if_its_event_fails(world, alice, conn):
    family(world)
    depend(alice, "other")
    conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type !~ '^feature-depend') NOT VALID")
    refused(depend(alice), 500, "InternalError")
    refused(alice.delete(path("dependencies/other")), 500, "InternalError")
    refused(alice.delete(path("dependencies")), 500, "InternalError")
    assert kept(conn) == [("child", "other", True, [])]
