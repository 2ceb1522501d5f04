"""Merge old hours of usage into days, and delete old usage: one day (UTC) for each transaction."""

from datetime import date
from typing import LiteralString

from psycopg.rows import DictRow

from sql import locks
from sql.database import Connection, one, run, value

# The number of days whose usage is kept by hour, apart from today. Applications cannot report usage that is older than
# two days.
HOURLY_DAYS = 30

# The clock of the database, because it dates usage too.
TODAY = "SELECT (now() AT TIME ZONE 'UTC')::date"

# The index of usage begins with the project. So each statement reads one project at a time.
FIRST_DAY = """
    SELECT (min(hour) AT TIME ZONE 'UTC')::date
      FROM projects
     CROSS JOIN LATERAL (
        SELECT hour FROM usage_metrics WHERE project_id = projects.id ORDER BY hour LIMIT 1) AS first
"""

OF_DAY: LiteralString = """
      FROM projects
     CROSS JOIN LATERAL (
        SELECT *
          FROM usage_metrics
         WHERE project_id = projects.id
           AND hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
           AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'
        OFFSET 0) AS reported
"""

COUNT: LiteralString = f"""
    SELECT count(*) AS all_rows, count(DISTINCT (project_id, flag_name, environment, app_name)) AS merged_rows{OF_DAY}
"""

# Two prune commands take turns, day by day. Otherwise both would merge the same hours.
LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.USAGE})"

# Our choice: a day's usage is dated at its last hour with usage. Readers compare that hour with the creation of the
# flag, so midnight would lose the usage of a flag's first day. Deleting an hour deletes its variants.
MERGE: LiteralString = f"""
    WITH days AS MATERIALIZED (
        SELECT project_id, flag_name, environment, app_name,
               max(hour) AS last_hour, sum(yes) AS yes, sum(no) AS no{OF_DAY}
         GROUP BY project_id, flag_name, environment, app_name
        HAVING count(*) > 1
    ),
    moved AS (
        INSERT INTO usage_variants AS known (project_id, flag_name, environment, app_name, hour, variant, count)
        SELECT project_id, flag_name, environment, app_name, last_hour, variant, sum(count)
          FROM days
          JOIN usage_variants USING (project_id, flag_name, environment, app_name)
         WHERE hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
           AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'
           AND hour < last_hour
         GROUP BY project_id, flag_name, environment, app_name, last_hour, variant
            ON CONFLICT ON CONSTRAINT usage_variants_pkey DO UPDATE SET count = known.count + excluded.count
    ),
    updated AS (
        UPDATE usage_metrics
           SET yes = days.yes, no = days.no
          FROM days
         WHERE usage_metrics.project_id = days.project_id
           AND usage_metrics.hour = last_hour
           AND usage_metrics.flag_name = days.flag_name
           AND usage_metrics.environment = days.environment
           AND usage_metrics.app_name = days.app_name
    )
    DELETE FROM usage_metrics
     USING days
     WHERE usage_metrics.project_id = days.project_id
       AND usage_metrics.flag_name = days.flag_name
       AND usage_metrics.environment = days.environment
       AND usage_metrics.app_name = days.app_name
       AND hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
       AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'
       AND hour < last_hour
"""

DELETE = """
    DELETE FROM usage_metrics
     USING projects
     WHERE project_id = projects.id
       AND hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
       AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'
"""


def today(conn: Connection) -> date:
    """Return the present day (UTC)."""
    return value(conn, TODAY)


def first_day(conn: Connection) -> date | None:
    """Return the day (UTC) of the first usage, or None if there is none."""
    return value(conn, FIRST_DAY)


def count(conn: Connection, day: date) -> DictRow:
    """Return the number of rows of a day, now (all_rows) and after a merge (merged_rows)."""
    row = one(conn, COUNT, {"day": day})
    assert row is not None
    return row


def merge(conn: Connection, day: date) -> int:
    """Merge the hours of a day into one row for each flag, environment and application. Return how many rows less."""
    run(conn, LOCK)
    return run(conn, MERGE, {"day": day})


def delete(conn: Connection, day: date) -> int:
    """Delete the usage of a day, and return the number of rows."""
    run(conn, LOCK)
    return run(conn, DELETE, {"day": day})
