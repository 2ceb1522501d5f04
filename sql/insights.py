"""The instance insights: one entry a week, computed from dated facts for each request."""

from datetime import date
from typing import LiteralString

from sql import event_weeks
from sql.database import Connection
from sql.flag_trends import FLAGS, PROJECT_FLAGS
from sql.projects.visibility import VISIBLE
from sql.weeks import MONDAY_OF_END, WEEKS

BOUNDS: LiteralString = f""",
    -- width_bucket(instant, after_ends) returns the number of the first week that ends at or after the instant. At the
    -- end of that week, a state that began at the instant holds.
    bounds AS (
        SELECT count(*)::integer AS week_count,
               array_agg(until + interval '1 microsecond' ORDER BY until) AS after_ends,
               array_agg(until ORDER BY until) AS ends,
               array_agg(since ORDER BY since) AS starts,
               min(since) AS first_start,
               min(until) AS first_end,
               max(until) AS last_end
          FROM weeks
    ),
    seen_projects AS MATERIALIZED (
        SELECT id, created_at, archived_at
          FROM projects
         WHERE {VISIBLE}
           AND (%(projects)s::text[] IS NULL OR id = ANY(%(projects)s))
    )
"""

# Regular users, and those of them who were seen in the 90 days before the end of each week. A search in the index for
# each user and week reads less than all days of all users.
USERS: LiteralString = """
    , user_trends AS (
        SELECT number AS place, date, total, active, total - active AS inactive
          FROM (SELECT number,
                       date,
                       count(users.id) AS total,
                       count(*) FILTER (WHERE EXISTS (
                           SELECT
                             FROM user_seen_days
                            WHERE user_id = users.id
                              AND day > last_day - 90
                              AND day <= last_day)) AS active
                  FROM weeks
                 CROSS JOIN LATERAL (SELECT (until AT TIME ZONE 'UTC')::date AS last_day) AS days
                  LEFT JOIN users ON account_type = 'User'
                                 AND created_at <= until
                                 AND (deleted_at IS NULL OR deleted_at > until)
                 GROUP BY number, date) AS counted
    )
"""

# The statement reads one project at a time, because the index begins with the project.
METRICS: LiteralString = """
    , used AS (
        SELECT counted.*, seen_projects.id AS project_id
          FROM bounds
         CROSS JOIN seen_projects
         CROSS JOIN LATERAL (
            SELECT width_bucket(hour, after_ends) AS place,
                   sum(yes) AS yes,
                   sum(no) AS no,
                   count(DISTINCT app_name) AS apps,
                   count(DISTINCT flag_name) AS flags,
                   count(DISTINCT environment) AS environments
              FROM usage_metrics
             WHERE project_id = seen_projects.id
               AND hour >= first_start
               AND hour <= last_end
             GROUP BY place
         ) AS counted
    ),
    metrics_summary_trends AS (
        SELECT place,
               week,
               date,
               project_id AS project,
               yes + no AS "totalRequests",
               yes AS "totalYes",
               no AS "totalNo",
               apps AS "totalApps",
               flags AS "totalFlags",
               environments AS "totalEnvironments"
          FROM used
          JOIN weeks ON weeks.number = place
    )
"""

# Our choice: an event counts for the type that its environment had at the time of the event.
# Proposals of changes do not count: the changes themselves do.
# Totals come from finished_weeks (schema.sql). The events of unfinished weeks are counted, and so are the events of
# weeks in which an environment changed its type.
ENVIRONMENTS: LiteralString = f"""
    , week_days AS (
        SELECT (first_start AT TIME ZONE 'UTC')::date AS first_day,
               (first_start AT TIME ZONE 'UTC')::date + week_count * 7 - 1 AS last_day
          FROM bounds
         WHERE week_count > 0
    ),
    changed_weeks AS (
        SELECT DISTINCT environment, {MONDAY_OF_END} AS monday
          FROM past_environment_types
    ),
    counted_times AS (
        SELECT NULL AS only_environment, lower(gap) AS since, upper(gap) AS until
          FROM week_days
         CROSS JOIN LATERAL event_gaps(first_day, last_day) AS gap
     UNION ALL
        SELECT environment, monday::timestamp AT TIME ZONE 'UTC', (monday + 7)::timestamp AT TIME ZONE 'UTC'
          FROM changed_weeks
          JOIN finished_weeks USING (monday)
          JOIN week_days ON monday BETWEEN first_day AND last_day
         WHERE kind = 'all'
    ),
    environment_updates AS (
        SELECT name AS environment,
               monday::timestamp AT TIME ZONE 'UTC' + interval '84 hours' AS at,
               number - of_change_requests AS number
          FROM week_days
          JOIN finished_weeks ON kind = 'environment' AND monday BETWEEN first_day AND last_day
         WHERE number > of_change_requests
           AND (name, monday) NOT IN (SELECT environment, monday FROM changed_weeks)
     UNION ALL
        -- OFFSET 0 makes the planner use the index of created_at. Without statistics of the small tables, it reads all
        -- events.
        SELECT environment, created_at, 1
          FROM counted_times
         CROSS JOIN LATERAL (
            SELECT environment, created_at
              FROM events
             WHERE environment IS NOT NULL
               AND type NOT LIKE 'change-%%'
               AND created_at >= since
               AND created_at < until
               AND created_at <= statement_timestamp()
            OFFSET 0) AS counted
         WHERE only_environment IS NULL
            OR only_environment = environment
    ),
    environment_type_trends AS (
        SELECT place, date, week, type AS "environmentType", updates AS "totalUpdates"
          FROM (SELECT width_bucket(at, starts) - 1 AS place, environment_types.type, sum(updated.number) AS updates
                  FROM bounds
                 CROSS JOIN environment_updates AS updated
                  JOIN environment_types ON environment_types.environment = updated.environment
                                        AND environment_types.started_at < at
                                        AND (environment_types.ended_at IS NULL OR environment_types.ended_at >= at)
                 GROUP BY place, environment_types.type) AS summed
          JOIN weeks ON weeks.number = place
    )
"""

INSIGHTS: LiteralString = f"""{WEEKS}{BOUNDS}{USERS}{FLAGS}{PROJECT_FLAGS}{METRICS}{ENVIRONMENTS}
    SELECT json_build_object(
        'userTrends', (
            SELECT coalesce(json_agg(json_build_object(
                       'date', date, 'total', total, 'active', active, 'inactive', inactive)
                       ORDER BY place), '[]')
              FROM user_trends),
        'flagTrends', (
            SELECT coalesce(json_agg(json_build_object(
                       'date', date, 'total', total, 'active', active, 'stale', stale,
                       'potentiallyStale', "potentiallyStale")
                       ORDER BY place), '[]')
              FROM flag_trends),
        'projectFlagTrends', (
            SELECT coalesce(json_agg(json_build_object(
                       'week', week, 'project', project, 'health', health, 'timeToProduction', "timeToProduction",
                       'date', date, 'total', total, 'active', active, 'stale', stale,
                       'potentiallyStale', "potentiallyStale", 'users', users)
                       ORDER BY place, project), '[]')
              FROM project_flag_trends),
        'metricsSummaryTrends', (
            SELECT coalesce(json_agg(json_build_object(
                       'week', week, 'date', date, 'project', project, 'totalRequests', "totalRequests",
                       'totalYes', "totalYes", 'totalNo', "totalNo", 'totalApps', "totalApps",
                       'totalFlags', "totalFlags", 'totalEnvironments', "totalEnvironments")
                       ORDER BY place, project), '[]')
              FROM metrics_summary_trends),
        'environmentTypeTrends', (
            SELECT coalesce(json_agg(json_build_object(
                       'date', date, 'week', week, 'environmentType', "environmentType",
                       'totalUpdates', "totalUpdates")
                       ORDER BY place, "environmentType"), '[]')
              FROM environment_type_trends)
    )::text AS body
"""


def trends(
    conn: Connection, first_day: date, last_day: date, viewer: int | None, projects: list[str] | None = None
) -> str:
    """Return the insights of weeks that overlap these days (UTC) as JSON text. projects: those shown, None: all."""
    params = {"first_day": first_day, "last_day": last_day, "viewer": viewer, "projects": projects}
    body = event_weeks.body(conn, INSIGHTS, params)
    assert body is not None
    return body
