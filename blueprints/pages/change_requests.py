"""The change requests of a project: the list, and one with its differences and what the reader may do."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.change_request_text import TEXTS, Results, describe_change, effect, waits
from blueprints.pages.events import names_of_people
from blueprints.pages.lists import PAGE_SIZE, ListQuery
from blueprints.pages.page import page, require_reader
from blueprints.pages.project import read_tabs
from rules import change_requests as rules
from rules.access import id_in_path
from rules.change_request_actions import refusal
from rules.change_request_states import possible_states
from rules.event_text import changes
from serving.request_data import load_query
from sql.catalog import segments
from sql.database import Connection, connection
from sql.projects import change_request_lists, change_requests

bp = Blueprint("change_requests", __name__)


@bp.get("/projects/<project_id>/change-requests")
@bp.get("/projects/<project_id>/change-requests/closed", defaults={"is_open": False})
def show_change_requests(project_id: str, *, is_open: bool = True) -> Response:
    """Show the open or the closed change requests of a project, and for whom they wait."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        offset, feature = (load_query(ListQuery)[name] for name in ("offset", "query"))
        project = read_tabs(conn, project_id, reader)
        project["env_types"] = types_of(conn, project_id)
        pager = {"limit": PAGE_SIZE, "offset": offset}
        query = {"project": project_id, "state": "IS:open" if is_open else "IS:closed", "feature": feature, **pager}
        found = json.loads(change_request_lists.search(conn, reader.actor.viewer, reader.user_id, query))
        shown = {"people": names_of_people(conn, reader.actor), "is_open": is_open, "waits": waits, **pager}
    return page("project/change_requests.html", project=project, found=found, feature=feature, **shown)


def results_of_draft(conn: Connection, project: Mapping[str, Any], environment: str) -> Results:
    """Return what the reader's own draft in an environment leaves. project: from read_project()."""
    results = Results()
    for draft in project["drafts"]:
        rows = change_requests.list_changes(conn, draft["id"]) if draft["environment"] == environment else ()
        for change in rows:
            if change["action"] in TEXTS:
                flag = {"name": change["feature_name"], "default_stickiness": project["defaultStickiness"]}
                effect(change, flag, results)
    return results


def types_of(conn: Connection, project_id: str) -> dict[str, str]:
    """Return the types of the environments of a project by name."""
    return {one["environment"]: one["type"] for one in json.loads(change_requests.list_config(conn, project_id))}


@bp.get("/projects/<project_id>/change-requests/<change_request_id>")
def show_change_request(project_id: str, change_request_id: str) -> Response:
    """Show a change request: what it changes, its reviews and comments, and what the reader may do with it."""
    number = id_in_path(change_request_id)
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        found = json.loads(rules.read_with_conflicts(conn, reader.actor, project_id, number, bases=True))
        row: dict[str, Any] = {
            "project_id": project_id,
            "environment": found["environment"],
            "state": found["state"],
            "created_by_user_id": found["createdBy"]["id"],
            "schedule_status": found.get("schedule", {}).get("status"),
        }
        parts, is_open = rules.parts_of(conn, reader.actor, row), found["state"] in rules.OPEN
        rows = change_requests.list_changes(conn, number) if is_open and "applier" in parts else ()
        refusals = {refusal(conn, reader.actor, project_id, row["environment"], one) for one in rows} - {None}
        project = read_tabs(conn, project_id, reader)
        project["env_types"] = types_of(conn, project_id)
        people = names_of_people(conn, reader.actor)
        known = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
    names = {one["id"]: one["name"] for one in known}
    stickiness, results = {"default_stickiness": project["defaultStickiness"]}, Results()
    subjects = [(True, one["name"], one["changes"], one.get("defaultChange")) for one in found["features"]]
    subjects += [(False, one["name"], [one], None) for one in found["segments"]]
    return page(
        "project/change_request.html",
        project=project,
        found=found,
        people=people,
        subjects=subjects,
        text_of=lambda change, name: describe_change(change, stickiness | {"name": name}, names, results),
        # People approve what they see.
        changes=partial(changes, whole=True),
        parts_of_reader=parts,
        states=possible_states(row, parts - {"applier"} if refusals else parts),
        refusals=refusals,
        approved=reader.user_id in [one["createdBy"]["id"] for one in found["approvals"]],
        waits=waits,
        is_open=is_open,
    )
