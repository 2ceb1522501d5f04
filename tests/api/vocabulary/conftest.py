"""Fixtures of the vocabulary."""

import pytest

from sql.database import Connection
from sql.vocabulary import environments


@pytest.fixture
def staging(conn: Connection) -> str:
    """An environment of no project, behind the two that are there."""
    environments.insert(conn, "staging", "preproduction")
    return "staging"
