"""The start page: the projects that the reader can see."""

import json

from flask import Blueprint, Response

from blueprints.pages.page import page, require_reader
from sql.database import connection
from sql.projects import list as project_list

bp = Blueprint("projects", __name__)


@bp.get("/")
def show_projects() -> Response:
    """Show the projects, favorites first."""
    with connection() as conn:
        reader = require_reader(conn)
        text = project_list.list_all(conn, archived=False, viewer=reader.actor.viewer, user_id=reader.user_id)
    projects = json.loads(text)["projects"]
    return page("projects.html", projects=sorted(projects, key=lambda project: not project["favorite"]))
