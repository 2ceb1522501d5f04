"""Applications that ask for flags."""

import json

from flask import Blueprint, Response, abort

from blueprints.pages.lists import PAGE_SIZE, ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql import applications
from sql.database import connection

bp = Blueprint("applications", __name__)


@bp.get("/admin/applications")
def show_applications() -> Response:
    """Show the applications, and the names of flags that they ask for and that do not exist."""
    with connection() as conn:
        reader = require_reader(conn)
        query = load_query(ListQuery)
        text = applications.list_all(conn, reader.actor.viewer, descending=False, limit=PAGE_SIZE, **query)
        unknown = json.loads(applications.list_unknown_flags(conn, reader.actor.viewer))["unknownFlags"]
    found = json.loads(text)
    items, total = found["applications"], found["total"]
    return page("admin/applications.html", **query, items=items, total=total, limit=PAGE_SIZE, unknown=unknown)


@bp.get("/admin/applications/<slashed:name>")
def show_application(name: str) -> Response:
    """Show an application: its projects and flags, and its instances in each environment."""
    with connection() as conn:
        reader = require_reader(conn)
        query = load_query(ListQuery)
        viewer = reader.actor.viewer
        record = json.loads(applications.get(conn, name, viewer) or abort(404, "No application has that name."))
        overview = json.loads(applications.get_overview(conn, name, viewer) or abort(404))
        flags = json.loads(applications.list_flags(conn, name, viewer) or "[]")
        instances = {
            environment["name"]: json.loads(
                applications.list_instances(conn, name, environment["name"], viewer) or '{"instances": []}'
            )["instances"]
            for environment in overview["environments"]
        }
    shown = slice_of(flags, query["offset"])
    return page("admin/application.html", record=record, overview=overview, instances=instances, **shown)
