"""Which of several free connections a request gets."""

import pytest

from sql.database import value
from tests.support.pool import opened

pytestmark = pytest.mark.slow


def test_one_client_after_another_gets_the_connection_whose_statements_are_planned(server):
    with opened(server.ensure(), 3) as database:
        with database.connection(), database.connection(), database.connection():
            pass
        assert len({backend(database) for _ in range(6)}) == 1


def backend(database):
    """The process of PostgreSQL that serves the next connection."""
    with database.connection() as conn:
        return value(conn, "SELECT pg_backend_pid()")
