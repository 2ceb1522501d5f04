"""The export document: live flags in one environment or in all, with everything that an import needs.

Also the locks that exports and imports take.
"""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql import locks
from sql.catalog import tag_types
from sql.database import Connection, one, rows, run
from sql.flags import records as flag_records
from sql.flags import strategies
from sql.limits import PAGE_BYTES
from sql.projects.visibility import VISIBLE

SELECTORS: dict[str, LiteralString] = {
    "features": "flags.name = ANY(%(features)s::text[])",
    "tag": "EXISTS (SELECT FROM flag_tags WHERE flag_id = flags.id AND value = %(tag)s)",
    "project": "flags.project_id = %(project)s",
    "environment": """EXISTS (
        SELECT FROM project_environments WHERE project_id = flags.project_id AND environment = %(environment)s)""",
}

# Sorted with collation "C", so that the order does not depend on the database. After an import into another database,
# an export is the same text.
CHOSEN: LiteralString = f"""
    WITH chosen AS MATERIALIZED (
        SELECT flags.*,
               ARRAY(
                   SELECT environment
                     FROM project_environments
                    WHERE project_id = flags.project_id
                      AND (%(environment)s::text IS NULL OR environment = %(environment)s)) AS places
          FROM flags
          JOIN projects ON projects.id = flags.project_id
         WHERE flags.archived_at IS NULL
           AND {VISIBLE} AND """

# Our choice: a flag is off, without strategies and variants, in an environment that is not linked to its project.
# Our choice: the document names the segments, and has the strategies in the order of their evaluation.
# Our choice: the context fields of the document are those in constraints, overrides and stickiness.
DOCUMENT: LiteralString = f"""
    ),
    placed_strategies AS MATERIALIZED (
        SELECT strategies.*, chosen.name AS flag
          FROM chosen
          JOIN strategies ON strategies.flag_id = chosen.id
         WHERE strategies.environment = ANY(chosen.places)
    ),
    placed_variants AS MATERIALIZED (
        SELECT variants.*
          FROM chosen
          JOIN variants ON variants.flag_id = chosen.id
         WHERE variants.environment = ANY(chosen.places)
    ),
    used_segments AS (
        SELECT *
          FROM segments
         WHERE id IN (
                SELECT segment_id
                  FROM strategy_segments
                  JOIN placed_strategies ON placed_strategies.id = strategy_id)
    ),
    used_fields AS (
        SELECT condition ->> 'contextName' AS name
          FROM placed_strategies, json_array_elements(constraints) AS condition
     UNION
        SELECT condition ->> 'contextName'
          FROM used_segments, json_array_elements(constraints) AS condition
     UNION
        SELECT parameters ->> 'stickiness' FROM placed_strategies
     UNION
        SELECT stickiness FROM placed_variants
     UNION
        SELECT override ->> 'contextName' FROM placed_variants, json_array_elements(overrides) AS override
    ),
    size AS (
        SELECT (SELECT coalesce(sum(octet_length(description)), 0)
                  FROM chosen)
               + (SELECT coalesce(sum(octet_length(type) + octet_length(value)), 0)
                    FROM flag_tags
                   WHERE flag_id IN (SELECT id FROM chosen))
               + (SELECT coalesce(sum(octet_length(url) + coalesce(octet_length(title), 0)), 0)
                    FROM flag_links
                   WHERE flag_id IN (SELECT id FROM chosen))
               + (SELECT coalesce(sum(octet_length(parameters::text) + octet_length(constraints::text)), 0)
                    FROM placed_strategies)
               + (SELECT coalesce(sum(coalesce(octet_length(description), 0) + octet_length(constraints::text)), 0)
                    FROM used_segments)
               + (SELECT coalesce(sum(coalesce(octet_length(payload_value), 0) + octet_length(overrides::text)), 0)
                    FROM placed_variants)
               + (SELECT coalesce(sum(octet_length(legal_values::text)), 0)
                    FROM context_fields
                   WHERE name IN (SELECT name FROM used_fields)) <= %(max_bytes)s AS is_small
    )
    SELECT CASE WHEN (SELECT is_small FROM size) THEN json_build_object(
        'features', (
            SELECT coalesce(json_agg(json_build_object(
                       'name', name,
                       'type', type,
                       'description', description,
                       'project', project_id,
                       'stale', stale_since IS NOT NULL,
                       'impressionData', impression_data,
                       'archived', false) ORDER BY name COLLATE "C"), '[]')
              FROM chosen),
        'featureStrategies', (
            SELECT coalesce(json_agg(json_merge(json_build_object(
                       'id', id,
                       'featureName', flag,
                       'name', name,
                       'title', title,
                       'disabled', disabled,
                       'sortOrder', sort_order,
                       'parameters', parameters,
                       'constraints', constraints,
                       'variants', ({strategies.VARIANTS} WHERE strategy_id = placed_strategies.id),
                       'segments', (
                           SELECT coalesce(json_agg(segment_id ORDER BY segments.name COLLATE "C"), '[]')
                             FROM strategy_segments
                             JOIN segments ON segments.id = segment_id
                            WHERE strategy_id = placed_strategies.id)),
                       CASE WHEN %(environment)s::text IS NULL THEN json_build_object('environment', environment) END
                   ) ORDER BY flag COLLATE "C", environment COLLATE "C", sort_order, created_at, id COLLATE "C"), '[]')
              FROM placed_strategies),
        'featureEnvironments', (
            SELECT coalesce(json_agg(json_build_object(
                       'name', name,
                       'featureName', name,
                       'environment', place,
                       'enabled', place = ANY(places) AND EXISTS (
                           SELECT FROM flag_environments
                            WHERE flag_id = chosen.id
                              AND environment = place
                              AND enabled),
                       'variants', (
                           SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY position, variants.name), '[]')
                             FROM placed_variants AS variants
                            WHERE flag_id = chosen.id
                              AND environment = place
                              AND strategy_id IS NULL)
                   ) ORDER BY name COLLATE "C", place COLLATE "C"), '[]')
              FROM chosen,
                   unnest(CASE WHEN %(environment)s::text IS NULL THEN places
                               ELSE ARRAY[%(environment)s] END) AS place),
        'contextFields', (
            SELECT coalesce(json_agg(json_build_object(
                       'name', name,
                       'description', description,
                       'stickiness', stickiness,
                       'sortOrder', sort_order,
                       'legalValues', legal_values) ORDER BY name COLLATE "C"), '[]')
              FROM context_fields
             WHERE name IN (SELECT name FROM used_fields)),
        'segments', (
            SELECT coalesce(json_agg(json_build_object(
                       'id', id,
                       'name', name,
                       'description', description,
                       'project', project_id,
                       'constraints', constraints) ORDER BY name COLLATE "C"), '[]')
              FROM used_segments),
        'tagTypes', (
            SELECT coalesce(json_agg({tag_types.RECORD} ORDER BY name COLLATE "C"), '[]')
              FROM tag_types
             WHERE name IN (SELECT flag_tags.type FROM flag_tags JOIN chosen ON chosen.id = flag_id)),
        'featureTags', (
            SELECT coalesce(json_agg(json_build_object(
                                         'featureName', name, 'tagType', flag_tags.type, 'tagValue', value)
                                     ORDER BY name COLLATE "C", flag_tags.type COLLATE "C", value COLLATE "C"), '[]')
              FROM flag_tags
              JOIN chosen ON chosen.id = flag_id),
        'dependencies', (
            SELECT coalesce(json_agg(json_build_object('feature', name, 'dependencies', list)
                                     ORDER BY name COLLATE "C"), '[]')
              FROM chosen
              JOIN (SELECT child_id,
                           json_agg(json_build_object('feature', parents.name, 'enabled', enabled, 'variants', variants)
                                    ORDER BY parents.name COLLATE "C") AS list
                      FROM flag_dependencies
                      JOIN flags AS parents ON parents.id = parent_id
                     GROUP BY child_id) AS parents ON child_id = chosen.id),
        'links', (
            SELECT coalesce(json_agg(json_build_object('feature', name, 'links', list) ORDER BY name COLLATE "C"), '[]')
              FROM chosen
              JOIN (SELECT flag_id,
                           json_agg(json_build_object('id', id::text, 'url', url, 'title', title) ORDER BY id) AS list
                      FROM flag_links
                     GROUP BY flag_id) AS links ON flag_id = chosen.id))::text END AS body,
           (SELECT coalesce(json_agg(name ORDER BY name COLLATE "C"), '[]') FROM chosen) AS names
     WHERE %(environment)s::text IS NULL
        OR EXISTS (SELECT FROM environments WHERE name = %(environment)s)
"""


def export(
    conn: Connection, environment: str | None, selectors: Mapping[str, Any], viewer: int | None
) -> DictRow | None:
    """Return body (ExportDocument as JSON text) and names of the selected live flags that the viewer can see.

    None if the environment does not exist. body is None if the texts of the flags exceed PAGE_BYTES. environment None:
    all, and each strategy names its own. selectors: keys of SELECTORS with their values. A flag must match all of them.
    """
    condition: LiteralString = " AND ".join(SELECTORS[name] for name in selectors) or "true"
    params = {**selectors, "environment": environment, "viewer": viewer, "max_bytes": PAGE_BYTES}
    return one(conn, f"{CHOSEN}{condition}{DOCUMENT}", params)


LOCK_EXPORTS: LiteralString = f"SELECT pg_advisory_xact_lock({locks.EXPORT}, {locks.of_text('%(author)s::text')})"


def lock_exports(conn: Connection, author: str) -> None:
    """Make other exports of this author wait for the end of the transaction."""
    run(conn, LOCK_EXPORTS, {"author": author})


LOCK_IMPORTS: LiteralString = f"SELECT pg_advisory_xact_lock({locks.IMPORT}, {locks.of_text('%(project)s::text')})"


def lock_imports(conn: Connection, project: str) -> None:
    """Make other imports into the project wait for the end of the transaction, so that they find its flags."""
    run(conn, LOCK_IMPORTS, {"project": project})


# Those of the default strategy too, because locking all by id prevents deadlocks.
HOLD_SEGMENTS = """
    SELECT id, name, constraints
      FROM segments
     WHERE (name = ANY(%(names)s::text[]) OR id IN (
            SELECT json_array_elements_text(default_strategy -> 'segments')::integer
              FROM project_environments
             WHERE (project_environments.project_id, environment) = (%(project)s, %(environment)s)))
       AND (project_id IS NULL OR project_id = %(project)s)
     ORDER BY id
       FOR SHARE
"""


def hold_segments(conn: Connection, names: Collection[str], project: str, environment: str) -> dict[str, DictRow]:
    """Lock the segments with these names that the project can use FOR SHARE. Return id and constraints by name."""
    params = {"names": list(names), "project": project, "environment": environment}
    return {row["name"]: row for row in rows(conn, HOLD_SEGMENTS, params)}
