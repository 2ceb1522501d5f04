"""The start page: the projects that the reader can see, and the archived ones."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
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
        query = load_query(ListQuery)
        text = project_list.list_all(conn, archived=archived, viewer=reader.actor.viewer, user_id=reader.user_id)
    found = [
        project
        for project in json.loads(text)["projects"]
        if query["query"].lower() in f"{project['name']} {project['id']}".lower()
    ]
    found.sort(key=lambda project: not project["favorite"])
    return page("projects.html", archived=archived, query=query["query"], **slice_of(found, query["offset"]))
