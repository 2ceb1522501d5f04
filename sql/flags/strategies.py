"""Strategies of a flag in an environment, with their variants and segments."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run, value

# The variants of rows chosen by the condition, in the field's form; payload only where there is one.
VARIANTS: LiteralString = """
    SELECT coalesce(json_agg(
               CASE WHEN payload_type IS NULL
                    THEN json_build_object('name', name, 'weight', weight, 'weightType', weight_type, 'stickiness', stickiness)
                    ELSE json_build_object('name', name, 'weight', weight, 'weightType', weight_type, 'stickiness', stickiness,
                                           'payload', json_build_object('type', payload_type, 'value', payload_value))
               END ORDER BY name), '[]')
      FROM variants
"""

RECORD: LiteralString = f"""
    json_build_object(
        'id', strategies.id,
        'name', strategies.name,
        'title', strategies.title,
        'disabled', strategies.disabled,
        'featureName', flags.name,
        'sortOrder', strategies.sort_order,
        'constraints', strategies.constraints,
        'variants', ({VARIANTS} WHERE strategy_id = strategies.id),
        'parameters', strategies.parameters,
        'segments', (
            SELECT coalesce(json_agg(segment_id ORDER BY segment_id), '[]')
              FROM strategy_segments
             WHERE strategy_id = strategies.id))
"""

GET: LiteralString = f"""
    SELECT ({RECORD})::text
      FROM strategies
      JOIN flags ON flags.id = strategies.flag_id
      JOIN project_environments USING (project_id, environment)
     WHERE strategies.id = %(id)s
       AND environment = %(environment)s
       AND flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def get(conn: Connection, project: str, flag: str, environment: str, strategy_id: str) -> str | None:
    """The Strategy record as JSON text. None: not of this project, environment and live flag."""
    return value(conn, GET, {"id": strategy_id, "project": project, "flag": flag, "environment": environment})


GET_LIST: LiteralString = f"""
    SELECT (SELECT coalesce(json_agg({RECORD} ORDER BY sort_order, strategies.created_at, strategies.id), '[]')
              FROM strategies
             WHERE flag_id = flags.id
               AND environment = project_environments.environment)::text
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
       AND project_environments.environment = %(environment)s
"""


def get_list(conn: Connection, project: str, flag: str, environment: str) -> str | None:
    """The Strategy records as JSON text, in their order. None: no such live flag, or the environment is not linked to the project."""
    return value(conn, GET_LIST, {"project": project, "flag": flag, "environment": environment})


READ_MANY: LiteralString = f"""SELECT {RECORD} AS record
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
     ORDER BY sort_order, strategies.created_at, strategies.id
"""


def read_many(conn: Connection, flag_id: int, environment: str) -> list[dict[str, Any]]:
    """The Strategy records of a flag in an environment, in their order."""
    return [row["record"] for row in rows(conn, READ_MANY, {"flag_id": flag_id, "environment": environment})]


READ: LiteralString = f"""
    SELECT record, record::text AS body
      FROM (SELECT {RECORD} AS record
              FROM strategies
              JOIN flags ON flags.id = flag_id
             WHERE strategies.id = %(id)s
               AND flag_id = %(flag_id)s
               AND environment = %(environment)s) AS found
"""


def read(conn: Connection, flag_id: int, environment: str, strategy_id: str) -> DictRow | None:
    """record and body (the same as JSON text) of a strategy. None: not of this flag and environment."""
    return one(conn, READ, {"id": strategy_id, "flag_id": flag_id, "environment": environment})


DISABLE_WITHOUT = """
    UPDATE flag_environments
       SET enabled = false
      FROM strategies
     WHERE strategies.id = %(id)s
       AND flag_environments.flag_id = strategies.flag_id
       AND flag_environments.environment = strategies.environment
       AND flag_environments.enabled
       AND NOT strategies.disabled
       AND NOT EXISTS (
            SELECT FROM strategies AS others
             WHERE others.flag_id = strategies.flag_id
               AND others.environment = strategies.environment
               AND others.id <> strategies.id
               AND NOT others.disabled)
"""


def disable_environment_without(conn: Connection, strategy_id: str) -> bool:
    """Switch the flag's environment off if it is on and this is its last enabled strategy; whether that was so."""
    return run(conn, DISABLE_WITHOUT, {"id": strategy_id}) == 1


UPDATE = """
    UPDATE strategies
       SET name = %(name)s,
           title = %(title)s,
           disabled = %(disabled)s,
           parameters = %(parameters)s::json,
           constraints = %(constraints)s::json
     WHERE id = %(id)s
"""


def update(conn: Connection, strategy: Mapping[str, Any]) -> None:
    """Make a strategy what its record says, but for its place, its variants and its segments."""
    params = {key: strategy[key] for key in ("id", "name", "title", "disabled")}
    params |= {key: as_json(strategy[key]) for key in ("parameters", "constraints")}
    run(conn, UPDATE, params)


ENABLE_ALL = """
    UPDATE strategies
       SET disabled = false
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
       AND disabled
"""


def enable_all(conn: Connection, flag_id: int, environment: str) -> None:
    """Let no strategy of a flag be disabled in an environment."""
    run(conn, ENABLE_ALL, {"flag_id": flag_id, "environment": environment})


DELETE = "DELETE FROM strategies WHERE id = %(id)s"


def delete(conn: Connection, strategy_id: str) -> None:
    """Remove a strategy with its variants and its links to segments."""
    run(conn, DELETE, {"id": strategy_id})


INSERT = """
    INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints)
    VALUES (gen_random_uuid()::text, %(flag_id)s, %(environment)s,
            %(name)s, %(title)s, %(disabled)s, %(sort_order)s,
            %(parameters)s::json, %(constraints)s::json)
    RETURNING id
"""


def insert(
    conn: Connection,
    flag_id: int,
    environment: str,
    *,
    name: str = "flexibleRollout",
    title: str | None = None,
    disabled: bool = False,
    sort_order: int = 0,
    parameters: Mapping[str, str] | None = None,
    constraints: Iterable[Mapping[str, Any]] = (),
) -> str:
    """Return the id of the new strategy, a UUID."""
    params = {
        "flag_id": flag_id,
        "environment": environment,
        "name": name,
        "title": title,
        "disabled": disabled,
        "sort_order": sort_order,
        "parameters": as_json(dict(parameters or {})),
        "constraints": as_json(list(constraints)),
    }
    return value(conn, INSERT, params)


SET_SEGMENTS = """
    WITH gone AS (
        DELETE FROM strategy_segments
         WHERE strategy_id = %(strategy_id)s
           AND segment_id <> ALL(%(segments)s::integer[])
    )
    INSERT INTO strategy_segments (strategy_id, segment_id)
    SELECT %(strategy_id)s, unnest(%(segments)s::integer[])
    ON CONFLICT DO NOTHING
"""


def set_segments(conn: Connection, strategy_id: str, segments: Sequence[int]) -> None:
    """Limit a strategy to these segments and no others."""
    run(conn, SET_SEGMENTS, {"strategy_id": strategy_id, "segments": list(segments)})
