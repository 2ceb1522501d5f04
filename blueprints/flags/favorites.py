"""Add flags to your favourites, or remove them (neighbours.md 3.12)."""

from flask import Blueprint, Response
from psycopg.rows import DictRow

from rules.access import Actor, require_user
from rules.flags import flag_event, lock_flag
from serving.contract import operation
from serving.responses import empty_response
from sql import events
from sql.database import Connection, transaction
from sql.flags import favorites as flag_favorites

bp = Blueprint("flag_favorites", __name__)


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/favorites")
@operation(record=None, refuses=(401, 403, 404))
def add_favorite_flag(project_id: str, feature_name: str) -> Response:
    """Add a flag to your favourites.

    200 even if it is one.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        if flag_favorites.add(conn, user_id, flag["id"]):
            record_unless_lately(conn, "feature-favorited", actor, flag)
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/features/<feature_name>/favorites")
@operation(record=None, refuses=(401, 403, 404))
def remove_favorite_flag(project_id: str, feature_name: str) -> Response:
    """Remove a flag from your favourites.

    200 even if it is none.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        if flag_favorites.remove(conn, user_id, flag["id"]):
            record_unless_lately(conn, "feature-unfavorited", actor, flag)
    return empty_response()


# Our choice: repeated changes of a favourite do not fill the event log.
def record_unless_lately(conn: Connection, type: str, actor: Actor, flag: DictRow) -> None:
    """Record the event, unless the log has the same event from the last minute."""
    if not events.recorded_lately(conn, type, actor, project=flag["project_id"], feature=flag["name"]):
        events.record(conn, flag_event(type, actor, flag, data={"feature": flag["name"]}))
