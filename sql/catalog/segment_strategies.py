"""The segments of strategies."""

from typing import LiteralString

from sql.catalog import segments, strategy_uses
from sql.database import Connection, rows, value
from sql.projects.visibility import VISIBLE

HAS_SEGMENT: LiteralString = """
    EXISTS (SELECT FROM strategy_segments WHERE strategy_id = strategies.id AND segment_id = segments.id)
"""

STRATEGIES: LiteralString = f"""
    SELECT json_build_object('strategies', {strategy_uses.records(HAS_SEGMENT)},
                             'changeRequestStrategies', '[]'::json)::text
      FROM segments
     WHERE id = %(id)s
       AND {segments.SEEN}
"""


def list_strategies(conn: Connection, segment_id: int, viewer: int | None) -> str | None:
    """Return the visible strategies of live flags with a segment as JSON text. None: no visible segment."""
    return value(conn, STRATEGIES, {"id": segment_id, "viewer": viewer})


SEGMENTS: LiteralString = f"""
    SELECT json_build_object('segments', coalesce(json_agg({segments.RECORD} ORDER BY segments.name), '[]'))::text
      FROM strategies
      JOIN flags ON flags.id = strategies.flag_id
      JOIN projects ON projects.id = flags.project_id
      JOIN strategy_segments ON strategy_segments.strategy_id = strategies.id
      JOIN segments ON segments.id = strategy_segments.segment_id
     WHERE strategies.id = %(id)s
       AND {VISIBLE}
       AND {segments.SEEN}
"""


def list_segments(conn: Connection, strategy_id: str, viewer: int | None) -> str:
    """Return {"segments": [...]} as JSON text, by name. The list is empty if the viewer sees no such strategy."""
    return value(conn, SEGMENTS, {"id": strategy_id, "viewer": viewer})


# Strategies of archived flags count: they keep their segments when the flag is revived. So do default strategies: the
# strategies made from them get their segments.
PLACES: LiteralString = strategy_uses.places(f"""
    SELECT project_id, {strategy_uses.PLACE} AS place
      FROM strategy_segments
      JOIN strategies ON strategies.id = strategy_segments.strategy_id
      JOIN flags ON flags.id = strategies.flag_id
     WHERE segment_id = %(id)s
       AND project_id IS DISTINCT FROM %(project)s::text
 UNION ALL
    SELECT project_id, {strategy_uses.DEFAULT_PLACE}
      FROM project_environments
     WHERE project_id IS DISTINCT FROM %(project)s::text
       AND EXISTS (
            SELECT FROM json_array_elements_text(default_strategy -> 'segments') AS segment
             WHERE segment = %(id)s::integer::text)
""")


def list_places(conn: Connection, segment_id: int, project: str | None, viewer: int | None) -> list[str | None]:
    """Return the flags and default strategies with this segment in other projects, or with project None in all.

    None stands for those that the viewer does not see. After segments.lock(), none is added.
    """
    return [row["place"] for row in rows(conn, PLACES, {"id": segment_id, "project": project, "viewer": viewer})]


FLAG = """
    SELECT flags.name
      FROM strategies
      JOIN flags ON flags.id = strategies.flag_id
     WHERE strategies.id = %(id)s
       AND strategies.environment = %(environment)s
       AND flags.project_id = %(project)s
       AND flags.archived_at IS NULL
"""


def flag_of(conn: Connection, project: str, environment: str, strategy_id: str) -> str | None:
    """Return the name of the live flag that has a strategy in this project and environment, or None."""
    return value(conn, FLAG, {"id": strategy_id, "project": project, "environment": environment})
