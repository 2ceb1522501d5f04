"""What a test may ask of PostgreSQL's planner."""

from sql.database import Connection

OTHERS = ("hashjoin", "mergejoin", "hashagg", "sort", "material", "indexscan")


def plan_by_loops(conn: Connection) -> None:
    """Have it look at one row after the other until the transaction ends, as it does where it takes tables to be small."""
    for way in OTHERS:
        conn.execute(f"SET LOCAL enable_{way} = off")  # pyright: ignore
