"""The event log of the tests in this folder."""

import pytest

from sql.database import Connection
from tests.support.event_search import Log


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)
