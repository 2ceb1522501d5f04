"""Variants of flags and of strategies."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run, value
from sql.flags import records as flag_records

LIST: LiteralString = f"""
    SELECT (SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY position, variants.name), '[]')
              FROM variants
             WHERE variants.flag_id = flag.id
               AND variants.environment = flag.environment
               AND strategy_id IS NULL) AS variants
      FROM unnest(%(ids)s::bigint[], %(environments)s::text[]) WITH ORDINALITY AS flag (id, environment, number)
     ORDER BY number
"""


def list_each(conn: Connection, flags: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the variants of each flag itself, by name. flags: rows of environments.lock(), with id and environment."""
    params = {"ids": [flag["id"] for flag in flags], "environments": [flag["environment"] for flag in flags]}
    return [row["variants"] for row in rows(conn, LIST, params)]


GET: LiteralString = f"""
    SELECT json_build_object('version', 1, 'variants', (
               SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY position, variants.name), '[]')
                 FROM variants
                WHERE flag_id = flags.id
                  AND environment = project_environments.environment
                  AND strategy_id IS NULL))::text
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
       AND project_environments.environment = %(environment)s
"""


def get(conn: Connection, project: str, flag: str, environment: str) -> str | None:
    """Return {"version": 1, "variants": [...]} as JSON text, or None if the flag is not live in this environment."""
    return value(conn, GET, {"project": project, "flag": flag, "environment": environment})


READ_ALL: LiteralString = f"""
    SELECT record, record::text AS body
      FROM (SELECT json_build_object('version', 1, 'variants', {flag_records.ALL_VARIANTS}) AS record
              FROM flags
             WHERE flags.name = %(flag)s
               AND project_id = %(project)s
               AND archived_at IS NULL) AS found
"""


def read_all(conn: Connection, project: str, flag: str) -> DictRow | None:
    """Return the variants of all environments as record and body, {"version": 1, "variants": [...]}.

    Each name occurs once. body is the record as JSON text. None if the flag is not live.
    """
    return one(conn, READ_ALL, {"project": project, "flag": flag})


DELETE = """
    DELETE FROM variants
     USING json_to_recordset(%(owners)s::json) AS owner ("flagId" bigint, environment text, "strategyId" text)
     WHERE flag_id = "flagId"
       AND variants.environment = owner.environment
       AND strategy_id IS NOT DISTINCT FROM "strategyId"
"""

INSERT = """
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness,
                          payload_type, payload_value, overrides, position)
    SELECT "flagId", environment, "strategyId", name, weight, "weightType", stickiness,
           payload ->> 'type', payload ->> 'value', coalesce(overrides, '[]'), coalesce(position, 0)
      FROM json_to_recordset(%(owners)s::json)
        AS owner ("flagId" bigint, environment text, "strategyId" text, variants json)
     CROSS JOIN json_to_recordset(variants)
        AS variant (name text, weight integer, "weightType" text, stickiness text, payload json, overrides json,
                    position integer)
"""


def insert(conn: Connection, owners: Sequence[Mapping[str, Any]]) -> None:
    """Insert balanced variants: [{flagId, environment, strategyId (None: of the flag itself), variants}].

    A variant with a position keeps its place in the list. By default, the order is that of the names.
    """
    if any(owner["variants"] for owner in owners):
        run(conn, INSERT, {"owners": as_json(owners)})


def replace(conn: Connection, owners: Sequence[Mapping[str, Any]]) -> None:
    """Replace variants, given as in insert()."""
    # A separate statement: an insert in the same statement would conflict with the old names.
    run(conn, DELETE, {"owners": as_json([{**owner, "variants": None} for owner in owners])})
    insert(conn, owners)
