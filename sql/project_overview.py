"""The project overview record of api.md (5)."""

from typing import LiteralString

from sql import Connection, value
from sql.projects import ACTIVE, HEALTH, MEAN_DAYS

# Our choice: the current window is the last 30 days, the past window the 30 days before; all is computed when it is asked for.
# asked: a parameter behind a sub-select has no part in the planner's estimates, so that no plan for this project alone looks cheaper than
# the one for all projects; else PostgreSQL would make a plan at each request, which takes longer than the rest of it.
# is_busy: what two months of a small project have is soonest counted, by an index. Of a busy one the totals of whole days (UTC) are taken,
# with what is not in them yet, and events are counted only of the days on which a window begins or ends.
OVERVIEW: LiteralString = (
    """
    WITH asked AS (
        SELECT %(id)s::text AS id
    ),
    windows AS (
        SELECT now() - interval '30 days' AS this,
               now() - interval '60 days' AS last
    ),
    own_flags AS (
        SELECT flags.type,
               count(*) FILTER (WHERE archived_at IS NULL) AS live,
               count(*) FILTER (WHERE archived_at IS NULL AND """
    + ACTIVE
    + """) AS active,
               count(*) FILTER (WHERE archived_at IS NULL AND created_at > this AND created_at <= now()) AS created_this,
               count(*) FILTER (WHERE archived_at IS NULL AND created_at > last AND created_at <= this) AS created_last,
               count(*) FILTER (WHERE first_in_production_at > this AND first_in_production_at <= now()) AS in_production,
               sum(extract(epoch FROM first_in_production_at - created_at) / 86400)
                   FILTER (WHERE first_in_production_at > this AND first_in_production_at <= now()) AS days_to_production
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type,
               windows
         WHERE project_id = (SELECT id FROM asked)
         GROUP BY flags.type
    ),
    counts AS (
        SELECT coalesce(sum(live), 0)::bigint AS total,
               coalesce(sum(active), 0)::bigint AS active,
               coalesce(sum(created_this), 0)::bigint AS created_this,
               coalesce(sum(created_last), 0)::bigint AS created_last,
               sum(days_to_production) / nullif(sum(in_production), 0) AS days,
               coalesce(json_agg(json_build_object('type', type, 'count', live) ORDER BY type) FILTER (WHERE live > 0), '[]') AS types
          FROM own_flags
    ),
    archived AS (
        SELECT count(DISTINCT flag_id) FILTER (WHERE started_at > this) AS this,
               count(DISTINCT flag_id) FILTER (WHERE started_at <= this) AS last
          FROM (SELECT id AS flag_id, archived_at AS started_at
                  FROM flags
                 WHERE project_id = (SELECT id FROM asked)
                   AND archived_at > now() - interval '60 days'
                   AND archived_at <= now()
             UNION ALL
                SELECT flag_id, started_at
                  FROM past_flag_states
                  JOIN flags ON flags.id = flag_id
                 WHERE project_id = (SELECT id FROM asked)
                   AND state = 'archived'
                   AND started_at > now() - interval '60 days'
                   AND started_at <= now()) AS begun,
               windows
    ),
    kept AS (
        SELECT year, days, sum(total) OVER () > 5000 AS is_much
          FROM event_totals
         WHERE key = event_key((SELECT id FROM asked), NULL, NULL, NULL)
           AND year >= extract(year FROM now() - interval '60 days')
    ),
    limits AS (
        SELECT this,
               last,
               (last AT TIME ZONE 'UTC')::date AS last_day,
               (this AT TIME ZONE 'UTC')::date AS this_day,
               (now() AT TIME ZONE 'UTC')::date AS today,
               coalesce((SELECT bool_or(is_much) FROM kept), false) AS is_busy
          FROM windows
    ),
    whole_days AS (
        SELECT coalesce(sum(number) FILTER (WHERE day > this_day), 0) AS this,
               coalesce(sum(number) FILTER (WHERE day < this_day), 0) AS last
          FROM limits,
               (SELECT make_date(year, 1, 1) + first_place + place::integer - 2 AS day, number
                  FROM kept
                 CROSS JOIN LATERAL (
                    SELECT CASE WHEN year = extract(year FROM last_day) THEN extract(doy FROM last_day)::integer ELSE 1 END AS first_place
                      FROM limits
                     WHERE is_busy) AS places
                 CROSS JOIN LATERAL unnest(days[first_place:]) WITH ORDINALITY AS of_days (number, place)
             UNION ALL
                SELECT (created_at AT TIME ZONE 'UTC')::date, 1
                  FROM uncounted_events
                 WHERE (SELECT is_busy FROM limits)
                   AND project = (SELECT id FROM asked)) AS all_days
         WHERE day > last_day
           AND day < today
    ),
    counted_days AS (
        SELECT last AS since, 'infinity'::timestamptz AS until
          FROM limits
         WHERE NOT is_busy
     UNION ALL
        SELECT day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC'
          FROM limits, unnest(ARRAY[last_day, this_day, today]) AS day
         WHERE is_busy
    ),
    counted AS (
        SELECT count(*) FILTER (WHERE created_at > this) AS this,
               count(*) FILTER (WHERE created_at <= this) AS last
          FROM windows, counted_days, events
         WHERE project = (SELECT id FROM asked)
           AND created_at >= since
           AND created_at < until
           AND created_at > last
           AND created_at <= now()
    ),
    activity AS (
        SELECT counted.this + whole_days.this AS this,
               counted.last + whole_days.last AS last
          FROM counted, whole_days
    ),
    members AS (
        SELECT count(DISTINCT user_id) FILTER (WHERE ended_at IS NULL) AS present,
               count(DISTINCT user_id) FILTER (WHERE started_at > this AND started_at <= now()) AS added
          FROM project_memberships, windows
         WHERE project_id = (SELECT id FROM asked)
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
         WHERE project_id = (SELECT id FROM asked)
    ),
    onboarding AS (
        SELECT CASE
                   WHEN total = 0
                       THEN json_build_object('status', 'onboarding-started')
                   WHEN EXISTS (SELECT FROM usage_metrics WHERE project_id = (SELECT id FROM asked))
                     OR EXISTS (
                            SELECT FROM flags
                              JOIN usage_metrics ON flag_name = flags.name AND hour >= date_trunc('hour', flags.created_at)
                             WHERE flags.project_id = (SELECT id FROM asked))
                       THEN json_build_object('status', 'onboarded')
                   ELSE json_build_object(
                       'status', 'first-flag-created',
                       'feature', (
                           SELECT name
                             FROM flags
                            WHERE project_id = (SELECT id FROM asked)
                              AND archived_at IS NULL
                            ORDER BY created_at, id
                            LIMIT 1))
               END AS status
          FROM counts
    ),
    overview AS (
        SELECT jsonb_build_object(
                    'stats', jsonb_build_object(
                        'avgTimeToProdCurrentWindow', """
    + MEAN_DAYS
    + """,
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
                    'members', members.present,
                    'health', """
    + HEALTH
    + """,
                    'environments', own_environments.list,
                    'featureTypeCounts', counts.types,
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
          FROM projects, counts, archived, activity, members, own_environments, onboarding
         WHERE projects.id = (SELECT id FROM asked)
    )
"""
)

GET: LiteralString = OVERVIEW + "SELECT record::text FROM overview"


def get(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """The project overview record as JSON text, favorite as this user (None: a key) has it. None: no such project."""
    return value(conn, GET, {"id": project_id, "user_id": user_id})
