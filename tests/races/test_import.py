"""Simultaneous imports: of the same flags, of one name, up to a limit, and during changes of the same records."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from rules.imports import PART
from sql.database import Connection, connect, value
from tests.support.documents import IMPORT, VALIDATE, body, document, happened, state, strategy, validated
from tests.support.instance import ADMIN_KEY
from tests.support.races import at_once, wait_for
from tests.support.world import Caller, World, refused


@pytest.fixture
def caller(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Caller:
    """An administrator of a new instance, who was seen just now, so that no request has to wait in order to write that
    down.
    """
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
    assert happened(world, before) == [
        ("feature-created", "f"),
        ("features-imported", None),
        ("features-imported", None),
    ]


def test_a_name_that_is_taken_while_an_import_is_under_way_is_an_error(caller, world, conn, gate):
    before = world.last_event_id()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("INSERT INTO flags (name, project_id) VALUES ('f', 'default')")
            answer = thread.submit(caller.post, IMPORT, json=body(document("e", "f")))
            wait_for(conn, [answer])
        assert refused(answer.result()).startswith("f: name: a flag with this name already exists")
    assert world.events(before) == []
    assert value(conn, "SELECT count(*) FROM flags WHERE name = 'e'") == 0


def test_a_project_is_not_archived_during_an_import(caller, conn, gate):
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("UPDATE projects SET archived_at = now() WHERE id = 'default'")
            answer = thread.submit(caller.post, IMPORT, json=body(document("f")))
            wait_for(conn, [answer])
        refused(answer.result(), 404, "NotFoundError")
    assert value(conn, "SELECT count(*) FROM flags") == 0


def test_an_import_into_an_environment_that_is_removed_meanwhile_is_404(caller, world, conn, gate):
    before = world.last_event_id()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("SELECT FROM projects WHERE id = 'default' FOR NO KEY UPDATE")
            gate.execute("DELETE FROM project_environments WHERE environment = 'development'")
            answer = thread.submit(caller.post, IMPORT, json=body(document()))
            wait_for(conn, [answer])
        refused(answer.result(), 404, "NotFoundError")
    assert world.events(before) == []


def test_simultaneous_imports_of_the_same_document_all_succeed(caller):
    names = [f"flag-{number}" for number in range(30)]
    forwards = document(*names, featureStrategies=[strategy(name) for name in names])
    backwards = document(*names[::-1], featureStrategies=[strategy(name) for name in names])
    calls = [lambda data=data: caller.post(IMPORT, json=body(data)) for data in (forwards, backwards) * 2]
    assert [response.status_code for response in at_once(*calls)] == [200] * 4
    events = caller.get("/api/admin/search/events?limit=1000").json["events"]
    count = {
        type: sum(event["type"] == type for event in events)
        for type in ("feature-created", "feature-strategy-add", "features-imported")
    }
    assert count == {"feature-created": 30, "feature-strategy-add": 30, "features-imported": 4}


def test_of_imports_of_one_name_into_two_projects_at_once_one_is_refused(caller, world):
    world.project("hermes")
    calls = [
        lambda project=project: caller.post(IMPORT, json=body(document("f"), project))
        for project in ("default", "hermes")
    ]
    assert sorted(response.status_code for response in at_once(*calls)) == [200, 400]


def test_imports_at_once_do_not_exceed_the_limit_of_the_project(caller, conn):
    conn.execute("UPDATE projects SET feature_limit = 2")
    calls = [lambda name=name: caller.post(IMPORT, json=body(document(f"{name}1", f"{name}2"))) for name in "abc"]
    assert sorted(response.status_code for response in at_once(*calls)) == [200, 400, 400]
    assert value(conn, "SELECT count(*) FROM flags") == 2


def test_validation_keeps_the_locks_of_one_part_of_a_document_only(caller, world, conn, gate):
    names = [f"flag-{number}" for number in range(PART // 100 + 1)]
    for name in names:
        world.flag(name)
    # 99 tags and a flag are 100 entries.
    tags = [
        {"featureName": name, "tagType": "simple", "tagValue": f"tag-{number}"}
        for name in names
        for number in range(99)
    ]
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("SELECT FROM flags WHERE name = %s FOR UPDATE", [names[-1]])
            answer = thread.submit(caller.post, VALIDATE, json=body(document(*names, featureTags=tags)))
            wait_for(conn, [answer])
            conn.execute("SELECT FROM flags WHERE name = %s FOR NO KEY UPDATE NOWAIT", [names[-2]])
            conn.execute("SELECT FROM flags WHERE name = %s FOR NO KEY UPDATE NOWAIT", [names[0]])
        assert answer.result().json["errors"] == []


@pytest.mark.slow
def test_a_change_waits_less_than_a_second_for_a_validation(make_database, make_app):
    """Validate 4,000 flags with new strategies, variants and tags, and lock one flag after the other meanwhile."""
    caller = Caller(make_app(make_database(), MAX_BODY_BYTES=10_000_000), ADMIN_KEY)
    names = [f"flag-{number:04}" for number in range(4000)]
    data = document(
        *[{"name": name, "description": "New."} for name in names],
        featureStrategies=[strategy(name, title=title) for name in names for title in "ab"],
        featureEnvironments=[state(name, enabled=True, variants=[{"name": "a", "weight": 1}]) for name in names],
        featureTags=[{"featureName": name, "tagType": "simple", "tagValue": "beta"} for name in names],
    )
    with connect(caller.app.config["DATABASE_URL"]) as conn, ThreadPoolExecutor(1) as thread:
        conn.execute(
            "INSERT INTO flags (name, project_id) SELECT 'flag-' || to_char(n, 'fm0000'), 'default' "
            "FROM generate_series(0, 3999) AS n"
        )
        conn.execute("SET lock_timeout = '1s'")
        answer, changes = thread.submit(caller.post, VALIDATE, json=body(data)), 0
        while not answer.done():
            # The lock of every change of a flag.
            conn.execute("SELECT FROM flags WHERE name = %s FOR NO KEY UPDATE", [names[changes % 4000]])
            changes += 1
        assert answer.result().json["errors"] == []
        assert changes > 10


def test_validation_on_a_read_only_server_checks_the_document(make_database, make_app):
    url = make_database()
    with connect(url) as conn:
        conn.execute(f'ALTER DATABASE "{conn.info.dbname}" SET default_transaction_read_only = on')  # pyright: ignore
    caller = Caller(make_app(url), ADMIN_KEY)
    found = validated(caller, document("f", {"name": "g", "type": "toggle"}, featureStrategies=[strategy()]))
    assert found["errors"] == {
        "invalid flag: type: must be experiment, kill-switch, release, operational or permission": ["g"]
    }
    assert found["warnings"] == {"The database is read-only, so this flag was not compared with it.": ["f"]}
    refused(caller.post(VALIDATE, json=body(document(), environment="nowhere")), 404, "NotFoundError")
    refused(caller.post(IMPORT, json=body(document("f"))), 503, "UnavailableError")
