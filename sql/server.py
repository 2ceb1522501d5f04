"""What the doctor asks of a server: what it is, whom it follows and who follows it; and of a schema, what it lacks."""

import re
from typing import Any

from psycopg.rows import DictRow

from sql import Connection, one, rows, value
from sql.migrate import SCHEMA

# A limit of -1 is none.
LOOK_AT_SERVER = """
    SELECT current_setting('server_version_num')::integer / 10000 AS version,
           current_setting('server_encoding') AS encoding,
           current_setting('transaction_read_only')::boolean AS is_read_only,
           concat_ws(
               ' and ',
               CASE WHEN NOT current_setting('fsync')::boolean THEN 'fsync' END,
               CASE WHEN NOT current_setting('full_page_writes')::boolean THEN 'full_page_writes' END,
               CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit' END) AS careless,
           pg_is_in_recovery() AS is_standby,
           CASE WHEN pg_is_in_recovery()
                THEN coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::bigint
           END AS bytes_behind,
           CASE WHEN pg_is_in_recovery()
                THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8
           END AS last_change,
           EXISTS (SELECT FROM pg_stat_wal_receiver) AS is_following,
           extract(epoch FROM clock_timestamp())::float8 AS clock,
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


def look_at_server(conn: Connection) -> DictRow:
    """Its major version, encoding, is_read_only, is_standby, clock (seconds since 1970), how many connections it has for us.

    careless: what is off of that by which it keeps what it acknowledges; "": nothing.
    Of a standby: bytes_behind what it was sent, last_change that it shows (seconds ago; None: none yet), and whether it is_following.
    """
    found = one(conn, LOOK_AT_SERVER)
    assert found is not None
    return found


# A slot keeps its place for a standby that is away. What of others only members of pg_monitor see is null.
REPLICAS = """
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


def replicas(conn: Connection) -> list[DictRow]:
    """The standbys of a server that is none itself: name, is_connected, bytes and seconds behind, which are None where nobody tells us."""
    return rows(conn, REPLICAS)


def has_schema(conn: Connection) -> bool:
    """Whether there is a schema in which the database user may look for tables."""
    return value(conn, "SELECT current_schema() IS NOT NULL")


# What the service reads and writes. Who migrates needs more.
LACKING_RIGHTS = """
    WITH ours AS (
        SELECT oid, relname, relkind
          FROM pg_class
         WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
           AND relname = ANY(%(names)s)
    ),
    needed AS (
        SELECT oid, relname, 'SELECT' AS privilege
          FROM ours
     UNION ALL
        SELECT oid, relname, 'INSERT'
          FROM ours
         WHERE relkind = 'r'
           AND relname <> ALL ('{schema_version,permissions,flag_types}')
    )
    SELECT privilege, string_agg(relname, ', ' ORDER BY relname) AS tables
      FROM needed
     WHERE NOT has_table_privilege(oid, privilege)
       AND NOT (privilege <> 'DELETE' AND has_any_column_privilege(oid, privilege))
     GROUP BY privilege
     ORDER BY privilege DESC
"""


def lacking_rights(conn: Connection) -> list[DictRow]:
    """The privileges that the database user would need and lacks, each with its tables, comma separated."""
    return rows(conn, LACKING_RIGHTS, {"names": parts()["table"] + parts()["view"]})


KINDS = ("table", "view", "trigger", "function")


def parts() -> dict[str, list[str]]:
    """What schema.sql makes: by kind, the names of tables, views, functions and so on; columns as table.column."""
    text = SCHEMA.read_text(encoding="utf-8")
    made: dict[str, list[str]] = {kind: re.findall(rf"^CREATE {kind.upper()} (\w+)", text, re.MULTILINE) for kind in KINDS}
    made["index"] = re.findall(r"^CREATE (?:UNIQUE )?INDEX (\w+)", text, re.MULTILINE)
    tables = re.findall(r"^CREATE TABLE (\w+) \(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL)
    made["column"] = [f"{table}.{column}" for table, body in tables for column in re.findall(r"^    ([a-z]\w*) ", body, re.MULTILINE)]
    return made


def bodies() -> dict[str, str]:
    """The bodies of the functions in plpgsql, by their names."""
    text = SCHEMA.read_text(encoding="utf-8")
    return dict(re.findall(r"^CREATE FUNCTION (\w+)\([^$;]*?LANGUAGE plpgsql AS \$\$(.*?)\$\$", text, re.MULTILINE | re.DOTALL))


FOUND_PARTS = """
    WITH here AS (
        SELECT oid FROM pg_namespace WHERE nspname = current_schema()
    )
    SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE 'index' END AS kind, relname AS name, NULL AS body
      FROM pg_class, here
     WHERE relnamespace = here.oid
       AND (relkind <> 'i' OR (SELECT indisvalid FROM pg_index WHERE indexrelid = pg_class.oid))
 UNION ALL
    SELECT 'column', relname || '.' || attname, NULL
      FROM pg_attribute
      JOIN pg_class ON pg_class.oid = attrelid
      JOIN here ON relnamespace = here.oid
     WHERE relkind = 'r'
       AND attnum > 0
       AND NOT attisdropped
 UNION ALL
    SELECT 'trigger', tgname, NULL
      FROM pg_trigger
      JOIN pg_class ON pg_class.oid = tgrelid
      JOIN here ON relnamespace = here.oid
     WHERE tgenabled IN ('O', 'A')
 UNION ALL
    SELECT 'function', proname, prosrc
      FROM pg_proc, here
     WHERE pronamespace = here.oid
"""


def missing_parts(conn: Connection) -> list[str]:
    """What schema.sql makes and this schema lacks, or has otherwise, as "the index events_type_idx"."""
    found: dict[tuple[str, str], Any] = {(row["kind"], row["name"]): row["body"] for row in rows(conn, FOUND_PARTS)}
    missing = [f"the {kind} {name}" for kind, names in parts().items() for name in names if (kind, name) not in found]
    other = [f"the function {name} as it was" for name, body in bodies().items() if found.get(("function", name), body) != body]
    return missing + other
