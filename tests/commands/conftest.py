"""Fixtures for the tests of commands."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.users_command import PASSWORD


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """The same, with an empty log."""
    line.conn.execute("TRUNCATE events RESTART IDENTITY")
    return line


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    """A file with a good password."""
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def file(line: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of the instance of `line`."""
    path = tmp_path_factory.mktemp("backup") / "of the service.dump"
    line.does("backup", str(path))
    return path
