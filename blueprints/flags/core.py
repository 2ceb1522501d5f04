"""List, create and update the flags of a project, and check names of new flags."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.flags import NO_FLAG, add_flags, change_flags, lock_flag, refuse_unusable_name
from rules.projects import hold_project
from rules.tags import add_tags, check_tag_types
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load, load_many, load_query
from serving.responses import bounded, created, empty_response, json_response, json_text
from sql.database import connection, transaction
from sql.flags import core as flags
from sql.flags import records as flag_records
from validators import or_400
from validators.flags.core import CreateFlag, FlagFilters, FlagPatch, NewFlagName, UpdateFlag, patched_flag
from validators.returned import without_read_only

bp = Blueprint("flags", __name__)


@bp.get("/api/admin/projects/<project_id>/features")
@operation(record="flagList", query=FlagFilters, refuses=(401, 403, 404))
def list_flags(project_id: str) -> Response:
    """List the flags of a project.

    Returns live flags sorted by name, with their environments. Archived flags are not listed.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        query = load_query(FlagFilters)
        body = flags.get_list(conn, project_id, actor.user_id, prefix=query["namePrefix"], tags=query.get("tag"))
    return json_response(
        bounded(body, "Ask for fewer flags: use namePrefix or tag, or GET /api/admin/search/features.")
    )


@bp.post("/api/admin/projects/<project_id>/features")
@operation(record="flagCore", body=CreateFlag, status=201, refuses=(401, 403, 404, 409, 415))
def create_flag(project_id: str) -> Response:
    """Create a flag.

    The flag is disabled in all environments of the project. Its name must be new, and match the naming pattern of the
    project. The name cannot change later.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_FEATURE", project=project_id)
        new = load(CreateFlag())
        [flag] = add_flags(conn, actor, hold_project(conn, project_id), [new])
        check_tag_types(conn, [(flag["name"], tag) for tag in new["tags"]], "tags")
        add_tags(conn, actor, [(flag, tag) for tag in new["tags"]])
        change_flags(conn, actor, [(flag, {"stale": new["stale"]})])
        body = flags.get_core(conn, flag["id"])
    return created(body, "features/{}", flag["name"])


@bp.post("/api/admin/features/validate")
@operation(record=None, body=NewFlagName, refuses=(401, 403, 409, 415))
def validate_flag_name() -> Response:
    """Check a name for a new flag.

    200 if the name is valid and free. Names of archived flags, and of flags that the caller cannot see, are taken. With
    a project, the name must also match its naming pattern.
    """
    with connection() as conn:
        actor = require(conn)
        new = load(NewFlagName())
        refuse_unusable_name(conn, actor.viewer, new["name"], new["projectId"])
    return empty_response()


@bp.get("/api/admin/projects/<project_id>/flag-creators")
@operation(record="flagCreators", refuses=(401, 403, 404))
def list_flag_creators(project_id: str) -> Response:
    """List the users who created the flags of a project.

    Includes creators of archived flags, and deleted users. Use their ids in the filter createdBy of the flag search.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        creators = flags.list_creators(conn, actor.viewer, project_id)
    return json_response(json_text(creators))


@bp.get("/api/admin/flag-creators")
@operation(record="allFlagCreators", refuses=(401, 403))
def list_all_flag_creators() -> Response:
    """List the users who created flags.

    Includes creators of archived flags, and deleted users, but no creators of flags that the caller cannot see.
    """
    with connection() as conn:
        actor = require(conn)
        creators = flags.list_creators(conn, actor.viewer)
    return json_response(json_text({"flagCreators": creators, "total": len(creators)}))


@bp.get("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record="flag", refuses=(401, 403, 404))
def get_flag(project_id: str, feature_name: str) -> Response:
    """Get a flag.

    Returns it with its environments, strategies, dependencies, lifecycle and collaborators.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = flag_records.get(conn, project_id, feature_name, actor.user_id) or abort(404, NO_FLAG)
    return json_response(body)


@bp.put("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record="flagCore", body=UpdateFlag, refuses=(401, 403, 404, 412, 415))
def update_flag(project_id: str, feature_name: str) -> Response:
    """Update a flag.

    Changes its description, type, stale mark and impression data. Omitted properties keep their values.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        refuse_changed(lambda: lock_flag(conn, project_id, feature_name)["version"], None)
        change = load(UpdateFlag(), lambda: flag_records.get(conn, project_id, feature_name, actor.user_id))
        flag = lock_flag(conn, project_id, feature_name)
        change = without_read_only(change, lambda: flag_records.get(conn, project_id, feature_name, actor.user_id))
        change_flags(conn, actor, [(flag, change)])
        body = flags.get_core(conn, flag["id"])
    return json_response(body)


@bp.patch("/api/admin/projects/<project_id>/features/<feature_name>")
@operation(record="flagCore", body=FlagPatch, many=True, refuses=(401, 403, 404, 412, 415))
def patch_flag(project_id: str, feature_name: str) -> Response:
    """Patch a flag.

    The body is a JSON patch (RFC 6902) of the flag without its environments, as PUT returns it. It can change the
    description, type, stale mark and impression data.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        refuse_changed(lambda: lock_flag(conn, project_id, feature_name)["version"], None)
        operations = load_many(FlagPatch())
        flag = lock_flag(conn, project_id, feature_name)
        change = or_400(lambda record: patched_flag(record, operations), flag["record"])
        change_flags(conn, actor, [(flag, change)])
        body = flags.get_core(conn, flag["id"])
    return json_response(body)
