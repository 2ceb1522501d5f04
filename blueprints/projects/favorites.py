"""Add projects to your favorites, or remove them."""

from flask import Blueprint, Response

from rules.access import require_user
from serving.operation import operation
from serving.responses import empty_response
from sql import events
from sql.database import transaction
from sql.events import Event
from sql.projects import favorites as project_favorites

bp = Blueprint("project_favorites", __name__)

PATH = "/api/admin/projects/<project_id>/favorites"


@bp.post(PATH)
@operation(refuses=(401, 403, 404))
def add_favorite_project(project_id: str) -> Response:
    """Add a project to your favorites.

    The caller must be a user. API tokens have no favorites.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        if project_favorites.add(conn, user_id, project_id):
            event = Event("project-favorited", actor, project=project_id, data={"project": project_id})
            events.record_once_a_minute(conn, event)
    return empty_response()


@bp.delete(PATH)
@operation(refuses=(401, 403, 404))
def remove_favorite_project(project_id: str) -> Response:
    """Remove a project from your favorites.

    The caller must be a user. API tokens have no favorites.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        if project_favorites.remove(conn, user_id, project_id):
            event = Event("project-unfavorited", actor, project=project_id, data={"project": project_id})
            events.record_once_a_minute(conn, event)
    return empty_response()
