"""Which strategies have which segments."""

from typing import LiteralString

from sql.database import Connection, value
from sql.projects import core as projects
from sql.vocabulary import segments, strategy_uses

STRATEGIES: LiteralString = f"""SELECT json_build_object('strategies', {strategy_uses.RECORDS}EXISTS (
            SELECT FROM strategy_segments
             WHERE strategy_id = strategies.id
               AND segment_id = segments.id)), 'changeRequestStrategies', '[]'::json)::text
      FROM segments
     WHERE id = %(id)s
       AND {segments.SEEN}"""


def strategies_of(conn: Connection, segment_id: int, viewer: int | None) -> str | None:
    """{"strategies": [...], "changeRequestStrategies": []} as JSON text: strategies of live flags in projects that the viewer may see.

    None: there is no such segment that he may see.
    """
    return value(conn, STRATEGIES, {"id": segment_id, "viewer": viewer})


SEGMENTS: LiteralString = f"""SELECT json_build_object('segments', coalesce(json_agg({segments.RECORD} ORDER BY segments.name), '[]'))::text
      FROM strategies
      JOIN flags ON flags.id = strategies.flag_id
      JOIN projects ON projects.id = flags.project_id
      JOIN strategy_segments ON strategy_segments.strategy_id = strategies.id
      JOIN segments ON segments.id = strategy_segments.segment_id
     WHERE strategies.id = %(id)s
       AND {projects.VISIBLE} AND {segments.SEEN}"""


def segments_of(conn: Connection, strategy_id: str, viewer: int | None) -> str:
    """{"segments": [...]} as JSON text, by name: none of a strategy that is not there, or that the viewer may not see."""
    return value(conn, SEGMENTS, {"id": strategy_id, "viewer": viewer})


# Strategies of archived flags have segments too, and come back with them. A default strategy gives its segments to strategies to come.
COUNT = """
    SELECT (SELECT count(*)
              FROM strategy_segments
              JOIN strategies ON strategies.id = strategy_segments.strategy_id
              JOIN flags ON flags.id = strategies.flag_id
             WHERE strategy_segments.segment_id = %(id)s
               AND flags.project_id IS DISTINCT FROM %(project)s::text)
         + (SELECT count(*)
              FROM project_environments
             WHERE project_id IS DISTINCT FROM %(project)s::text
               AND EXISTS (
                    SELECT FROM json_array_elements_text(default_strategy -> 'segments') AS segment
                     WHERE segment = %(id)s::integer::text))
"""


def count_outside(conn: Connection, segment_id: int, project: str | None) -> int:
    """How many strategies of other projects than this one have the segment, default strategies of environments included; None: of all.

    Read it after lock(): no more can come.
    """
    return value(conn, COUNT, {"id": segment_id, "project": project})


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
    """The name of the live flag that a strategy is of. None: there is no such strategy in this project and environment."""
    return value(conn, FLAG, {"id": strategy_id, "project": project, "environment": environment})
