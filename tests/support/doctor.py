"""Runs `./flags doctor` and reads its lines."""

from collections.abc import Callable
from typing import Any

from tests.support.command_line import CommandLine

Maker = Callable[..., Any]
SUBJECTS = ["settings", "database", "connections", "privileges", "schema", "search", "event log", "administrators"]


def examine(line: CommandLine) -> tuple[int, list[tuple[str, str, str]]]:
    """The exit status, and grade, subject and sentence of every line. It changes nothing."""
    before = line.everything()
    result = line.run("doctor")
    assert line.everything() == before
    assert result.stderr == ""
    return result.exit_code, parsed(result.stdout)


def parsed(text: str) -> list[tuple[str, str, str]]:
    """Grade, subject and sentence of every line."""
    return [(row[:4].strip(), row[6:20].strip(), row[22:]) for row in text.splitlines()]


def about(line: CommandLine, subject: str) -> tuple[int, str, str]:
    """The exit status, and grade and sentence of the only line about something."""
    status, found = examine(line)
    [(grade, sentence)] = [(grade, sentence) for grade, of, sentence in found if of == subject]
    return status, grade, sentence


def with_settings(line: CommandLine, make_app: Maker, **settings: Any) -> CommandLine:
    """The same database with other settings."""
    return CommandLine(make_app(line.app.config["DATABASE_URL"], **{"BCRYPT_ROUNDS": 12} | settings), line.conn)
