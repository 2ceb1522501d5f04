"""Mark flags stale, archive, revive and delete them, and list archived flags."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.flag_lifecycle import archive, delete, mark_stale, revive
from rules.flags import NO_FLAG_ANYWHERE, lock_flag, lock_flag_anywhere, lock_flags
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import bounded, empty_response, json_response, json_text
from sql.database import connection, transaction
from sql.flags import core as flags
from sql.flags import dependencies
from sql.flags import lifecycle as flag_lifecycle
from validators.flags.core import FlagNames, StaleFlags

bp = Blueprint("flag_lifecycle", __name__)


@bp.delete("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record=None, status=202, refuses=(401, 403, 404, 409, 412))
def archive_flag(project_id: str, feature_name: str) -> Response:
    """Archive a flag.

    Disables it in all environments and removes its dependencies. 409 if live flags depend on it.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE", project=project_id, direct=True)
        flag = lock_flag(conn, project_id, feature_name)
        refuse_changed(lambda: flag["version"], None)
        archive(conn, actor, [flag])
    return empty_response(202)


@bp.post("/api/admin/projects/<project_id>/archive")
@operation(record=None, body=FlagNames, status=202, refuses=(401, 403, 404, 409, 415))
def archive_flags(project_id: str) -> Response:
    """Archive several flags.

    Archives all of them or none. 409 if another live flag depends on one of them.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE", project=project_id, direct=True)
        locked = lock_flags(conn, actor, project_id, load(FlagNames())["features"])
        archive(conn, actor, [flag for flag in locked if flag["archived_at"] is None])
    return empty_response(202)


@bp.post("/api/admin/projects/<project_id>/archive/validate")
@operation(record="archiveFindings", body=FlagNames, refuses=(401, 403, 404, 415))
def validate_archive(project_id: str) -> Response:
    """Check what archiving several flags would do.

    Nothing changes. If parentsWithChildFeatures has names, archiving is refused with 409. Ignores archived flags and
    unknown names.
    """
    with connection() as conn:
        require(conn, "DELETE_FEATURE", project=project_id)
        found = flags.list_by_name(conn, project_id, load(FlagNames())["features"])
        live = {flag["id"]: flag["name"] for flag in found if flag["archived_at"] is None}
        needed = flag_lifecycle.needed_by_others(conn, list(live))
        pairs = dependencies.pairs(conn, live)
    has_dependencies = bool(needed) or any(child in live.values() for child, _ in pairs)
    return json_response(json_text({"parentsWithChildFeatures": needed, "hasDeletedDependencies": has_dependencies}))


@bp.get("/api/admin/archive/features")
@operation(record="archivedFlags", refuses=(401, 403), deprecated=True)
def list_archived_flags() -> Response:
    """List archived flags (deprecated).

    Returns the archived flags of all projects that the caller can see.
    """
    with connection() as conn:
        actor = require(conn)
        body = flag_lifecycle.list_archived(conn, actor.viewer)
    return json_response(bounded(body, "Ask for fewer flags: use GET /api/admin/archive/features/{projectId}."))


@bp.get("/api/admin/archive/features/<project_id>")
@operation(record="archivedFlags", refuses=(401, 403, 404), deprecated=True)
def list_archived_flags_of_project(project_id: str) -> Response:
    """List the archived flags of a project (deprecated).

    Deleted flags are not listed.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = flag_lifecycle.list_archived(conn, actor.viewer, project_id)
    return json_response(bounded(body, "Delete some of the archived flags."))


@bp.post("/api/admin/projects/<project_id>/revive")
@operation(record=None, body=FlagNames, refuses=(401, 403, 404, 409, 415))
def revive_flags(project_id: str) -> Response:
    """Revive several flags.

    Revives all of them or none. The flags are disabled in all environments. Flags that are not archived do not change.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        revive(conn, actor, project_id, load(FlagNames())["features"])
    return empty_response()


@bp.post("/api/admin/archive/revive/<feature_name>")
@operation(record=None, refuses=(401, 403, 404, 409))
def revive_flag(feature_name: str) -> Response:
    """Revive a flag.

    The flag is disabled in all environments. A flag that is not archived does not change.
    """
    with transaction() as conn:
        caller = require(conn)
        project_id = flags.project_of(conn, feature_name, caller.viewer)
        if project_id is None:
            abort(404, NO_FLAG_ANYWHERE)
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        revive(conn, actor, project_id, [feature_name])
    return empty_response()


@bp.delete("/api/admin/archive/<feature_name>")
@operation(record=None, refuses=(401, 403, 404, 409, 412))
def delete_flag(feature_name: str) -> Response:
    """Delete an archived flag.

    Afterwards, a new flag can have its name. Events, reported usage and past weeks of insights stay.
    """
    with transaction() as conn:
        actor, flag = lock_flag_anywhere(conn, feature_name, "DELETE_FEATURE")
        refuse_changed(lambda: flag["version"], None)
        delete(conn, actor, [flag])
    return empty_response()


@bp.post("/api/admin/projects/<project_id>/delete")
@operation(record=None, body=FlagNames, refuses=(401, 403, 404, 409, 415))
def delete_flags(project_id: str) -> Response:
    """Delete several archived flags.

    Deletes all of them or none. 409 if one of them is not archived.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE", project=project_id)
        delete(conn, actor, lock_flags(conn, actor, project_id, load(FlagNames())["features"]))
    return empty_response()


@bp.post("/api/admin/projects/<project_id>/stale")
@operation(record=None, body=StaleFlags, status=202, refuses=(401, 403, 404, 409, 415))
def set_flags_stale(project_id: str) -> Response:
    """Mark several flags stale, or not stale.

    Marks all of them or none.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        mark_stale(conn, actor, project_id, **load(StaleFlags()))
    return empty_response(202)
