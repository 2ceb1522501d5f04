"""Strategies of a flag in an environment, with their variants and segments."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, RecordText, as_json, record, rows, run, value

# The variants of a strategy. The caller adds the condition. payload is omitted if there is none.
VARIANTS: LiteralString = """
    SELECT coalesce(json_agg(
               CASE WHEN payload_type IS NULL
                    THEN json_build_object('name', name, 'weight', weight, 'weightType', weight_type,
                                           'stickiness', stickiness)
                    ELSE json_build_object('name', name, 'weight', weight, 'weightType', weight_type,
                                           'stickiness', stickiness,
                                           'payload', json_build_object('type', payload_type, 'value', payload_value))
               END ORDER BY position, name), '[]')
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
    SELECT ({RECORD})::text AS text, strategies.version
      FROM strategies
      JOIN flags ON flags.id = strategies.flag_id
      JOIN project_environments USING (project_id, environment)
     WHERE strategies.id = %(id)s
       AND environment = %(environment)s
       AND flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def get(conn: Connection, project: str, flag: str, environment: str, strategy_id: str) -> RecordText | None:
    """Return the Strategy record as JSON text, or None if this live flag does not have it."""
    return record(conn, GET, {"id": strategy_id, "project": project, "flag": flag, "environment": environment})


GET_LIST: LiteralString = f"""
    SELECT (SELECT coalesce(json_agg({RECORD} ORDER BY sort_order, strategies.created_at, strategies.id), '[]')
              FROM strategies
             WHERE flag_id = flags.id
               AND environment = project_environments.environment)::text
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.name = %(flag)s
       AND project_id = %(project)s
       AND project_environments.environment = %(environment)s
"""


def get_list(conn: Connection, project: str, flag: str, environment: str) -> str | None:
    """Return the Strategy records as JSON text, in order, or None if the flag, live or archived, is not there."""
    return value(conn, GET_LIST, {"project": project, "flag": flag, "environment": environment})


LIST: LiteralString = f"""
    SELECT flag_id, {RECORD} AS record
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE flag_id = ANY(%(flag_ids)s::bigint[])
       AND environment = %(environment)s
     ORDER BY sort_order, strategies.created_at, strategies.id
"""


def list_by_flag(conn: Connection, flag_ids: Sequence[int], environment: str) -> dict[int, list[dict[str, Any]]]:
    """Return the Strategy records of each flag in an environment, in their order."""
    by_flag: dict[int, list[dict[str, Any]]] = {flag_id: [] for flag_id in flag_ids}
    for row in rows(conn, LIST, {"flag_ids": list(flag_ids), "environment": environment}):
        by_flag[row["flag_id"]].append(row["record"])
    return by_flag


LIST_VERSIONS = """
    SELECT strategies.id, strategies.version
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE flags.name = %(flag)s
       AND archived_at IS NULL
"""


def list_versions(conn: Connection, flag: str) -> dict[str, int]:
    """Return the versions of the strategies of a live flag, by their ids."""
    return {row["id"]: row["version"] for row in rows(conn, LIST_VERSIONS, {"flag": flag})}


READ: LiteralString = f"""
    SELECT flag_id, environment, record, record::text AS body, version
      FROM (SELECT strategies.flag_id, environment, number, strategies.version, {RECORD} AS record
              FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS wanted (id, number)
              JOIN strategies ON strategies.id = wanted.id
              JOIN flags ON flags.id = flag_id) AS found
     ORDER BY number
"""


def read(conn: Connection, ids: Sequence[str]) -> list[DictRow]:
    """Return flag_id, environment, version, record and body (RecordText) of strategies, in the order of the ids."""
    found = rows(conn, READ, {"ids": list(ids)})
    return [row | {"body": RecordText(row["body"], row["version"])} for row in found]


SWITCH_OFF_IF_LAST = """
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


def switch_off_if_last(conn: Connection, strategy_id: str) -> bool:
    """Switch the flag off if it is on and this is its last enabled strategy there. Return whether it was switched."""
    return run(conn, SWITCH_OFF_IF_LAST, {"id": strategy_id}) == 1


# The version is raised here too, because a change of the variants is no change of this row.
UPDATE = """
    UPDATE strategies
       SET version = version + 1,
           name = %(name)s,
           title = %(title)s,
           disabled = %(disabled)s,
           parameters = %(parameters)s::json,
           constraints = %(constraints)s::json
     WHERE id = %(id)s
"""


def update(conn: Connection, strategy: Mapping[str, Any]) -> None:
    """Update a strategy to the record, without its sort order, variants and segments."""
    params = {key: strategy[key] for key in ("id", "name", "title", "disabled")}
    params |= {key: as_json(strategy[key]) for key in ("parameters", "constraints")}
    run(conn, UPDATE, params)


ENABLE_ALL = """
    UPDATE strategies
       SET disabled = false
     WHERE flag_id = ANY(%(flag_ids)s::bigint[])
       AND environment = %(environment)s
       AND disabled
"""


def enable_all(conn: Connection, flag_ids: Sequence[int], environment: str) -> None:
    """Enable all strategies of these flags in an environment."""
    run(conn, ENABLE_ALL, {"flag_ids": list(flag_ids), "environment": environment})


DELETE = "DELETE FROM strategies WHERE id = ANY(%(ids)s::text[])"


def delete(conn: Connection, ids: Sequence[str]) -> None:
    """Delete strategies with their variants and their links to segments."""
    run(conn, DELETE, {"ids": list(ids)})


USED_IDS = "SELECT id FROM strategies WHERE id = ANY(%(ids)s::text[])"


def used_ids(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Return those of these ids that strategies have."""
    return {row["id"] for row in rows(conn, USED_IDS, {"ids": list(ids)})}


# Strategies are created a microsecond apart, so that those with the same sort order keep the order of the list.
INSERT = """
    WITH added AS MATERIALIZED (
        SELECT *
          FROM ROWS FROM (json_to_recordset(%(strategies)s::json)
            AS (id text, "flagId" bigint, name text, title text, disabled boolean, "sortOrder" integer,
                parameters json, constraints json, segments json)) WITH ORDINALITY
            AS added (id, flag_id, name, title, disabled, sort_order, parameters, constraints, segments, number)
    ),
    linked AS (
        INSERT INTO strategy_segments (strategy_id, segment_id)
        SELECT id, segment::integer
          FROM added, json_array_elements_text(segments) AS segment
    )
    INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order,
                            parameters, constraints, created_at)
    SELECT id, flag_id, %(environment)s, name, title, disabled, sort_order, parameters, constraints,
           now() + (number - 1) * interval '1 microsecond'
      FROM added
"""


def insert(conn: Connection, environment: str, strategies: Sequence[Mapping[str, Any]]) -> None:
    """Insert Strategy records with id, flagId and sortOrder, without variants. Raises UniqueViolation for a used id."""
    run(conn, INSERT, {"environment": environment, "strategies": as_json(strategies)})


SET_SEGMENTS = """
    WITH removed AS (
        DELETE FROM strategy_segments
         WHERE strategy_id = %(strategy_id)s
           AND segment_id <> ALL(%(segments)s::integer[])
    )
    INSERT INTO strategy_segments (strategy_id, segment_id)
    SELECT %(strategy_id)s, unnest(%(segments)s::integer[])
    ON CONFLICT DO NOTHING
"""


def set_segments(conn: Connection, strategy_id: str, segments: Sequence[int]) -> None:
    """Replace the segments of a strategy."""
    run(conn, SET_SEGMENTS, {"strategy_id": strategy_id, "segments": list(segments)})
