"""The start page: the projects that the reader can see, and the archived ones."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader
from sql.database import connection
from sql.projects import list as project_list

bp = Blueprint("projects", __name__)


@bp.get("/")
def show_projects() -> Response:
    """Show the live projects, favorites first."""
    return show(archived=False)


@bp.get("/archived-projects")
def show_archived_projects() -> Response:
    """Show the archived projects."""
    return show(archived=True)


def show(*, archived: bool) -> Response:
    """Return the page of the live or the archived projects."""
    with connection() as conn:
        reader = require_reader(conn)
        text = project_list.list_all(conn, archived=archived, viewer=reader.actor.viewer, user_id=reader.user_id)
    projects = sorted(json.loads(text)["projects"], key=lambda project: not project["favorite"])
    return page("projects.html", archived=archived, **list_page(projects, "name", "id"))
