"""The personal dashboard of the caller."""

import json
import re
from typing import Any

from flask import Blueprint, Response

from rules.access import require, require_user
from rules.event_text import sentence
from serving.operation import operation
from serving.responses import json_response, json_text
from sql import personal_dashboard
from sql.database import connection

bp = Blueprint("personal_dashboard", __name__)


@bp.get("/api/admin/personal-dashboard")
@operation(record="personalDashboard", refuses=(401, 403))
def get_personal_dashboard() -> Response:
    """Get your personal dashboard.

    Returns the projects in which you have a role (for administrators all live projects), the newest 100 flags that you
    created or marked as favorites, the owners of all projects that you can see, and the administrators.
    """
    with connection() as conn:
        actor, user_id = require_user(conn)
        body = personal_dashboard.get(conn, user_id, actor.viewer, is_admin=actor.is_admin)
    return json_response(body)


@bp.get("/api/admin/personal-dashboard/<project_id>")
@operation(record="personalDashboardProject", refuses=(401, 403, 404))
def get_personal_dashboard_project(project_id: str) -> Response:
    """Get a project of your personal dashboard.

    Returns the latest events that you can see, your roles, the owners and the health of the project.
    """
    with connection() as conn:
        actor = require(conn, project=project_id, credential="user", list_projects=True)
        readable = [project_id] if actor.visible is None else actor.visible.access
        found = json.loads(personal_dashboard.get_project(conn, project_id, actor.user_id, readable))
    found["latestEvents"] = [latest_event(event) for event in found["latestEvents"]]
    return json_response(json_text(found))


def latest_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of an event, in Markdown."""
    author, text = event["createdBy"], "".join(word.text or "" for word in sentence(event))
    return {
        "id": event["id"],
        "summary": f"**{plain(author)}** {plain(text)}",
        "createdBy": author,
        "createdByImageUrl": "",
        "createdAt": event["createdAt"],
    }


def plain(text: str) -> str:
    """Return Markdown that shows a text as it is: names can contain stars and links."""
    return re.sub(r"[\\`*\[\]<]", r"\\\g<0>", text)
