"""Weeks of the instance insights: when they begin and end."""

from typing import LiteralString

# The day on which the week of ended_at began.
MONDAY_OF_END: LiteralString = "date_trunc('week', ended_at AT TIME ZONE 'UTC')::date"
# Our choice: weeks are from Monday to Sunday in UTC. The table weeks has all weeks that overlap the requested days and
# have begun. until: the end of the week, or now for the current week.
WEEKS: LiteralString = """
    WITH weeks AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY monday)::integer - 1 AS number,
               to_char(monday, 'IYYY-IW') AS week,
               since,
               until,
               iso(until) AS date
          FROM (SELECT monday,
                       monday::timestamp AT TIME ZONE 'UTC' AS since,
                       least((monday + 7)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond', now()) AS until
                  FROM (SELECT generate_series(date_trunc('week', %(first_day)s::date::timestamp),
                                               least(%(last_day)s::date, (now() AT TIME ZONE 'UTC')::date)::timestamp,
                                               '7 days')::date AS monday) AS mondays
                 WHERE %(first_day)s::date <= %(last_day)s::date) AS ends
    )
"""
