"""Imports at once: of the same flags, of one name, up to a limit, and while somebody else changes what they are about."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from sql.database import Connection, connect, value
from tests.support.documents import IMPORT, body, document, happened, strategy
from tests.support.instance import ADMIN_KEY
from tests.support.races import at_once, wait_for
from tests.support.world import Caller, World, refused


@pytest.fixture
def caller(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Caller:
    """An administrator of a new instance, who was seen just now, so that no request has to wait in order to write that down."""
    caller = Caller(make_app(make_database()), ADMIN_KEY)
    assert caller.get("/api/admin/event-creators").status_code == 200
    return caller


@pytest.fixture
def conn(caller: Caller) -> Iterator[Connection]:
    """A connection of its own to that instance."""
    with connect(caller.app.config["DATABASE_URL"]) as conn:
        yield conn


@pytest.fixture
def world(caller: Caller, conn: Connection) -> World:
    """What there is in it."""
    return World(caller.app, conn)


@pytest.fixture
def gate(caller: Caller) -> Iterator[Connection]:
    """A connection that holds what others must wait for."""
    with connect(caller.app.config["DATABASE_URL"]) as gate:
        yield gate


def test_an_import_waits_for_changes_of_its_flags(caller, world, conn, gate):
    world.flag("f", description="Old.")
    before = world.last_event_id()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("UPDATE flags SET description = 'By hand.'")
            answer = thread.submit(caller.post, IMPORT, json=body(document({"name": "f", "description": "New."})))
            wait_for(conn, [answer])
        assert answer.result().status_code == 200
    changed, _ = world.events(before)
    assert (changed["pre_data"]["description"], changed["data"]["description"]) == ("By hand.", "New.")


def test_an_import_that_comes_second_finds_what_the_first_has_made(caller, world, conn, gate):
    before = world.last_event_id()
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction(force_rollback=True):
            gate.execute("INSERT INTO flags (name, project_id) VALUES ('f', 'default')")
            answers = [threads.submit(caller.post, IMPORT, json=body(document("f"))) for _ in range(2)]
            wait_for(conn, answers)
        assert [answer.result().status_code for answer in answers] == [200, 200]
    assert happened(world, before) == [("feature-created", "f"), ("features-imported", None), ("features-imported", None)]


def test_a_name_that_is_taken_while_an_import_is_under_way_is_a_conflict(caller, world, conn, gate):
    before = world.last_event_id()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("INSERT INTO flags (name, project_id) VALUES ('f', 'default')")
            answer = thread.submit(caller.post, IMPORT, json=body(document("e", "f")))
            wait_for(conn, [answer])
        refused(answer.result(), 409, "NameExistsError")
    assert world.events(before) == []
    assert value(conn, "SELECT count(*) FROM flags WHERE name = 'e'") == 0


def test_a_project_is_not_archived_while_flags_are_imported_into_it(caller, conn, gate):
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("UPDATE projects SET archived_at = now() WHERE id = 'default'")
            answer = thread.submit(caller.post, IMPORT, json=body(document("f")))
            wait_for(conn, [answer])
        refused(answer.result(), 404, "NotFoundError")
    assert value(conn, "SELECT count(*) FROM flags") == 0


def test_of_imports_of_the_same_at_once_one_makes_it_and_all_are_done(caller):
    names = [f"flag-{number}" for number in range(30)]
    forwards = document(*names, featureStrategies=[strategy(name) for name in names])
    backwards = document(*names[::-1], featureStrategies=[strategy(name) for name in names])
    calls = [lambda data=data: caller.post(IMPORT, json=body(data)) for data in (forwards, backwards) * 2]
    assert [response.status_code for response in at_once(*calls)] == [200] * 4
    events = caller.get("/api/admin/search/events?limit=1000").json["events"]
    count = {
        type: sum(event["type"] == type for event in events) for type in ("feature-created", "feature-strategy-add", "features-imported")
    }
    assert count == {"feature-created": 30, "feature-strategy-add": 30, "features-imported": 4}


def test_of_imports_of_one_name_into_two_projects_at_once_one_is_refused(caller, world):
    world.project("hermes")
    calls = [lambda project=project: caller.post(IMPORT, json=body(document("f"), project)) for project in ("default", "hermes")]
    statuses = {response.status_code: response for response in at_once(*calls)}
    assert statuses.keys() in ({200, 409}, {200, 400})
    if 409 in statuses:
        refused(statuses[409], 409, "NameExistsError")


def test_imports_at_once_do_not_exceed_the_limit_of_the_project(caller, conn):
    conn.execute("UPDATE projects SET feature_limit = 2")
    calls = [lambda name=name: caller.post(IMPORT, json=body(document(f"{name}1", f"{name}2"))) for name in "abc"]
    assert sorted(response.status_code for response in at_once(*calls)) == [200, 400, 400]
    assert value(conn, "SELECT count(*) FROM flags") == 2
