"""A database and a folder for the tests of one module."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The address of a database for commits."""
    return make_database()


@pytest.fixture(scope="module")
def tmp() -> Iterator[Path]:
    """A folder with a short path that every user may enter, as the user who runs PostgreSQL for root has to."""
    with tempfile.TemporaryDirectory(prefix="serving-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
