"""Context fields, environments and tag types of the instance."""

import json

from flask import Blueprint, Response, abort

from blueprints.pages.lists import ListQuery, list_page, slice_of
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql.catalog import context_fields, environments, tag_types
from sql.database import connection

bp = Blueprint("catalog", __name__)


@bp.get("/admin/context-fields")
def show_context_fields() -> Response:
    """Show the context fields with their first values."""
    with connection() as conn:
        require_reader(conn)
        fields = json.loads(context_fields.list_all(conn))
    return page("admin/context_fields.html", **list_page(fields, "name"))


@bp.get("/admin/context-fields/<name>")
def show_context_field(name: str) -> Response:
    """Show the form of a context field, and the strategies that use it."""
    with connection() as conn:
        reader = require_reader(conn, list_projects=True)
        query = load_query(ListQuery)
        found = context_fields.get(conn, name) or abort(404, "No context field has that name.")
        newest = newest_change(conn, reader, found.version, "context-field-updated", {"name": name})
        uses = json.loads(context_fields.list_strategies(conn, name, reader.actor.viewer) or abort(404))["strategies"]
    return page("admin/context_field.html", field=json.loads(found), **newest, **slice_of(uses, query["offset"]))


@bp.get("/admin/environments")
def show_environments() -> Response:
    """Show the environments."""
    with connection() as conn:
        require_reader(conn)
        found = json.loads(environments.list_all(conn))["environments"]
    return page("admin/environments.html", environments=found, order=order)


@bp.get("/admin/tag-types")
def show_tag_types() -> Response:
    """Show the types of tags."""
    with connection() as conn:
        require_reader(conn)
        found = json.loads(tag_types.list_all(conn))["tagTypes"]
    return page("admin/tag_types.html", **list_page(found, "name"))


def order(names: list[str], index: int, step: int) -> dict[str, int]:
    """Return the body of sort-order that moves an environment by one place. step: -1 for up, 1 for down."""
    names = list(names)
    names[index], names[index + step] = names[index + step], names[index]
    return {name: place for place, name in enumerate(names, 1)}
