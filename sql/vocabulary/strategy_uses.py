"""The strategies that use something: the StrategyUse records of neighbours.md 1.6."""

from typing import LiteralString

from sql.projects.visibility import VISIBLE


def records(condition: LiteralString) -> LiteralString:
    """Return an SQL expression: a JSON array of the strategies of visible live flags with this condition."""
    return f"""
    (SELECT coalesce(json_agg(json_build_object(
                'id', strategies.id,
                'projectId', flags.project_id,
                'featureName', flags.name,
                'strategyName', strategies.name,
                'environment', strategies.environment)
                ORDER BY flags.name, strategies.environment, strategies.sort_order, strategies.id), '[]')
       FROM strategies
       JOIN flags ON flags.id = strategies.flag_id
       JOIN projects ON projects.id = flags.project_id
      WHERE flags.archived_at IS NULL
        AND {VISIBLE}
        AND {condition})
    """
