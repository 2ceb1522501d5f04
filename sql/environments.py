"""Environments of the instance."""

from datetime import datetime

from sql import Connection, run

INSERT = """
    INSERT INTO environments (name, type, enabled, sort_order, created_at)
    VALUES (%(name)s, %(type)s, %(enabled)s,
            coalesce(%(sort_order)s, (SELECT coalesce(max(sort_order), 0) + 1 FROM environments)),
            coalesce(%(created_at)s::timestamptz, now()))
"""


def insert(
    conn: Connection,
    name: str,
    type: str,
    *,
    enabled: bool = True,
    sort_order: int | None = None,
    created_at: datetime | None = None,
) -> None:
    """Make an environment, linked to no project; sort_order None: behind the last. UniqueViolation of environments_pkey: it is there."""
    run(conn, INSERT, {"name": name, "type": type, "enabled": enabled, "sort_order": sort_order, "created_at": created_at})
