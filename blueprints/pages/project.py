"""A project: its numbers and its flags, live or archived."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from flask import Blueprint, Response, abort, request
from marshmallow import ValidationError

from blueprints.pages.filters import read_filters
from blueprints.pages.lists import PAGE_SIZE, ListQuery
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.plain_forms import refuse_other_sites
from rules.exports import export_flags
from serving.responses import bounded, export_response
from sql.catalog import flag_types
from sql.database import Connection, connection, transaction
from sql.flags import search as flag_search
from sql.projects import overview
from validators import load_or_400
from validators.fields import OneOf, Text
from validators.flags.core import TYPE_WORDS, TYPES
from validators.flags.transfer import ExportFlags

bp = Blueprint("project", __name__)

# The orders of the list of flags: the key of the flag search, and whether it is descending.
SORTS = {
    "name": ("name", False),
    "newest": ("createdAt", True),
    "oldest": ("createdAt", False),
    "seen": ("lastSeenAt", True),
}


class TagText(Text):
    """A tag as type:value."""

    def load_value(self, value: Any) -> Any:
        text = super().load_value(value)
        if not 0 < text.find(":") < len(text) - 1:
            raise ValidationError("must be a type and a value, such as simple:beta")
        return text


class FlagListQuery(ListQuery):
    """The query parameters of the list of flags."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates|must be a type and a value"

    type = OneOf(TYPES, TYPE_WORDS)
    state = OneOf(frozenset({"active", "stale"}), "active or stale")
    tag = TagText(max=200)
    sort = OneOf(frozenset(SORTS), ", ".join(SORTS), load_default="name")


@bp.get("/projects/<project_id>")
def show_project(project_id: str) -> Response:
    """Show the numbers of a project, and its live flags with a switch for each environment."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        filters = read_filters(FlagListQuery)
        found = search(conn, reader, project_id, "live", filters.values)
        project = read_project(conn, project_id, reader)
        types = json.loads(flag_types.list_all(conn))["types"]
    environments = [linked["environment"] for linked in project["environments"]]
    return page(
        "project/flags.html",
        400 if filters.errors else 200,
        project=project,
        **found,
        filters=filters,
        types=types,
        switchable={
            name: reader.may("UPDATE_FEATURE_ENVIRONMENT", project=project_id, environment=name)
            for name in environments
        },
    )


@bp.post("/projects/<project_id>/export")
def export_project(project_id: str) -> Response:
    """Return the chosen flags of a project as a document to save. Without a choice: all flags."""
    refuse_other_sites()
    chosen = request.form.to_dict() | {"features": request.form.getlist("features"), "project": project_id}
    with transaction() as conn:
        actor = require_reader(conn, project=project_id).actor
        choice = load_or_400(ExportFlags(), chosen)
        document = bounded(export_flags(conn, actor, choice), "Export fewer flags at a time.")
    return export_response(document, choice["environment"])


@bp.get("/projects/<project_id>/archive")
def show_archived_flags(project_id: str) -> Response:
    """Show the archived flags of a project."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        filters = read_filters(ListQuery)
        found = search(conn, reader, project_id, "archived", filters.values)
        project = read_project(conn, project_id, reader)
    return page(
        "project/archive.html",
        400 if filters.errors else 200,
        project=project,
        **found,
        filters=filters,
    )


def read_project(conn: Connection, project_id: str, reader: Reader) -> dict[str, Any]:
    """Return the overview of a project with its id, as the head of its pages needs it."""
    return {"id": project_id, **json.loads(overview.get(conn, project_id, reader.user_id) or abort(404))}


def search(
    conn: Connection, reader: Reader, project_id: str, state: str, chosen: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a page of the live or archived flags that match, for pager(). chosen: None if a filter is wrong."""
    found: dict[str, Any] = {"features": [], "total": 0}
    offset = 0
    if chosen is not None:
        offset = chosen["offset"]
        values: dict[str, Any] = {"project": [project_id]}
        values |= {name: [chosen[name]] for name in ("type", "tag", "state") if name in chosen}
        if chosen["query"]:
            values["texts"] = [chosen["query"].strip()]
        sort, descending = SORTS[chosen.get("sort", "name")]
        text = flag_search.search(
            conn,
            [state, *("tag_any" if name == "tag" else name for name in values)],
            values,
            viewer=reader.actor.viewer,
            user_id=reader.user_id,
            sort=sort,
            descending=descending,
            favorites_first=True,
            limit=PAGE_SIZE,
            offset=offset,
        )
        found = json.loads(text or abort(400, "The texts of these flags are too long for one page."))
    return {"flags": found["features"], "total": found["total"], "offset": offset, "limit": PAGE_SIZE}
