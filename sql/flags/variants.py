"""Variants of flags and of strategies."""

from collections.abc import Iterable, Mapping
from typing import Any, LiteralString

from sql.database import Connection, as_json, run, value
from sql.flags import records as flag_records

LIST: LiteralString = f"""
    SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY variants.name), '[]')
      FROM variants
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
       AND strategy_id IS NULL
"""


def read(conn: Connection, flag_id: int, environment: str) -> list[dict[str, Any]]:
    """The variants of the flag itself in an environment, by name."""
    return value(conn, LIST, {"flag_id": flag_id, "environment": environment})


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
    """{"version": 1, "variants": [...]} as JSON text. None: no such live flag, or the environment is not linked to the project."""
    return value(conn, GET, {"project": project, "flag": flag, "environment": environment})


# Two statements: in one, a variant that stays would stand in its own way.
CLEAR = """
    DELETE FROM variants
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
       AND strategy_id IS NOT DISTINCT FROM %(strategy_id)s::text
"""

INSERT_MANY = """
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness, payload_type, payload_value, overrides)
    SELECT %(flag_id)s, %(environment)s, %(strategy_id)s::text, name, weight, "weightType", stickiness,
           payload ->> 'type', payload ->> 'value', coalesce(overrides, '[]')
      FROM json_to_recordset(%(variants)s::json)
        AS variant (name text, weight integer, "weightType" text, stickiness text, payload json, overrides json)
"""


def replace(conn: Connection, flag_id: int, environment: str, strategy_id: str | None, variants: Iterable[Mapping[str, Any]]) -> None:
    """Replace the variants of a strategy or, with None, of the flag in the environment. validators/flags/variants.py has balanced them."""
    params = {"flag_id": flag_id, "environment": environment, "strategy_id": strategy_id, "variants": as_json(list(variants))}
    run(conn, CLEAR, params)
    run(conn, INSERT_MANY, params)
