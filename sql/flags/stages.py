"""The stages of a flag's lifecycle: initial, pre-live, live, completed and archived."""

from typing import LiteralString

from sql.database import Connection, run, value
from sql.projects.visibility import VISIBLE

# The stages that a flag of the table flags has entered, in their order. Reviving a flag begins a new life.
# Our choice: pre-live begins when an application first reports the flag, in any environment. Live begins with the first
# report from an environment of type production after the flag was first enabled in production. A flag that goes live at
# once is never pre-live.
STAGES: LiteralString = """
       FROM (SELECT greatest(flags.created_at, max(ended_at)) AS begun_at
               FROM past_flag_states
              WHERE flag_id = flags.id
                AND state = 'archived') AS life
      CROSS JOIN LATERAL (
        SELECT min(greatest(first_at, begun_at)) AS used_at,
               min(greatest(first_at, begun_at, flags.first_in_production_at))
                   FILTER (WHERE environments.type = 'production'
                             AND last_at >= greatest(begun_at, flags.first_in_production_at)
                             -- A revived flag can have been first enabled in an earlier life.
                             AND (flags.first_in_production_at >= begun_at OR flag_environments.enabled)) AS live_at
          FROM flag_sightings
          JOIN environments ON environments.name = flag_sightings.environment
          LEFT JOIN flag_environments USING (flag_id, environment)
         WHERE flag_id = flags.id
           AND last_at >= begun_at) AS used
      CROSS JOIN LATERAL (
        VALUES (1, 'initial', begun_at),
               (2, 'pre-live', CASE WHEN live_at IS NULL OR live_at > used_at THEN used_at END),
               (3, 'live', live_at),
               (4, 'completed', flags.completed_at),
               (5, 'archived', flags.archived_at)) AS stages (number, stage, entered_at)
      WHERE entered_at IS NOT NULL
"""

RECORD: LiteralString = """
    CASE WHEN stage = 'completed'
         THEN json_build_object('stage', stage, 'enteredStageAt', iso(entered_at), 'status', flags.completed_status)
         ELSE json_build_object('stage', stage, 'enteredStageAt', iso(entered_at))
    END
"""

# The present stage of a flag.
STAGE: LiteralString = f"(SELECT {RECORD}{STAGES} ORDER BY number DESC LIMIT 1)"

# Its name alone.
STAGE_NAME: LiteralString = f"(SELECT stage{STAGES} ORDER BY number DESC LIMIT 1)"

# A row for each stage of a flag. left_at is null for the present one.
ENTERED: LiteralString = f"""
     CROSS JOIN LATERAL (
        SELECT stage, entered_at, lead(entered_at) OVER (ORDER BY number) AS left_at{STAGES}) AS entered
"""

COUNT: LiteralString = f"""
    SELECT json_build_object(
               'initial', count(*) FILTER (WHERE stage = 'initial'),
               'preLive', count(*) FILTER (WHERE stage = 'pre-live'),
               'live', count(*) FILTER (WHERE stage = 'live'),
               'completed', count(*) FILTER (WHERE stage = 'completed'),
               'archived', count(*) FILTER (WHERE stage = 'archived'))::text
      FROM flags
      JOIN projects ON projects.id = flags.project_id{ENTERED}
     WHERE left_at IS NULL
       AND deleted_at IS NULL
       AND {VISIBLE}
"""


def count(conn: Connection, viewer: int | None) -> str:
    """Return the number of flags in each stage as JSON text, in projects that the viewer sees."""
    return value(conn, COUNT, {"viewer": viewer})


# Our choice: archived flags have stages too. Deleted flags have none.
LIST: LiteralString = f"""
    SELECT (SELECT json_agg({RECORD} ORDER BY number){STAGES})::text
      FROM flags
     WHERE name = %(name)s
       AND project_id = %(project)s
       AND deleted_at IS NULL
"""


def list_stages(conn: Connection, project: str, name: str) -> str | None:
    """Return the stages that a live or archived flag has entered as JSON text, or None if the flag does not exist."""
    return value(conn, LIST, {"project": project, "name": name})


COMPLETE = """
    UPDATE flags
       SET completed_at = coalesce(completed_at, now()),
           completed_status = %(status)s,
           completed_value = %(statusValue)s
     WHERE id = %(id)s
       AND (completed_status, completed_value) IS DISTINCT FROM (%(status)s, %(statusValue)s)
"""


# Our choice: a flag that is completed again, with another status, keeps the beginning of the stage.
def complete(conn: Connection, flag_id: int, *, status: str, statusValue: str | None) -> bool:
    """Complete a flag, or change how it was completed. False: it was completed like this already."""
    return run(conn, COMPLETE, {"id": flag_id, "status": status, "statusValue": statusValue}) == 1


UNCOMPLETE = """
    UPDATE flags
       SET completed_at = NULL, completed_status = NULL, completed_value = NULL
     WHERE id = %(id)s
       AND completed_at IS NOT NULL
"""


def uncomplete(conn: Connection, flag_id: int) -> bool:
    """Undo the completion of a flag. False: it was not completed."""
    return run(conn, UNCOMPLETE, {"id": flag_id}) == 1
