"""Flags: lock, read, list, insert and change them."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, RecordText, as_json, one, record, rows, run, value
from sql.flags import records as flag_records
from sql.limits import PAGE_BYTES
from sql.projects.visibility import VISIBLE

CHANGEABLE = ("id", "type", "description", "impressionData", "stale")

# What a change of a flag needs: some columns, the tags, and the record in the form of events.
STATE: LiteralString = f"""
           flags.id,
           flags.name,
           flags.project_id,
           flags.type,
           flags.archived_at,
           flags.version,
           {flag_records.TAGS} AS tags,
           {flag_records.CORE} AS record
"""

# NO KEY, here and in all locks of flags: inserts that reference a flag do not wait for this lock, so they cannot
# deadlock with it.
LOCK = """
    SELECT id
      FROM flags
     WHERE name = %(name)s
       AND project_id = %(project)s
       AND archived_at IS NULL
       FOR NO KEY UPDATE
"""

# A separate statement, which begins after the wait for the lock. A subquery of LOCK would see the tags from before the
# wait.
READ: LiteralString = f"""
    SELECT {STATE}
      FROM flags
      JOIN unnest(%(ids)s::bigint[]) WITH ORDINALITY AS wanted (id, number) USING (id)
     ORDER BY number
"""


def lock(conn: Connection, project: str, name: str) -> DictRow | None:
    """Lock a live flag and return its STATE, with the FlagCore record, or None if it does not exist."""
    flag_id = value(conn, LOCK, {"project": project, "name": name})
    return None if flag_id is None else read(conn, [flag_id])[0]


def read(conn: Connection, ids: Sequence[int]) -> list[DictRow]:
    """Return the STATE of locked flags, in the order of the ids."""
    return rows(conn, READ, {"ids": list(ids)})


LOCK_ANYWHERE = """
    SELECT id
      FROM flags
     WHERE name = %(name)s
       AND deleted_at IS NULL
       FOR NO KEY UPDATE
"""

SEEN: LiteralString = f" AND EXISTS (SELECT FROM projects WHERE projects.id = flags.project_id AND {VISIBLE})"

READ_SEEN: LiteralString = f"SELECT {STATE} FROM flags WHERE flags.id = ANY(%(ids)s::bigint[]){SEEN}"


def lock_anywhere(conn: Connection, name: str, viewer: int | None) -> DictRow | None:
    """Lock a flag of any project, live or archived, and return its STATE, or None if it is unknown or hidden."""
    flag_id = value(conn, LOCK_ANYWHERE, {"name": name})
    return None if flag_id is None else one(conn, READ_SEEN, {"ids": [flag_id], "viewer": viewer})


PROJECT_OF: LiteralString = f"SELECT project_id FROM flags WHERE name = %(name)s AND deleted_at IS NULL{SEEN}"


def project_of(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return the project of a flag, live or archived, or None if it is unknown or hidden from the viewer."""
    return value(conn, PROJECT_OF, {"name": name, "viewer": viewer})


LOCK_MANY = """
    SELECT id
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND (%(project)s::text IS NULL OR project_id = %(project)s)
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def lock_many(conn: Connection, names: Sequence[str], viewer: int | None, project: str | None = None) -> list[DictRow]:
    """Lock flags, live or archived, and return their STATE in the order of the names.

    Unknown and hidden flags are omitted. project: also omit flags of other projects. Locking by name prevents
    deadlocks.
    """
    ids = [row["id"] for row in rows(conn, LOCK_MANY, {"names": list(names), "project": project})]
    by_name = {row["name"]: row for row in rows(conn, READ_SEEN, {"ids": ids, "viewer": viewer})}
    return [by_name[name] for name in dict.fromkeys(names) if name in by_name]


LIST_BY_NAME = """
    SELECT id, name, archived_at
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND project_id = %(project)s
       AND deleted_at IS NULL
"""


def list_by_name(conn: Connection, project: str, names: Sequence[str]) -> list[DictRow]:
    """Return id, name and archived_at of flags of the project, live or archived, without a lock."""
    return rows(conn, LIST_BY_NAME, {"project": project, "names": list(names)})


LIST_PROJECTS = "SELECT name, project_id FROM flags WHERE name = ANY(%(names)s::text[]) AND deleted_at IS NULL"


def list_projects(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the project of each of these flags that exists, live or archived, by name."""
    return {row["name"]: row["project_id"] for row in rows(conn, LIST_PROJECTS, {"names": list(names)})}


IS_TAKEN = "SELECT EXISTS (SELECT FROM flags WHERE name = %(name)s AND deleted_at IS NULL)"


def is_taken(conn: Connection, name: str) -> bool:
    """Return whether a flag of any project, live or archived, has this name."""
    return value(conn, IS_TAKEN, {"name": name})


LIST_CREATORS: LiteralString = f"""
    SELECT coalesce(json_agg(json_build_object('id', id, 'name', label) ORDER BY label, id), '[]')
      FROM users
     CROSS JOIN LATERAL (SELECT coalesce(name, username, email) AS label) AS labels
     WHERE id IN (SELECT created_by_user_id
                    FROM flags
                    JOIN projects ON projects.id = project_id
                   WHERE (%(project)s::text IS NULL OR project_id = %(project)s)
                     AND flags.deleted_at IS NULL
                     AND {VISIBLE})
"""


def list_creators(conn: Connection, viewer: int | None, project: str | None = None) -> list[dict[str, Any]]:
    """Return [{"id", "name"}] by name: the creators of live and archived flags in a project, or in all visible ones."""
    return value(conn, LIST_CREATORS, {"project": project, "viewer": viewer})


GET_CORE: LiteralString = f"SELECT ({flag_records.CORE})::text AS text, version FROM flags WHERE id = %(id)s"


def get_core(conn: Connection, flag_id: int) -> RecordText | None:
    """Return the FlagCore record as JSON text."""
    return record(conn, GET_CORE, {"id": flag_id})


LIST: LiteralString = f"""
    WITH listed AS MATERIALIZED (
        SELECT *
          FROM flags
         WHERE project_id = %(project)s
           AND archived_at IS NULL
           AND starts_with(name, %(prefix)s)
           AND (%(types)s::text[] IS NULL
                OR EXISTS (
                    SELECT FROM flag_tags
                      JOIN unnest(%(types)s::text[], %(values)s::text[]) AS requested (type, value) USING (type, value)
                     WHERE flag_id = flags.id))
    ),
    {flag_records.IS_SMALL}
    SELECT json_build_object(
               'version', 2,
               'features', coalesce(json_agg({flag_records.ITEM} ORDER BY flags.name), '[]'))::text
      FROM listed AS flags
    HAVING (SELECT is_small FROM size)
"""


def get_list(
    conn: Connection, project: str, user_id: int | None, *, prefix: str, tags: Sequence[tuple[str, str]] | None
) -> str | None:
    """Return the FlagList record as JSON text, or None if the texts of the flags exceed PAGE_BYTES.

    It has the live flags by name, with the favorites of the user (None: an API token). prefix: the beginning of the
    names. tags: a flag must have one of these tags (type and value), unless this is None.
    """
    params: dict[str, Any] = {"project": project, "user_id": user_id, "prefix": prefix, "types": None, "values": None}
    if tags is not None:
        params |= {"types": [type for type, _ in tags], "values": [text for _, text in tags]}
    return value(conn, LIST, params | {"max_bytes": PAGE_BYTES})


# Sorted by name, so that two requests cannot deadlock.
INSERT: LiteralString = f"""
    WITH added AS (
        INSERT INTO flags (name, project_id, type, description, impression_data, created_by_user_id, created_by,
                           created_at, archived_at, potentially_stale_at)
        SELECT name, %(project)s, type, description, "impressionData", %(user_id)s, %(token)s,
               coalesce("createdAt", now()), "archivedAt",
               (SELECT now()
                  FROM flag_types
                 WHERE id = new.type AND "createdAt" + make_interval(days => lifetime_days) < now())
          FROM json_to_recordset(%(flags)s::json)
            AS new (name text, type text, description text, "impressionData" boolean, "createdAt" timestamptz,
                    "archivedAt" timestamptz)
         ORDER BY name
        ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING
        RETURNING {STATE}
    ),
    linked AS (
        INSERT INTO flag_environments (flag_id, environment)
        SELECT id, environment
          FROM added
          JOIN project_environments USING (project_id)
    )
    SELECT * FROM added
"""


def insert(
    conn: Connection, project: str, flags: Sequence[Mapping[str, Any]], user_id: int | None, token: str | None = None
) -> list[DictRow]:
    """Insert flags (name, type, description, impressionData), off in all environments, and return their STATE.

    user_id, token: the user, or the name of the API token, that creates them. The service itself has neither.
    Moved flags also have createdAt and archivedAt, and those that are too old already get no event about that. Flags
    whose names are in use, also by archived flags, are omitted.
    """
    params = {"project": project, "flags": as_json(flags), "user_id": user_id, "token": token}
    return rows(conn, INSERT, params)


UPDATE: LiteralString = f"""
    UPDATE flags
       SET type = changed.type,
           description = changed.description,
           impression_data = "impressionData",
           stale_since = CASE WHEN stale THEN coalesce(stale_since, now()) END
      FROM json_to_recordset(%(flags)s::json)
        AS changed (id bigint, type text, description text, "impressionData" boolean, stale boolean)
     WHERE flags.id = changed.id
    RETURNING {STATE}
"""


def update(conn: Connection, flags: Sequence[Mapping[str, Any]]) -> dict[int, DictRow]:
    """Set type, description, impressionData and stale of flags. Return their STATE by id."""
    params = {"flags": as_json([{key: flag[key] for key in CHANGEABLE} for flag in flags])}
    return {row["id"]: row for row in rows(conn, UPDATE, params)}


LINK_ENVIRONMENTS = """
    INSERT INTO flag_environments (flag_id, environment)
    SELECT flags.id, project_environments.environment
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.id = %(id)s
    ON CONFLICT DO NOTHING
"""


def link_environments(conn: Connection, flag_id: int) -> None:
    """Add the missing environments of its project to a flag, switched off."""
    run(conn, LINK_ENVIRONMENTS, {"id": flag_id})
