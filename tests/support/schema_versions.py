"""The schemas of releases, and the schema of a database as pg_dump writes it."""

import subprocess
from pathlib import Path

from operations.postgres import backup, embedded


def kept_schema(version: int) -> Path:
    """Return the schema.sql of a release with this version of the schema."""
    return Path(__file__).parents[1] / "operations" / "schema" / f"{version:04}.sql"


# The schema of 0.1.0.
FIRST_SCHEMA = kept_schema(1)


def schema_of(url: str) -> str:
    """What pg_dump says of a database's schema."""
    command = [embedded.BINARIES / "pg_dump", "--schema-only", "--no-owner", "--dbname", url]
    text = backup.NEW_STATEMENTS.sub(b"", subprocess.run(command, check=True, capture_output=True).stdout).decode()
    # Comments contain the version of the server, and \restrict a random word.
    return "\n".join(
        line for line in text.splitlines() if line and not line.startswith(("--", "\\restrict", "\\unrestrict"))
    )
