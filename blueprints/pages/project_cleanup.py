"""The flags of a project that can probably be removed, with the reasons."""

import json

from flask import Blueprint, Response

from blueprints.pages.cells import cell
from blueprints.pages.lists import PAGE_SIZE, ListQuery
from blueprints.pages.page import page, require_reader
from blueprints.pages.project import read_project
from serving.request_data import load_query
from sql.database import connection
from sql.flags import cleanup

bp = Blueprint("project_cleanup", __name__)

# A title and a hint for each group of flags.
GROUPS = {
    "stale": ("Stale", "The decision is made. They lower the health of the project."),
    "old": ("Too old for their type", "Flags of these types should not live so long. They lower the health too."),
    "unused": ("Not asked for in 30 days", "Applications used them before."),
    "never": ("Never used", "No application has ever asked, though applications ask for other flags."),
    "bulk": ("Perhaps used by pages", "No application has asked in 30 days, but pages read all flags at once."),
    "everybody": ("On for everybody for 60 days", "The decision is made: keep the new code, and remove the flag."),
}


@bp.get("/projects/<project_id>/cleanup")
def show_cleanup(project_id: str) -> Response:
    """Show the flags to clean up, by reason."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        offset = load_query(ListQuery)["offset"]
        project = read_project(conn, project_id, reader)
        found = json.loads(cleanup.list_flags(conn, project_id, reader.user_id, PAGE_SIZE, offset))
    project["cleanup"] = sum(found["counts"].values())
    groups = [
        (*texts, found["counts"].get(reason), [flag for flag in found["flags"] if flag["reason"] == reason])
        for reason, texts in GROUPS.items()
    ]
    return page(
        "project/cleanup.html", project=project, found=found, groups=groups, cell=cell, offset=offset, limit=PAGE_SIZE
    )
