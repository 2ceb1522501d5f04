"""What deploy/grants.sql gives: each right is one that a statement needs; and what who has no more hears of a migration."""

import re
from collections.abc import Iterator

import pytest

from sql import Connection, connect, migrate, rows
from sql.migrate import DatabaseProblem
from tests.deployment import GRANTS, PAGE, ROLES, Deployment, deployment
from tests.service import ROOT

# What is said by who prunes and who migrates, and not by the service.
NOT_SERVED = {"event_retention.py", "migrate.py"}
SCHEMA = migrate.SCHEMA.read_text(encoding="utf-8")
TABLES = re.findall(r"^CREATE TABLE (\w+)", SCHEMA, re.MULTILINE)


@pytest.fixture(scope="module")
def deployed(server: str) -> Iterator[Deployment]:
    """The database of the page."""
    with deployment(server) as made:
        yield made


# What the page says, and what the statements need


def test_the_page_shows_the_scripts():
    blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks == [ROLES.read_text(encoding="utf-8"), GRANTS.read_text(encoding="utf-8")]


def granted() -> dict[str, set[str]]:
    """What grants.sql gives the service, by table; a right to some columns as UPDATE(), say."""
    found: dict[str, set[str]] = {table: set() for table in TABLES}
    script = re.sub(r"--.*", "", GRANTS.read_text(encoding="utf-8"))
    for rights, tables in re.findall(r"^GRANT ([^;]*?)\s+ON ([\w, \n]+?)\s+TO flags_service;", script, re.MULTILINE):
        for table in () if re.match("ALL TABLES|SEQUENCE", tables) else re.split(r",\s*", tables):
            found[table] |= set(re.split(r", (?![^(]*\))", re.sub(r"\([^)]*\)", "()", rights)))
    return {table: {re.sub(r" *\(.*", "()", right) for right in rights} for table, rights in found.items()}


def needed() -> dict[str, set[str]]:
    """What the statements of the service and the functions of the schema do with each table, but for reading and locking."""
    paths = [path for path in (ROOT / "sql").glob("*.py") if path.name not in NOT_SERVED]
    bodies = re.findall(r"AS \$\$(.*?)\$\$", SCHEMA, re.DOTALL)
    found: dict[str, set[str]] = {table: set() for table in TABLES}
    for text in [*(path.read_text(encoding="utf-8") for path in paths), *bodies]:
        for right, pattern in {
            "INSERT": r"INSERT INTO (\w+)",
            "UPDATE": r"(?<!FOR )(?<!KEY )\bUPDATE (\w+)(?: AS \w+)?\s+SET\b",
            "DELETE": r"DELETE FROM (\w+)",
        }.items():
            for table in re.findall(pattern, text):
                found[table].add(right)
        for table in re.findall(r"INSERT INTO (\w+)(?:(?!INSERT INTO).)*?ON CONFLICT[^;\"]*?DO UPDATE", text, re.DOTALL):
            found[table].add("UPDATE")
    return found


def test_each_right_is_one_that_a_statement_needs():
    wanted = {
        table: {"INSERT()" if (table, right) == ("events", "INSERT") else right for right in rights} for table, rights in needed().items()
    }
    given = {table: rights - {"UPDATE()"} for table, rights in granted().items()}
    assert given == wanted


def test_events_can_be_written_in_every_column_but_their_id():
    [columns] = re.findall(r"GRANT INSERT \((.*?)\)\s+ON events", GRANTS.read_text(encoding="utf-8"))
    [table] = re.findall(r"^CREATE TABLE events \((.*?)^\);", SCHEMA, re.MULTILINE | re.DOTALL)
    assert ["id", *columns.split(", ")] == re.findall(r"^    ([a-z]\w*) ", table, re.MULTILINE)


# Migrations


def test_a_later_migration_is_the_owners_and_its_tables_can_be_used_at_once(deployed, tmp_path):
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
            added = {right for right in rights(owner) if right not in before}
            assert added == {("later", user, right) for right in ("SELECT", "INSERT", "UPDATE", "DELETE")}
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
