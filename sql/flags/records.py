"""The JSON records of a flag, built from a row of flags: FlagCore, FlagItem, FlagEnvironment and Flag."""

from collections.abc import Sequence
from typing import Any, LiteralString

from sql.database import Connection, RecordText, record, rows
from sql.flags import strategies
from sql.flags.stages import STAGE

TAGS: LiteralString = """
    (SELECT coalesce(json_agg(json_build_object('type', type, 'value', value) ORDER BY type, value), '[]')
       FROM flag_tags
      WHERE flag_id = flags.id)
"""

# When an application last reported the flag.
LAST_SEEN: LiteralString = "(SELECT max(last_at) FROM flag_sightings WHERE flag_id = flags.id)"

# Whether a flag is on in an environment of its project.
ENABLED: LiteralString = """
    EXISTS (
        SELECT FROM flag_environments
          JOIN project_environments USING (environment)
         WHERE flag_environments.flag_id = flags.id
           AND project_environments.project_id = flags.project_id
           AND flag_environments.enabled)
"""

# The fields that FlagCore and FlagItem share, as arguments of json_build_object.
CORE_FIELDS: LiteralString = f"""
        'name', flags.name,
        'type', flags.type,
        'description', flags.description,
        'project', flags.project_id,
        'enabled', {ENABLED},
        'stale', flags.stale_since IS NOT NULL,
        'impressionData', flags.impression_data,
        'archived', flags.archived_at IS NOT NULL,
        'createdAt', iso(flags.created_at)
"""

LAST_SEEN_AT: LiteralString = f"'lastSeenAt', iso({LAST_SEEN})"

# FlagCore, which events contain too, and its properties.
CORE_WITH_DATES: LiteralString = f"{CORE_FIELDS}, 'archivedAt', iso(flags.archived_at), {LAST_SEEN_AT}"
CORE: LiteralString = f"json_build_object({CORE_WITH_DATES})"

FAVORITE: LiteralString = """
    EXISTS (SELECT FROM flag_favorites WHERE flag_id = flags.id AND user_id = %(user_id)s::integer)
"""

# The environments that are linked to the flag's project, with the flag's row in flag_environments, if there is one.
LINKED_ENVIRONMENTS: LiteralString = """
      FROM project_environments
      JOIN environments ON environments.name = project_environments.environment
      LEFT JOIN flag_environments ON flag_environments.flag_id = flags.id
                                 AND flag_environments.environment = environments.name
     WHERE project_environments.project_id = flags.project_id
"""

# The fields of every FlagEnvironment, as arguments of json_build_object, from rows of LINKED_ENVIRONMENTS.
ENVIRONMENT_FIELDS: LiteralString = """
        'environment', environments.name,
        'type', environments.type,
        'enabled', coalesce(flag_environments.enabled, false),
        'sortOrder', environments.sort_order,
        'variantCount', (
            SELECT count(*)
              FROM variants
             WHERE flag_id = flags.id
               AND environment = environments.name
               AND strategy_id IS NULL),
        'hasStrategies', EXISTS (
            SELECT FROM strategies WHERE flag_id = flags.id AND environment = environments.name),
        'hasEnabledStrategies', EXISTS (
            SELECT FROM strategies WHERE flag_id = flags.id AND environment = environments.name AND NOT disabled),
        'lastSeenAt', iso((
            SELECT max(last_at)
              FROM flag_sightings
             WHERE flag_id = flags.id
               AND environment = environments.name))
"""

# A variant of the flag itself, from a row of variants. payload is omitted if there is none.
VARIANT: LiteralString = """
    CASE WHEN payload_type IS NULL
         THEN json_build_object('name', variants.name, 'weight', weight, 'weightType', weight_type,
                                'stickiness', stickiness, 'overrides', overrides)
         ELSE json_build_object('name', variants.name, 'weight', weight, 'weightType', weight_type,
                                'stickiness', stickiness,
                                'payload', json_build_object('type', payload_type, 'value', payload_value),
                                'overrides', overrides)
    END
"""

# Our choice: "last hour" means the hour of the clock, because usage is reported by hour. Usage from before the hour of
# the creation of a flag belongs to an earlier flag with its name.
USAGE: LiteralString = """
          FROM usage_metrics
         WHERE flag_name = flags.name
           AND environment = environments.name
           AND hour > now() - interval '1 hour'
           AND hour >= date_trunc('hour', flags.created_at)
"""

# The fields that a FlagEnvironment has only in the response for one flag.
DETAIL_FIELDS: LiteralString = f"""
        'strategies', (
            SELECT coalesce(json_agg({strategies.RECORD}
                                     ORDER BY strategies.sort_order, strategies.created_at, strategies.id), '[]')
              FROM strategies
             WHERE strategies.flag_id = flags.id
               AND strategies.environment = environments.name),
        'variants', (
            SELECT coalesce(json_agg({VARIANT} ORDER BY position, variants.name), '[]')
              FROM variants
             WHERE flag_id = flags.id
               AND environment = environments.name
               AND strategy_id IS NULL),
        'yes', (SELECT coalesce(sum(yes), 0){USAGE}),
        'no', (SELECT coalesce(sum(no), 0){USAGE})
"""

# An environment in the response for one flag, from a row of LINKED_ENVIRONMENTS.
FLAG_ENVIRONMENT: LiteralString = f"json_build_object('name', environments.name, {ENVIRONMENT_FIELDS}, {DETAIL_FIELDS})"

# Whether the texts of the flags in a table `listed` are small enough for one response. All other fields have a maximum.
IS_SMALL: LiteralString = """
    size AS (
        SELECT coalesce(sum(octet_length(description)), 0)
               + (SELECT coalesce(sum(octet_length(type) + octet_length(value)), 0)
                    FROM flag_tags
                   WHERE flag_id IN (SELECT id FROM listed)) <= %(max_bytes)s AS is_small
          FROM listed
    )
"""

ITEM: LiteralString = f"""json_build_object({CORE_FIELDS}, {LAST_SEEN_AT},
        'favorite', {FAVORITE},
        'tags', {TAGS},
        'environments', (
            SELECT coalesce(json_agg(json_build_object('name', environments.name, {ENVIRONMENT_FIELDS})
                    ORDER BY environments.sort_order, environments.name), '[]'){LINKED_ENVIRONMENTS}))
"""

# UserRef, from a row of users.
PERSON: LiteralString = """
    json_build_object('id', users.id,
                      'name', coalesce(users.name, users.username, users.email),
                      'imageUrl', coalesce(users.image_url, ''))
"""

# Our choice: favorites are no changes, and changes of an earlier flag with the same name do not count.
COLLABORATORS: LiteralString = f"""
    (SELECT json_build_object('users', coalesce(json_agg({PERSON} ORDER BY users.id), '[]'))
       FROM users
      WHERE id IN (
            SELECT created_by_user_id
              FROM events
             WHERE feature_name = flags.name
               AND created_at >= date_trunc('milliseconds', flags.created_at)
               AND type NOT IN ('feature-favorited', 'feature-unfavorited')))
"""

# Our choice: the ids of Unleash, -42 for API tokens and -1337 for the service itself.
CREATOR_ID: LiteralString = """
    coalesce(flags.created_by_user_id, CASE WHEN flags.created_by IS NULL THEN -1337 ELSE -42 END)
"""

CREATED_BY: LiteralString = f"""
    coalesce((SELECT {PERSON} FROM users WHERE users.id = flags.created_by_user_id),
             json_build_object('id', {CREATOR_ID},
                               'name', coalesce(flags.created_by, 'system'),
                               'imageUrl', ''))
"""

# The variants of all environments. Of several with the same name, the one of the first environment.
ALL_VARIANTS: LiteralString = f"""
    (SELECT coalesce(json_agg({VARIANT} ORDER BY variants.name), '[]')
       FROM (SELECT DISTINCT ON (variants.name) variants.*
               FROM variants
               JOIN environments ON environments.name = variants.environment
              WHERE flag_id = flags.id
                AND strategy_id IS NULL
              ORDER BY variants.name, environments.sort_order, environments.name) AS variants)
"""

FLAG: LiteralString = f"""
    json_merge({CORE}, json_build_object(
        'environments', (
            SELECT coalesce(json_agg({FLAG_ENVIRONMENT}
                                     ORDER BY environments.sort_order, environments.name), '[]'){LINKED_ENVIRONMENTS}),
        'favorite', {FAVORITE},
        'tags', {TAGS},
        'children', (
            SELECT coalesce(json_agg(children.name ORDER BY children.name), '[]')
              FROM flag_dependencies
              JOIN flags AS children ON children.id = child_id
             WHERE parent_id = flags.id),
        'dependencies', (
            SELECT coalesce(json_agg(json_build_object(
                                         'feature', parents.name, 'enabled', enabled, 'variants', variants)
                                     ORDER BY parents.name), '[]')
              FROM flag_dependencies
              JOIN flags AS parents ON parents.id = parent_id
             WHERE child_id = flags.id),
        'variants', {ALL_VARIANTS},
        'links', (
            SELECT coalesce(json_agg(json_build_object(
                                         'id', id::text, 'url', url, 'title', title, 'feature', flags.name)
                                     ORDER BY flag_links.id), '[]')
              FROM flag_links
             WHERE flag_id = flags.id),
        'createdBy', {CREATED_BY},
        'lifecycle', {STAGE},
        'collaborators', {COLLABORATORS}))
"""

GET: LiteralString = f"""SELECT ({FLAG})::text AS text, version
      FROM flags
     WHERE name = %(name)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def get(conn: Connection, project: str, name: str, user_id: int | None) -> RecordText | None:
    """Return the Flag record of a live flag as JSON text, with the favorite of the user, or None."""
    return record(conn, GET, {"project": project, "name": name, "user_id": user_id})


LIST: LiteralString = f"SELECT {FLAG} AS record FROM flags WHERE name = ANY(%(names)s::text[]) AND deleted_at IS NULL"


def list_flags(conn: Connection, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the Flag records of flags, live or archived, by name."""
    found = rows(conn, LIST, {"names": list(names), "user_id": None})
    return {row["record"]["name"]: row["record"] for row in found}
