"""What deploy/grants.sql gives: each right is one that a statement needs; and what who has no more hears of a migration."""

import re

import pytest

from sql import Connection, connect, migrate, rows
from sql.migrate import DatabaseProblem
from tests.deployment import GRANTS, PAGE, ROLES
from tests.service import ROOT

# What is said by who prunes and who migrates, and not by the service.
NOT_SERVED = {"event_retention.py", "migrate.py"}
SCHEMA = migrate.SCHEMA.read_text(encoding="utf-8")
TABLES = re.findall(r"^CREATE TABLE (\w+)", SCHEMA, re.MULTILINE)
VIEWS = re.findall(r"^CREATE VIEW (\w+)", SCHEMA, re.MULTILINE)


# What the page says, and what the statements need


def test_the_page_shows_the_scripts():
    blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks == [ROLES.read_text(encoding="utf-8"), GRANTS.read_text(encoding="utf-8")]


def statements() -> list[str]:
    """Those of the service, and the bodies of the functions of the schema."""
    paths = [path for path in (ROOT / "sql").glob("*.py") if path.name not in NOT_SERVED]
    files = [block for path in paths for block in re.findall(r'"""(.*?)"""|"([^"\n]+)"', path.read_text(encoding="utf-8"), re.DOTALL)]
    bodies = re.findall(r"AS \$\$(.*?)\$\$", SCHEMA, re.DOTALL)
    return [*(long or short for long, short in files), *(statement for body in bodies for statement in body.split(";"))]


WRITES = {
    "INSERT": r"\bINSERT INTO (\w+)",
    "DELETE": r"\bDELETE FROM (\w+)",
}
CHANGES = (
    r"(?<!FOR )(?<!KEY )\bUPDATE (\w+)(?: AS \w+)?\s+SET\b(.*)",
    r"\bINSERT INTO (\w+)(?:(?!INSERT INTO).)*?ON CONFLICT(?:(?!INSERT INTO).)*?DO UPDATE\s+SET\b(.*)",
)


def needed() -> set[tuple[str, str]]:
    """What they do with each table, but for reading and locking; a change, and an insertion into the log, by column."""
    found: set[tuple[str, str]] = set()
    for text in statements():
        found |= {(table, right) for right, pattern in WRITES.items() for table in re.findall(pattern, text)}
        for pattern in CHANGES:
            for table, rest in re.findall(pattern, text, re.DOTALL):
                found |= {(table, f"UPDATE {column}") for column in assigned(rest)}
    own = {("events", f"INSERT {column}") for column in columns("events") - {"id"}}
    return {(table, right) for table, right in found if table in TABLES and (table, right) != ("events", "INSERT")} | own


def assigned(text: str) -> set[str]:
    """The columns to which what begins behind SET gives a value."""
    several = re.match(r"\s*\(([\w\s,]+)\)\s*=", text)
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    text = re.split(r"\b(?:FROM|WHERE|RETURNING)\b|\)|;", text)[0]
    return set(re.split(r",\s*", several[1]) if several else re.findall(r"(?:^|,)\s*(\w+)\s*=", text))


def columns(table: str) -> set[str]:
    """The columns of a table."""
    [body] = re.findall(rf"^CREATE TABLE {table} \((.*?)^\);", SCHEMA, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^    ([a-z]\w*) ", body, re.MULTILINE))


# For locks alone, as a test of what the service does shows, and for counting the log anew.
BESIDES = {("sessions", "UPDATE created_at"), ("flag_tags", "UPDATE created_at"), ("tags", "UPDATE value"), ("events_id_seq", "SELECT")}


def test_each_right_is_one_that_a_statement_needs(deployed):
    with connect(deployed.address()) as conn:
        given = {(name, right) for name, role, right in rights(conn) if role == deployed.renamed("flags_service")}
    assert {(name, right) for name, right in given if right != "SELECT"} == needed() | {it for it in BESIDES if it[1] != "SELECT"}
    assert {name for name, right in given if right == "SELECT"} == {*TABLES, *VIEWS, "events_id_seq"}


def test_who_prunes_has_what_that_needs(deployed):
    with connect(deployed.address()) as conn:
        given = {(name, right) for name, role, right in rights(conn) if role == deployed.renamed("flags_prune")}
    totals = {(table, right) for table, right in needed() if table in ("event_totals", "uncounted_ids")}
    reads = {(table, "SELECT") for table in ("schema_version", "events", "event_totals", "uncounted_ids")}
    assert given == totals | reads | {("events", "DELETE")}


def test_every_table_is_read_by_a_statement_of_the_service():
    text = "\n".join([*statements(), SCHEMA])
    # Whoever starts looks at the version, in migrate.py.
    assert [table for table in TABLES if not re.search(rf"(\b(FROM|JOIN)|,)\s+{table}\b", text)] == ["schema_version"]


# Migrations


def test_a_later_migration_is_the_owners_and_gives_nobody_else_a_right(deployed, tmp_path):
    (tmp_path / "0002_adds_a_table.sql").write_text("CREATE TABLE later (id integer); ALTER TABLE events ADD more text;")
    with connect(deployed.address("service")) as conn, pytest.raises(DatabaseProblem) as problem, conn.transaction():
        migrate.migrate(conn, tmp_path)
    user = deployed.renamed("flags_service")
    assert str(problem.value).startswith(
        f"The database has schema version 1, and its user {user} lacks the right to bring it to version 2: "
    )
    assert str(problem.value).endswith(". Run flask --app app migrate as the owner of the schema.")
    with connect(deployed.address("owner")) as owner:
        before = rights(owner)
        with owner.transaction(force_rollback=True):
            assert migrate.migrate(owner, tmp_path) == 1
            assert rights(owner) == before
        # Run again, and by who has upgraded, it gives the same.
        deployed.psql(GRANTS, "owner")
        assert rights(owner) == before
        assert len(before) > 100


RIGHTS = """
    SELECT relname, grantee::regrole::text AS role, concat_ws(' ', privilege_type, attname) AS name
      FROM (SELECT relname, NULL AS attname, relowner, (aclexplode(relacl)).*
              FROM pg_class
             WHERE relnamespace = 'public'::regnamespace
         UNION ALL
            SELECT relname, attname, relowner, (aclexplode(attacl)).*
              FROM pg_attribute
              JOIN pg_class ON pg_class.oid = attrelid
             WHERE relnamespace = 'public'::regnamespace) AS given
     WHERE grantee <> relowner
"""


def rights(conn: Connection) -> set[tuple[str, str, str]]:
    """What each role but the owner may do with each table and column."""
    return {(row["relname"], row["role"], row["name"]) for row in rows(conn, RIGHTS)}
