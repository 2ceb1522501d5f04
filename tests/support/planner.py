"""Change how PostgreSQL plans the statements of a test."""

from sql.database import Connection

OTHERS = ("hashjoin", "mergejoin", "hashagg", "sort", "material", "indexscan")


def plan_by_loops(conn: Connection) -> None:
    """Make PostgreSQL join by nested loops until the transaction ends, as it does with small tables."""
    for way in OTHERS:
        conn.execute(f"SET LOCAL enable_{way} = off")  # pyright: ignore
