"""The feature search: live or archived flags of visible projects, filtered, sorted and paged in one statement."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, value
from sql.flags import records as flag_records
from sql.flags import strategies
from sql.flags.stages import STAGE, STAGE_NAME
from sql.limits import PAGE_BYTES
from sql.projects.health import POTENTIALLY_STALE
from sql.projects.visibility import VISIBLE

# The segments of a flag's strategies. OFFSET 0 makes PostgreSQL look them up by their keys. Without statistics, it
# reads the segments of all strategies for each flag.
SEGMENTS_OF_FLAG: LiteralString = """
      FROM strategies
     CROSS JOIN LATERAL (
        SELECT (SELECT name FROM segments WHERE segments.id = segment_id) AS name
          FROM strategy_segments
         WHERE strategy_id = strategies.id
        OFFSET 0) AS segments
     WHERE strategies.flag_id = flags.id
"""

# A flag's tags as type:value, and the names of the segments of its strategies.
TAGS: LiteralString = "(SELECT coalesce(array_agg(type || ':' || value), '{}') FROM flag_tags WHERE flag_id = flags.id)"
SEGMENTS: LiteralString = f"(SELECT coalesce(array_agg(segments.name), '{{}}'){SEGMENTS_OF_FLAG})"
STATE: LiteralString = "CASE WHEN flags.stale_since IS NULL THEN 'active' ELSE 'stale' END"

# FlagHit: a FlagItem with the usage of the last hour and more fields.
HIT: LiteralString = f"""json_build_object({flag_records.CORE_FIELDS},
        'archivedAt', iso(flags.archived_at),
        {flag_records.LAST_SEEN_AT},
        'favorite', {flag_records.FAVORITE},
        'tags', {flag_records.TAGS},
        'environments', (
            SELECT coalesce(json_agg(json_build_object('name', environments.name, {flag_records.ENVIRONMENT_FIELDS},
                       'yes', (SELECT coalesce(sum(yes), 0){flag_records.USAGE}),
                       'no', (SELECT coalesce(sum(no), 0){flag_records.USAGE}))
                        ORDER BY environments.sort_order, environments.name), '[]'){flag_records.LINKED_ENVIRONMENTS}),
        'dependencyType', CASE
            WHEN EXISTS (SELECT FROM flag_dependencies WHERE child_id = flags.id) THEN 'child'
            WHEN EXISTS (SELECT FROM flag_dependencies WHERE parent_id = flags.id) THEN 'parent'
        END,
        'segments', (
            SELECT coalesce(json_agg(DISTINCT segments.name ORDER BY segments.name), '[]'){SEGMENTS_OF_FLAG}),
        'createdBy', {flag_records.CREATED_BY},
        'lifecycle', {STAGE})
"""

# Whether a flag is too old for its type, and not marked stale.
OLD: LiteralString = f"EXISTS (SELECT FROM flag_types WHERE flag_types.id = flags.type AND {POTENTIALLY_STALE})"

# What pages list of a flag. An environment has the strategies that are not disabled. narrow: only for users who match.
# Strategies with a constraint on the time can be a ramp plan, so they are complete Strategy records.
ROW: LiteralString = f"""json_build_object({flag_records.CORE_FIELDS},
        'archivedAt', iso(flags.archived_at),
        'old', {OLD},
        'stage', {STAGE_NAME},
        'favorite', {flag_records.FAVORITE},
        'tags', {flag_records.TAGS},
        'lastSeen', (
            SELECT json_build_object('at', iso(last_at), 'application', app_name)
              FROM flag_sightings
             WHERE flag_id = flags.id
             ORDER BY last_at DESC
             LIMIT 1),
        'environments', (
            SELECT coalesce(json_agg(json_build_object(
                       'name', environments.name,
                       'type', environments.type,
                       'enabled', coalesce(flag_environments.enabled, false),
                       'strategies', (
                            SELECT coalesce(json_agg(json_merge(
                                       json_build_object(
                                           'name', strategies.name,
                                           'rollout', parameters ->> 'rollout',
                                           'narrow', json_array_length(constraints) > 0 OR EXISTS (
                                               SELECT FROM strategy_segments WHERE strategy_id = strategies.id)),
                                       CASE WHEN strpos(constraints::text, '"currentTime"') > 0
                                            THEN {strategies.RECORD} END)
                                       ORDER BY strategies.sort_order, strategies.created_at, strategies.id), '[]')
                              FROM strategies
                             WHERE flag_id = flags.id
                               AND environment = environments.name
                               AND NOT disabled))
                        ORDER BY environments.sort_order, environments.name), '[]'){flag_records.LINKED_ENVIRONMENTS}))
"""

# Our choice: upper() first, because the lower case of some letters depends on their place in a word (Greek sigma).
# OFFSET 0 makes PostgreSQL fold name and description once, not for each text.
TEXTS: LiteralString = """EXISTS (
        SELECT FROM (SELECT lower(upper(flags.name)), lower(upper(flags.description)) OFFSET 0)
                      AS folded (name, description),
               unnest(ARRAY(SELECT lower(upper(text)) FROM unnest(%(texts)s::text[]) AS text)) AS text
         WHERE strpos(folded.name, text) > 0 OR strpos(folded.description, text) > 0)"""

# && means: have a common element. @> means: contains all elements.
FILTERS: dict[str, LiteralString] = {
    "live": "flags.archived_at IS NULL",
    "archived": "flags.archived_at IS NOT NULL AND flags.deleted_at IS NULL",
    "existing": "flags.deleted_at IS NULL",
    "texts": TEXTS,
    "texts_or_tags": f"""({TEXTS} OR EXISTS (
        SELECT FROM flag_tags, unnest(%(texts)s::text[]) AS text
         WHERE flag_id = flags.id
           AND strpos(lower(upper(type || ':' || value)), lower(upper(text))) > 0))""",
    "project": "flags.project_id = ANY(%(project)s)",
    "not_project": "flags.project_id <> ALL(%(project)s)",
    "type": "flags.type = ANY(%(type)s)",
    "not_type": "flags.type <> ALL(%(type)s)",
    "state": f"{STATE} = ANY(%(state)s)",
    "not_state": f"{STATE} <> ALL(%(state)s)",
    # The states of the project page: several combine with OR.
    "states": f"""(
        {STATE} = ANY(%(states)s)
        OR ('old' = ANY(%(states)s) AND {OLD}))""",
    "createdBy": f"{flag_records.CREATOR_ID} = ANY(%(createdBy)s::bigint[])",
    "not_createdBy": f"{flag_records.CREATOR_ID} <> ALL(%(createdBy)s::bigint[])",
    "tag_any": f"{TAGS} && %(tag)s::text[]",
    "tag_all": f"{TAGS} @> %(tag)s::text[]",
    "not_tag_any": f"NOT {TAGS} && %(tag)s::text[]",
    "not_tag_all": f"NOT {TAGS} @> %(tag)s::text[]",
    "segment_any": f"{SEGMENTS} && %(segment)s::text[]",
    "segment_all": f"{SEGMENTS} @> %(segment)s::text[]",
    "not_segment_any": f"NOT {SEGMENTS} && %(segment)s::text[]",
    "not_segment_all": f"NOT {SEGMENTS} @> %(segment)s::text[]",
    "status": """EXISTS (
        SELECT FROM flag_environments
          JOIN unnest(%(status_environments)s::text[], %(status_states)s::boolean[]) AS requested (environment, enabled)
         USING (environment, enabled)
         WHERE flag_id = flags.id)""",
    "favorite": f"({flag_records.FAVORITE})::text = ANY(%(favorite)s)",
    "not_favorite": f"({flag_records.FAVORITE})::text <> ALL(%(favorite)s)",
    "lifecycle": f"{STAGE_NAME} = ANY(%(lifecycle)s)",
    "not_lifecycle": f"{STAGE_NAME} <> ALL(%(lifecycle)s)",
    "createdAt_IS_BEFORE": "flags.created_at < %(createdAt)s::date::timestamp AT TIME ZONE 'UTC'",
    "createdAt_IS_ON_OR_AFTER": "flags.created_at >= %(createdAt)s::date::timestamp AT TIME ZONE 'UTC'",
    # Flags that were never seen match neither.
    "lastSeenAt_IS_BEFORE": f"{flag_records.LAST_SEEN} < %(lastSeenAt)s::date::timestamp AT TIME ZONE 'UTC'",
    "lastSeenAt_IS_ON_OR_AFTER": f"{flag_records.LAST_SEEN} >= %(lastSeenAt)s::date::timestamp AT TIME ZONE 'UTC'",
}

# Our choice: flags without the value to sort by come last in both directions.
SORTS: dict[str, LiteralString] = {
    "createdAt": "flags.created_at",
    "name": "flags.name",
    "type": "flags.type",
    "project": "flags.project_id",
    "stale": "flags.stale_since IS NOT NULL",
    "lastSeenAt": flag_records.LAST_SEEN,
    "environment": """(
        SELECT enabled FROM flag_environments WHERE flag_id = flags.id AND environment = %(sort_environment)s)""",
}


def statement(record: LiteralString, order: LiteralString, conditions: LiteralString) -> LiteralString:
    """Return the statement of a search for these records, with this order and these conditions."""
    return f"""
    WITH matching AS (
        SELECT flags.id,
               row_number() OVER (ORDER BY {order}) AS place
          FROM flags
          JOIN projects ON projects.id = flags.project_id
         WHERE {conditions}
    ),
    page AS (
        SELECT id, place
          FROM matching
         ORDER BY place
         LIMIT %(limit)s
        OFFSET %(offset)s
    ),
    listed AS (
        SELECT flags.*, place FROM page JOIN flags USING (id)
    ),
    {flag_records.IS_SMALL}
    SELECT json_build_object(
               'features', coalesce(json_agg({record} ORDER BY place), '[]'),
               'total', (SELECT count(*) FROM matching))::text
      FROM listed AS flags
    HAVING (SELECT is_small FROM size)
    """


def search(
    conn: Connection,
    filters: Sequence[str],
    values: Mapping[str, Any],
    *,
    viewer: int | None,
    user_id: int | None,
    sort: str,
    descending: bool,
    favorites_first: bool,
    limit: int,
    offset: int,
    record: LiteralString = HIT,
) -> str | None:
    """Return {"features": FlagHit[], "total": n} as JSON text, or None if the texts of the flags exceed PAGE_BYTES.

    record: HIT, or ROW for pages. filters: keys of FILTERS, with their values. sort: a key of SORTS.
    """
    conditions: LiteralString = VISIBLE
    for key, fragment in FILTERS.items():
        if key in filters:
            conditions = f"{conditions} AND {fragment}"
    direction: LiteralString = "DESC" if descending else "ASC"
    order: LiteralString = f"{SORTS[sort]} {direction} NULLS LAST, flags.created_at, flags.name"
    if favorites_first:
        order = f"{flag_records.FAVORITE} DESC, {order}"
    params = {"viewer": viewer, "user_id": user_id, "limit": limit, "offset": offset, "max_bytes": PAGE_BYTES}
    return value(conn, statement(record, order, conditions), {**values, **params})
