"""Events for the tests of `./flags events`, and what an export contains."""

import json
from datetime import UTC, datetime
from typing import Any

from rules.access import SYSTEM
from tests.support import fixtures
from tests.support.command_line import CommandLine

INSERT_MANY = """
    INSERT INTO events (created_at, type, created_by, project)
    SELECT now() - number * interval '1 hour', 'tag-created', 'system', 'p' || number %% 3
      FROM generate_series(1, %s) AS number
"""


def noon() -> datetime:
    """Today at 12:00 UTC."""
    return midnight().replace(hour=12)


def midnight() -> datetime:
    """The beginning of today in UTC."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def add(line: CommandLine, count: int = 1, **fields: Any) -> None:
    """Write events."""
    for _ in range(count):
        fixtures.record(line.conn, fields.pop("type", "tag-created"), fields.pop("by", SYSTEM), **fields)


def exported(line: CommandLine, *args: str) -> tuple[list[int], str]:
    """The ids that an export writes, and what it says on stderr."""
    result = line.run("events", "export", *args)
    assert result.exit_code == 0, result.output
    return [json.loads(text)["id"] for text in result.stdout_bytes.splitlines()], result.stderr


def kept(line: CommandLine) -> list[int]:
    """The ids in the log."""
    return [row["id"] for row in line.rows("SELECT id FROM events ORDER BY id")]
