"""The project overview record of api.md (5)."""

from typing import LiteralString

from sql import Connection, value
from sql.projects import ACTIVE, HEALTH, MEAN_DAYS

# Our choice: the current window is the last 30 days, the past window the 30 days before; all is computed when it is asked for.
OVERVIEW: LiteralString = (
    """
    WITH windows AS (
        SELECT tstzrange(now() - interval '30 days', now(), '(]') AS this,
               tstzrange(now() - interval '60 days', now() - interval '30 days', '(]') AS last
    ),
    live_flags AS (
        SELECT flags.id,
               flags.name,
               flags.type,
               flags.created_at,
               stale_since IS NOT NULL AS is_stale,
               """
    + ACTIVE
    + """ AS is_active
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE project_id = %(id)s
           AND archived_at IS NULL
    ),
    health AS (
        SELECT """
    + HEALTH
    + """ AS percent
          FROM (SELECT count(*) AS total, count(*) FILTER (WHERE is_active) AS active FROM live_flags) AS live
    ),
    created AS (
        SELECT count(*) FILTER (WHERE created_at <@ this) AS this,
               count(*) FILTER (WHERE created_at <@ last) AS last
          FROM live_flags, windows
    ),
    archived AS (
        SELECT count(DISTINCT flag_id) FILTER (WHERE started_at <@ this) AS this,
               count(DISTINCT flag_id) FILTER (WHERE started_at <@ last) AS last
          FROM flags
          JOIN flag_states ON flag_states.flag_id = flags.id AND state = 'archived',
               windows
         WHERE project_id = %(id)s
    ),
    time_to_production AS (
        SELECT """
    + MEAN_DAYS
    + """ AS days
          FROM (SELECT avg(extract(epoch FROM first_in_production_at - created_at) / 86400) AS days
                  FROM flags, windows
                 WHERE project_id = %(id)s
                   AND first_in_production_at <@ this) AS mean
    ),
    activity AS (
        SELECT count(*) FILTER (WHERE created_at <@ this) AS this,
               count(*) FILTER (WHERE created_at <@ last) AS last
          FROM events, windows
         WHERE project = %(id)s
           AND created_at > now() - interval '60 days'
    ),
    members AS (
        SELECT count(DISTINCT user_id) FILTER (WHERE ended_at IS NULL) AS present,
               count(DISTINCT user_id) FILTER (WHERE started_at <@ this) AS added
          FROM project_memberships, windows
         WHERE project_id = %(id)s
    ),
    type_counts AS (
        SELECT coalesce(json_agg(json_build_object('type', type, 'count', number) ORDER BY type), '[]') AS list
          FROM (SELECT type, count(*) AS number FROM live_flags GROUP BY type) AS counted
    ),
    own_environments AS (
        SELECT coalesce(json_agg(entry ORDER BY sort_order, name), '[]') AS list
          FROM project_environments
          JOIN environments ON environments.name = project_environments.environment
         CROSS JOIN LATERAL (
            SELECT CASE WHEN default_strategy IS NULL
                        THEN json_build_object('environment', name, 'changeRequestsEnabled', false)
                        ELSE json_build_object('environment', name, 'changeRequestsEnabled', false,
                                               'defaultStrategy', default_strategy)
                   END AS entry) AS entries
         WHERE project_id = %(id)s
    ),
    onboarding AS (
        SELECT CASE
                   WHEN NOT EXISTS (SELECT FROM live_flags)
                       THEN json_build_object('status', 'onboarding-started')
                   WHEN EXISTS (SELECT FROM usage_metrics WHERE project_id = %(id)s)
                     OR EXISTS (
                            SELECT FROM flags
                              JOIN usage_metrics ON flag_name = flags.name AND hour >= date_trunc('hour', flags.created_at)
                             WHERE flags.project_id = %(id)s)
                       THEN json_build_object('status', 'onboarded')
                   ELSE json_build_object(
                       'status', 'first-flag-created',
                       'feature', (SELECT name FROM live_flags ORDER BY created_at, id LIMIT 1))
               END AS status
    ),
    overview AS (
        SELECT jsonb_build_object(
                    'stats', jsonb_build_object(
                        'avgTimeToProdCurrentWindow', time_to_production.days,
                        'createdCurrentWindow', created.this,
                        'createdPastWindow', created.last,
                        'archivedCurrentWindow', archived.this,
                        'archivedPastWindow', archived.last,
                        'projectActivityCurrentWindow', activity.this,
                        'projectActivityPastWindow', activity.last,
                        'projectMembersAddedCurrentWindow', members.added),
                    'version', 1,
                    'name', projects.name,
                    'description', projects.description,
                    'defaultStickiness', projects.default_stickiness,
                    'mode', projects.mode,
                    'featureLimit', projects.feature_limit,
                    'members', members.present,
                    'health', health.percent,
                    'environments', own_environments.list,
                    'featureTypeCounts', type_counts.list,
                    'updatedAt', iso(projects.updated_at),
                    'archivedAt', iso(projects.archived_at),
                    'createdAt', iso(projects.created_at),
                    'favorite', EXISTS (
                        SELECT FROM project_favorites
                         WHERE project_id = projects.id
                           AND user_id = %(user_id)s::integer),
                    'onboardingStatus', onboarding.status)
                || CASE WHEN projects.naming_pattern IS NULL THEN '{}'
                        ELSE jsonb_build_object('featureNaming', jsonb_build_object(
                            'pattern', projects.naming_pattern,
                            'example', projects.naming_example,
                            'description', projects.naming_description))
                   END AS record
          FROM projects, health, created, archived, time_to_production, activity, members, type_counts, own_environments, onboarding
         WHERE projects.id = %(id)s
    )
"""
)

GET: LiteralString = OVERVIEW + "SELECT record::text FROM overview"


def get(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """The project overview record as JSON text, favorite as this user (None: a key) has it. None: no such project."""
    return value(conn, GET, {"id": project_id, "user_id": user_id})
