"""Fixtures for the tests of commands."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine


@pytest.fixture(scope="module")
def url(line: CommandLine) -> str:
    """The address of the database of `line`."""
    return line.app.config["DATABASE_URL"]


@pytest.fixture(scope="module")
def with_settings(line: CommandLine, url: str, make_app: Callable) -> Callable[..., CommandLine]:
    """with_settings(**settings): the command line on the database of `line` with other settings."""
    same = {name: line.app.config[name] for name in ("BCRYPT_ROUNDS", "PORT")}
    return lambda **settings: CommandLine(make_app(url, **same | settings), line.conn)


@pytest.fixture
def own(make_database: Callable[..., str], make_app: Callable) -> Iterator[CommandLine]:
    """The command line on a database of the test's own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """The same as `line`, with an empty log."""
    line.conn.execute("TRUNCATE events RESTART IDENTITY")
    return line


@pytest.fixture(scope="module")
def file(line: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of the instance of `line`."""
    path = tmp_path_factory.mktemp("backup") / "of the service.dump"
    line.does("backup", str(path))
    return path
