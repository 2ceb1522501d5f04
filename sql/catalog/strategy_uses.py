"""The strategies that use something, as GET /api/admin/segments/{id}/strategies lists them."""

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


# The flag and environment of a row of strategies or variants, in words.
PLACE: LiteralString = """
    concat(CASE WHEN flags.archived_at IS NOT NULL THEN 'archived ' END, 'flag ', flags.name, ' in ', environment)
"""

# A default strategy, a row of project_environments, in words.
DEFAULT_PLACE: LiteralString = "concat('default strategy of project ', project_id, ' in ', environment)"


def places(uses: LiteralString) -> LiteralString:
    """Return a statement for the places of uses (project_id, place), null for those that the viewer does not see."""
    return f"""
    SELECT CASE WHEN project_id IS NULL OR projects.id IS NOT NULL THEN place END AS place
      FROM (SELECT DISTINCT project_id, place FROM ({uses}) AS found) AS uses
      LEFT JOIN projects ON projects.id = project_id AND {VISIBLE}
     ORDER BY uses.place COLLATE "C"
    """
