"""The flags that applications get. One statement builds their JSON text, in which there are no spaces."""

from collections.abc import Sequence
from typing import LiteralString

from sql.database import Connection, as_json, one


def is_broken(column: LiteralString, condition: LiteralString) -> LiteralString:
    """Return the SQL of whether a condition in the SQL/JSON path language holds for the JSON in a column.

    The type jsonb cannot have the escapes of some characters. JSON with such escapes is broken too.
    """
    return f"""
        CASE WHEN {column}::text IN ('[]', '{{}}') THEN false
             WHEN strpos({column}::text, '\\u') > 0 AND {column}::text ~* '\\\\u(0000|d[89a-f])' THEN true
             ELSE jsonb_path_match({column}::jsonb, '{condition}')
        END
    """


# Our choice: SDKs can drop a whole document because of one value of a wrong type. The admin API stores no such value.
# If one got into the database in another way, its flag is off, and the other flags are served.
BROKEN_PARAMETERS: LiteralString = '$.*.type() != "string"'
BROKEN_CONSTRAINTS: LiteralString = """$[*].type() != "object" || exists($[*] ? (
    !(@.contextName.type() == "string" && @.operator.type() == "string")
    || @.value.type() != "string" && @.value.type() != "null"
    || @.values.type() != "array"
    || @.values[*].type() != "string"
    || @.inverted.type() != "boolean"
    || @.caseInsensitive.type() != "boolean"))"""
BROKEN_OVERRIDES: LiteralString = """$[*].type() != "object" || exists($[*] ? (
    !(@.contextName.type() == "string" && @.values.type() == "array")
    || @.values[*].type() != "string"))"""


def items(column: LiteralString) -> LiteralString:
    """Return the SQL of the items of a JSON array, without the brackets around them, or NULL if it has none."""
    return f"nullif(btrim({column}::text, E'[] \\n\\r\\t'), '')"


# The live flags of live projects that have the environment. A flag without a row in flag_environments is off.
# CASE: PostgreSQL expects that it is true for half of the flags. Without statistics of a table, it expects that one row
# in 200 is not archived, and plans for a single flag.
LIVE_FLAGS: LiteralString = """
          FROM flags
          JOIN projects ON projects.id = flags.project_id
          LEFT JOIN flag_environments ON flag_environments.flag_id = flags.id
                                     AND flag_environments.environment = %(environment)s
         WHERE CASE WHEN flags.archived_at IS NULL AND projects.archived_at IS NULL THEN
                    projects.id IN (
                        SELECT project_id FROM project_environments WHERE environment = %(environment)s)
               END
           AND (%(projects)s::text[] IS NULL OR projects.id = ANY(%(projects)s::text[]))
"""

# A variant without its closing brace.
VARIANT: LiteralString = """'{"name":' || to_json(variants.name) || ',"weight":' || weight
                   || ',"weightType":"' || weight_type || '","stickiness":' || to_json(stickiness)
                   || CASE WHEN payload_type IS NULL THEN ''
                           ELSE ',"payload":{"type":"' || payload_type
                                || '","value":' || to_json(payload_value) || '}'
                      END"""

# All lists start from the chosen flags, so that the document of a small project costs little in a large instance. Text
# operators instead of json_build_object() save a quarter of the time. FULL JOIN returns the same rows as LEFT JOIN,
# because each list belongs to a chosen row. PostgreSQL never runs it as a nested loop. It prefers one without
# statistics, and then reads all lists for each row.
DOCUMENT: LiteralString = f"""
    WITH chosen AS MATERIALIZED (
        SELECT flags.id, flags.name, flags.type, flags.description, flags.project_id, flags.impression_data,
               flags.stale_since IS NOT NULL AS is_stale,
               coalesce(flag_environments.enabled, false) AS is_enabled
          {LIVE_FLAGS}
           AND (%(name)s::text IS NULL OR flags.name = %(name)s)
           AND (%(prefix)s = '' OR starts_with(flags.name, %(prefix)s))
           AND (%(tags)s::json IS NULL OR flags.id IN (
                    SELECT flag_id
                      FROM flag_tags
                      JOIN json_to_recordset(%(tags)s::json) AS wanted (type text, value text) USING (type, value)))
    ),
    chosen_strategies AS MATERIALIZED (
        SELECT strategies.id, strategies.flag_id, strategies.name, parameters, constraints, sort_order, created_at,
               {is_broken("parameters", BROKEN_PARAMETERS)}
                   OR {is_broken("constraints", BROKEN_CONSTRAINTS)} AS is_broken
          FROM chosen
          JOIN strategies ON strategies.flag_id = chosen.id
         WHERE strategies.environment = %(environment)s
           AND NOT strategies.disabled
    ),
    used AS MATERIALIZED (
        SELECT strategy_id, segment_id
          FROM chosen_strategies
          JOIN strategy_segments ON strategy_id = chosen_strategies.id
    ),
    used_segments AS MATERIALIZED (
        SELECT id, name, constraints, {is_broken("constraints", BROKEN_CONSTRAINTS)} AS is_broken
          FROM segments
         WHERE id IN (SELECT segment_id FROM used)
    ),
    segment_lists AS MATERIALIZED (
        SELECT strategy_id,
               string_agg(segment_id::text, ',' ORDER BY segment_id) AS ids,
               string_agg({items("constraints")}, ',' ORDER BY segment_id) AS constraints,
               bool_or(is_broken) AS is_broken
          FROM used
          FULL JOIN used_segments ON used_segments.id = segment_id
         GROUP BY strategy_id
    ),
    flag_variants AS MATERIALIZED (
        SELECT variants.flag_id,
               string_agg({VARIANT} || ',"overrides":' || overrides || '}}', ','
                          ORDER BY position, variants.name) AS list,
               bool_or({is_broken("overrides", BROKEN_OVERRIDES)}) AS is_broken
          FROM chosen
          JOIN variants ON variants.flag_id = chosen.id
         WHERE environment = %(environment)s
           AND strategy_id IS NULL
         GROUP BY variants.flag_id
    ),
    strategy_variants AS MATERIALIZED (
        SELECT strategy_id, string_agg({VARIANT} || '}}', ',' ORDER BY position, variants.name) AS list
          FROM chosen_strategies
          JOIN variants ON strategy_id = chosen_strategies.id
         GROUP BY strategy_id
    ),
    strategy_lists AS MATERIALIZED (
        SELECT strategies.flag_id,
               string_agg('{{"name":' || to_json(strategies.name) || ',"parameters":' || parameters
                   || ',"constraints":'
                   || CASE WHEN %(inline)s
                           THEN '[' || concat_ws(',', {items("strategies.constraints")}, segment_lists.constraints)
                                || ']'
                           ELSE strategies.constraints::text
                      END
                   || ',"variants":[' || coalesce(strategy_variants.list, '') || ']'
                   || CASE WHEN ids IS NULL OR %(inline)s THEN '' ELSE ',"segments":[' || ids || ']' END
                   || '}}', ',' ORDER BY sort_order, created_at, strategies.id) AS list,
               bool_or(strategies.is_broken OR coalesce(segment_lists.is_broken, false)) AS is_broken
          FROM chosen_strategies AS strategies
          FULL JOIN segment_lists ON segment_lists.strategy_id = strategies.id
          FULL JOIN strategy_variants ON strategy_variants.strategy_id = strategies.id
         GROUP BY strategies.flag_id
    ),
    parent_lists AS MATERIALIZED (
        SELECT child_id,
               string_agg('{{"feature":' || to_json(parents.name) || ',"enabled":' || flag_dependencies.enabled
                   || ',"variants":' || to_json(variants) || '}}', ',' ORDER BY parents.name) AS list
          FROM chosen
          JOIN flag_dependencies ON child_id = chosen.id
          JOIN flags AS parents ON parents.id = parent_id
         GROUP BY child_id
    ),
    features AS (
        SELECT chosen.*,
               coalesce(strategy_lists.list, '') AS strategies,
               coalesce(flag_variants.list, '') AS variants,
               parent_lists.list AS parents,
               coalesce(strategy_lists.is_broken, false) OR coalesce(flag_variants.is_broken, false) AS is_broken
          FROM chosen
          FULL JOIN strategy_lists ON strategy_lists.flag_id = chosen.id
          FULL JOIN flag_variants ON flag_variants.flag_id = chosen.id
          FULL JOIN parent_lists ON child_id = chosen.id
    )
    SELECT '[' || coalesce(string_agg('{{"name":' || to_json(name) || ',"type":' || to_json(type)
               || ',"description":' || coalesce(to_json(description)::text, 'null')
               || ',"project":' || to_json(project_id) || ',"enabled":' || (is_enabled AND NOT is_broken)
               || ',"stale":' || is_stale || ',"impressionData":' || impression_data
               || ',"strategies":[' || CASE WHEN is_broken THEN '' ELSE strategies END
               || '],"variants":[' || CASE WHEN is_broken THEN '' ELSE variants END || ']'
               || coalesce(',"dependencies":[' || parents || ']', '')
               || '}}', ',' ORDER BY name COLLATE "C"), '') || ']' AS features,
           (SELECT '[' || coalesce(string_agg('{{"id":' || id || ',"name":' || to_json(name)
                       || ',"constraints":' || constraints || '}}', ',' ORDER BY id), '') || ']'
              FROM used_segments
             WHERE NOT is_broken) AS segments
      FROM features
"""


def read(
    conn: Connection,
    environment: str,
    projects: Sequence[str] | None,
    *,
    name: str | None = None,
    prefix: str = "",
    tags: Sequence[tuple[str, str]] = (),
    inline: bool = False,
) -> tuple[str, str]:
    """Return the live flags of these projects (None: all) in an environment, and their segments, as JSON arrays.

    name, prefix, tags (any of them): only these flags. inline: the constraints of segments are among those of the
    strategies, whose segments are omitted.
    """
    wanted = as_json([{"type": type, "value": value} for type, value in tags]) if tags else None
    params = {
        "environment": environment,
        "projects": None if projects is None else list(projects),
        "name": name,
        "prefix": prefix,
        "tags": wanted,
        "inline": inline,
    }
    row = one(conn, DOCUMENT, params, prepare=False)
    assert row is not None
    return row["features"], row["segments"]
