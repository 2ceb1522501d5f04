"""Check the project that gets flags: it is not archived, and has room for them."""

from collections.abc import Collection

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict, NotFound

from rules.refusals import Refuse, quantity, raise_error
from sql.database import Connection
from sql.projects import core as projects


def share_project(conn: Connection, project_id: str) -> DictRow:
    """Share-lock and return the project as projects.share_live() does. Raise 404 if it is archived."""
    project = projects.share_live(conn, project_id)
    if project is None:
        raise NotFound("The project is archived. Revive it first.")
    return project


def refuse_full_project(
    conn: Connection, project: DictRow, names: Collection[str], refuse: Refuse = raise_error
) -> None:
    """Refuse flags that would exceed the limit of live flags of the project."""
    # Our choice: the limit holds for new flags, copies, revived flags, and flags moved from other projects.
    limit = project["feature_limit"]
    if limit is not None and names and projects.count_flags(conn, project["id"]) + len(names) > limit:
        most = f"The project can have at most {quantity(limit, 'live flag')}."
        refuse(Conflict(f"{most} To allow more, raise its featureLimit."), names)
