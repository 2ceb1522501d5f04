"""A fingerprint of the database, to show that a refused request has changed nothing."""

from sql.database import Connection

# A refusal may leave these marks: when a user was seen, and failed logins.
FREE_COLUMNS = ["seen_at", "login_attempts"]
FREE_TABLES = {"user_seen_days", "login_throttle", "login_addresses", "known_logins"}
TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
ROWS = """
    SELECT '{0}' AS name, count(*) || ' ' || coalesce(md5(string_agg(row, '' ORDER BY row COLLATE "C")), '') AS rows
      FROM (SELECT (to_jsonb({0}) - %(free)s::text[])::text AS row FROM {0}) AS texts
"""


def fingerprint(conn: Connection) -> dict[str, str]:
    """Return the number of rows of each table, and the MD5 of all its rows."""
    names = [table["relname"] for table in conn.execute(TABLES) if table["relname"] not in FREE_TABLES]
    statement = " UNION ALL ".join(ROWS.format(name) for name in names)
    return {table["name"]: table["rows"] for table in conn.execute(statement, {"free": FREE_COLUMNS}, prepare=True)}
