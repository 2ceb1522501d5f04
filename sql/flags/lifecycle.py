"""Archive, revive and delete flags, and list archived ones.

The caller has locked the flags that change. delete_archived() locks its flags itself.
"""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value
from sql.flags import records as flag_records
from sql.limits import PAGE_BYTES
from sql.projects.health import POTENTIALLY_STALE
from sql.projects.visibility import VISIBLE

NEEDED = """
    SELECT DISTINCT parents.name
      FROM flag_dependencies
      JOIN flags AS parents ON parents.id = parent_id
      JOIN flags AS children ON children.id = child_id
     WHERE parent_id = ANY(%(ids)s)
       AND child_id <> ALL(%(ids)s)
       AND children.archived_at IS NULL
     ORDER BY parents.name
"""


def needed_by_others(conn: Connection, ids: Sequence[int]) -> list[str]:
    """Return the names of these flags on which other live flags depend."""
    return [row["name"] for row in rows(conn, NEEDED, {"ids": list(ids)})]


ARCHIVE = """
    WITH archived AS (
        UPDATE flags SET archived_at = now() WHERE id = ANY(%(ids)s) AND archived_at IS NULL
    ),
    switched_off AS (
        UPDATE flag_environments SET enabled = false WHERE flag_id = ANY(%(ids)s) AND enabled
    ),
    removed_dependencies AS (
        DELETE FROM flag_dependencies WHERE child_id = ANY(%(ids)s) RETURNING child_id
    )
    SELECT DISTINCT child_id AS id FROM removed_dependencies
"""


def archive(conn: Connection, ids: Sequence[int]) -> set[int]:
    """Archive flags, switch them off and delete their dependencies. Return the ids of flags that had dependencies."""
    return {row["id"] for row in rows(conn, ARCHIVE, {"ids": list(ids)})}


LIST_ARCHIVED: LiteralString = f"""
    WITH listed AS MATERIALIZED (
        SELECT flags.*
          FROM flags
          JOIN projects ON projects.id = flags.project_id
         WHERE flags.archived_at IS NOT NULL
           AND flags.deleted_at IS NULL
           AND (%(project)s::text IS NULL OR flags.project_id = %(project)s)
           AND {VISIBLE}
    ),
    {flag_records.IS_SMALL}
    SELECT json_build_object(
               'version', 2,
               'features', coalesce(json_agg(
                   json_build_object({flag_records.CORE_WITH_DATES}, 'environments', json_build_array())
                   ORDER BY flags.name), '[]'))::text
      FROM listed AS flags
    HAVING (SELECT is_small FROM size)
"""


def list_archived(conn: Connection, viewer: int | None, project: str | None = None) -> str | None:
    """Return the ArchivedList record as JSON text, or None if the texts of the flags exceed PAGE_BYTES.

    It contains the archived flags of the project, or of all projects if project is None, sorted by name. Projects that
    the viewer cannot see are omitted.
    """
    return value(conn, LIST_ARCHIVED, {"viewer": viewer, "project": project, "max_bytes": PAGE_BYTES})


REVIVE = """
    WITH switched_off AS (
        UPDATE flag_environments SET enabled = false WHERE flag_id = ANY(%(ids)s) AND enabled
    )
    UPDATE flags
       SET archived_at = NULL, completed_at = NULL, completed_status = NULL, completed_value = NULL,
           potentially_stale_at = NULL
     WHERE id = ANY(%(ids)s)
       AND archived_at IS NOT NULL
"""


def revive(conn: Connection, ids: Sequence[int]) -> None:
    """Revive archived flags, switched off in all environments and not completed."""
    run(conn, REVIVE, {"ids": list(ids)})


NOTE_POTENTIALLY_STALE: LiteralString = f"""
    WITH old AS (
        SELECT flags.id, json_build_object('type', type, 'lifetimeDays', lifetime_days) AS data
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE archived_at IS NULL
           AND potentially_stale_at IS NULL
           AND {POTENTIALLY_STALE}
         ORDER BY flags.id
           FOR NO KEY UPDATE OF flags SKIP LOCKED
    )
    UPDATE flags
       SET potentially_stale_at = now()
      FROM old
     WHERE flags.id = old.id
    RETURNING name, project_id, data, {flag_records.TAGS} AS tags
"""


def note_potentially_stale(conn: Connection) -> list[DictRow]:
    """Mark live flags that became older than their type should get. Return them for their events."""
    return rows(conn, NOTE_POTENTIALLY_STALE)


# The rows of flags stay, with deleted_at; rows that belong to them are deleted. Strategies, variants and links to
# segments are deleted with flag_environments. The last SELECT sees the state from before the deletion.
DELETE: LiteralString = f"""
    , deleted AS (
        UPDATE flags SET deleted_at = now() FROM selected WHERE flags.id = selected.id RETURNING flags.id
    ),
    places AS (
        DELETE FROM flag_environments WHERE flag_id IN (SELECT id FROM deleted)
    ),
    untagged AS (
        DELETE FROM flag_tags WHERE flag_id IN (SELECT id FROM deleted)
    ),
    links AS (
        DELETE FROM flag_links WHERE flag_id IN (SELECT id FROM deleted)
    ),
    favorites AS (
        DELETE FROM flag_favorites WHERE flag_id IN (SELECT id FROM deleted)
    ),
    sightings AS (
        DELETE FROM flag_sightings WHERE flag_id IN (SELECT id FROM deleted)
    ),
    removed_dependencies AS (
        DELETE FROM flag_dependencies
         WHERE child_id IN (SELECT id FROM deleted)
            OR parent_id IN (SELECT id FROM deleted)
    )
    SELECT flags.name,
           {flag_records.CORE} AS record,
           {flag_records.TAGS} AS tags
      FROM deleted
      JOIN flags ON flags.id = deleted.id
     ORDER BY flags.name
"""

DELETE_SOME: LiteralString = f"""
    WITH selected AS MATERIALIZED (
        SELECT id
          FROM flags
         WHERE id = ANY(%(ids)s)
           AND archived_at IS NOT NULL
           AND deleted_at IS NULL
    )
{DELETE}"""


def delete(conn: Connection, ids: Sequence[int]) -> list[DictRow]:
    """Delete archived flags, and return name, record (FlagCore) and tags of each, by name."""
    return rows(conn, DELETE_SOME, {"ids": list(ids)})


DELETE_ARCHIVED: LiteralString = f"""
    WITH selected AS MATERIALIZED (
        SELECT id
          FROM flags
         WHERE project_id = %(project)s
           AND archived_at IS NOT NULL
           AND deleted_at IS NULL
         ORDER BY name
           FOR NO KEY UPDATE
    )
{DELETE}"""


def delete_archived(conn: Connection, project: str) -> list[DictRow]:
    """Delete all archived flags of a project, and return the same as delete()."""
    return rows(conn, DELETE_ARCHIVED, {"project": project})
