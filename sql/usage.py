"""Reported usage of flags, per hour."""

from collections.abc import Iterable, Mapping
from typing import Any

from sql import Connection, run

# In one statement and one order: two who report the same rows, or hours of a week that has ended, wait for each other but never both.
ADD = """
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT project, flag, environment, app, hour, sum(yes), sum(no)
      FROM unnest(%(project)s::text[], %(flag)s::text[], %(environment)s::text[], %(app)s::text[], %(at)s::timestamptz[],
                  %(yes)s::bigint[], %(no)s::bigint[]) AS reports (project, flag, environment, app, at, yes, no)
     CROSS JOIN LATERAL date_trunc('hour', at) AS hour
     GROUP BY project, flag, environment, app, hour
     ORDER BY project, hour, flag, environment, app
    ON CONFLICT ON CONSTRAINT usage_metrics_pkey DO UPDATE
       SET yes = usage_metrics.yes + excluded.yes,
           no = usage_metrics.no + excluded.no
"""
FIELDS = ("project", "flag", "environment", "app", "at", "yes", "no")


def add(conn: Connection, reports: Iterable[Mapping[str, Any]]) -> None:
    """Add reports to what is known: each with project, flag, environment, app, at (an instant), yes and no (counts)."""
    given = list(reports)
    if given:
        run(conn, ADD, {field: [report[field] for report in given] for field in FIELDS})
