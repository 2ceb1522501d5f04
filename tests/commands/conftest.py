"""Fixtures for the tests of commands."""

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """The same, with an empty log."""
    line.conn.execute("TRUNCATE events RESTART IDENTITY")
    return line
