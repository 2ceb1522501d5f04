"""What an event costs on disk: its row, and its part of each index and of the kept totals."""

from dataclasses import dataclass

from sql import Connection, rows

# The log, and whatever is kept beside it under a name that begins like its own.
SIZES = """
    SELECT tables.relname AS name, 'rows' AS kind, pg_relation_size(tables.oid) AS bytes
      FROM pg_class AS tables
     WHERE tables.relkind = 'r' AND tables.relnamespace = 'public'::regnamespace AND tables.relname ~ '^event'
 UNION ALL
    SELECT tables.relname, 'TOAST', pg_total_relation_size(tables.reltoastrelid)
      FROM pg_class AS tables
     WHERE tables.relkind = 'r' AND tables.relnamespace = 'public'::regnamespace AND tables.relname ~ '^event' AND reltoastrelid <> 0
 UNION ALL
    SELECT indexes.relname, 'index', pg_relation_size(indexes.oid)
      FROM pg_class AS tables
      JOIN pg_index ON indrelid = tables.oid
      JOIN pg_class AS indexes ON indexes.oid = indexrelid
     WHERE tables.relkind = 'r' AND tables.relnamespace = 'public'::regnamespace AND tables.relname ~ '^event'
"""

PAYLOAD = """
    SELECT avg(coalesce(octet_length(data::text), 0)
               + coalesce(octet_length(pre_data::text), 0)
               + octet_length(tags::text))::float8 AS bytes
      FROM (SELECT * FROM events ORDER BY id DESC LIMIT 100000) AS newest
"""


@dataclass(frozen=True)
class Size:
    """Of one table, TOAST table or index."""

    name: str
    kind: str
    bytes: int


def measure(conn: Connection) -> tuple[list[Size], float]:
    """The sizes, largest first, and the mean bytes of payload of the newest events."""
    found = [Size(**row) for row in rows(conn, SIZES) if row["bytes"]]
    return sorted(found, key=lambda size: -size.bytes), rows(conn, PAYLOAD)[0]["bytes"]
