"""deploy/grants.sql: rights on whole tables, with one exception, and a migration that gives no other role a right."""

import pytest

from sql.database import Connection, connect, migrate, rows
from sql.database.migrate import DatabaseProblem
from tests.support.deployment import GRANTS

RIGHTS = """
    SELECT relname AS name, relkind AS kind, attname AS column,
           grantee::regrole::text AS role, privilege_type AS privilege
      FROM (SELECT relname, relkind, NULL AS attname, relowner, (aclexplode(relacl)).*
              FROM pg_class
             WHERE relnamespace = 'public'::regnamespace
         UNION ALL
            SELECT relname, relkind, attname, relowner, (aclexplode(attacl)).*
              FROM pg_attribute
              JOIN pg_class ON pg_class.oid = attrelid
             WHERE relnamespace = 'public'::regnamespace) AS given
     WHERE grantee <> relowner
     ORDER BY 1, 2, 3, 4, 5
"""


def test_rights_are_on_whole_tables_except_for_inserting_events(deployed, admin):
    by_column = {tuple(row.values()) for row in rows(admin, RIGHTS) if row["column"]}
    columns = {
        row["attname"]
        for row in rows(admin, "SELECT attname FROM pg_attribute WHERE attrelid = 'events'::regclass AND attnum > 0")
    }
    assert columns > {"id"}
    service = deployed.renamed("flags_service")
    assert by_column == {("events", "r", name, service, "INSERT") for name in columns - {"id"}}


CHOOSE_AN_ID = (
    "INSERT INTO events (id, type, created_by) OVERRIDING SYSTEM VALUE VALUES (7000000, 'x', 'x') RETURNING id"
)


def test_a_right_on_the_whole_table_would_allow_choosing_ids(deployed, admin):
    """Why that one right is by column. The refusal is in test_refused.py."""
    with admin.transaction(force_rollback=True):
        admin.execute(deployed.renamed("GRANT INSERT ON events TO flags_service"))
        admin.execute(deployed.renamed("SET LOCAL ROLE flags_service"))
        assert rows(admin, CHOOSE_AN_ID) == [{"id": 7_000_000}]


def test_views_can_only_be_read(admin):
    """A statement on a view works with the rights of the view's owner."""
    views = [row for row in rows(admin, RIGHTS) if row["kind"] == "v"]
    assert {row["privilege"] for row in views} == {"SELECT"}


def test_the_service_reads_every_table_and_empties_none(deployed, admin):
    found = [row for row in rows(admin, RIGHTS) if row["role"] == deployed.renamed("flags_service")]
    tables = {
        row["relname"]
        for row in rows(
            admin, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        )
    }
    assert {row["name"] for row in found if row["privilege"] == "SELECT"} >= tables
    assert {row["privilege"] for row in found} == {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_a_migration_grants_no_rights(deployed, admin, tmp_path):
    found, needed = migrate.VERSION, migrate.VERSION + 1
    for number in range(2, needed + 1):
        (tmp_path / f"{number:04}_adds_a_table.sql").write_text(
            "CREATE TABLE later (id integer); ALTER TABLE events ADD more text;"
        )
    with connect(deployed.address("service")) as conn, pytest.raises(DatabaseProblem) as problem, conn.transaction():
        migrate.migrate(conn, tmp_path)
    user = deployed.renamed("flags_service")
    assert str(problem.value).startswith(
        f"The role {user} cannot upgrade the schema from version {found} to {needed}: "
    )
    assert str(problem.value).endswith(". Run ./flags migrate as the owner of the schema.")
    with connect(deployed.address("owner")) as owner:
        before = rights(owner)
        # The owner can lock its own tables only.
        admin.execute("CREATE TABLE of_an_extension (id integer)")
        with owner.transaction(force_rollback=True):
            assert migrate.migrate(owner, tmp_path) == found
            assert rights(owner) == before
        admin.execute("DROP TABLE of_an_extension")
        # The file can be run again, and by the owner.
        deployed.psql(GRANTS, "owner")
        assert rights(owner) == before
        assert len(before) > 100


def rights(conn: Connection) -> set[tuple[object, ...]]:
    """The rights of all roles except the owner."""
    return {tuple(row.values()) for row in rows(conn, RIGHTS)}
