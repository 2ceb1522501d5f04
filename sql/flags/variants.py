"""Variants of flags and of strategies."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run, value
from sql.flags import records as flag_records

LIST: LiteralString = f"""
    SELECT flag_id, json_agg({flag_records.VARIANT} ORDER BY variants.name) AS variants
      FROM variants
     WHERE flag_id = ANY(%(flag_ids)s::bigint[])
       AND environment = %(environment)s
       AND strategy_id IS NULL
     GROUP BY flag_id
"""


def list_by_flag(conn: Connection, flag_ids: Sequence[int], environment: str) -> dict[int, list[dict[str, Any]]]:
    """Return the variants of each flag itself in an environment, by name."""
    params = {"flag_ids": list(flag_ids), "environment": environment}
    by_flag = {row["flag_id"]: row["variants"] for row in rows(conn, LIST, params)}
    return {flag_id: by_flag.get(flag_id, []) for flag_id in flag_ids}


GET: LiteralString = f"""
    SELECT json_build_object('version', 1, 'variants', (
               SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY variants.name), '[]')
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
     USING json_to_recordset(%(owners)s::json) AS owner ("flagId" bigint, "strategyId" text)
     WHERE flag_id = "flagId"
       AND environment = %(environment)s
       AND strategy_id IS NOT DISTINCT FROM "strategyId"
"""

INSERT = """
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness,
                          payload_type, payload_value, overrides)
    SELECT "flagId", %(environment)s, "strategyId", name, weight, "weightType", stickiness,
           payload ->> 'type', payload ->> 'value', coalesce(overrides, '[]')
      FROM json_to_recordset(%(owners)s::json) AS owner ("flagId" bigint, "strategyId" text, variants json)
     CROSS JOIN json_to_recordset(variants)
        AS variant (name text, weight integer, "weightType" text, stickiness text, payload json, overrides json)
"""


def insert(conn: Connection, environment: str, owners: Sequence[Mapping[str, Any]]) -> None:
    """Insert variants with balanced weights, given as [{flagId, strategyId, variants}].

    strategyId is None for variants of the flag itself.
    """
    if any(owner["variants"] for owner in owners):
        run(conn, INSERT, {"environment": environment, "owners": as_json(owners)})


def replace(conn: Connection, environment: str, owners: Sequence[Mapping[str, Any]]) -> None:
    """Replace variants, given as in insert()."""
    # A separate statement: an insert in the same statement would conflict with the old names.
    run(
        conn, DELETE, {"environment": environment, "owners": as_json([{**owner, "variants": None} for owner in owners])}
    )
    insert(conn, environment, owners)
