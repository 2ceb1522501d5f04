"""Add flags to your favorites, or remove them."""

from flask import Blueprint, Response

from rules.access import require_user
from rules.flags import flag_event, lock_flag
from serving.operation import operation
from serving.responses import empty_response
from sql import events
from sql.database import transaction
from sql.flags import favorites as flag_favorites

bp = Blueprint("flag_favorites", __name__)


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/favorites")
@operation(record=None, refuses=(401, 403, 404))
def add_favorite_flag(project_id: str, feature_name: str) -> Response:
    """Add a flag to your favorites.

    200 even if the flag is a favorite already.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        if flag_favorites.add(conn, user_id, flag["id"]):
            data = {"feature": feature_name}
            events.record_once_a_minute(conn, flag_event("feature-favorited", actor, flag, data=data))
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/features/<feature_name>/favorites")
@operation(record=None, refuses=(401, 403, 404))
def remove_favorite_flag(project_id: str, feature_name: str) -> Response:
    """Remove a flag from your favorites.

    200 even if the flag is not a favorite.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        if flag_favorites.remove(conn, user_id, flag["id"]):
            data = {"feature": feature_name}
            events.record_once_a_minute(conn, flag_event("feature-unfavorited", actor, flag, data=data))
    return empty_response()
