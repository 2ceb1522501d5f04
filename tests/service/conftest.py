"""A database that commits, for simultaneous requests."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from sql.database import Connection, connect
from tests.support.world import World


@pytest.fixture(scope="module")
def own_url(make_database: Callable[..., str]) -> str:
    """The address of that database."""
    return make_database()


@pytest.fixture
def committed(own_url: str, make_app: Callable[..., Flask]) -> Iterator[World]:
    """What the database contains. It stays for the next test of the file."""
    with connect(own_url) as own:
        yield World(make_app(own_url), own)


@pytest.fixture
def gate(own_url: str) -> Iterator[Connection]:
    """A connection for locks that requests have to wait for."""
    with connect(own_url) as gate:
        yield gate
