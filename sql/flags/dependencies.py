"""Dependencies between flags. A child can be on only while its parent is in the required state."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sql.database import Connection, as_json, rows, value

# Sorted by name, so that two requests cannot deadlock.
LOCK = """
    SELECT id, name
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND project_id = %(project)s
       AND archived_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def lock(conn: Connection, project: str, names: Collection[str]) -> dict[str, int]:
    """Lock live flags of the project, and return their ids by name. Other names are omitted."""
    return {row["name"]: row["id"] for row in rows(conn, LOCK, {"project": project, "names": list(names)})}


PAIRS = """
    SELECT children.name AS child, parents.name AS parent
      FROM flag_dependencies
      JOIN flags AS children ON children.id = child_id
      JOIN flags AS parents ON parents.id = parent_id
     WHERE child_id = ANY(%(ids)s::bigint[])
        OR parent_id = ANY(%(ids)s::bigint[])
"""


def pairs(conn: Connection, ids: Collection[int]) -> set[tuple[str, str]]:
    """Return the names of child and parent of each dependency of these flags."""
    return {(row["child"], row["parent"]) for row in rows(conn, PAIRS, {"ids": list(ids)})}


SAVE = """
    INSERT INTO flag_dependencies AS known (child_id, parent_id, enabled, variants)
    SELECT "childId", "parentId", enabled, ARRAY(SELECT json_array_elements_text(variants))
      FROM json_to_recordset(%(links)s::json)
        AS link ("childId" bigint, "parentId" bigint, enabled boolean, variants json)
    ON CONFLICT (child_id, parent_id) DO UPDATE
       SET enabled = excluded.enabled,
           variants = excluded.variants
     WHERE (known.enabled, known.variants) <> (excluded.enabled, excluded.variants)
    RETURNING child_id, parent_id
"""


def save(conn: Connection, links: Sequence[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """Save dependencies (childId, parentId, enabled, variants), and return the pairs that are new or changed."""
    return {(row["child_id"], row["parent_id"]) for row in rows(conn, SAVE, {"links": as_json(links)})}


DELETE = """
    DELETE FROM flag_dependencies
     USING flags AS parents
     WHERE child_id = %(child_id)s
       AND parents.id = parent_id
       AND (%(parent)s::text IS NULL OR parents.name = %(parent)s::text)
    RETURNING parents.name
"""


def delete(conn: Connection, child_id: int, parent: str | None = None) -> list[str]:
    """Delete the dependency on a parent, or all if parent is None. Return the names of the removed parents."""
    return [row["name"] for row in rows(conn, DELETE, {"child_id": child_id, "parent": parent})]


# Our choice: a flag with a parent cannot be a parent, and neither can an archived flag.
LIST_PARENTS = """
    SELECT (SELECT coalesce(json_agg(others.name ORDER BY others.name), '[]')
              FROM flags AS others
             WHERE others.project_id = flags.project_id
               AND others.archived_at IS NULL
               AND others.id <> flags.id
               AND NOT EXISTS (SELECT FROM flag_dependencies WHERE child_id = others.id))::text
      FROM flags
     WHERE name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def list_parents(conn: Connection, project: str, flag: str) -> str | None:
    """Return the names of the possible parents of a flag as JSON text, or None if the flag is not live."""
    return value(conn, LIST_PARENTS, {"project": project, "flag": flag})


LIST_VARIANTS = """
    SELECT (SELECT coalesce(json_agg(name ORDER BY name), '[]')
              FROM (SELECT DISTINCT variants.name FROM variants WHERE flag_id = flags.id) AS names)::text
      FROM flags
     WHERE name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def list_variants(conn: Connection, project: str, flag: str) -> str | None:
    """Return the names of all variants of a flag as JSON text, or None if the flag is not live."""
    return value(conn, LIST_VARIANTS, {"project": project, "flag": flag})


EXIST_IN_PROJECT = """
    SELECT EXISTS (
        SELECT FROM flags
          JOIN flag_dependencies ON child_id = flags.id
         WHERE project_id = %(project)s
           AND archived_at IS NULL)::text
"""


def exist_in_project(conn: Connection, project: str) -> str:
    """Return whether a live flag of the project has a parent, as JSON text."""
    return value(conn, EXIST_IN_PROJECT, {"project": project})
