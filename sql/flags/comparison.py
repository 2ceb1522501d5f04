"""The flags of a project that differ in two environments."""

from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows
from sql.flags import strategies
from sql.flags.records import VARIANT

# jsonb compares objects whatever the order of their keys. MATERIALIZED computes sides once instead of four times.
LIST: LiteralString = f"""
    WITH compared AS MATERIALIZED (
        SELECT id, name, ARRAY(
                SELECT jsonb_build_array(
                           EXISTS (SELECT FROM flag_environments
                                    WHERE flag_id = flags.id AND environment = side.environment AND enabled),
                           ARRAY(SELECT ({strategies.RECORD})::jsonb - ARRAY['id', 'sortOrder']
                                   FROM strategies
                                  WHERE flag_id = flags.id AND environment = side.environment
                                  ORDER BY sort_order, created_at, id),
                           ARRAY(SELECT {VARIANT} FROM variants
                                  WHERE flag_id = flags.id
                                    AND environment = side.environment
                                    AND coalesce(strategy_id, '') = ''
                                  ORDER BY position, variants.name))
                  FROM unnest(ARRAY[%(left)s, %(right)s]::text[]) WITH ORDINALITY AS side (environment, number)
                 ORDER BY number) AS sides
          FROM flags
         WHERE project_id = %(project)s
           AND archived_at IS NULL
           AND (%(flag)s::text IS NULL OR name = %(flag)s)
    )
    SELECT id, name, ARRAY[sides[1] -> 0, sides[2] -> 0] AS enabled
      FROM compared
     WHERE %(flag)s::text IS NOT NULL
        OR sides[1] <> sides[2]
     ORDER BY name COLLATE "C"
"""


def list_flags(conn: Connection, project: str, left: str, right: str, flag: str | None = None) -> list[DictRow]:
    """Return the live flags of a project that differ in two environments, by name, or one flag even if it is equal.

    Each row has id, name and enabled: whether the flag is on in the left and in the right environment.
    """
    return rows(conn, LIST, {"project": project, "flag": flag, "left": left, "right": right})
