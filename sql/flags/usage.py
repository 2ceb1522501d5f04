"""The usage of a flag, as applications have reported it."""

from typing import LiteralString

from sql.database import Connection, value
from sql.flags import records as flag_records
from sql.projects.visibility import VISIBLE

# Our choice: the maximum number of rows of one response.
MAX_ROWS = 100_000

REQUESTED: LiteralString = f"""
    WITH requested AS MATERIALIZED (
        SELECT flags.*
          FROM flags
          JOIN projects ON projects.id = flags.project_id
         WHERE flags.name = %(name)s
           AND flags.deleted_at IS NULL
           AND {VISIBLE}
    )
"""

# Our choice: an application that has not reported the flag for 30 days does not count as one that uses it.
SUMMARY: LiteralString = f"""{REQUESTED}
    SELECT json_build_object(
               'version', 1,
               'maturity', 'stable',
               'featureName', flags.name,
               'lastHourUsage', (
                   SELECT coalesce(json_agg(json_build_object(
                              'environment', environment, 'timestamp', iso(hour), 'yes', yes, 'no', no)
                              ORDER BY sort_order, environment), '[]')
                     FROM (SELECT environments.name AS environment, sort_order, hour, sum(yes) AS yes, sum(no) AS no
                             FROM environments
                            CROSS JOIN LATERAL (SELECT hour, yes, no{flag_records.USAGE}) AS reported
                            GROUP BY environments.name, sort_order, hour) AS used),
               'seenApplications', (
                   SELECT coalesce(json_agg(DISTINCT app_name ORDER BY app_name), '[]')
                     FROM flag_sightings
                    WHERE flag_id = flags.id
                      AND last_at > now() - interval '30 days'))::text
      FROM requested AS flags
"""


def get_summary(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return usage of the present hour and applications of a flag that the viewer sees as JSON text, or None."""
    return value(conn, SUMMARY, {"name": name, "viewer": viewer})


# A flag that moved during an hour has usage of that hour in two projects.
RAW: LiteralString = f"""{REQUESTED},
    reported AS MATERIALIZED (
        SELECT project_id, environment, app_name, hour, yes, no
          FROM (SELECT name, created_at FROM requested) AS flags
          JOIN usage_metrics ON flag_name = name
                            AND hour > now() - make_interval(hours => %(hours)s)
                            AND hour >= date_trunc('hour', created_at)
         ORDER BY hour DESC
         LIMIT %(max_rows)s
    ),
    used AS (
        SELECT environment, app_name, date_trunc(%(unit)s, hour, 'UTC') AS time, sum(yes) AS yes, sum(no) AS no
          FROM reported
         GROUP BY environment, app_name, time
    ),
    chosen AS (
        SELECT environment, app_name, time,
               string_agg(to_json(variant) || ' : ' || number, ', ' ORDER BY variant) AS variants
          FROM (SELECT environment, app_name, date_trunc(%(unit)s, hour, 'UTC') AS time, variant, sum(count) AS number
                  FROM reported
                  JOIN usage_variants USING (project_id, environment, app_name, hour)
                 WHERE flag_name = %(name)s
                 GROUP BY environment, app_name, time, variant) AS summed
         GROUP BY environment, app_name, time
    )
    SELECT json_build_object(
               'version', 1,
               'maturity', 'stable',
               'featureName', flags.name,
               'data', (
                   SELECT coalesce(json_agg(json_build_object(
                              'featureName', flags.name,
                              'appName', app_name,
                              'environment', environment,
                              'timestamp', iso(time),
                              'yes', yes,
                              'no', no,
                              'variants', concat('{{', variants, '}}')::json)
                              ORDER BY time DESC, environment, app_name), '[]')
                     FROM used
                     LEFT JOIN chosen USING (environment, app_name, time)))::text
      FROM requested AS flags
"""


def get_raw(conn: Connection, name: str, viewer: int | None, hours: int, unit: str = "hour") -> str | None:
    """Return the newest MAX_ROWS rows of a flag's usage in the last hours as JSON text, or None as get_summary().

    unit: what to sum them by, hour or day (of UTC).
    """
    return value(conn, RAW, {"name": name, "viewer": viewer, "hours": hours, "unit": unit, "max_rows": MAX_ROWS})
