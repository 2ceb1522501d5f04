"""The flags of a project that can probably be removed, each with the reason and the evidence."""

from collections.abc import Sequence
from typing import LiteralString

from sql.database import Connection, rows, value
from sql.flags.records import LINKED_ENVIRONMENTS
from sql.flags.search import ROW
from sql.projects.health import POTENTIALLY_STALE

# In the order of the page. A flag is in the first group that fits.
REASONS = ("stale", "old", "unused", "never", "bulk", "everybody")

# Whether an environment of LINKED_ENVIRONMENTS gives the flag to everybody, all in the same way.
FOR_ALL: LiteralString = """
    (coalesce(flag_environments.enabled, false)
     AND NOT EXISTS (SELECT FROM variants WHERE flag_id = flags.id AND variants.environment = environments.name)
     AND (SELECT coalesce(bool_or(json_array_length(constraints) = 0
                                  AND (strategies.name = 'default'
                                       OR (strategies.name = 'flexibleRollout' AND parameters ->> 'rollout' = '100'))
                                  AND NOT EXISTS (SELECT FROM strategy_segments WHERE strategy_id = strategies.id)),
                          true)
            FROM strategies
           WHERE flag_id = flags.id
             AND strategies.environment = environments.name
             AND NOT disabled))
"""

# Since when the flag is on for everybody in production, or null. Events before the oldest one are unknown.
EVERYBODY_SINCE: LiteralString = f"""
    CASE WHEN NOT EXISTS (SELECT FROM flag_dependencies WHERE child_id = flags.id)
          AND (SELECT bool_and({FOR_ALL}){LINKED_ENVIRONMENTS} AND environments.type = 'production')
         THEN greatest(flags.created_at,
                       (SELECT min(created_at) FROM events),
                       (SELECT max(created_at)
                          FROM events
                         WHERE feature_name = flags.name
                           AND environment IN (SELECT name FROM environments WHERE type = 'production')))
    END
"""

# Our choice: no flag was never used before applications have reported flags of its project for 30 days, such as after a
# move from another server. Pages that read all flags at once may use any of them, so none is called unused then. Kill
# switches are meant to be on for everybody.
JUDGED: LiteralString = f"""
    WITH bulk AS MATERIALIZED (
        SELECT project_id, max(bulk_read_on) AS bulk_read_on
          FROM unnest(%(projects)s::text[]) AS requested (project_id)
          JOIN api_keys ON bulk_read_on > (now() AT TIME ZONE 'UTC')::date - 30
         WHERE project_id IN (SELECT api_key_projects.project_id FROM api_key_projects WHERE api_key_id = api_keys.id)
            OR NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id)
         GROUP BY project_id
    ),
    used AS (
        SELECT flags.*, lifetime_days, seen_at, min(first_at) OVER (PARTITION BY project_id) AS reported_since
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         CROSS JOIN LATERAL (
            SELECT min(first_at) AS first_at, max(last_at) AS seen_at
              FROM flag_sightings
             WHERE flag_id = flags.id) AS sightings
         WHERE project_id = ANY(%(projects)s)
           AND archived_at IS NULL
    ),
    judged AS MATERIALIZED (
        SELECT flags.*,
               CASE WHEN stale_since IS NOT NULL THEN 'stale'
                    WHEN {POTENTIALLY_STALE} THEN 'old'
                    WHEN coalesce(seen_at, greatest(created_at, reported_since)) < now() - interval '30 days'
                     AND reported_since IS NOT NULL
                    THEN CASE WHEN project_id IN (SELECT project_id FROM bulk) THEN 'bulk'
                              WHEN seen_at IS NULL THEN 'never'
                              ELSE 'unused'
                         END
                    WHEN type <> 'kill-switch'
                     AND created_at < now() - interval '60 days'
                     AND {EVERYBODY_SINCE} < now() - interval '60 days' THEN 'everybody'
               END AS reason
          FROM used AS flags
    )
"""

COUNT: LiteralString = (
    f"{JUDGED}SELECT project_id, count(*) AS number FROM judged WHERE reason IS NOT NULL GROUP BY project_id"
)


def count(conn: Connection, projects: Sequence[str]) -> dict[str, int]:
    """Return the number of flags to clean up of each of these projects that has some, by project id."""
    return {row["project_id"]: row["number"] for row in rows(conn, COUNT, {"projects": list(projects)})}


# A row of the list of flags, and the evidence. asked: whether an application has asked for it in the last 30 days.
LIST: LiteralString = f"""{JUDGED},
    listed AS (
        SELECT judged.*, array_position(%(reasons)s::text[], reason) AS place
          FROM judged
         WHERE reason IS NOT NULL
         ORDER BY place, name
         LIMIT %(limit)s OFFSET %(offset)s
    )
    SELECT json_build_object(
               'counts', (
                   SELECT coalesce(json_object_agg(reason, number), '{{}}')
                     FROM (SELECT reason, count(*) AS number FROM judged GROUP BY reason) AS counted
                    WHERE reason IS NOT NULL),
               'flags', (
                   SELECT coalesce(json_agg(json_merge({ROW}, json_build_object(
                              'reason', reason,
                              'lifetime', lifetime_days,
                              'staleSince', iso(stale_since),
                              'markedBy', CASE WHEN stale_since IS NOT NULL THEN (
                                  SELECT coalesce(users.name, events.created_by)
                                    FROM events
                                    LEFT JOIN users ON users.id = events.created_by_user_id
                                   WHERE feature_name = flags.name
                                     AND events.type = 'feature-stale-on'
                                     AND events.created_at >= date_trunc('milliseconds', flags.created_at)
                                   ORDER BY events.created_at DESC, events.id DESC
                                   LIMIT 1) END,
                              'everybodySince', iso({EVERYBODY_SINCE}),
                              'asked', seen_at > now() - interval '30 days',
                              'bulkReadOn', (SELECT to_char(bulk_read_on, 'FMDD Mon') FROM bulk)))
                              ORDER BY place, name), '[]')
                     FROM listed AS flags))::text
"""


def list_flags(conn: Connection, project: str, user_id: int, limit: int, offset: int) -> str:
    """Return a page of the flags to clean up by reason and name, and the numbers of all by reason, as JSON text."""
    params = {"projects": [project], "reasons": list(REASONS), "user_id": user_id, "limit": limit, "offset": offset}
    return value(conn, LIST, params)
