"""Tags of flags. A tag without flags is kept."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, rows, run, value
from sql.flags import core as flags
from sql.flags import records as flag_records

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'tags', {flag_records.TAGS})::text
      FROM flags
     WHERE name = %(name)s
       AND deleted_at IS NULL{flags.SEEN}
"""


def get_list(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return the TagList record of a flag, live or archived, or None if it is unknown or hidden from the viewer."""
    return value(conn, LIST, {"name": name, "viewer": viewer})


# KEY SHARE: no other transaction can delete these types until this one ends.
HOLD_TAG_TYPES = "SELECT name FROM tag_types WHERE name = ANY(%(names)s::text[]) ORDER BY name FOR KEY SHARE"


def hold_tag_types(conn: Connection, names: Collection[str]) -> set[str]:
    """Return those of these tag types that exist."""
    return {row["name"] for row in rows(conn, HOLD_TAG_TYPES, {"names": list(names)})}


# A separate statement: if it waited for the deletion of a tag, ADD sees that the tag is missing and creates it again.
HOLD_TAGS = """
    SELECT
      FROM tags
      JOIN json_to_recordset(%(tags)s::json) AS wanted (type text, value text) USING (type, value)
     ORDER BY type, value
       FOR KEY SHARE OF tags
"""

ADD = """
    WITH wanted AS MATERIALIZED (
        SELECT flag_id, type, value, min(number) AS number
          FROM ROWS FROM (json_to_recordset(%(tags)s::json) AS ("flagId" bigint, type text, value text)) WITH ORDINALITY
            AS wanted (flag_id, type, value, number)
         GROUP BY flag_id, type, value
    ),
    created AS (
        INSERT INTO tags (type, value)
        SELECT DISTINCT type, value
          FROM wanted
         ORDER BY type, value
        ON CONFLICT DO NOTHING
        RETURNING type, value
    ),
    added AS (
        INSERT INTO flag_tags (flag_id, type, value)
        SELECT flag_id, type, value
          FROM wanted
        ON CONFLICT DO NOTHING
        RETURNING flag_id, type, value
    )
    SELECT flag_id, type, value,
           created.type IS NOT NULL AND row_number() OVER (PARTITION BY type, value ORDER BY number) = 1 AS is_new
      FROM added
      JOIN wanted USING (flag_id, type, value)
      LEFT JOIN created USING (type, value)
     ORDER BY number
"""


def add(conn: Connection, tags: Sequence[Mapping[str, Any]]) -> list[DictRow]:
    """Add tags (flagId, type, value) to flags.

    Return flag_id, type, value and is_new of the added ones, in their order.

    is_new: whether the tag was created, true for its first row only.
    """
    params = {"tags": as_json(tags)}
    run(conn, HOLD_TAGS, params)
    return rows(conn, ADD, params)


REMOVE = """
    WITH removed AS (
        DELETE FROM flag_tags
         USING ROWS FROM (json_to_recordset(%(tags)s::json) AS ("flagId" bigint, type text, value text)) WITH ORDINALITY
            AS unwanted (flag_id, type, value, number)
         WHERE flag_tags.flag_id = unwanted.flag_id
           AND flag_tags.type = unwanted.type
           AND flag_tags.value = unwanted.value
        RETURNING flag_tags.*, number
    )
    SELECT flag_id, type, value FROM removed ORDER BY number
"""


def remove(conn: Connection, tags: Sequence[Mapping[str, Any]]) -> list[DictRow]:
    """Remove tags (flagId, type, value) from flags, and return flag_id, type and value of the removed ones."""
    return rows(conn, REMOVE, {"tags": as_json(tags)})
