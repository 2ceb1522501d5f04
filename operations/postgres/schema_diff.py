"""Compare the schema of a database with the one that schema.sql creates on the same server."""

import secrets
from difflib import unified_diff
from pathlib import Path
from tempfile import NamedTemporaryFile

from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from operations.postgres import backup, migrate
from sql.database import Connection, connect, value

CREATE = "CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"
DROP = "DROP DATABASE {name} WITH (FORCE)"
CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS {schema}"


def schema_diff(conn: Connection, url: str) -> list[str]:
    """Return the lines of a diff from schema.sql, none if equal. Raise DatabaseProblem without CREATEDB."""
    name = f"flags_schema_{secrets.token_hex(8)}"
    fresh_url = make_conninfo(url, dbname=name)
    try:
        conn.execute(SQL(CREATE).format(name=Identifier(name)))
    except InsufficientPrivilege:
        allow = SQL("ALTER ROLE {role} CREATEDB").format(role=Identifier(conn.info.user)).as_string(conn)
        problem = "The role cannot create the temporary database that this command needs."
        raise migrate.DatabaseProblem(f"{problem} To allow it, run as a superuser: {allow}") from None
    try:
        with connect(fresh_url) as fresh:
            fresh.execute(SQL(CREATE_SCHEMA).format(schema=Identifier(value(conn, backup.SCHEMA))))
            with fresh.transaction():
                migrate.migrate(fresh)
            if migrate.has_word_indexes(conn):
                migrate.index_words(fresh)
            expected = schema_of(fresh, fresh_url)
    finally:
        conn.execute(SQL(DROP).format(name=Identifier(name)))
    return list(unified_diff(expected, schema_of(conn, url), "schema.sql", "this database", lineterm=""))


def schema_of(conn: Connection, url: str) -> list[str]:
    """Return the lines of pg_dump about a schema."""
    # Without comments, because restore --replace drops that of the schema public.
    with NamedTemporaryFile() as file:
        backup.pg_dump(conn, url, "--schema-only", "--no-owner", "--no-comments", f"--file={file.name}")
        lines = backup.NEW_STATEMENTS.sub(b"", Path(file.name).read_bytes()).decode().splitlines()
    # Lines with a backslash contain a random word.
    return [line for line in lines if line and not line.startswith(("--", "\\"))]
