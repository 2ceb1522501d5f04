"""What the database roles of docs/how-to/deploy.md may not do."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InsufficientPrivilege

from sql.database import connect

FORBIDDEN = {
    "make tables": "CREATE TABLE mine ()",
    "make temporary tables": "CREATE TEMPORARY TABLE mine ()",
    "make schemas": "CREATE SCHEMA mine",
    "make functions": "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "replace functions": "CREATE OR REPLACE FUNCTION iso(timestamptz) RETURNS text LANGUAGE sql AS 'SELECT NULL'",
    "drop extensions": "DROP EXTENSION plpgsql CASCADE",
    "make indexes": "CREATE INDEX ON events (project)",
    "make triggers": "CREATE TRIGGER mine AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION keep_past_group_user()",
    "make rules": "CREATE RULE mine AS ON INSERT TO events DO INSTEAD NOTHING",
    "make policies": "CREATE POLICY mine ON users",
    "make publications": "CREATE PUBLICATION mine FOR TABLE users",
    "make large objects of files": "SELECT lo_import('/etc/passwd')",
    "change tables": "ALTER TABLE users ADD mine integer",
    "own tables": "ALTER TABLE users OWNER TO CURRENT_USER",
    "drop constraints": "ALTER TABLE users DROP CONSTRAINT users_root_role_fkey",
    "drop tables": "DROP TABLE past_passwords",
    "drop views": "DROP VIEW user_roles",
    "drop the schema": "DROP SCHEMA public CASCADE",
    "disable triggers": "ALTER TABLE flags DISABLE TRIGGER keep_past_flag_states",
    "disable all triggers": "SET session_replication_role = replica",
    "empty the log": "TRUNCATE events",
    "empty any table": "TRUNCATE login_addresses",
    "rewrite events": "UPDATE events SET created_by = 'nobody'",
    "rewrite events that are there": (
        "INSERT INTO events (type, created_by) VALUES ('x', 'x') ON CONFLICT (id) DO UPDATE SET type = 'x'"
    ),
    "delete events": "DELETE FROM events",
    "choose the id of an event": (
        "INSERT INTO events (id, type, created_by) OVERRIDING SYSTEM VALUE VALUES (1, 'x', 'x')"
    ),
    "set ids back": "SELECT setval('events_id_seq', 1)",
    "read ids ahead": "SELECT nextval('events_id_seq')",
    "lock events": "SELECT FROM events FOR UPDATE",
    "lock the log": "DO $$ BEGIN LOCK TABLE events IN ACCESS EXCLUSIVE MODE; END $$",
    "rewrite the past": "UPDATE past_flag_states SET ended_at = started_at",
    "forget the past": "DELETE FROM past_group_users",
    "forget who was seen": "DELETE FROM user_seen_days",
    "forget usage": "DELETE FROM usage_metrics",
    "forget usage of variants": "DELETE FROM usage_variants",
    "forget revisions": "DELETE FROM client_revisions",
    "delete users": "DELETE FROM users",
    "delete flags": "DELETE FROM flags",
    "delete signup tokens": "DELETE FROM signup_tokens",
    "invent permissions": "INSERT INTO permissions VALUES (99, 'MINE', 'root', 'Mine')",
    "say that it migrated": "UPDATE schema_version SET version = 99",
    "make roles": "CREATE ROLE mine",
    "become superuser": "ALTER ROLE CURRENT_USER SUPERUSER",
    "make databases": "CREATE DATABASE mine",
    "change the server": "ALTER SYSTEM SET log_statement = 'all'",
    "see passwords of the server": "SELECT rolpassword FROM pg_authid",
    "read files": "SELECT pg_read_file('/etc/passwd')",
    "copy files in": "COPY permissions FROM '/etc/passwd'",
    "copy to files": "COPY users TO '/tmp/mine'",
    "run programs": "COPY users TO PROGRAM 'cat'",
    "give its rights away": "GRANT pg_read_all_data TO CURRENT_USER",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_service_may_not(service, what):
    with pytest.raises(InsufficientPrivilege):
        service.execute(FORBIDDEN[what])


@pytest.mark.parametrize("role", ["owner", "prune"])
def test_the_service_may_not_become_another_role(deployed, service, role):
    with pytest.raises(InsufficientPrivilege):
        service.execute(deployed.renamed(f"SET ROLE flags_{role}"))


def test_grants_by_the_service_role_reach_no_other_role(service, admin):
    """PostgreSQL only warns of a right that is not there to be given."""
    for right in ("SELECT ON users", "INSERT ON past_group_users"):
        service.execute(f"GRANT {right} TO PUBLIC")
    assert (
        admin.execute(
            "SELECT FROM information_schema.table_privileges WHERE grantee = 'PUBLIC' AND table_schema = 'public'"
        ).fetchall()
        == []
    )


def test_the_service_role_reads_no_other_database(deployed, shared_url):
    other = deployed.address("service").replace(f"/{deployed.database}", "/" + conninfo_to_dict(shared_url)["dbname"])
    with connect(other) as conn:
        for table in ("users", "events"):
            with pytest.raises(InsufficientPrivilege):
                conn.execute(f"SELECT FROM {table}")


def test_no_other_role_can_connect(deployed, admin):
    """Neither into the database nor into its schema."""
    name = deployed.renamed("flags_prune")
    admin.execute(f"REVOKE CONNECT ON DATABASE {deployed.database} FROM {name}")
    try:
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            connect(deployed.address("prune"))
    finally:
        admin.execute(f"GRANT CONNECT ON DATABASE {deployed.database} TO {name}")
    rights = admin.execute(
        "SELECT has_schema_privilege('public', 'public', name) AS has FROM unnest('{USAGE,CREATE}'::text[]) AS name"
    )
    assert [row["has"] for row in rights] == [False, False]


@pytest.mark.parametrize("role", ["owner", "service", "prune"])
def test_no_role_is_more_than_a_user_of_one_database(deployed, admin, role):
    found = admin.execute(
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,"
        " (SELECT count(*) FROM pg_auth_members WHERE member = pg_roles.oid) AS memberships "
        "FROM pg_roles WHERE rolname = %s",
        (deployed.renamed(f"flags_{role}"),),
    ).fetchone()
    assert set(found.values()) == {False}


PRUNE_FORBIDDEN = (
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
)


@pytest.mark.parametrize("statement", PRUNE_FORBIDDEN)
def test_the_role_for_pruning_may_not(deployed, statement):
    with connect(deployed.address("prune")) as conn, pytest.raises(InsufficientPrivilege):
        conn.execute(statement)


@pytest.mark.parametrize(
    "what", ["disable all triggers", "make roles", "become superuser", "make databases", "read files", "run programs"]
)
def test_the_owner_of_the_schema_may_not(deployed, what):
    with connect(deployed.address("owner")) as conn, pytest.raises(InsufficientPrivilege):
        conn.execute(FORBIDDEN[what])
