"""Environments of the instance."""

from sql import Connection, run

INSERT = """
    INSERT INTO environments (name, type, enabled, sort_order)
    VALUES (%(name)s, %(type)s, %(enabled)s,
            coalesce(%(sort_order)s, (SELECT coalesce(max(sort_order), 0) + 1 FROM environments)))
"""


def insert(conn: Connection, name: str, type: str, *, enabled: bool = True, sort_order: int | None = None) -> None:
    """Make an environment, linked to no project; sort_order None: behind the last."""
    run(conn, INSERT, {"name": name, "type": type, "enabled": enabled, "sort_order": sort_order})
