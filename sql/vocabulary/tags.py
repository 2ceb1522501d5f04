"""Tags as such: words of a type that flags can have, whether or not any has them."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value

# What the service says when there is such a tag already.
TAKEN = {"tags_pkey": "value: a tag of this type with this value already exists"}

# Every tag there ever was stays one until it is deleted, so the list is read off the index of tags alone.
LIST: LiteralString = """
    SELECT json_build_object('version', 1, 'tags',
               coalesce(json_agg(json_build_object('type', type, 'value', value) ORDER BY type, value), '[]'))::text
      FROM tags
     WHERE %(type)s::text IS NULL
        OR type = %(type)s
"""


def read(conn: Connection, type: str | None = None) -> str:
    """{"version": 1, "tags": [...]} as JSON text, by type and value; of one type alone, or of all."""
    return value(conn, LIST, {"type": type})


GET = """
    SELECT json_build_object('version', 1, 'tag', json_build_object('type', type, 'value', value))::text
      FROM tags
     WHERE type = %(type)s
       AND value = %(value)s
"""


def get(conn: Connection, type: str, word: str) -> str | None:
    """{"version": 1, "tag": {...}} as JSON text; None: there is no such tag."""
    return value(conn, GET, {"type": type, "value": word})


INSERT = "INSERT INTO tags (type, value) VALUES (%(type)s, %(value)s)"


def insert(conn: Connection, type: str, word: str) -> None:
    """Make a tag that no flag has. UniqueViolation of tags_pkey when there is such a one."""
    run(conn, INSERT, {"type": type, "value": word})


LOCK = "SELECT true FROM tags WHERE type = %(type)s AND value = %(value)s FOR UPDATE"


def lock(conn: Connection, type: str, word: str) -> bool:
    """Whether there is such a tag; no flag gets it until the transaction ends."""
    return bool(value(conn, LOCK, {"type": type, "value": word}))


# Held: what a flag loses at this moment by another request is not told of twice.
USES: LiteralString = """
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


def uses(conn: Connection, type: str, word: str) -> Sequence[DictRow]:
    """name and project_id of each flag that has the tag, archived ones too, by name, and tags: its others. None loses it meanwhile."""
    return rows(conn, USES, {"type": type, "value": word})


DELETE = "DELETE FROM tags WHERE type = %(type)s AND value = %(value)s"


def delete(conn: Connection, type: str, word: str) -> None:
    """Remove a tag, from every flag too."""
    run(conn, DELETE, {"type": type, "value": word})
