"""Strategies of a flag in an environment, with their variants and segments."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql import Connection, as_json, one, run, value

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

RECORD: LiteralString = (
    """
    json_build_object(
        'id', strategies.id,
        'name', strategies.name,
        'title', strategies.title,
        'disabled', strategies.disabled,
        'featureName', flags.name,
        'sortOrder', strategies.sort_order,
        'constraints', strategies.constraints,
        'variants', ("""
    + VARIANTS
    + """ WHERE strategy_id = strategies.id),
        'parameters', strategies.parameters,
        'segments', (
            SELECT coalesce(json_agg(segment_id ORDER BY segment_id), '[]')
              FROM strategy_segments
             WHERE strategy_id = strategies.id))
"""
)

# The row of flag_environments is locked too: whether this is the last enabled strategy there must stay true until the commit.
LOCK: LiteralString = (
    """
    SELECT """
    + RECORD
    + """ AS record,
           (SELECT coalesce(json_agg(json_build_object('type', type, 'value', value) ORDER BY type, value), '[]')
              FROM flag_tags
             WHERE flag_id = flags.id) AS tags
      FROM strategies
      JOIN flag_environments USING (flag_id, environment)
      JOIN flags ON flags.id = flag_environments.flag_id
     WHERE strategies.id = %(id)s
       AND flag_environments.environment = %(environment)s
       AND flags.name = %(flag)s
       AND flags.project_id = %(project)s
       AND flags.archived_at IS NULL
       FOR UPDATE OF flag_environments, strategies
"""
)


def lock(conn: Connection, project: str, flag: str, environment: str, strategy_id: str) -> DictRow | None:
    """record and tags of a live flag's strategy, locked. None: not of this project, flag and environment."""
    params = {"id": strategy_id, "project": project, "flag": flag, "environment": environment}
    return one(conn, LOCK, params)


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


DELETE = "DELETE FROM strategies WHERE id = %(id)s"


def delete(conn: Connection, strategy_id: str) -> None:
    """Remove a strategy with its variants and its links to segments."""
    run(conn, DELETE, {"id": strategy_id})


INSERT = """
    INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints, created_at)
    VALUES (coalesce(%(id)s::text, gen_random_uuid()::text), %(flag_id)s, %(environment)s,
            %(name)s, %(title)s, %(disabled)s, %(sort_order)s,
            %(parameters)s::json, %(constraints)s::json, coalesce(%(created_at)s::timestamptz, now()))
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
    created_at: datetime | None = None,
    strategy_id: str | None = None,
) -> str:
    """The id of the new strategy, a UUID; made here unless one is given."""
    params = {
        "id": strategy_id,
        "flag_id": flag_id,
        "environment": environment,
        "name": name,
        "title": title,
        "disabled": disabled,
        "sort_order": sort_order,
        "parameters": as_json(dict(parameters or {})),
        "constraints": as_json(list(constraints)),
        "created_at": created_at,
    }
    return value(conn, INSERT, params)


INSERT_VARIANT = """
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness, payload_type, payload_value)
    VALUES (%(flag_id)s, %(environment)s, %(strategy_id)s, %(name)s, %(weight)s, %(weight_type)s, %(stickiness)s,
            %(payload_type)s, %(payload_value)s)
"""


def insert_variant(
    conn: Connection,
    flag_id: int,
    environment: str,
    strategy_id: str | None,
    *,
    name: str,
    weight: int,
    weight_type: str = "variable",
    stickiness: str = "default",
    payload_type: str | None = None,
    payload_value: str | None = None,
) -> None:
    """Give a variant (weight 0 to 1000) to a strategy, or with None to the flag in that environment."""
    params = {
        "flag_id": flag_id,
        "environment": environment,
        "strategy_id": strategy_id,
        "name": name,
        "weight": weight,
        "weight_type": weight_type,
        "stickiness": stickiness,
        "payload_type": payload_type,
        "payload_value": payload_value,
    }
    run(conn, INSERT_VARIANT, params)


ADD_SEGMENT = "INSERT INTO strategy_segments (strategy_id, segment_id) VALUES (%(strategy_id)s, %(segment_id)s)"


def add_segment(conn: Connection, strategy_id: str, segment_id: int) -> None:
    """Limit a strategy to a segment."""
    run(conn, ADD_SEGMENT, {"strategy_id": strategy_id, "segment_id": segment_id})
