"""The record of GET /api/admin/projects/{project}/overview."""

from typing import LiteralString

from sql.database import Connection, RecordText, record
from sql.projects.health import ACTIVE, HEALTH, MEAN_DAYS

# Our choice: the current window is the last 30 days, the past window the 30 days before. Both are computed at the
# request. requested: the planner does not see the value of a parameter behind a sub-select. Otherwise a plan for this
# project could look cheaper than the generic one. PostgreSQL would then plan at each request, which takes longer than
# the rest.
OVERVIEW: LiteralString = f"""
    WITH requested AS (
        SELECT %(id)s::text AS id
    ),
    windows AS (
        SELECT now() - interval '30 days' AS this,
               now() - interval '60 days' AS last
    ),
    own_flags AS (
        SELECT flags.type,
               count(*) FILTER (WHERE archived_at IS NULL) AS live,
               count(*) FILTER (WHERE archived_at IS NULL AND {ACTIVE}) AS active,
               count(*) FILTER (
                   WHERE archived_at IS NULL AND created_at > this AND created_at <= now()) AS created_this,
               count(*) FILTER (WHERE archived_at IS NULL AND created_at > last AND created_at <= this) AS created_last,
               count(*) FILTER (
                   WHERE first_in_production_at > this AND first_in_production_at <= now()) AS in_production,
               sum(extract(epoch FROM first_in_production_at - created_at) / 86400)
                   FILTER (
                   WHERE first_in_production_at > this AND first_in_production_at <= now()) AS days_to_production
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type,
               windows
         WHERE project_id = (SELECT id FROM requested)
         GROUP BY flags.type
    ),
    counts AS (
        SELECT coalesce(sum(live), 0)::bigint AS total,
               coalesce(sum(active), 0)::bigint AS active,
               coalesce(sum(created_this), 0)::bigint AS created_this,
               coalesce(sum(created_last), 0)::bigint AS created_last,
               sum(days_to_production) / nullif(sum(in_production), 0) AS days,
               coalesce(json_agg(json_build_object('type', type, 'count', live) ORDER BY type)
                        FILTER (WHERE live > 0), '[]') AS types
          FROM own_flags
    ),
    archived AS (
        SELECT count(DISTINCT flag_id) FILTER (WHERE started_at > this) AS this,
               count(DISTINCT flag_id) FILTER (WHERE started_at <= this) AS last
          FROM (SELECT id AS flag_id, archived_at AS started_at
                  FROM flags
                 WHERE project_id = (SELECT id FROM requested)
                   AND archived_at > now() - interval '60 days'
                   AND archived_at <= now()
             UNION ALL
                SELECT flag_id, started_at
                  FROM past_flag_states
                  JOIN flags ON flags.id = flag_id
                 WHERE project_id = (SELECT id FROM requested)
                   AND state = 'archived'
                   AND started_at > now() - interval '60 days'
                   AND started_at <= now()) AS begun,
               windows
    ),
    activity AS (
        SELECT count(*) FILTER (WHERE created_at > this) AS this,
               count(*) FILTER (WHERE created_at <= this) AS last
          FROM events, windows
         WHERE project = (SELECT id FROM requested)
           AND created_at > now() - interval '60 days'
           AND created_at <= statement_timestamp()
    ),
    members AS (
        SELECT count(DISTINCT user_id) FILTER (WHERE ended_at IS NULL) AS present,
               count(DISTINCT user_id) FILTER (WHERE started_at > this AND started_at <= now()) AS added
          FROM project_memberships, windows
         WHERE project_id = (SELECT id FROM requested)
    ),
    own_environments AS (
        SELECT coalesce(json_agg(entry ORDER BY sort_order, name), '[]') AS list
          FROM project_environments
          JOIN environments ON environments.name = project_environments.environment
         CROSS JOIN LATERAL (
            SELECT CASE WHEN default_strategy IS NULL
                        THEN json_build_object('environment', name, 'changeRequestsEnabled', is_protected)
                        ELSE json_build_object('environment', name, 'changeRequestsEnabled', is_protected,
                                               'defaultStrategy', default_strategy)
                   END AS entry
              FROM (SELECT required_approvals IS NOT NULL AS is_protected) AS protection) AS entries
         WHERE project_id = (SELECT id FROM requested)
    ),
    onboarding AS (
        SELECT CASE
                   WHEN total = 0
                       THEN json_build_object('status', 'onboarding-started')
                   WHEN EXISTS (SELECT FROM usage_metrics WHERE project_id = (SELECT id FROM requested))
                     OR EXISTS (
                            SELECT FROM flags
                              JOIN flag_sightings ON flag_id = flags.id
                             WHERE flags.project_id = (SELECT id FROM requested))
                       THEN json_build_object('status', 'onboarded')
                   ELSE json_build_object(
                       'status', 'first-flag-created',
                       'feature', (
                           SELECT name
                             FROM flags
                            WHERE project_id = (SELECT id FROM requested)
                              AND archived_at IS NULL
                            ORDER BY created_at, id
                            LIMIT 1))
               END AS status
          FROM counts
    ),
    overview AS (
        SELECT json_build_object(
                   'stats', json_build_object(
                       'avgTimeToProdCurrentWindow', {MEAN_DAYS},
                       'createdCurrentWindow', counts.created_this,
                       'createdPastWindow', counts.created_last,
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
                   'featureNaming', json_build_object(
                       'pattern', projects.naming_pattern,
                       'example', projects.naming_example,
                       'description', projects.naming_description),
                   'members', members.present,
                   'health', {HEALTH},
                   'environments', own_environments.list) AS head,
               json_build_object('featureTypeCounts', counts.types) AS type_counts,
               json_build_object(
                   'updatedAt', iso(projects.updated_at),
                   'archivedAt', iso(projects.archived_at),
                   'createdAt', iso(projects.created_at),
                   'favorite', EXISTS (
                       SELECT FROM project_favorites
                        WHERE project_id = projects.id
                          AND user_id = %(user_id)s::integer)) AS tail,
               json_build_object('onboardingStatus', onboarding.status) AS status,
               projects.version
          FROM projects, counts, archived, activity, members, own_environments, onboarding
         WHERE projects.id = (SELECT id FROM requested)
    )
"""

GET: LiteralString = (
    f"{OVERVIEW}SELECT json_merge(head, type_counts, tail, status)::text AS text, version FROM overview"
)


def get(conn: Connection, project_id: str, user_id: int | None) -> RecordText | None:
    """Return the project overview as JSON text, with the favorites of this user (None: an API token), or None."""
    return record(conn, GET, {"id": project_id, "user_id": user_id})
