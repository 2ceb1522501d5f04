"""Tags of the instance, on flags or not."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value

# The message of a unique violation.
TAKEN = {"tags_pkey": "value: a tag of this type with this value already exists"}

# A tag that no flag has any more stays until it is deleted.
LIST: LiteralString = """
    SELECT json_build_object('version', 1, 'tags',
               coalesce(json_agg(json_build_object('type', type, 'value', value) ORDER BY type, value), '[]'))::text
      FROM tags
     WHERE %(type)s::text IS NULL
        OR type = %(type)s
"""


def list_all(conn: Connection, type: str | None = None) -> str:
    """Return {"version": 1, "tags": [...]} as JSON text, by type and value: all tags, or those of one type."""
    return value(conn, LIST, {"type": type})


GET = """
    SELECT json_build_object('version', 1, 'tag', json_build_object('type', type, 'value', value))::text
      FROM tags
     WHERE type = %(type)s
       AND value = %(value)s
"""


def get(conn: Connection, type: str, tag_value: str) -> str | None:
    """Return {"version": 1, "tag": {...}} as JSON text, or None if it does not exist."""
    return value(conn, GET, {"type": type, "value": tag_value})


INSERT = "INSERT INTO tags (type, value) VALUES (%(type)s, %(value)s)"


def insert(conn: Connection, type: str, tag_value: str) -> None:
    """Insert a tag. Raises UniqueViolation of tags_pkey if it exists."""
    run(conn, INSERT, {"type": type, "value": tag_value})


LOCK = "SELECT true FROM tags WHERE type = %(type)s AND value = %(value)s FOR UPDATE"


def lock(conn: Connection, type: str, tag_value: str) -> bool:
    """Lock a tag, so that no flag gets it. Return False if it does not exist."""
    return bool(value(conn, LOCK, {"type": type, "value": tag_value}))


# FOR UPDATE: another request that removes the tag from a flag does not record the same event.
LOCK_FLAG_TAGS: LiteralString = """
    SELECT flags.name,
           flags.project_id,
           (SELECT coalesce(json_agg(json_build_object('type', others.type, 'value', others.value)
                                     ORDER BY others.type, others.value), '[]')
              FROM flag_tags AS others
             WHERE others.flag_id = flags.id
               AND (others.type, others.value) <> (%(type)s, %(value)s)) AS tags
      FROM flag_tags
      JOIN flags ON flags.id = flag_tags.flag_id
     WHERE flag_tags.type = %(type)s
       AND flag_tags.value = %(value)s
     ORDER BY flags.name
       FOR UPDATE OF flag_tags
"""


def lock_flag_tags(conn: Connection, type: str, tag_value: str) -> Sequence[DictRow]:
    """Lock this tag on its flags. Return name, project_id and the other tags of each flag, by name."""
    return rows(conn, LOCK_FLAG_TAGS, {"type": type, "value": tag_value})


DELETE = "DELETE FROM tags WHERE type = %(type)s AND value = %(value)s"


def delete(conn: Connection, type: str, tag_value: str) -> None:
    """Delete a tag, from all flags too."""
    run(conn, DELETE, {"type": type, "value": tag_value})
