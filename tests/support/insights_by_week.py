"""The insights as one would write them down first: every fact looked at once a week.

Too slow for a large instance, and plainly right.

sql/insights.py must say the same; see tests/api/insights/test_by_week.py.
"""

from datetime import date
from typing import LiteralString

from sql.database import Connection, value
from sql.projects import health
from sql.projects.visibility import VISIBLE

# weeks from Monday to Sunday in UTC, and none that has not begun.
# Every week that overlaps the days asked for and has begun. until: its last instant, for the running week now.
WEEKS: LiteralString = (
    """
    WITH weeks AS (
        SELECT to_char(monday, 'IYYY-IW') AS week,
               monday::timestamp AT TIME ZONE 'UTC' AS since,
               least((monday + 7)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond', now()) AS until
          FROM (SELECT generate_series(date_trunc('week', %(first_day)s::date::timestamp),
                                       least(%(last_day)s::date, (now() AT TIME ZONE 'UTC')::date)::timestamp,
                                       '7 days')::date AS monday) AS mondays
         WHERE %(first_day)s::date <= %(last_day)s::date
    ),
    seen_projects AS (
        SELECT id, created_at, archived_at
          FROM projects
         WHERE """
    + VISIBLE
    + """
    )
"""
)

# Regular users there were, and of them those seen on one of the 90 days that end with the day of the instant.
USERS: LiteralString = """
    , user_trends AS (
        SELECT iso(until) AS date, total, active, total - active AS inactive
          FROM weeks
         CROSS JOIN LATERAL (
            SELECT count(*) AS total,
                   count(*) FILTER (WHERE EXISTS (
                       SELECT FROM user_seen_days
                        WHERE user_id = users.id
                          AND day > (until AT TIME ZONE 'UTC')::date - 90
                          AND day <= (until AT TIME ZONE 'UTC')::date)) AS active
              FROM users
             WHERE account_type = 'User'
               AND created_at <= until
               AND (deleted_at IS NULL OR deleted_at > until)
         ) AS counted
    )
"""

# a flag counts in the project in which it is now, and with the lifetime that its type has now. Flags by week and
# project, archived ones left out. A flag that is marked stale is not potentially stale, however old it is.
FLAGS: LiteralString = """
    , flags_then AS (
        SELECT until,
               project_id,
               count(*) AS total,
               count(*) FILTER (WHERE NOT is_stale AND NOT is_old) AS active,
               count(*) FILTER (WHERE is_stale) AS stale,
               count(*) FILTER (WHERE NOT is_stale AND is_old) AS potentially_stale
          FROM weeks
          JOIN flags ON flags.created_at <= until
          JOIN flag_types ON flag_types.id = flags.type
         CROSS JOIN LATERAL (
            SELECT coalesce(bool_or(state = 'archived'), false) AS is_archived,
                   coalesce(bool_or(state = 'stale'), false) AS is_stale,
                   coalesce(until - flags.created_at > make_interval(days => lifetime_days), false) AS is_old
              FROM flag_states
             WHERE flag_id = flags.id
               AND started_at <= until
               AND (ended_at IS NULL OR ended_at > until)
         ) AS states
         WHERE NOT is_archived
         GROUP BY until, project_id
    ),
    flag_trends AS (
        SELECT iso(until) AS date,
               coalesce(sum(total), 0) AS total,
               coalesce(sum(active), 0) AS active,
               coalesce(sum(stale), 0) AS stale,
               coalesce(sum(potentially_stale), 0) AS "potentiallyStale"
          FROM weeks
          LEFT JOIN flags_then USING (until)
         GROUP BY until
    )
"""

# a project has an entry for each week at whose end it was there: created, and not archived.
PROJECT_FLAGS: LiteralString = (
    """
    , production_then AS (
        SELECT until, project_id, avg(extract(epoch FROM first_in_production_at - created_at) / 86400) AS days
          FROM weeks
          JOIN flags ON first_in_production_at <= until
         GROUP BY until, project_id
    ),
    members_then AS (
        SELECT until, project_id, count(DISTINCT user_id) AS users
          FROM weeks
          JOIN project_memberships ON started_at <= until AND (ended_at IS NULL OR ended_at > until)
         GROUP BY until, project_id
    ),
    project_facts AS (
        SELECT weeks.week,
               weeks.until,
               seen_projects.id AS project,
               coalesce(total, 0) AS total,
               coalesce(active, 0) AS active,
               coalesce(stale, 0) AS stale,
               coalesce(potentially_stale, 0) AS potentially_stale,
               coalesce(users, 0) AS users,
               days
          FROM weeks
          JOIN seen_projects ON created_at <= weeks.until AND (archived_at IS NULL OR archived_at > weeks.until)
          LEFT JOIN flags_then ON flags_then.until = weeks.until AND flags_then.project_id = seen_projects.id
          LEFT JOIN production_then
                 ON production_then.until = weeks.until AND production_then.project_id = seen_projects.id
          LEFT JOIN members_then ON members_then.until = weeks.until AND members_then.project_id = seen_projects.id
    ),
    project_flag_trends AS (
        SELECT week,
               project,
               """
    + health.HEALTH
    + """ AS health,
               """
    + health.MEAN_DAYS
    + """ AS "timeToProduction",
               iso(until) AS date,
               total,
               active,
               stale,
               potentially_stale AS "potentiallyStale",
               users
          FROM project_facts
    )
"""
)

METRICS: LiteralString = """
    , metrics_summary_trends AS (
        SELECT week,
               iso(until) AS date,
               project_id AS project,
               sum(yes + no) AS "totalRequests",
               sum(yes) AS "totalYes",
               sum(no) AS "totalNo",
               count(DISTINCT app_name) AS "totalApps",
               count(DISTINCT flag_name) AS "totalFlags",
               count(DISTINCT environment) AS "totalEnvironments"
          FROM weeks
          JOIN usage_metrics ON hour BETWEEN since AND until
          JOIN seen_projects ON seen_projects.id = project_id
         GROUP BY week, until, project_id
    )
"""

# an event counts for the type that its environment had then.
ENVIRONMENTS: LiteralString = """
    , environment_type_trends AS (
        SELECT iso(until) AS date, week, environment_types.type AS "environmentType", count(*) AS "totalUpdates"
          FROM weeks
          JOIN events ON events.created_at BETWEEN since AND until
          JOIN environment_types ON environment_types.environment = events.environment
                                AND environment_types.started_at < events.created_at
                                AND (environment_types.ended_at IS NULL
                                     OR environment_types.ended_at >= events.created_at)
         GROUP BY week, until, environment_types.type
    )
"""

INSIGHTS: LiteralString = (
    WEEKS
    + USERS
    + FLAGS
    + PROJECT_FLAGS
    + METRICS
    + ENVIRONMENTS
    + """
    SELECT json_build_object(
        'userTrends', (SELECT coalesce(json_agg(entry ORDER BY date), '[]') FROM user_trends AS entry),
        'flagTrends', (SELECT coalesce(json_agg(entry ORDER BY date), '[]') FROM flag_trends AS entry),
        'projectFlagTrends',
            (SELECT coalesce(json_agg(entry ORDER BY date, project), '[]') FROM project_flag_trends AS entry),
        'metricsSummaryTrends',
            (SELECT coalesce(json_agg(entry ORDER BY date, project), '[]') FROM metrics_summary_trends AS entry),
        'environmentTypeTrends',
            (SELECT coalesce(json_agg(entry ORDER BY date, "environmentType"), '[]')
               FROM environment_type_trends AS entry)
    )::text
"""
)


def trends(conn: Connection, first_day: date, last_day: date, viewer: int | None) -> str:
    """The record as JSON text, of the weeks that overlap these days (UTC, both included). viewer: see VISIBLE."""
    return value(conn, INSIGHTS, {"first_day": first_day, "last_day": last_day, "viewer": viewer})
