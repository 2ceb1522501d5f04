"""Whether what triggers keep is what a count says: the totals of the event log, and the weeks of usage; and counting them anew."""

from datetime import date
from itertools import pairwise

from psycopg.rows import DictRow

from sql import Connection, one, rows, value

# One statement: events that come meanwhile are in both numbers or in neither.
WHOLE_LOG = """
    SELECT (SELECT coalesce(sum(total), 0) FROM event_totals WHERE key = event_key(NULL, NULL, NULL, NULL))::bigint
               + (SELECT count(*) FROM uncounted_events) AS kept,
           (SELECT count(*) FROM events) AS counted
"""


def of_whole_log(conn: Connection) -> DictRow:
    """How many events there are: kept, as searches say it, and counted."""
    found = one(conn, WHOLE_LOG)
    assert found is not None
    return found


# By events at random places: a day with many of them is likely to be among these.
SOME_DAYS = """
    SELECT DISTINCT (created_at AT TIME ZONE 'UTC')::date AS day
      FROM (SELECT floor(first + random() * (last - first))::bigint AS place
              FROM (SELECT min(id) AS first, max(id) AS last FROM events) AS ids, generate_series(1, %(number)s)) AS places
     CROSS JOIN LATERAL (SELECT created_at FROM events WHERE id >= place ORDER BY id LIMIT 1) AS found
"""


def some_days(conn: Connection, number: int) -> list[date]:
    """At most so many days (UTC) on which events happened, chosen at random."""
    return [row["day"] for row in rows(conn, SOME_DAYS, {"number": number})]


FIRST_AND_LAST = """
    SELECT least(make_date(min(year), 1, 1), (SELECT (min(created_at) AT TIME ZONE 'UTC')::date FROM events)) AS first,
           greatest(make_date(max(year), 12, 31), (SELECT (max(created_at) AT TIME ZONE 'UTC')::date FROM events)) AS last
      FROM event_totals
"""


def all_months(conn: Connection) -> list[tuple[date, date]]:
    """The first and last day of each month of which there are events or totals."""
    ends = one(conn, FIRST_AND_LAST)
    if ends is None or ends["first"] is None:
        return []
    months = [date(number // 12, number % 12 + 1, 1) for number in range(month_of(ends["first"]), month_of(ends["last"]) + 2)]
    return [(first, date.fromordinal(after.toordinal() - 1)) for first, after in pairwise(months)]


def month_of(day: date) -> int:
    """The number of a month since the year 0."""
    return day.year * 12 + day.month - 1


# The days of one year, of all keys; what searches count of them at the time is left out on both sides.
WRONG_DAYS = """
    WITH kept AS (
        SELECT key, %(first)s::date + place::integer - 1 AS day, number
          FROM event_totals
         CROSS JOIN LATERAL unnest(days[extract(doy FROM %(first)s::date)::integer:extract(doy FROM %(last)s::date)::integer])
               WITH ORDINALITY AS of_days (number, place)
         WHERE year = extract(year FROM %(first)s::date)
           AND number IS NOT NULL
    ),
    counted AS (
        SELECT event_key(project, type, created_by_user_id, environment) AS key, day, count(*) AS number
          FROM (SELECT project, type, created_by_user_id, environment, (created_at AT TIME ZONE 'UTC')::date AS day
                  FROM events
                 WHERE created_at >= %(first)s::date::timestamp AT TIME ZONE 'UTC'
                   AND created_at < (%(last)s::date + 1)::timestamp AT TIME ZONE 'UTC'
                   AND NOT EXISTS (SELECT FROM uncounted_ids WHERE id BETWEEN first_id AND last_id)) AS them
         GROUP BY day, GROUPING SETS (
                (), (project), (type), (created_by_user_id), (environment),
                (project, type), (project, created_by_user_id), (type, created_by_user_id), (project, type, created_by_user_id))
        HAVING (project IS NOT NULL OR grouping(project) = 1)
           AND (created_by_user_id IS NOT NULL OR grouping(created_by_user_id) = 1)
           AND (environment IS NOT NULL OR grouping(environment) = 1)
    )
    SELECT count(DISTINCT day)
      FROM kept
      FULL JOIN counted USING (key, day)
     WHERE kept.number IS DISTINCT FROM counted.number
"""


def wrong_days(conn: Connection, first: date, last: date) -> int:
    """On how many days, of these of one year, a total is not what a count says: by project, type, creator and environment."""
    return value(conn, WRONG_DAYS, {"first": first, "last": last})


WRONG_SUMS = """
    SELECT count(*)
      FROM event_totals
     WHERE total IS DISTINCT FROM (SELECT sum(number) FROM unnest(days) AS number)
        OR ARRAY(SELECT coalesce(months[month], 0)::bigint FROM generate_series(1, 12) AS month ORDER BY month)
               <> ARRAY(SELECT coalesce(sum(number), 0)::bigint
                          FROM generate_series(1, 12) AS month
                          LEFT JOIN (SELECT extract(month FROM make_date(year, 1, 1) + place::integer - 1)::integer AS month, number
                                       FROM unnest(days) WITH ORDINALITY AS of_days (number, place)) AS by_day USING (month)
                         GROUP BY month
                         ORDER BY month)
"""


def wrong_sums(conn: Connection) -> int:
    """How many years of a total are not the sum of their days, or have a month that is not."""
    return value(conn, WRONG_SUMS)


def recount(conn: Connection) -> int:
    """How many events there are, after counting all of them anew in the caller's transaction."""
    return value(conn, "SELECT recount_events()")


# Some weeks of some projects, or all; of all, also those of which nothing is kept.
WRONG_WEEKS = """
    WITH ended AS (
        SELECT before, before::timestamp AT TIME ZONE 'UTC' AS instant
          FROM usage_weeks_kept
    ),
    kept AS MATERIALIZED (
        SELECT usage_weeks.*
          FROM usage_weeks, ended
         WHERE monday < before
         ORDER BY random()
         LIMIT %(number)s
    ),
    looked_at AS (
        SELECT project_id, monday FROM kept
     UNION
        SELECT project_id, date_trunc('week', hour AT TIME ZONE 'UTC')::date
          FROM usage_metrics, ended
         WHERE %(number)s::integer IS NULL
           AND hour < instant
    )
    SELECT count(*) FILTER (WHERE (kept.yes, kept.no, kept.apps, kept.flags, kept.environments) IS DISTINCT FROM
                                  (counted.yes, counted.no, counted.apps, counted.flags, counted.environments)) AS wrong,
           count(*) AS looked_at
      FROM looked_at
      LEFT JOIN kept USING (project_id, monday)
     CROSS JOIN LATERAL (
        SELECT sum(yes) AS yes, sum(no) AS no,
               count(DISTINCT app_name) AS apps, count(DISTINCT flag_name) AS flags, count(DISTINCT environment) AS environments
          FROM usage_metrics
         WHERE project_id = looked_at.project_id
           AND hour >= monday::timestamp AT TIME ZONE 'UTC'
           AND hour < (monday + 7)::timestamp AT TIME ZONE 'UTC') AS counted
"""


def wrong_weeks(conn: Connection, number: int | None) -> DictRow:
    """How many weeks of projects were looked_at, at most number of them, and how many are not what a count of their hours says: wrong."""
    found = one(conn, WRONG_WEEKS, {"number": number})
    assert found is not None
    return found


def recount_weeks(conn: Connection) -> int:
    """How many weeks of projects there are, after counting all of them anew in the caller's transaction."""
    return value(conn, "SELECT recount_usage_weeks()")
