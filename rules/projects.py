"""The project that flags come into: it must not be archived, and must have room for them."""

from collections.abc import Collection

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict, NotFound

from rules.refusals import Refuse, at_once
from sql.database import Connection
from sql.projects import core as projects


def share_project(conn: Connection, project_id: str) -> DictRow:
    """Return the project as projects.share_live() does; 404 if it is archived."""
    project = projects.share_live(conn, project_id)
    if project is None:
        raise NotFound("The project is archived.")
    return project


def refuse_full_project(conn: Connection, project: DictRow, names: Collection[str], refuse: Refuse = at_once) -> None:
    """Refuse flags if the project could not have so many more live flags."""
    # Our choice: the limit holds for every way into a project: new flags, copies, revived flags, and flags of other
    # projects.
    limit = project["feature_limit"]
    if limit is not None and names and projects.count_flags(conn, project["id"]) + len(names) > limit:
        refuse(Conflict(f"There can be at most {limit} flags in this project."), names)
