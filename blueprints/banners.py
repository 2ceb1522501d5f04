"""Banners, which all users see at the top of the pages. Administrators write them."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, abort

from rules.access import id_in_path, require
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response, json_text
from sql import banners, events
from sql.database import connection, transaction
from sql.events import Event
from validators.banners import Banner

bp = Blueprint("banners", __name__)

MOST, UNKNOWN = 50, "No banner has that id."


@bp.get("/api/admin/banners")
@operation(record="banners", refuses=(401, 403))
def list_banners() -> Response:
    """List banners.

    Returns all of them, the newest first.
    """
    with connection() as conn:
        require(conn)
        body = banners.list_all(conn)
    return json_response(body)


@bp.post("/api/admin/banners")
@operation(record="banner", body=Banner, status=201, refuses=(401, 403, 415))
def create_banner() -> Response:
    """Create a banner.

    There can be 50 banners. Pages show the three newest enabled ones.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        banner = banners.insert(conn, load(Banner()), MOST) or abort(400, f"There can be at most {MOST} banners.")
        events.record(conn, Event("banner-created", actor, data=banner))
    return created(json_text(banner), "banners/{}", banner["id"])


@bp.put("/api/admin/banners/<banner_id>")
@operation(record="banner", body=Banner, refuses=(401, 403, 404, 415))
def update_banner(banner_id: str) -> Response:
    """Update a banner.

    Omitted properties get their defaults.
    """
    return change(banner_id, lambda: load(Banner()))


@bp.delete("/api/admin/banners/<banner_id>")
@operation(refuses=(401, 403, 404))
def delete_banner(banner_id: str) -> Response:
    """Delete a banner.

    To hide a banner, disable it instead.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        before = banners.delete(conn, id_in_path(banner_id)) or abort(404, UNKNOWN)
        events.record(conn, Event("banner-deleted", actor, pre_data=before))
    return empty_response()


@bp.post("/api/admin/banners/<banner_id>/on")
@operation(record="banner", refuses=(401, 403, 404))
def enable_banner(banner_id: str) -> Response:
    """Enable a banner.

    Pages show it again.
    """
    return change(banner_id, lambda: {"enabled": True})


@bp.post("/api/admin/banners/<banner_id>/off")
@operation(record="banner", refuses=(401, 403, 404))
def disable_banner(banner_id: str) -> Response:
    """Disable a banner.

    Pages do not show it.
    """
    return change(banner_id, lambda: {"enabled": False})


def change(banner_id: str, read: Callable[[], dict[str, Any]]) -> Response:
    """Change a banner, and return its record. read: returns the properties to change."""
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        changed = read()
        before = banners.lock(conn, id_in_path(banner_id)) or abort(404, UNKNOWN)
        after = banners.update(conn, before | changed)
        events.record_change(conn, Event("banner-updated", actor, data=after, pre_data=before))
    return json_response(json_text(after))
