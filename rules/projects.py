"""The project that a flag is to be in: it must be live, have room for it, and like its name."""

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Conflict, NotFound

from rules.access import Actor
from rules.flags import flag_event
from rules.limits import refuse_excess, unique
from sql import events
from sql.database import Connection
from sql.flags import core as flags
from sql.projects import core as projects
from validators.projects import naming

TAKEN = {"flags_name_key": "name: a flag with this name exists already; it may be archived, or in another project"}


def share_project(conn: Connection, project_id: str) -> DictRow:
    """The project as projects.share_live() gives it; 404 if it is archived."""
    home = projects.share_live(conn, project_id)
    if home is None:
        raise NotFound("The project is archived.")
    return home


def refuse_full_project(conn: Connection, home: DictRow, more: int) -> None:
    """409 unless the project may have so many more live flags."""
    # Our choice: the limit holds for every way into a project: new flags, copies, revived ones, and those that come from another project.
    limit = home["feature_limit"]
    if limit is not None and more and projects.count_flags(conn, home["id"]) + more > limit:
        raise Conflict(f"There can be at most {limit} flags in this project.")


def add_flag(
    conn: Connection, actor: Actor, home: DictRow, *, name: str, type: str, description: str | None, impression_data: bool
) -> DictRow:
    """A new flag with its event, off in every environment of its project, as flags.read() gives it.

    400 when the project's naming pattern or the instance's limit are against it, 409 when the name is taken or the project full.
    """
    if home["naming_pattern"] is not None and naming.mismatches(home["naming_pattern"], [name]):
        raise BadRequest(f"name: must match the naming pattern of the project, {home['naming_pattern']}")
    refuse_excess(conn, "MAX_FLAGS", "flags")
    refuse_full_project(conn, home, 1)
    details = {"type": type, "description": description, "impression_data": impression_data}
    with unique(TAKEN):
        flag_id = flags.insert(conn, name, home["id"], created_by_user_id=actor.user_id, **details)
    flags.link_environments(conn, flag_id)
    flag = flags.read(conn, flag_id)
    events.record(conn, flag_event("feature-created", actor, flag, data=flag["record"]))
    return flag
