"""Clone a flag, or move it to another project."""

from flask import Blueprint, Response

from rules.access import require, require_parts
from rules.flag_moves import finish_copy, move
from rules.flags import add_flags, lock_flag
from rules.projects import hold_project
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response
from sql.database import transaction
from sql.flags import core as flags
from sql.flags import moves as flag_moves
from validators.flags.core import CloneFlag, MoveFlag

bp = Blueprint("flag_moves", __name__)


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/clone")
@operation(record="flagCore", body=CloneFlag, status=201, refuses=(401, 403, 404, 409, 415))
def clone_flag(project_id: str, feature_name: str) -> Response:
    """Clone a flag.

    The copy gets the strategies, variants, segments, dependencies and links of the flag. It is disabled in all
    environments. The caller needs CREATE_FEATURE and the permissions to add its strategies, variants and dependencies.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_FEATURE", project=project_id)
        change = load(CloneFlag())
        project = hold_project(conn, project_id)
        # This lock is enough for the parents too. They cannot be archived while this flag depends on them.
        source = lock_flag(conn, project_id, feature_name)
        # Our choice: a copy does not get the tags and the stale mark.
        [copy] = add_flags(conn, actor, project, [source["record"] | {"name": change["name"], "createdAt": None}])
        flag_moves.copy(conn, source["id"], copy["id"], group_id=copy["name"] if change["replaceGroupId"] else None)
        require_parts(conn, actor, project_id, flag_moves.parts(conn, copy["id"]))
        finish_copy(conn, actor, source, copy)
        body = flags.get_core(conn, copy["id"])
    return created(body, "../{}", copy["name"])


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/changeProject")
@operation(record=None, body=MoveFlag, refuses=(401, 403, 404, 409, 415))
def move_flag(project_id: str, feature_name: str) -> Response:
    """Move a flag to another project.

    The new project must have all environments of the flag. The flag must have no dependencies, and no other flag may
    depend on it. Its strategies must not use segments of the old project. Its past usage stays with the old project.
    The caller needs MOVE_FEATURE_TOGGLE in both projects, and in the new one the permissions to create such a flag.
    """
    with transaction() as conn:
        actor = require(conn, "MOVE_FEATURE_TOGGLE", project=project_id, direct=True)
        target = load(MoveFlag())["newProjectId"]
        require(conn, "MOVE_FEATURE_TOGGLE", project=target, direct=True)
        project = hold_project(conn, target)
        flag = lock_flag(conn, project_id, feature_name)
        if target != project_id:
            move(conn, actor, flag, project)
    return empty_response()
