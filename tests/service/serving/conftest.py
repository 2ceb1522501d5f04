"""A database for the tests of one module."""

from collections.abc import Callable

import pytest


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The address of a database for commits."""
    return make_database()
