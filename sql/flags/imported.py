"""What an import of flags writes: a kind of thing in one statement, however many there are. Flags are called by their names."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, rows, run
from sql.vocabulary import context_fields, tag_types

Items = Sequence[Mapping[str, Any]]

ADD_TAG_TYPES: LiteralString = f"""
    INSERT INTO tag_types (name, description, icon)
    SELECT name, coalesce(description, ''), icon
      FROM json_to_recordset(%(types)s::json) AS type (name text, description text, icon text)
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING {tag_types.RECORD} AS record"""


def add_tag_types(conn: Connection, types: Items) -> list[Any]:
    """Make types of tags; the TagType records of those that were not there, by name."""
    return [row["record"] for row in rows(conn, ADD_TAG_TYPES, {"types": as_json(types)})]


ADD_CONTEXT_FIELDS: LiteralString = f"""
    INSERT INTO context_fields (name, description, stickiness, sort_order, legal_values)
    SELECT name, description, stickiness, "sortOrder", "legalValues"
      FROM json_to_recordset(%(fields)s::json)
        AS field (name text, description text, stickiness boolean, "sortOrder" integer, "legalValues" json)
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING {context_fields.RECORD} AS record"""


def add_context_fields(conn: Connection, fields: Items) -> list[Any]:
    """Make context fields; the ContextField records of those that were not there, by name."""
    return [row["record"] for row in rows(conn, ADD_CONTEXT_FIELDS, {"fields": as_json(fields)})]


# In the order of their names, so that two who make the same flags do not wait for each other.
ADD = """
    WITH made AS (
        INSERT INTO flags (name, project_id, type, description, impression_data, stale_since, created_by_user_id)
        SELECT name, %(project)s, type, description, "impressionData", CASE WHEN stale THEN now() END, %(user_id)s
          FROM json_to_recordset(%(flags)s::json) AS flag (name text, type text, description text, "impressionData" boolean, stale boolean)
         ORDER BY name
        RETURNING id
    )
    INSERT INTO flag_environments (flag_id, environment)
    SELECT made.id, environment
      FROM made, project_environments
     WHERE project_id = %(project)s
"""


def add(conn: Connection, project: str, flags: Items, user_id: int | None) -> None:
    """Make flags, off in every environment of the project. UniqueViolation of flags_name_key when a name is taken."""
    run(conn, ADD, {"project": project, "flags": as_json(flags), "user_id": user_id})


UPDATE = """
    UPDATE flags
       SET type = asked.type,
           description = asked.description,
           impression_data = asked."impressionData",
           stale_since = CASE WHEN asked.stale THEN coalesce(stale_since, now()) END
      FROM json_to_recordset(%(flags)s::json) AS asked (name text, type text, description text, "impressionData" boolean, stale boolean)
     WHERE flags.name = asked.name
       AND deleted_at IS NULL
"""


def update(conn: Connection, flags: Items) -> None:
    """Let flags say these things of themselves. One that is stale already stays so since when it was."""
    run(conn, UPDATE, {"flags": as_json(flags)})


PLACE = """
    INSERT INTO flag_environments (flag_id, environment)
    SELECT id, %(environment)s
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND deleted_at IS NULL
    ON CONFLICT DO NOTHING
"""


def place(conn: Connection, environment: str, names: Collection[str]) -> None:
    """Let flags have a state in an environment: off where they had none."""
    run(conn, PLACE, {"environment": environment, "names": list(names)})


REMOVE_STRATEGIES = "DELETE FROM strategies WHERE id = ANY(%(ids)s::text[])"


def remove_strategies(conn: Connection, ids: Collection[str]) -> None:
    """Remove strategies with their variants and their links to segments."""
    run(conn, REMOVE_STRATEGIES, {"ids": list(ids)})


# A microsecond apart: where their sort orders are the same, they stay in the order that they had.
ADD_STRATEGIES = """
    WITH wanted AS MATERIALIZED (
        SELECT strategy.*, flags.id AS flag_id, coalesce(strategy.id, gen_random_uuid()::text) AS new_id
          FROM json_to_recordset(%(strategies)s::json)
            AS strategy (flag text, place integer, id text, name text, title text, disabled boolean, "sortOrder" integer,
                         parameters json, constraints json, variants json, segments json)
          JOIN flags ON flags.name = flag
                    AND deleted_at IS NULL
    ),
    made AS (
        INSERT INTO strategies (id, flag_id, environment, name, title, disabled, sort_order, parameters, constraints, created_at)
        SELECT new_id, flag_id, %(environment)s, name, title, disabled, "sortOrder", parameters, constraints,
               now() + place * interval '1 microsecond'
          FROM wanted
    ),
    limited AS (
        INSERT INTO strategy_segments (strategy_id, segment_id)
        SELECT new_id, segment::integer
          FROM wanted, json_array_elements_text(segments) AS segment
    )
    INSERT INTO variants (flag_id, environment, strategy_id, name, weight, weight_type, stickiness, payload_type, payload_value)
    SELECT flag_id, %(environment)s, new_id, variant.name, weight, "weightType", stickiness, payload ->> 'type', payload ->> 'value'
      FROM wanted, json_to_recordset(variants) AS variant (name text, weight integer, "weightType" text, stickiness text, payload json)
"""


def add_strategies(conn: Connection, environment: str, strategies: Items) -> None:
    """Give flags strategies: StrategyInputs, each with flag, place among those of its flag, and id (None: a new one)."""
    run(conn, ADD_STRATEGIES, {"environment": environment, "strategies": as_json(strategies)})


# Two statements: in one, a variant that stays would stand in its own way.
CLEAR_VARIANTS = """
    DELETE FROM variants
     USING flags
     WHERE flags.id = flag_id
       AND flags.name = ANY(%(names)s::text[])
       AND deleted_at IS NULL
       AND environment = %(environment)s
       AND strategy_id IS NULL
"""

ADD_VARIANTS = """
    INSERT INTO variants (flag_id, environment, name, weight, weight_type, stickiness, payload_type, payload_value, overrides)
    SELECT flags.id, %(environment)s, variant.name, weight, "weightType", stickiness, payload ->> 'type', payload ->> 'value', overrides
      FROM json_to_recordset(%(flags)s::json) AS flag (name text, variants json)
      JOIN flags ON flags.name = flag.name
                AND deleted_at IS NULL
     CROSS JOIN json_to_recordset(variants)
        AS variant (name text, weight integer, "weightType" text, stickiness text, payload json, overrides json)
"""


def set_variants(conn: Connection, environment: str, flags: Items) -> None:
    """Give flags (name, variants) these variants and no others."""
    run(conn, CLEAR_VARIANTS, {"environment": environment, "names": [flag["name"] for flag in flags]})
    run(conn, ADD_VARIANTS, {"environment": environment, "flags": as_json(flags)})


REMOVE_TAGS = """
    DELETE FROM flag_tags
     USING json_to_recordset(%(tags)s::json) AS tag (flag text, type text, value text)
      JOIN flags ON flags.name = flag
                AND deleted_at IS NULL
     WHERE flag_tags.flag_id = flags.id
       AND flag_tags.type = tag.type
       AND flag_tags.value = tag.value
"""


def remove_tags(conn: Connection, tags: Items) -> None:
    """Take tags (flag, type, value) off flags."""
    run(conn, REMOVE_TAGS, {"tags": as_json(tags)})


ADD_TAGS = """
    WITH asked AS MATERIALIZED (
        SELECT flags.id AS flag_id, tag.type, tag.value
          FROM json_to_recordset(%(tags)s::json) AS tag (flag text, type text, value text)
          JOIN flags ON flags.name = flag
                    AND deleted_at IS NULL
    ),
    made AS (
        INSERT INTO tags (type, value)
        SELECT DISTINCT type, value
          FROM asked
         ORDER BY type, value
        ON CONFLICT DO NOTHING
        RETURNING type, value
    ),
    added AS (
        INSERT INTO flag_tags (flag_id, type, value)
        SELECT flag_id, type, value
          FROM asked
        ON CONFLICT DO NOTHING
    )
    SELECT type, value FROM made ORDER BY type, value
"""


def add_tags(conn: Connection, tags: Items) -> list[DictRow]:
    """Put tags (flag, type, value) on flags; type and value of those that no flag ever had."""
    return rows(conn, ADD_TAGS, {"tags": as_json(tags)})


SET_PARENTS = """
    INSERT INTO flag_dependencies (child_id, parent_id, enabled, variants)
    SELECT children.id, parents.id, link.enabled, ARRAY(SELECT json_array_elements_text(link.variants))
      FROM json_to_recordset(%(links)s::json) AS link (child text, feature text, enabled boolean, variants json)
      JOIN flags AS children ON children.name = child AND children.deleted_at IS NULL
      JOIN flags AS parents ON parents.name = feature AND parents.deleted_at IS NULL
    ON CONFLICT (child_id, parent_id) DO UPDATE SET enabled = excluded.enabled, variants = excluded.variants
"""


def set_parents(conn: Connection, links: Items) -> None:
    """Let flags depend on others in this way (child, feature, enabled, variants), each pair once."""
    run(conn, SET_PARENTS, {"links": as_json(links)})


# Insights need the first time in production; later ones do not count.
SWITCH = """
    WITH first_time AS (
        UPDATE flags
           SET first_in_production_at = now()
          FROM environments
         WHERE flags.name = ANY(%(on)s::text[])
           AND deleted_at IS NULL
           AND first_in_production_at IS NULL
           AND environments.name = %(environment)s
           AND environments.type = 'production'
    )
    UPDATE flag_environments
       SET enabled = flags.name = ANY(%(on)s::text[])
      FROM flags
     WHERE flags.id = flag_id
       AND flags.name = ANY(%(on)s::text[] || %(off)s::text[])
       AND deleted_at IS NULL
       AND environment = %(environment)s
"""


def switch(conn: Connection, environment: str, *, on: Collection[str], off: Collection[str]) -> None:
    """Switch flags on and off in an environment."""
    run(conn, SWITCH, {"environment": environment, "on": list(on), "off": list(off)})
