"""Move a flag to another project, and copy flags."""

from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run
from sql.flags import records as flag_records
from sql.flags import strategies

PARTS = """
    SELECT 'CREATE_FEATURE_STRATEGY' AS permission, environment FROM strategies WHERE flag_id = %(id)s
     UNION
    SELECT 'UPDATE_FEATURE_ENVIRONMENT_VARIANTS', environment
      FROM variants
     WHERE flag_id = %(id)s AND strategy_id IS NULL
     UNION
    SELECT 'UPDATE_FEATURE_ENVIRONMENT', environment FROM flag_environments WHERE flag_id = %(id)s AND enabled
     UNION
    SELECT 'UPDATE_FEATURE_DEPENDENCY', NULL FROM flag_dependencies WHERE child_id = %(id)s
     ORDER BY environment, permission
"""


def parts(conn: Connection, flag_id: int) -> list[tuple[str, str | None]]:
    """Return the permissions to give a flag what this flag has, each with its environment or None."""
    return [(row["permission"], row["environment"]) for row in rows(conn, PARTS, {"id": flag_id})]


# Until the transaction ends, no global segment can become a segment of the flag's present project.
HOLD_SEGMENTS = """
    SELECT
      FROM segments
     WHERE id IN (
            SELECT segment_id
              FROM strategy_segments
              JOIN strategies ON strategies.id = strategy_id
             WHERE flag_id = %(id)s)
     ORDER BY id
       FOR SHARE
"""

OBSTACLES = """
    SELECT ARRAY(
               SELECT environment
                 FROM flag_environments
                WHERE flag_id = %(id)s
                  AND environment NOT IN (SELECT environment FROM project_environments WHERE project_id = %(project)s)
                ORDER BY environment) AS environments,
           EXISTS (SELECT FROM flag_dependencies WHERE %(id)s IN (child_id, parent_id)) AS has_dependencies,
           ARRAY(
               SELECT DISTINCT segments.name
                 FROM strategies
                 JOIN strategy_segments ON strategy_id = strategies.id
                 JOIN segments ON segments.id = segment_id
                WHERE flag_id = %(id)s
                  AND segments.project_id <> %(project)s
                ORDER BY segments.name) AS segments
"""


def obstacles(conn: Connection, flag_id: int, project: str) -> DictRow:
    """Return what prevents a flag from moving to a project.

    environments: the flag's environments that the project does not have. has_dependencies. segments: the names of the
    flag's segments that belong to another project.
    """
    run(conn, HOLD_SEGMENTS, {"id": flag_id})
    row = one(conn, OBSTACLES, {"id": flag_id, "project": project})
    assert row is not None
    return row


MOVE = "UPDATE flags SET project_id = %(project)s WHERE id = %(id)s"


def move(conn: Connection, flag_id: int, project: str) -> None:
    """Move a flag to another project. Its reported usage stays in the old project."""
    run(conn, MOVE, {"id": flag_id, "project": project})


COPY = """
    WITH sources AS MATERIALIZED (
        SELECT strategies.*, gen_random_uuid()::text AS new_id
          FROM strategies
          JOIN flag_environments AS places ON places.flag_id = %(copy)s AND places.environment = strategies.environment
         WHERE strategies.flag_id = %(source)s
    ),
    copied_strategies AS (
        INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints)
        SELECT new_id, %(copy)s, environment, name, title, disabled, sort_order,
               CASE WHEN %(group_id)s::text IS NULL
                    THEN parameters
                    ELSE (SELECT concat('{', string_agg(
                                     to_json(key) || ':' ||
                                         CASE WHEN key = 'groupId' THEN to_json(%(group_id)s::text) ELSE value END,
                                     ',' ORDER BY number), '}')::json
                            FROM json_each(parameters) WITH ORDINALITY AS parameter (key, value, number))
               END,
               constraints
          FROM sources
    ),
    copied_segments AS (
        INSERT INTO strategy_segments (strategy_id, segment_id)
        SELECT new_id, segment_id
          FROM sources
          JOIN strategy_segments ON strategy_id = sources.id
    ),
    copied_dependencies AS (
        INSERT INTO flag_dependencies (child_id, parent_id, enabled, variants)
        SELECT %(copy)s, parent_id, enabled, variants
          FROM flag_dependencies
         WHERE child_id = %(source)s
    )
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness,
                          payload_type, payload_value, overrides, position)
    SELECT %(copy)s, variants.environment, new_id, variants.name, weight, weight_type, stickiness,
           payload_type, payload_value, overrides, position
      FROM variants
      JOIN flag_environments AS places ON places.flag_id = %(copy)s AND places.environment = variants.environment
      LEFT JOIN sources ON sources.id = strategy_id
     WHERE variants.flag_id = %(source)s
"""


def copy(conn: Connection, source: int, copy: int, *, group_id: str | None) -> None:
    """Copy strategies, variants and dependencies to a new flag. group_id: a new groupId, None to keep it."""
    run(conn, COPY, {"source": source, "copy": copy, "group_id": group_id})


STRATEGIES: LiteralString = f"""SELECT strategies.environment, {strategies.RECORD} AS record
      FROM strategies
      JOIN flags ON flags.id = flag_id
      JOIN environments ON environments.name = environment
     WHERE flag_id = %(id)s
     ORDER BY environments.sort_order, environments.name, strategies.sort_order, strategies.created_at, strategies.id
"""


def strategies_of(conn: Connection, flag_id: int) -> list[DictRow]:
    """Return environment and record (Strategy) of each strategy of a flag."""
    return rows(conn, STRATEGIES, {"id": flag_id})


VARIANTS: LiteralString = f"""
    SELECT environment, json_agg({flag_records.VARIANT} ORDER BY position, variants.name) AS variants
      FROM variants
      JOIN environments ON environments.name = environment
     WHERE flag_id = %(id)s
       AND strategy_id IS NULL
     GROUP BY environment, environments.sort_order
     ORDER BY environments.sort_order, environment
"""


def variants_of(conn: Connection, flag_id: int) -> list[DictRow]:
    """Return environment and variants (Variant) of each environment in which the flag itself has variants."""
    return rows(conn, VARIANTS, {"id": flag_id})


DEPENDENCIES = """
    SELECT CASE WHEN variants = '{}'
                THEN json_build_object('feature', name, 'enabled', enabled)
                ELSE json_build_object('feature', name, 'enabled', enabled, 'variants', variants)
           END AS record
      FROM flag_dependencies
      JOIN flags ON flags.id = parent_id
     WHERE child_id = %(id)s
     ORDER BY name
"""


def dependencies_of(conn: Connection, flag_id: int) -> list[DictRow]:
    """Return record ({feature, enabled, variants if there are any}) of each dependency of a flag."""
    return rows(conn, DEPENDENCIES, {"id": flag_id})
