"""The schema version that this service needs, and the one that a database has."""

import re
from pathlib import Path

from sql.database import Connection, value

SCHEMA = Path(__file__).parents[2] / "schema.sql"
# schema.sql inserts its version.
VERSION = int(re.findall(r"^INSERT INTO schema_version .*?(\d+)", SCHEMA.read_text(encoding="utf-8"), re.M)[0])

# Migration tools also have tables of this name, but without this column.
HAS_VERSION = """
    SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_version') AND attname = 'single_row')
"""


def version(conn: Connection) -> int:
    """Return the schema version of a database, or 0 if the schema does not exist."""
    return (value(conn, HAS_VERSION) and value(conn, "SELECT version FROM schema_version")) or 0
