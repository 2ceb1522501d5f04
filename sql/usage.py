"""Reported usage of flags, per hour."""

from collections.abc import Iterable, Mapping
from typing import Any

from sql import Connection

ADD = """
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    VALUES (%(project)s, %(flag)s, %(environment)s, %(app)s, date_trunc('hour', %(at)s::timestamptz), %(yes)s, %(no)s)
    ON CONFLICT ON CONSTRAINT usage_metrics_pkey DO UPDATE
       SET yes = usage_metrics.yes + excluded.yes,
           no = usage_metrics.no + excluded.no
"""


def add(conn: Connection, reports: Iterable[Mapping[str, Any]]) -> None:
    """Add reports to what is known: each with project, flag, environment, app, at (an instant), yes and no (counts)."""
    with conn.cursor() as cursor:
        cursor.executemany(ADD, reports)
