"""Copy an environment: its projects, strategies, variants and permissions. The caller has locked the source."""

from collections.abc import Sequence

from sql.database import Connection, run, value

LINK_PROJECTS = """
    WITH linked AS (
        INSERT INTO project_environments (project_id, environment, default_strategy)
        SELECT project_id, %(copy)s, default_strategy
          FROM project_environments
         WHERE environment = %(source)s
           AND (%(projects)s::text[] IS NULL OR project_id = ANY(%(projects)s))
        RETURNING project_id
    )
    SELECT coalesce(array_agg(DISTINCT requested), '{}')
      FROM unnest(%(projects)s::text[]) AS requested
     WHERE requested NOT IN (SELECT project_id FROM linked)
"""


def link_projects(conn: Connection, source: str, copy: str, projects: Sequence[str] | None) -> list[str]:
    """Link projects that have the source to the copy, with their default strategies. projects None: all of them.

    Return the given projects that do not have the source.
    """
    requested = None if projects is None else list(projects)
    return value(conn, LINK_PROJECTS, {"source": source, "copy": copy, "projects": requested})


COPY_FLAGS = """
    WITH copied_flags AS (
        INSERT INTO flag_environments (flag_id, environment)
        SELECT flags.id, %(copy)s
          FROM flags
          JOIN project_environments USING (project_id)
         WHERE environment = %(copy)s
           AND deleted_at IS NULL
        RETURNING flag_id
    ),
    sources AS MATERIALIZED (
        SELECT strategies.*, gen_random_uuid()::text AS new_id
          FROM strategies
          JOIN copied_flags USING (flag_id)
         WHERE environment = %(source)s
    ),
    copied_strategies AS (
        INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints,
                                created_at)
        SELECT new_id, flag_id, %(copy)s, name, title, disabled, sort_order, parameters, constraints, created_at
          FROM sources
    ),
    copied_segments AS (
        INSERT INTO strategy_segments (strategy_id, segment_id)
        SELECT new_id, segment_id
          FROM sources
          JOIN strategy_segments ON strategy_id = sources.id
    )
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness,
                          payload_type, payload_value, overrides, position)
    SELECT variants.flag_id, %(copy)s, new_id, variants.name, weight, weight_type, stickiness,
           payload_type, payload_value, overrides, position
      FROM variants
      JOIN copied_flags ON copied_flags.flag_id = variants.flag_id
      LEFT JOIN sources ON sources.id = strategy_id
     WHERE variants.environment = %(source)s
"""


def copy_flags(conn: Connection, source: str, copy: str) -> None:
    """Add the copy, disabled, with strategies and variants, to all flags of the projects linked to it."""
    run(conn, COPY_FLAGS, {"source": source, "copy": copy})


COPY_PERMISSIONS = """
    INSERT INTO role_permissions (role_id, permission, project_id, environment)
    SELECT role_id, permission, project_id, %(copy)s
      FROM role_permissions
     WHERE environment = %(source)s
"""


def copy_permissions(conn: Connection, source: str, copy: str) -> None:
    """Copy the permissions of roles that are limited to the source, so that they also apply to the copy."""
    run(conn, COPY_PERMISSIONS, {"source": source, "copy": copy})
