"""A folder with the data of an embedded server."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from operations.postgres.embedded import Server
from tests.support.service import postmaster_of


@pytest.fixture(scope="module")
def created(tmp: Path) -> Path:
    """A data folder that has been used once, with a table in it, after an interrupted start."""
    server = Server(tmp / "made" / "on the way")
    (server.folder / "postgres.new" / "base").mkdir(parents=True)
    with psycopg.connect(server.ensure()) as conn:
        conn.execute("CREATE SCHEMA test")
        conn.execute("CREATE TABLE test.kept AS SELECT 1 AS one")
    server.release()
    assert not (server.folder / "postgres.new").exists()
    return server.folder


@pytest.fixture
def data(created: Path) -> Iterator[Path]:
    """That folder, with nothing running in it."""
    yield created
    assert postmaster_of(created) is None


@pytest.fixture
def postgres(data: Path) -> Iterator[Server]:
    """A server on that folder, released at the end."""
    postgres = Server(data)
    yield postgres
    postgres.release()
