"""Dependencies: flags that are on only where another flag is."""

from collections.abc import Sequence
from typing import LiteralString

from sql.database import Connection, rows, run, value
from sql.flags import records as flag_records

# By name, so that two requests never wait for each other.
LOCK = """
    SELECT id, name
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND project_id = %(project)s
       AND archived_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def lock(conn: Connection, project: str, *names: str) -> dict[str, int]:
    """The ids of live flags of the project by their names, locked; those that are none are left out."""
    return {row["name"]: row["id"] for row in rows(conn, LOCK, {"project": project, "names": list(names)})}


TAGS: LiteralString = f"SELECT {flag_records.TAGS} FROM flags WHERE id = %(id)s"


def tags(conn: Connection, flag_id: int) -> list[dict[str, str]]:
    """The tags of a flag that is held already, as it is by now."""
    return value(conn, TAGS, {"id": flag_id})


HAS_PARENTS = "SELECT EXISTS (SELECT FROM flag_dependencies WHERE child_id = %(id)s)"

HAS_CHILDREN = "SELECT EXISTS (SELECT FROM flag_dependencies WHERE parent_id = %(id)s)"


def has_parents(conn: Connection, flag_id: int) -> bool:
    """Whether a flag depends on another."""
    return value(conn, HAS_PARENTS, {"id": flag_id})


def has_children(conn: Connection, flag_id: int) -> bool:
    """Whether another flag depends on this one."""
    return value(conn, HAS_CHILDREN, {"id": flag_id})


SAVE = """
    INSERT INTO flag_dependencies AS known (child_id, parent_id, enabled, variants)
    VALUES (%(child_id)s, %(parent_id)s, %(enabled)s, %(variants)s::text[])
    ON CONFLICT (child_id, parent_id) DO UPDATE
       SET enabled = excluded.enabled,
           variants = excluded.variants
     WHERE (known.enabled, known.variants) <> (excluded.enabled, excluded.variants)
"""


def save(conn: Connection, child_id: int, parent_id: int, *, enabled: bool, variants: Sequence[str]) -> bool:
    """Let one flag depend on another in this way; whether it did not before."""
    return run(conn, SAVE, {"child_id": child_id, "parent_id": parent_id, "enabled": enabled, "variants": list(variants)}) == 1


DELETE = """
    DELETE FROM flag_dependencies
     USING flags AS parents
     WHERE child_id = %(child_id)s
       AND parents.id = parent_id
       AND (%(parent)s::text IS NULL OR parents.name = %(parent)s::text)
    RETURNING parents.name
"""


def delete(conn: Connection, child_id: int, parent: str | None = None) -> list[str]:
    """The names of the parents that a flag had, and no longer has: this one, or with None all."""
    return [row["name"] for row in rows(conn, DELETE, {"child_id": child_id, "parent": parent})]


# Our choice: what has a parent of its own cannot be one, and neither can what is archived.
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
    """The names of the flags that a flag could depend on, as JSON text. None: no such live flag."""
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
    """The names of a flag's variants, of all its environments and strategies, as JSON text. None: no such live flag."""
    return value(conn, LIST_VARIANTS, {"project": project, "flag": flag})


ARE_THERE = """
    SELECT EXISTS (
        SELECT FROM flags
          JOIN flag_dependencies ON child_id = flags.id
         WHERE project_id = %(project)s
           AND archived_at IS NULL)::text
"""


def are_there(conn: Connection, project: str) -> str:
    """Whether a live flag of the project depends on another, as JSON text."""
    return value(conn, ARE_THERE, {"project": project})
