"""Flags of a project (neighbours.md 3.12)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from blueprints.flags.tags import add_tags
from rules.access import Actor, require
from rules.flags import NO_FLAG, flag_event, hold
from rules.projects import add_flag, share_project
from serving.contract import operation
from serving.request_data import load, load_query
from serving.responses import bounded, created, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.flags import core as flags
from sql.flags import records as flag_records
from validators.flags.core import CreateFlag, FlagFilters, UpdateFlag

bp = Blueprint("flags", __name__)


@bp.get("/api/admin/projects/<project_id>/features")
@operation(record="flagList", query=FlagFilters, refuses=(401, 403, 404))
def list_flags(project_id: str) -> Response:
    """List the flags of a project.

    Those that are not archived, by name, with what their environments are set to.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        asked = load_query(FlagFilters)
        body = flags.get_list(conn, project_id, actor.user_id, prefix=asked["namePrefix"], tags=asked.get("tag"))
    return json_response(bounded(body, "Ask for fewer flags: use namePrefix or tag, or GET /api/admin/search/features."))


@bp.post("/api/admin/projects/<project_id>/features")
@operation(record="flagCore", body=CreateFlag, status=201, refuses=(401, 403, 404, 409, 415))
def create_flag(project_id: str) -> Response:
    """Create a flag.

    It is off in every environment of the project. Its name must be new, match the naming pattern of the project, and stays the same.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_FEATURE", project=project_id)
        asked = load(CreateFlag())
        home = share_project(conn, project_id)
        details = {"type": asked["type"], "description": asked["description"], "impression_data": asked["impressionData"]}
        flag = add_flag(conn, actor, home, name=asked["name"], **details)
        add_tags(conn, actor, flag, asked["tags"], "tags")
        body = flags.get_core(conn, flag["id"])
    return created(body, "features/{}", flag["name"])


@bp.get("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record="flag", refuses=(401, 403, 404))
def get_flag(project_id: str, feature_name: str) -> Response:
    """Get a flag.

    With its environments and their strategies, its dependencies, its place in its life, and who changed it.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = flag_records.get(conn, project_id, feature_name, actor.user_id) or abort(404, NO_FLAG)
    return json_response(body)


@bp.put("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record="flagCore", body=UpdateFlag, refuses=(401, 403, 404, 415))
def update_flag(project_id: str, feature_name: str) -> Response:
    """Update a flag.

    Changes its description, its type, whether it is stale, and whether it has impression data; what is absent stays as it is.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        asked = load(UpdateFlag())
        if asked.get("name", feature_name) != feature_name:
            abort(400, "name: must be that of the address; a flag cannot be renamed")
        flag = hold(conn, project_id, feature_name)
        change(conn, actor, flag, asked)
        body = flags.get_core(conn, flag["id"])
    return json_response(body)


def change(conn: Connection, actor: Actor, flag: DictRow, asked: Mapping[str, Any]) -> None:
    """Let a flag that is held say what is asked, with the events of what is new."""
    before = flag["record"]
    wanted = before | asked
    details = {"type": wanted["type"], "description": wanted["description"], "impression_data": wanted["impressionData"]}
    flags.update(conn, flag["id"], stale=wanted["stale"], **details)
    after = flags.read(conn, flag["id"])["record"]
    # Our choice: whether it is stale has an event of its own, which comes last.
    if any(after[key] != before[key] for key in ("type", "description", "impressionData")):
        events.record(conn, flag_event("feature-metadata-updated", actor, flag, data=after, pre_data=before))
    if after["stale"] != before["stale"]:
        events.record(conn, flag_event("feature-stale-on" if after["stale"] else "feature-stale-off", actor, flag))
