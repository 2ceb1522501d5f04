"""deploy/grants.sql: what the database roles of docs/how-to/deploy.md may do, and what they may not."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InsufficientPrivilege

from operations.postgres import migrate
from operations.postgres.migrate import DatabaseProblem
from sql.database import connect, rows
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
ONLY_SUPERUSERS = (
    "SET session_replication_role = replica",
    "CREATE ROLE mine",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "CREATE DATABASE mine",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY users TO PROGRAM 'cat'",
)
CHOOSE_AN_ID = "INSERT INTO events (id, type, created_by) OVERRIDING SYSTEM VALUE VALUES (7000000, 'x', 'x')"


@pytest.mark.parametrize(
    "statement",
    [
        *ONLY_SUPERUSERS,
        # Objects
        "CREATE TABLE mine ()",
        "CREATE TEMPORARY TABLE mine ()",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION iso(timestamptz) RETURNS text LANGUAGE sql AS 'SELECT NULL'",
        "CREATE TRIGGER mine AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION keep_past_group_user()",
        "CREATE PUBLICATION mine FOR TABLE users",
        "SELECT lo_import('/etc/passwd')",
        "ALTER TABLE users ADD mine integer",
        "ALTER TABLE flags DISABLE TRIGGER keep_past_flag_states",
        "DROP TABLE past_passwords",
        "DROP VIEW user_roles",
        "DROP SCHEMA public CASCADE",
        "GRANT pg_read_all_data TO CURRENT_USER",
        # The log
        "TRUNCATE events",
        "UPDATE events SET created_by = 'nobody'",
        "INSERT INTO events (type, created_by) VALUES ('x', 'x') ON CONFLICT (id) DO UPDATE SET type = 'x'",
        "DELETE FROM events",
        CHOOSE_AN_ID,
        "SELECT setval('events_id_seq', 1)",
        "SELECT nextval('events_id_seq')",
        "SELECT FROM events FOR UPDATE",
        "DO $$ BEGIN LOCK TABLE events IN ACCESS EXCLUSIVE MODE; END $$",
        # Rows that stay
        "TRUNCATE login_addresses",
        "UPDATE past_flag_states SET ended_at = started_at",
        "DELETE FROM past_group_users",
        "DELETE FROM user_seen_days",
        "DELETE FROM usage_metrics",
        "DELETE FROM usage_variants",
        "DELETE FROM client_revisions",
        "DELETE FROM users",
        "DELETE FROM flags",
        "DELETE FROM signup_tokens",
        "INSERT INTO permissions VALUES (99, 'MINE', 'root', 'Mine')",
        "UPDATE schema_version SET version = 99",
    ],
)
def test_the_service_may_not(service, statement):
    with pytest.raises(InsufficientPrivilege):
        service.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM users",
        "SELECT FROM sessions",
        "UPDATE events SET type = 'x'",
        "TRUNCATE events",
        "INSERT INTO events (type, created_by) VALUES ('x', 'x')",
        "DELETE FROM past_flag_states",
        "SELECT FROM api_keys",
        "SELECT FROM applications",
        "INSERT INTO usage_metrics VALUES ('default', 'f', 'production', 'a', now(), 1, 0)",
        "DELETE FROM usage_variants",
        "UPDATE projects SET name = 'x'",
        "UPDATE client_revisions SET revision = 0",
        "CREATE TABLE mine ()",
    ],
)
def test_the_role_for_pruning_may_not(deployed, statement):
    with connect(deployed.address("prune")) as conn, pytest.raises(InsufficientPrivilege):
        conn.execute(statement)


@pytest.mark.parametrize("statement", ONLY_SUPERUSERS)
def test_the_owner_of_the_schema_may_not(deployed, statement):
    with connect(deployed.address("owner")) as conn, pytest.raises(InsufficientPrivilege):
        conn.execute(statement)


@pytest.mark.parametrize("role", ["owner", "service", "prune"])
def test_each_role_is_only_a_user_of_one_database(deployed, service, admin, role):
    name = deployed.renamed(f"flags_{role}")
    found = admin.execute(
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,"
        " (SELECT count(*) FROM pg_auth_members WHERE member = pg_roles.oid) AS memberships "
        "FROM pg_roles WHERE rolname = %s",
        [name],
    ).fetchone()
    assert set(found.values()) == {False}
    if role != "service":
        with pytest.raises(InsufficientPrivilege):
            service.execute(f"SET ROLE {name}")


def test_grants_by_the_service_role_reach_no_other_role(service, admin):
    """PostgreSQL only warns when a role grants a right that it cannot grant."""
    for right in ("SELECT ON users", "INSERT ON past_group_users"):
        service.execute(f"GRANT {right} TO PUBLIC")
    public = "SELECT FROM information_schema.table_privileges WHERE grantee = 'PUBLIC' AND table_schema = 'public'"
    assert admin.execute(public).fetchall() == []


def test_the_service_role_reads_no_other_database(deployed, shared_url):
    name = conninfo_to_dict(shared_url)["dbname"]
    other = deployed.address("service").replace(f"/{deployed.database}", f"/{name}")
    with connect(other) as conn:
        for table in ("users", "events"):
            with pytest.raises(InsufficientPrivilege):
                conn.execute(f"SELECT FROM {table}")


def test_no_other_role_can_connect(deployed, admin):
    """Neither into the database nor into its schema."""
    name = deployed.renamed("flags_prune")
    admin.execute(f"REVOKE CONNECT ON DATABASE {deployed.database} FROM {name}")
    try:
        with pytest.raises(psycopg.OperationalError):
            connect(deployed.address("prune"))
    finally:
        admin.execute(f"GRANT CONNECT ON DATABASE {deployed.database} TO {name}")
    rights = admin.execute(
        "SELECT has_schema_privilege('public', 'public', name) AS has FROM unnest('{USAGE,CREATE}'::text[]) AS name"
    )
    assert [row["has"] for row in rights] == [False, False]


# Rights


def rights(conn):
    """The rights of all roles except the owner."""
    return {tuple(row.values()) for row in rows(conn, RIGHTS)}


def test_the_service_has_rights_on_whole_tables_except_for_inserting_events(deployed, admin):
    found, service = rights(admin), deployed.renamed("flags_service")
    names = rows(admin, "SELECT attname FROM pg_attribute WHERE attrelid = 'events'::regclass AND attnum > 0")
    columns = {row["attname"] for row in names}
    assert columns > {"id"}
    of_columns = {right for right in found if right[2]}
    assert of_columns == {("events", "r", name, service, "INSERT") for name in columns - {"id"}}
    # A statement on a view works with the rights of the view's owner.
    assert {privilege for _, kind, _, _, privilege in found if kind == "v"} == {"SELECT"}
    all_tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
    tables = {row["relname"] for row in rows(admin, all_tables)}
    held = {(name, privilege) for name, _, _, role, privilege in found if role == service}
    assert {name for name, privilege in held if privilege == "SELECT"} >= tables
    assert {privilege for _, privilege in held} == {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_a_right_on_the_whole_table_would_allow_choosing_ids(deployed, admin):
    with admin.transaction(force_rollback=True):
        admin.execute(deployed.renamed("GRANT INSERT ON events TO flags_service"))
        admin.execute(deployed.renamed("SET LOCAL ROLE flags_service"))
        assert rows(admin, f"{CHOOSE_AN_ID} RETURNING id") == [{"id": 7_000_000}]


def test_a_migration_grants_no_rights(deployed, admin, tmp_path):
    found, needed = migrate.VERSION, migrate.VERSION + 1
    for number in range(2, needed + 1):
        (tmp_path / f"{number:04}_adds_a_table.sql").write_text(
            "CREATE TABLE later (id integer); ALTER TABLE events ADD more text;"
        )
    with connect(deployed.address("service")) as conn, pytest.raises(DatabaseProblem) as problem, conn.transaction():
        migrate.migrate(conn, tmp_path)
    role = deployed.renamed("flags_service")
    message = str(problem.value)
    assert message.startswith(f"The role {role} cannot upgrade the schema from version {found} to {needed}: ")
    assert message.endswith(". Run ./flags migrate as the owner of the schema.")
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
