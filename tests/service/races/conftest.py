"""A database and a service for the races of each file, on connections that commit."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection, connect
from tests.support.races import Call, wait_for
from tests.support.reports import METRICS
from tests.support.world import Caller, World


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The database of the races."""
    return make_database()


@pytest.fixture(scope="module")
def app(make_app: Callable[..., Flask], url: str) -> Flask:
    """The service on it. One address may log in and sign up as often as a race needs."""
    return make_app(url, LOGIN_ATTEMPTS_PER_MINUTE=100_000, SIGNUP_ATTEMPTS_PER_MINUTE=100_000)


@pytest.fixture(scope="module")
def conn(url: str) -> Iterator[Connection]:
    """A connection that commits each statement."""
    with connect(url) as conn:
        yield conn


@pytest.fixture
def world(app: Flask, conn: Connection) -> World:
    """What the database contains. It stays for the next race, so each race takes other names."""
    return World(app, conn)


@pytest.fixture(scope="module")
def admin(app: Flask, conn: Connection) -> Caller:
    """An admin token.

    It was used just now: the first request of a token marks it as seen, and others would wait for that.
    """
    admin = World(app, conn).api_key()
    assert admin.get("/api/admin/environments").status_code == 200
    return admin


@pytest.fixture
def gate(url: str) -> Iterator[Connection]:
    """A connection for locks that requests have to wait for."""
    with connect(url) as gate:
        yield gate


@pytest.fixture
def queue(conn: Connection, gate: Connection) -> Callable[..., list[TestResponse]]:
    """queue(statement, *calls): the responses of calls that wait for the locks of a statement.

    The next call begins when the one before it waits. Then the statement is committed.
    """

    def queue(statement: Any, *calls: Call, params: Any = None) -> list[TestResponse]:
        with ThreadPoolExecutor(len(calls)) as threads:
            futures: list[Future[TestResponse]] = []
            with gate.transaction():
                gate.execute(statement, params)
                for call in calls:
                    futures.append(threads.submit(call))
                    wait_for(conn, futures)
            return [future.result() for future in futures]

    return queue


@pytest.fixture
def log(world: World) -> Callable[[], list[dict[str, Any]]]:
    """log(): the events since the test began."""
    since = world.last_event_id()
    return lambda: world.events(since)


@pytest.fixture
def types(log: Callable[[], list[dict[str, Any]]]) -> Callable[[], list[str]]:
    """types(): the types of the events since the test began."""
    return lambda: [event["type"] for event in log()]


@pytest.fixture
def name() -> str:
    """A name that no other race uses."""
    return f"race-{uuid4().hex}"


@pytest.fixture
def project(world: World, name: str) -> str:
    """A project of this race's own."""
    return world.project(name)


@pytest.fixture
def flag(world: World, name: str) -> str:
    """A flag of this race's own."""
    world.flag(name)
    return name


@pytest.fixture
def client(world: World) -> Caller:
    """A client token that was used just now."""
    client = world.api_key("client")
    assert client.post(METRICS, json={}).status_code == 202
    return client


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for applications."""
    with ThreadPoolExecutor(20) as pool:
        yield pool
