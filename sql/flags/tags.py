"""Tags of flags. A tag that no flag has any more stays: it can be put on flags again."""

from collections.abc import Collection, Mapping, Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value
from sql.flags import core as flags
from sql.flags import records as flag_records

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'tags', {flag_records.TAGS})::text
      FROM flags
     WHERE name = %(name)s
       AND deleted_at IS NULL{flags.SEEN}
"""


def get_list(conn: Connection, name: str, viewer: int | None) -> str | None:
    """The TagList record of a flag, live or archived, as JSON text. None: unknown, or hidden from this viewer."""
    return value(conn, LIST, {"name": name, "viewer": viewer})


# KEY SHARE: a type that is used here cannot be deleted meanwhile.
HOLD_TYPES = "SELECT name FROM tag_types WHERE name = ANY(%(names)s::text[]) ORDER BY name FOR KEY SHARE"


def hold_types(conn: Connection, names: Collection[str]) -> set[str]:
    """Those of these types of tags that there are; they stay until the transaction ends."""
    return {row["name"] for row in rows(conn, HOLD_TYPES, {"names": list(names)})}


ADD = """
    WITH asked AS (
        SELECT type, value, min(number) AS number
          FROM unnest(%(types)s::text[], %(values)s::text[]) WITH ORDINALITY AS asked (type, value, number)
         GROUP BY type, value
    ),
    made AS (
        INSERT INTO tags (type, value)
        SELECT type, value
          FROM asked
         ORDER BY type, value
        ON CONFLICT DO NOTHING
        RETURNING type, value
    ),
    added AS (
        INSERT INTO flag_tags (flag_id, type, value)
        SELECT %(flag_id)s, type, value
          FROM asked
        ON CONFLICT DO NOTHING
        RETURNING type, value
    )
    SELECT type, value, made.type IS NOT NULL AS is_new
      FROM added
      JOIN asked USING (type, value)
      LEFT JOIN made USING (type, value)
     ORDER BY number
"""


# A statement of its own: a tag that is being deleted is gone, and made anew, when the wait for it is over.
HOLD_TAGS = """
    SELECT
      FROM tags
      JOIN unnest(%(types)s::text[], %(values)s::text[]) AS asked (type, value) USING (type, value)
     ORDER BY type, value
       FOR KEY SHARE OF tags
"""


def add(conn: Connection, flag_id: int, tags: Sequence[Mapping[str, str]]) -> list[DictRow]:
    """Put tags on a flag. type and value of those that it did not have, in their order, and is_new: no flag ever had it."""
    params = {"flag_id": flag_id, "types": [tag["type"] for tag in tags], "values": [tag["value"] for tag in tags]}
    run(conn, HOLD_TAGS, params)
    return rows(conn, ADD, params)


REMOVE = "DELETE FROM flag_tags WHERE flag_id = %(flag_id)s AND type = %(type)s AND value = %(value)s"


def remove(conn: Connection, flag_id: int, type: str, text: str) -> bool:
    """Take a tag off a flag; whether it was there."""
    return run(conn, REMOVE, {"flag_id": flag_id, "type": type, "value": text}) == 1
