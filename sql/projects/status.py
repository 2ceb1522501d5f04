"""The status of a project: its activity, health and resources, and the lifecycle of its flags."""

from typing import LiteralString

from sql.database import Connection, value
from sql.flags.stages import ENTERED
from sql.projects.health import FLAG_COUNTS, HEALTH


def stage(name: LiteralString) -> LiteralString:
    """Return SQL for the flags in a stage, and the mean days of those that have left it."""
    return f"""
        json_build_object(
            'averageDays', round(avg(extract(epoch FROM greatest(left_at - entered_at, '0')) / 86400)
                                 FILTER (WHERE stage = '{name}' AND left_at IS NOT NULL)),
            'currentFlags', count(*) FILTER (WHERE stage = '{name}' AND left_at IS NULL))
    """


GET: LiteralString = f"""
    SELECT json_build_object(
               'resources', json_build_object(
                   'members', (
                       SELECT count(DISTINCT user_id)
                         FROM project_memberships
                        WHERE project_id = %(id)s
                          AND ended_at IS NULL),
                   'apiTokens', (SELECT count(*) FROM api_key_projects WHERE project_id = %(id)s),
                   'segments', (SELECT count(*) FROM segments WHERE project_id = %(id)s)),
               'activityCountByDate', (
                   SELECT coalesce(json_agg(json_build_object('date', day, 'count', number) ORDER BY day), '[]')
                     FROM (SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS number
                             FROM events
                            WHERE project = %(id)s
                              AND created_at > now() - interval '1 year'
                            GROUP BY day) AS days),
               'health', json_build_object('current', {HEALTH}),
               'technicalDebt', json_build_object('current', 100 - {HEALTH}),
               'lifecycleSummary', (
                   SELECT json_build_object(
                              'initial', {stage("initial")},
                              'preLive', {stage("pre-live")},
                              'live', {stage("live")},
                              'completed', {stage("completed")},
                              'archived', json_build_object(
                                  'currentFlags', count(*) FILTER (WHERE stage = 'archived'),
                                  'last30Days', count(*) FILTER (
                                      WHERE stage = 'archived' AND entered_at > now() - interval '30 days')))
                     FROM flags{ENTERED}
                    WHERE project_id = %(id)s
                      AND deleted_at IS NULL),
               'staleFlags', json_build_object('total', total - active))::text
      FROM ({FLAG_COUNTS} AND project_id = %(id)s) AS counts
"""


def get(conn: Connection, project_id: str) -> str:
    """Return the status of a project as JSON text."""
    return value(conn, GET, {"id": project_id})
