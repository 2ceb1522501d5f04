"""Groups of events: those that one import, bulk change or other request records."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from psycopg import Rollback

from rules.access import Actor
from sql import events
from sql.database import connect, rows
from sql.events import Event
from tests.support.documents import IMPORT, body, document, strategy
from tests.support.event_search import PATH, found
from tests.support.world import Caller, World

FLAGS = "/api/admin/projects/default/features"
GROUPS = "SELECT id, type, group_id FROM events WHERE id > %(since)s ORDER BY id"


@pytest.fixture
def committed(make_app: Callable[..., Flask], make_database: Callable[..., str]) -> Iterator[World]:
    """A database that commits, because a group is a transaction."""
    url = make_database()
    with connect(url) as own:
        yield World(make_app(url), own)


def recorded(world: World, since: int) -> tuple[list[int], list[int | None]]:
    """The ids of the events since then, and their groups."""
    found = rows(world.conn, GROUPS, {"since": since})
    return [row["id"] for row in found], [row["group_id"] for row in found]


def group(caller: Caller, *ids: int) -> list[int]:
    """The ids of all events in the groups of these, oldest first."""
    return found(caller.get(PATH, query_string={"groupId": f"IS:{','.join(map(str, ids))}", "limit": 1000}))[::-1]


def test_any_event_of_an_import_or_a_bulk_change_finds_all_of_it(committed: World) -> None:
    alice, groups = committed.user("Ada", 1), []
    entries = [strategy("a"), strategy("b")]
    for method, path, sent, number in (
        ("POST", IMPORT, body(document("a", "b", featureStrategies=entries)), 5),
        ("POST", "/api/admin/projects/default/stale", {"features": ["a", "b"], "stale": True}, 2),
        ("PUT", f"{FLAGS}/a", {"description": "alone"}, 1),
        ("POST", "/api/admin/projects/default/bulk_features/environments/development/on", {"features": ["a", "b"]}, 2),
    ):
        since = committed.last_event_id()
        assert alice.request(method, path, json=sent).status_code < 300, path
        ids, first = recorded(committed, since)
        assert first == [None, *[ids[0]] * (number - 1)], path
        groups.append(ids)
    for ids in groups:
        assert all(group(alice, id) == ids for id in ids)
        newest = alice.post("/api/admin/events/search", json={"groupId": ids[-1]}).json
        assert ([event["id"] for event in newest["events"]][::-1], newest["totalEvents"]) == (ids, len(ids))
    assert group(alice, groups[0][1], groups[2][0]) == groups[0] + groups[2]
    assert group(alice, 0) == group(alice, groups[-1][-1] + 1) == []
    streamed = alice.get(PATH, query_string={"groupId": f"IS:{ids[0]}"}, headers={"Accept": "application/x-ndjson"})
    assert len(streamed.get_data().splitlines()) == len(ids)


def test_a_rolled_back_event_begins_no_group(committed: World) -> None:
    author, since = Actor("ada"), committed.last_event_id()
    with committed.conn.transaction() as outer:
        with committed.conn.transaction() as inner:
            events.record(committed.conn, Event("tag-created", author))
            raise Rollback(inner)
        events.record(committed.conn, Event("tag-created", author))
        events.record(committed.conn, Event("tag-created", author))
        ids, first = recorded(committed, since)
        assert first == [None, ids[0]]
        raise Rollback(outer)


def test_callers_find_only_the_events_of_a_group_that_they_see(committed: World) -> None:
    alice, victor, since = committed.user("Alice", 1), committed.user("Victor"), committed.last_event_id()
    assert alice.post(FLAGS, json={"name": "new", "tags": [{"type": "simple", "value": "beta"}]}).status_code == 201
    ids, _ = recorded(committed, since)
    types = {row["type"]: row["id"] for row in rows(committed.conn, GROUPS, {"since": since})}
    assert group(alice, ids[0]) == ids
    # The tag has no project. Its id does not show its group either.
    for type, seen in (("tag-created", []), ("feature-tagged", [types["feature-created"], types["feature-tagged"]])):
        assert group(victor, types[type]) == seen
        newest = victor.post("/api/admin/events/search", json={"groupId": types[type]}).json
        assert [event["id"] for event in newest["events"]] == seen[::-1]
        query = {"groupId": f"IS:{types[type]}"}
        streamed = victor.get(PATH, query_string=query, headers={"Accept": "application/x-ndjson"})
        assert len(streamed.get_data().splitlines()) == len(seen)
