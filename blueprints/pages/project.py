"""A project: its numbers and its flags, live or archived."""

import json
from typing import Any, ClassVar

from flask import Blueprint, Response, abort

from blueprints.pages.lists import PAGE_SIZE, ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql.database import connection
from sql.flags import lifecycle
from sql.flags import search as flag_search
from sql.projects import overview
from sql.vocabulary import flag_types
from validators import load_or_400
from validators.fields import OneOf, Text
from validators.flags.core import TYPE_WORDS, TYPES
from validators.flags.search import FeatureSearch

bp = Blueprint("project", __name__)

# The orders of the list of flags: the parameters of the flag search.
SORTS = {
    "name": ("name", "asc"),
    "newest": ("createdAt", "desc"),
    "oldest": ("createdAt", "asc"),
    "seen": ("lastSeenAt", "desc"),
}


class FlagListQuery(ListQuery):
    """The query parameters of the list of flags. Empty values are no filters."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates"

    type = OneOf(TYPES | {""}, TYPE_WORDS, load_default="")
    state = OneOf(frozenset({"", "active", "stale"}), "active or stale", load_default="")
    tag = Text(load_default="", max=200)
    sort = OneOf(frozenset(SORTS), ", ".join(SORTS), load_default="name")

    def as_search(self, project_id: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the flag search."""
        sort_by, sort_order = SORTS[payload["sort"]]
        parameters = {
            "project": f"IS:{project_id}",
            "query": payload["query"],
            "sortBy": sort_by,
            "sortOrder": sort_order,
            "favoritesFirst": "true",
            "offset": str(payload["offset"]),
            "limit": str(PAGE_SIZE),
        }
        for name, operator in (("type", "IS"), ("state", "IS"), ("tag", "INCLUDE")):
            if payload[name]:
                parameters[name] = f"{operator}:{payload[name]}"
        return load_or_400(FeatureSearch(), parameters)


@bp.get("/projects/<project_id>")
def show_project(project_id: str) -> Response:
    """Show the numbers of a project, and its live flags with a switch for each environment."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        query = load_query(FlagListQuery)
        found = flag_search.search(
            conn,
            viewer=reader.actor.viewer,
            user_id=reader.user_id,
            **FlagListQuery().as_search(project_id, query),
        )
        project = json.loads(overview.get(conn, project_id, reader.user_id) or abort(404))
        types = json.loads(flag_types.list_all(conn))["types"]
    flags = json.loads(found or abort(400, "The texts of these flags are too long for one page."))
    return page(
        "project/flags.html",
        project={"id": project_id, **project},
        flags=flags["features"],
        total=flags["total"],
        limit=PAGE_SIZE,
        query=query,
        types=types,
    )


@bp.get("/projects/<project_id>/archive")
def show_archived_flags(project_id: str) -> Response:
    """Show the archived flags of a project."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        query = load_query(ListQuery)
        project = json.loads(overview.get(conn, project_id, reader.user_id) or abort(404))
        found = lifecycle.list_archived(conn, reader.actor.viewer, project_id)
    flags = json.loads(found or abort(400, "The texts of these flags are too long for one page."))["features"]
    flags = [flag for flag in flags if query["query"].lower() in flag["name"].lower()]
    return page(
        "project/archive.html",
        project={"id": project_id, **project},
        query=query["query"],
        **slice_of(flags, query["offset"]),
    )
