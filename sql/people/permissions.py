"""Permissions of roles."""

from collections.abc import Collection, Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, value

# Nothing asks for these permissions. Roles can contain them, because Unleash has them, but they are not offered.
WITHOUT_EFFECT = frozenset(
    """
    PROJECT_DEFAULT_STRATEGY_READ PROJECT_SETTINGS_READ PROJECT_CHANGE_REQUEST_READ
    """.split()  # noqa: SIM905 (so many quotes would hide the words)
)

# The record without an environment.
RECORD: LiteralString = """
    json_build_object(
        'id', permissions.id,
        'name', permissions.name,
        'displayName', permissions.display_name,
        'type', permissions.type)
"""

TREE: LiteralString = f"""
    WITH permissions AS (
        SELECT * FROM permissions WHERE name <> ALL(%(hidden)s::text[])
    ),
    by_type AS (
        SELECT type, json_agg({RECORD} ORDER BY id) AS list
          FROM permissions
         GROUP BY type
    ),
    by_environment AS (
        SELECT coalesce(json_agg(json_build_object('name', environments.name, 'permissions', entries.list)
                                 ORDER BY environments.sort_order, environments.name), '[]') AS list
          FROM environments
         CROSS JOIN LATERAL (
            SELECT json_agg(json_merge({RECORD}, json_build_object('environment', environments.name))
                            ORDER BY permissions.id) AS list
              FROM permissions
             WHERE type = 'environment') AS entries
    )
    SELECT json_build_object('version', 1, 'permissions', json_build_object(
               'root', (SELECT list FROM by_type WHERE type = 'root'),
               'project', (SELECT list FROM by_type WHERE type = 'project'),
               'environments', (SELECT list FROM by_environment)))::text
"""


def tree(conn: Connection, held: Collection[str] = ()) -> str:
    """Return the permissions as JSON text. Those without an effect are omitted, unless they are held."""
    return value(conn, TREE, {"hidden": list(WITHOUT_EFFECT.difference(held))})


# FOR KEY SHARE: the environments cannot be deleted before the role has its permissions in them.
RESOLVE = """
    WITH existing AS (
        SELECT name FROM environments WHERE name = ANY(%(environments)s::text[]) ORDER BY name FOR KEY SHARE
    )
    SELECT permissions.name,
           permissions.type,
           requested.environment,
           requested.environment IS NULL
               OR requested.environment IN (SELECT existing.name FROM existing) AS has_environment
      FROM unnest(%(ids)s::integer[], %(names)s::text[], %(environments)s::text[])
           WITH ORDINALITY AS requested (id, name, environment, place)
      LEFT JOIN permissions ON permissions.id = coalesce(requested.id, permissions.id)
                           AND permissions.name = coalesce(requested.name, permissions.name)
     ORDER BY requested.place
"""


def resolve(
    conn: Connection, ids: Sequence[int | None], names: Sequence[str | None], environments: Sequence[str | None]
) -> list[DictRow]:
    """Return name, type, environment and has_environment for each permission, given by id, name or both.

    name and type are None if the permission does not exist. has_environment is False if the environment does not exist.
    """
    return rows(conn, RESOLVE, {"ids": list(ids), "names": list(names), "environments": list(environments)})
