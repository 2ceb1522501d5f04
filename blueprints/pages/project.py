"""A project: its flags, live, archived or to clean up."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flask import Blueprint, Response, abort, request
from marshmallow import ValidationError

from blueprints.pages.cells import cell
from blueprints.pages.filters import read_filters
from blueprints.pages.lists import PAGE_SIZE, ListQuery
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.plain_forms import refuse_other_sites
from rules.exports import export_flags
from serving.request_data import load_query
from serving.responses import bounded, export_response
from sql.catalog import flag_types, tag_types
from sql.database import Connection, connection, transaction
from sql.flags import cleanup
from sql.flags import search as flag_search
from sql.projects import change_request_lists, change_request_rights, overview
from validators import load_or_400
from validators.fields import OneOf, Text
from validators.flags.core import TYPE_WORDS, TYPES
from validators.flags.search import EnvironmentState
from validators.flags.transfer import ExportFlags
from validators.query_fields import Repeated

bp = Blueprint("project", __name__)

# The orders of the list of flags: the key of the flag search, and whether it is descending.
SORTS = {
    "name": ("name", False),
    "-name": ("name", True),
    "type": ("type", False),
    "-type": ("type", True),
    "seen": ("lastSeenAt", True),
    "-seen": ("lastSeenAt", False),
    "newest": ("createdAt", True),
    "oldest": ("createdAt", False),
}
STATES = {"active": "active", "stale": "stale", "old": "too old for its type"}
STATUSES = (("enabled", "on"), ("disabled", "off"))
# Filters with several values: keys of the flag search.
LISTS = ("type", "states", "tag_any", "favorite", "status")
# A title and a hint for each group of flags to clean up.
CLEANUP_GROUPS = {
    "stale": ("Stale", "The decision is made. They lower the health of the project."),
    "old": ("Too old for their type", "Flags of these types should not live so long. They lower the health too."),
    "unused": ("Not asked for in 30 days", "Applications used them before."),
    "never": ("Never used", "No application has ever asked, though applications ask for other flags."),
    "bulk": ("Perhaps used by pages", "No application has asked in 30 days, but pages read all flags at once."),
    "everybody": ("On for everybody for 60 days", "The decision is made: keep the new code, and remove the flag."),
}
# Tags that the filter offers: the most frequent ones of the listed flags. The search finds the others.
TAGS_OFFERED = 20


class TagText(Text):
    """A tag as type:value."""

    def load_value(self, value: Any) -> Any:
        text = super().load_value(value)
        if not 0 < text.find(":") < len(text) - 1:
            raise ValidationError("must be a type and a value, such as simple:beta")
        return text


class FlagListQuery(ListQuery):
    """The query parameters of the list of flags. Several values of a filter combine with OR."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates|must be a type and a value|must look like"

    type = Repeated(OneOf(TYPES, TYPE_WORDS))
    states = Repeated(OneOf(frozenset(STATES), ", ".join(STATES)), data_key="state")
    tag_any = Repeated(TagText(max=200), data_key="tag")
    status = Repeated(EnvironmentState())
    favorite = Repeated(OneOf(frozenset({"true"}), "true"))
    sort = OneOf(frozenset(SORTS), ", ".join(SORTS))


@bp.get("/projects/<project_id>")
def show_project(project_id: str) -> Response:
    """Show the live flags of a project, with a switch for each environment."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        filters = read_filters(FlagListQuery)
        found = search(conn, reader, project_id, "live", filters.values)
        project = read_tabs(conn, project_id, reader)
        types = json.loads(flag_types.list_all(conn))["types"]
        kinds = json.loads(tag_types.list_all(conn))["tagTypes"]
    names = [linked["environment"] for linked in project["environments"]]
    return page(
        "project/flags.html",
        400 if filters.errors else 200,
        project=project,
        **found,
        filters=filters,
        types=types,
        tag_types=kinds,
        choices=list_choices(names, types, found["flags"]),
        switchable=[
            name for name in names if reader.may("UPDATE_FEATURE_ENVIRONMENT", project=project_id, environment=name)
        ],
        cell=cell,
    )


def list_choices(
    names: Sequence[str], types: Sequence[Mapping[str, str]], flags: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str, dict[str, str]]]:
    """Return the filters of the list of flags: label, name, and what they offer as texts by value."""
    tags = Counter(f"{tag['type']}:{tag['value']}" for flag in flags for tag in flag["tags"])
    states = {f"{name}:{word}": f"{text} in {name}" for name in names for word, text in STATUSES}
    return [
        ("Type", "type", {type["id"]: type["id"] for type in types}),
        ("State", "state", STATES),
        ("Tag", "tag", {tag: tag for tag, _ in tags.most_common(TAGS_OFFERED)}),
        ("On or off", "status", states),
    ]


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
        project = read_tabs(conn, project_id, reader)
    return page("project/archive.html", 400 if filters.errors else 200, project=project, **found, filters=filters)


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
        for reason, texts in CLEANUP_GROUPS.items()
    ]
    return page(
        "project/cleanup.html", project=project, found=found, groups=groups, cell=cell, offset=offset, limit=PAGE_SIZE
    )


def read_tabs(conn: Connection, project_id: str, reader: Reader) -> dict[str, Any]:
    """Return what read_project() returns, with the number of flags to clean up, for the tabs of a project."""
    return read_project(conn, project_id, reader) | {"cleanup": cleanup.count(conn, [project_id]).get(project_id, 0)}


def read_project(conn: Connection, project_id: str, reader: Reader) -> dict[str, Any]:
    """Return the overview of a project with its id, for the head of its pages."""
    found = overview.get(conn, project_id, reader.user_id) or abort(404)
    project = json.loads(found) | {"id": project_id, "version": found.version}
    return project | own_requests(conn, project, reader)


def own_requests(conn: Connection, project: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    """Return the part of the reader in the change requests of a project.

    proposes: the environments in which they may propose changes. everywhere: the one in which they may propose changes
    of all environments, or None. bypasses: the environments in which only others need change requests. drafts: theirs.
    waiting: ids of requests for them.
    """
    places = [one["environment"] for one in project["environments"] if one["changeRequestsEnabled"]]
    id, user_id, protected = project["id"], reader.user_id, reader.actor.protected
    waiting = change_request_lists.list_actionable(conn, [id], user_id, is_admin=reader.actor.is_admin)
    may_submit = places and change_request_rights.get_rights(conn, user_id, id, places[0])["may_submit"]
    return {
        "proposes": places if may_submit else [],
        "everywhere": (protected or places)[-1] if may_submit and len(protected) < 2 else None,
        "bypasses": [place for place in places if place not in protected],
        "drafts": change_request_lists.list_drafts(conn, id, user_id),
        "waiting": waiting.get(id, []),
    }


def search(
    conn: Connection, reader: Reader, project_id: str, state: str, chosen: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a page of the live or archived flags that match, for pager(). chosen: None if a filter is wrong."""
    found: dict[str, Any] = {"features": [], "total": 0}
    offset = 0
    if chosen is not None:
        offset = chosen["offset"]
        values: dict[str, Any] = {"project": [project_id]}
        values |= {name: chosen[name] for name in LISTS if name in chosen}
        if chosen["query"]:
            values["texts_or_tags"] = [chosen["query"].strip()]
        params = values | {"tag": values.get("tag_any"), "texts": values.get("texts_or_tags")}
        if "status" in values:
            params["status_environments"], params["status_states"] = map(list, zip(*values["status"], strict=True))
        sort, descending = SORTS[chosen.get("sort", "name")]
        text = flag_search.search(
            conn,
            [state, *values],
            params,
            viewer=reader.actor.viewer,
            user_id=reader.user_id,
            sort=sort,
            descending=descending,
            favorites_first="sort" not in chosen,
            limit=PAGE_SIZE,
            offset=offset,
            record=flag_search.ROW,
        )
        found = json.loads(text or abort(400, "The texts of these flags are too long for one page."))
    return {"flags": found["features"], "total": found["total"], "offset": offset, "limit": PAGE_SIZE}
