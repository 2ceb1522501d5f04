"""Changes of vocabulary at once, on connections that commit: one winner or one order, nothing recorded twice, and
nothing lost.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import pytest

from sql.database import Connection, value
from tests.support import fixtures
from tests.support.races import at_once, at_the_gate, statuses, wait_for
from tests.support.world import Caller, World, refused

ADMIN = "/api/admin"
# Each noun's path, what makes one of a name, and what the log calls it.
NOUNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "context field": ("context", {}, "context-field"),
    "tag type": ("tag-types", {}, "tag-type"),
    "strategy type": ("strategies", {"parameters": []}, "strategy"),
}


def recorded(world: World, since: int) -> list[str]:
    """The types of the events after this one, in their order."""
    return [event["type"] for event in world.events(since)]


@pytest.mark.parametrize(
    ("noun", "table"),
    [("context field", "context_fields"), ("tag type", "tag_types"), ("strategy type", "strategy_types")],
)
def test_one_of_eight_requests_creates_a_record_and_one_of_four_deletes_the_record(
    world: World, admin: Caller, conn: Connection, gate: Connection, noun: str, table: str, name: str
) -> None:
    path, body, event = NOUNS[noun]
    since = world.last_event_id()
    assert statuses(at_once(*[lambda: admin.post(f"{ADMIN}/{path}", json=body | {"name": name})] * 8)) == {
        201: 1,
        409: 7,
    }
    calls = [lambda: admin.delete(f"{ADMIN}/{path}/{name}")] * 4
    assert statuses(at_the_gate(conn, gate, f"SELECT FROM {table} WHERE name = '{name}' FOR UPDATE", *calls)) == {
        200: 1,
        404: 3,
    }
    assert recorded(world, since) == [f"{event}-created", f"{event}-deleted"]


def test_one_of_eight_requests_creates_a_tag_and_one_of_four_deletes_the_tag(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    since = world.last_event_id()
    tag = {"type": "simple", "value": name}
    assert statuses(at_once(*[lambda: admin.post(f"{ADMIN}/tags", json=tag)] * 8)) == {201: 1, 409: 7}
    calls = [lambda: admin.delete(f"{ADMIN}/tags/simple/{name}")] * 4
    assert statuses(at_the_gate(conn, gate, f"SELECT FROM tags WHERE value = '{name}' FOR UPDATE", *calls)) == {
        200: 1,
        404: 3,
    }
    assert recorded(world, since) == ["tag-created", "tag-deleted"]


@pytest.mark.parametrize(
    ("noun", "table", "one", "other"),
    [
        ("context field", "context_fields", {"description": "new"}, {"sortOrder": 3}),
        ("tag type", "tag_types", {"description": "new"}, {"icon": "!"}),
        (
            "strategy type",
            "strategy_types",
            {"parameters": [], "description": "new"},
            {"parameters": [], "title": "New"},
        ),
    ],
)
def test_two_simultaneous_changes_are_both_kept(
    world: World,
    admin: Caller,
    conn: Connection,
    gate: Connection,
    noun: str,
    table: str,
    one: dict,
    other: dict,
    name: str,
) -> None:
    path, body, _ = NOUNS[noun]
    admin.post(f"{ADMIN}/{path}", json=body | {"name": name})
    since = world.last_event_id()
    calls = [lambda change=change: admin.put(f"{ADMIN}/{path}/{name}", json=change) for change in (one, other)]
    assert statuses(at_the_gate(conn, gate, f"SELECT FROM {table} WHERE name = '{name}' FOR UPDATE", *calls)) == {
        200: 2
    }
    first, second = world.events(since)
    assert second["pre_data"] == first["data"]
    assert second["data"] == first["pre_data"] | one | other


def test_concurrent_changes_of_a_lifetime_record_what_they_found(
    world: World, admin: Caller, conn: Connection, gate: Connection
) -> None:
    path, since = f"{ADMIN}/feature-types/release/lifetime", world.last_event_id()
    calls = [lambda days=days: admin.put(path, json={"lifetimeDays": days}) for days in (1, 2)]
    assert statuses(at_the_gate(conn, gate, "SELECT FROM flag_types WHERE id = 'release' FOR UPDATE", *calls)) == {
        200: 2
    }
    first, second = world.events(since)
    assert second["pre_data"] == first["data"]


def test_eight_deprecate_once(world: World, admin: Caller) -> None:
    since = world.last_event_id()
    for word in ("deprecate", "reactivate"):
        assert statuses(at_once(*[lambda word=word: admin.post(f"{ADMIN}/strategies/remoteAddress/{word}")] * 8)) == {
            200: 8
        }
    assert recorded(world, since) == ["strategy-deprecated", "strategy-reactivated"]


def test_a_strategy_type_is_either_deleted_or_used(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    admin.post(f"{ADMIN}/strategies", json={"name": name, "parameters": []})
    world.flag(name)
    since = world.last_event_id()
    strategies = f"{ADMIN}/projects/default/features/{name}/environments/development/strategies"
    gone, added = at_the_gate(
        conn,
        gate,
        f"SELECT FROM strategy_types WHERE name = '{name}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/strategies/{name}"),
        lambda: admin.post(strategies, json={"name": name}),
    )
    assert (gone.status_code, added.status_code) in ((200, 400), (409, 200))
    assert recorded(world, since) == (["strategy-deleted"] if gone.status_code == 200 else ["feature-strategy-add"])


FLAG = f"{ADMIN}/projects/default/features/{{0}}"
# The requests that begin to use a context field {0}: the table that they write, method, path and body.
USES: dict[str, tuple[LiteralString, str, str, Any]] = {
    "constraint": (
        "strategies",
        "POST",
        f"{FLAG}/environments/development/strategies",
        {"name": "default", "constraints": [{"contextName": "{0}", "operator": "IN", "values": ["x"]}]},
    ),
    "stickiness": (
        "strategies",
        "POST",
        f"{FLAG}/environments/development/strategies",
        {"name": "flexibleRollout", "parameters": {"stickiness": "{0}"}},
    ),
    "variant": (
        "variants",
        "PUT",
        f"{FLAG}/environments/development/variants",
        [{"name": "v", "weight": 1, "stickiness": "{0}"}],
    ),
    "segment": (
        "segments",
        "POST",
        f"{ADMIN}/segments",
        {"name": "{0}", "constraints": [{"contextName": "{0}", "operator": "IN", "values": ["x"]}]},
    ),
    "default strategy": (
        "project_environments",
        "POST",
        f"{ADMIN}/projects/default/environments/production/default-strategy",
        {"name": "flexibleRollout", "parameters": {"stickiness": "{0}"}},
    ),
    "default stickiness": (
        "projects",
        "POST",
        f"{ADMIN}/projects",
        {"name": "{0}", "id": "{0}", "defaultStickiness": "{0}"},
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("first", ["use", "deletion"])
def test_a_context_field_is_either_deleted_or_used(
    world: World, admin: Caller, conn: Connection, gate: Connection, use: str, first: str, name: str
) -> None:
    name = f"{use}-{first}".replace(" ", "-")
    admin.post(f"{ADMIN}/context", json={"name": name, "stickiness": True})
    world.flag(name)
    table, method, path, body = USES[use]
    body = json.loads(json.dumps(body).replace("{0}", name))
    calls = {
        "deletion": lambda: admin.delete(f"{ADMIN}/context/{name}"),
        "use": lambda: admin.request(method, path.format(name), json=body),
    }
    second = "deletion" if first == "use" else "use"
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            # The first request has checked everything, and waits to write. Reads do not wait.
            gate.execute(f"LOCK TABLE {'context_fields' if first == 'deletion' else table} IN SHARE MODE")
            waiting = []
            for call in (first, second):
                waiting.append(threads.submit(calls[call]))
                wait_for(conn, waiting)
        done, refusal = (call.result() for call in waiting)
    assert done.status_code in (200, 201), done.text
    if first == "use":
        refused(refusal, 409, "ConflictError")
    else:
        assert name in refused(refusal)


def test_a_type_of_tags_goes_with_what_is_tagged_meanwhile(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    tag_type = name[:50]
    admin.post(f"{ADMIN}/tag-types", json={"name": tag_type})
    world.flag(name)
    gone, tagged, created = at_the_gate(
        conn,
        gate,
        f"SELECT FROM tag_types WHERE name = '{tag_type}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/tag-types/{tag_type}"),
        lambda: admin.post(f"{ADMIN}/features/{name}/tags", json={"type": tag_type, "value": "one"}),
        lambda: admin.post(f"{ADMIN}/tags", json={"type": tag_type, "value": "two"}),
    )
    assert gone.status_code == 200
    assert {tagged.status_code, created.status_code} <= {201, 400}
    assert value(conn, "SELECT count(*) FROM tags WHERE type = %(type)s", {"type": tag_type}) == 0


@pytest.mark.parametrize("paths", [("tags", "features/{}/tags"), ("features/{}/tags", "tags")])
def test_a_flag_loses_a_tag_once(
    world: World, admin: Caller, conn: Connection, gate: Connection, paths: tuple[str, str], name: str
) -> None:
    fixtures.tag(conn, world.flag(name), "simple", name)
    since = world.last_event_id()
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM flag_tags WHERE value = %s FOR UPDATE", [name])
            waiting = []
            for path in paths:
                waiting.append(threads.submit(admin.delete, f"{ADMIN}/{path.format(name)}/simple/{name}"))
                wait_for(conn, waiting)
        assert statuses([call.result() for call in waiting]) == {200: 2}
    assert sorted(recorded(world, since)) == ["feature-untagged", "tag-deleted"]


def test_a_flag_gets_a_tag_that_goes_at_that_moment_before_or_after(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    world.flag(name)
    admin.post(f"{ADMIN}/tags", json={"type": "simple", "value": name})
    since = world.last_event_id()
    answers = at_the_gate(
        conn,
        gate,
        f"SELECT FROM tags WHERE value = '{name}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/tags/simple/{name}"),
        lambda: admin.post(f"{ADMIN}/features/{name}/tags", json={"type": "simple", "value": name}),
    )
    assert statuses(answers) == {200: 1, 201: 1}
    before, after = (
        ["feature-tagged", "feature-untagged", "tag-deleted"],
        ["tag-deleted", "tag-created", "feature-tagged"],
    )
    assert recorded(world, since) in (before, after)
    has_it = value(conn, "SELECT count(*) FROM flag_tags WHERE value = %(value)s", {"value": name})
    assert has_it == (recorded(world, since) == after)
