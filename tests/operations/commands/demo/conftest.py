"""A database with the data of the demo."""

import re
from datetime import UTC, datetime

import pytest

from sql.database import connect, rows
from tests.support.demo import fill


@pytest.fixture(scope="module")
def start():
    """Return the beginning of the day on which the demo was created."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture(scope="module")
def url(make_database, start):  # noqa: ARG001
    """A database with the demo."""
    url = make_database()
    done = fill(url)
    assert (done.returncode, done.stderr) == (0, "")
    summary = r"The demo is ready: 34 users, 8 projects, \d+ flags, \d+ events\."
    link = r"A signup link: http://127\.0\.0\.1:4242/new-user\?invite=[0-9a-f]{32}"
    assert re.fullmatch(rf"{summary} {link}\n", done.stdout)
    return url


@pytest.fixture(scope="module")
def read(url):
    """read(statement): its rows."""

    def read(statement):
        with connect(url) as conn:
            return rows(conn, statement)

    return read
