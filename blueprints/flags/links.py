"""Links of a flag to other pages, such as its issue or its dashboard."""

from flask import Blueprint, Response

from rules.access import require
from rules.flag_links import add_links, find_link
from rules.flags import flag_event, lock_flag
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response
from sql import events
from sql.database import transaction
from sql.flags import links
from validators.flags.links import FlagLink

bp = Blueprint("flag_links", __name__)

LINKS = "/api/admin/projects/<project_id>/features/<feature_name>/link"


@bp.post(LINKS)
@operation(body=FlagLink, status=204, refuses=(401, 403, 404, 415))
def create_flag_link(project_id: str, feature_name: str) -> Response:
    """Create a link of a flag.

    A flag can have 10 links. GET of the flag returns them with their ids.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        link = {"title": None} | load(FlagLink())
        flag = lock_flag(conn, project_id, feature_name)
        add_links(conn, actor, flag, [link])
    return empty_response(204)


@bp.put(f"{LINKS}/<link_id>")
@operation(body=FlagLink, status=204, refuses=(401, 403, 404, 415))
def update_flag_link(project_id: str, feature_name: str, link_id: str) -> Response:
    """Update a link of a flag.

    If the title is omitted, it stays.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        change = load(FlagLink())
        flag = lock_flag(conn, project_id, feature_name)
        before = find_link(conn, flag, link_id)
        links.update(conn, link_id, before | change)
        event = flag_event("feature-link-updated", actor, flag, data=before | change, pre_data=before)
        events.record_change(conn, event)
    return empty_response(204)


@bp.delete(f"{LINKS}/<link_id>")
@operation(status=204, refuses=(401, 403, 404))
def delete_flag_link(project_id: str, feature_name: str, link_id: str) -> Response:
    """Delete a link of a flag.

    404 if the flag does not have it.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        link = find_link(conn, flag, link_id)
        links.delete(conn, link_id)
        events.record(conn, flag_event("feature-link-removed", actor, flag, pre_data=link))
    return empty_response(204)
