"""Statements of flags doctor about the PostgreSQL server and the privileges of the current role."""

from psycopg.rows import DictRow

from sql.database import Connection, one, rows

# A limit of -1 means no limit.
GET_SERVER = """
    SELECT current_setting('server_version_num')::integer / 10000 AS version,
           current_setting('server_encoding') AS encoding,
           current_setting('transaction_read_only')::boolean AS is_read_only,
           pg_is_in_recovery() AS is_standby,
           concat_ws(
               ', ',
               CASE WHEN NOT current_setting('fsync')::boolean THEN 'fsync' END,
               CASE WHEN NOT current_setting('full_page_writes')::boolean THEN 'full_page_writes' END,
               CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit' END) AS unsafe,
           least(
               current_setting('max_connections')::integer
                   - current_setting('superuser_reserved_connections')::integer
                   - coalesce(current_setting('reserved_connections', true)::integer, 0),
               nullif(datconnlimit, -1),
               nullif(rolconnlimit, -1)) AS connections
      FROM pg_database, pg_roles
     WHERE datname = current_database()
       AND rolname = session_user
"""


def get_server(conn: Connection) -> DictRow:
    """Return version, encoding, is_read_only, is_standby, connections for this role, and unsafe settings."""
    row = one(conn, GET_SERVER)
    assert row is not None
    return row


# Disconnected standbys are found by their replication slots. Only members of pg_monitor see how far connected standbys
# are behind.
STANDBYS = """
    SELECT coalesce(nullif(application_name, ''), host(client_addr), 'without a name') AS name,
           true AS is_connected,
           pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint AS bytes,
           extract(epoch FROM replay_lag)::float8 AS seconds
      FROM pg_stat_replication
     WHERE state IS DISTINCT FROM 'backup'
 UNION ALL
    SELECT slot_name, false, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint, NULL
      FROM pg_replication_slots
     WHERE slot_type = 'physical'
       AND NOT active
     ORDER BY name
"""


def standbys(conn: Connection) -> list[DictRow]:
    """Return the standbys: name, is_connected, and bytes and seconds behind (None if unknown)."""
    return rows(conn, STANDBYS)


# The owner of the tables has all privileges. Other roles should have those of deploy/grants.sql.
PRIVILEGES = """
    WITH tables AS (
        SELECT oid, relname AS name, relkind, pg_get_userbyid(relowner) <> current_user AS is_foreign
          FROM pg_class
         WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
           AND relkind IN ('r', 'v')
    )
    SELECT current_user AS role,
           string_agg(name, ', ' ORDER BY name) FILTER (WHERE NOT has_table_privilege(oid, 'SELECT')) AS unreadable,
           string_agg(name, ', ' ORDER BY name) FILTER (
               WHERE relkind = 'r'
                 AND name NOT IN ('schema_version', 'instance_key', 'permissions', 'flag_types')
                 AND NOT has_any_column_privilege(oid, 'INSERT')) AS unwritable,
           coalesce(
               bool_or(is_foreign AND (has_any_column_privilege(oid, 'UPDATE') OR has_table_privilege(oid, 'DELETE')))
                   FILTER (WHERE name = 'events'), false) AS changes_events
      FROM tables
"""


def privileges(conn: Connection) -> DictRow:
    """Return the role, the tables that are unreadable or unwritable, and changes_events.

    changes_events: the role is not the owner, but can change or delete events.
    """
    row = one(conn, PRIVILEGES)
    assert row is not None
    return row
