"""Import a file: choose it, read the report of a dry run, and confirm."""

import json
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest, Conflict, RequestEntityTooLarge

from blueprints.pages.page import page, require_reader
from blueprints.pages.plain_forms import refuse_other_sites
from rules.import_files import read_file
from rules.import_report import Conflicts, Report
from rules.instance_import import import_contents
from serving.body_limits import LARGE_IMPORTS, held, parsing
from serving.uploads import pack, read_form
from sql.catalog import environments
from sql.database import Connection, connection, rolled_back_transaction, transaction_or_savepoint
from sql.projects import list as project_list
from validators import parse

bp = Blueprint("imports", __name__)


@bp.get("/admin/import")
def show_import() -> Response:
    """Show the form for a file."""
    with connection() as conn:
        choices = form_choices(conn)
    return page("admin/import.html", **choices, fields=request.args, problems=[])


@bp.post("/admin/import")
def import_file() -> Response:
    """Show the report of a dry run. If the form is that of the report, import the file, and show what was done."""
    refuse_other_sites()
    fields: dict[str, str] = {}
    with connection() as conn:
        choices = form_choices(conn)
    try:
        with held(LARGE_IMPORTS):
            fields, content = read_form()
            report = run(fields, content)
            kept = "" if "kept" in fields else pack(content)
    except Conflicts as error:
        return page("admin/import.html", 409, **choices, fields=fields, problems=error.conflicts)
    except (BadRequest, Conflict, RequestEntityTooLarge) as error:
        return page("admin/import.html", error.code or 400, **choices, fields=fields, problems=[error.description])
    return page("admin/import_report.html", report=report, fields=fields, kept=kept)


def form_choices(conn: Connection) -> dict[str, Any]:
    """Return the projects and the names of the environments. Raise 403 unless an administrator reads the page."""
    require_reader(conn, "ADMIN")
    known = json.loads(environments.list_all(conn))["environments"]
    return {"projects": project_list.list_names(conn, None), "environments": [each["name"] for each in known]}


def run(fields: Mapping[str, str], content: bytes) -> Report:
    """Import the file, or only rehearse that for the first form. Raise Conflicts, or 400 for invalid input."""
    name, project, environment = (fields.get(key) or None for key in ("name", "project", "environment"))
    if name is None or not content:
        raise BadRequest(f"{name} is empty." if name else "Choose a file.")
    with parsing(content):
        data = parse(content, name)
    contents = read_file(data, name, project, environment)
    block = transaction_or_savepoint if "kept" in fields else rolled_back_transaction
    with connection() as conn, block(conn):
        actor = require_reader(conn, "ADMIN").actor
        return import_contents(conn, actor, contents, skip_change_requests=True)
