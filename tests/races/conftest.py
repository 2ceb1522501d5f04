"""A service of its own for the races of a file, on connections that commit."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from flask import Flask

from sql.database import Connection, connect
from tests.support.world import Caller, World


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The database of the races."""
    return make_database()


@pytest.fixture(scope="module")
def app(make_app: Callable[..., Flask], url: str) -> Flask:
    """The service on it; eight of one address may log in and sign up again and again."""
    return make_app(url, LOGIN_ATTEMPTS_PER_MINUTE=100_000, SIGNUP_ATTEMPTS_PER_MINUTE=100_000)


@pytest.fixture(scope="module")
def conn(url: str) -> Iterator[Connection]:
    """A connection of its own, which commits each statement."""
    with connect(url) as conn:
        yield conn


@pytest.fixture
def world(app: Flask, conn: Connection) -> World:
    """What there is in it; it stays for the races to come, so each takes other names."""
    return World(app, conn)


@pytest.fixture(scope="module")
def admin(app: Flask, conn: Connection) -> Caller:
    """A key for everything."""
    return World(app, conn).api_key()


@pytest.fixture
def gate(url: str) -> Iterator[Connection]:
    """A connection that holds what others must wait for."""
    with connect(url) as gate:
        yield gate


@pytest.fixture(params=range(3), ids="round {}".format)
def name() -> str:
    """A name of this race's own; each race is run three times."""
    return f"race-{uuid4().hex}"
