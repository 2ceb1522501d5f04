"""Variants of a flag in an environment."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.strategies import NO_FLAG_THERE, lock_in_environment, lock_in_environments, replace_variants
from serving.contract import operation
from serving.request_data import load, load_many
from serving.responses import json_response
from sql.database import connection, transaction
from sql.flags import variants
from validators import or_400
from validators.flags.environments import VariantsOfEnvironments, patched_variants
from validators.flags.json_patch import PatchOperation
from validators.flags.variants import Variant, balanced

bp = Blueprint("variants", __name__)

FLAG = "/api/admin/projects/<project_id>/features/<feature_name>"
BASE = f"{FLAG}/environments/<environment>/variants"
PERMISSION = "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"


@bp.get(BASE)
@operation(record="flagVariants", refuses=(401, 403, 404))
def list_variants(project_id: str, feature_name: str, environment: str) -> Response:
    """List the variants of a flag in an environment.

    Does not include the variants of strategies.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = variants.get(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
    return json_response(body)


@bp.put(BASE)
@operation(record="flagVariants", body=Variant, many=True, refuses=(400, 401, 403, 404, 415))
def set_variants(project_id: str, feature_name: str, environment: str) -> Response:
    """Set the variants of a flag in an environment.

    The body replaces the variants. An empty list removes them. The weights of variable variants are computed, so that
    all weights add up to 1000.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        after = or_400(balanced, load_many(Variant()))
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        before = variants.list_by_flag(conn, [flag["id"]], environment)[flag["id"]]
        replace_variants(conn, actor, [(flag, before, after)])
        body = variants.get(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.patch(BASE)
@operation(record="flagVariants", body=PatchOperation, many=True, refuses=(400, 401, 403, 404, 415))
def patch_variants(project_id: str, feature_name: str, environment: str) -> Response:
    """Patch the variants of a flag in an environment.

    The body is a JSON patch (RFC 6902) of the list of variants. The result must be valid for PUT.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        operations = load_many(PatchOperation())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        before = variants.list_by_flag(conn, [flag["id"]], environment)[flag["id"]]
        after = or_400(lambda variants: patched_variants(variants, operations), before)
        replace_variants(conn, actor, [(flag, before, after)])
        body = variants.get(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.put(f"{FLAG}/variants-batch")
@operation(record="flagVariants", body=VariantsOfEnvironments, refuses=(400, 401, 403, 404, 415))
def set_variants_in_environments(project_id: str, feature_name: str) -> Response:
    """Set the variants of a flag in several environments.

    Sets all of them or none. The caller needs the permission in each environment.
    """
    with transaction() as conn:
        require(conn)
        change = load(VariantsOfEnvironments())
        actors = [
            require(conn, PERMISSION, project=project_id, environment=environment)
            for environment in change["environments"]
        ]
        for flag in lock_in_environments(conn, project_id, feature_name, change["environments"]):
            before = variants.list_by_flag(conn, [flag["id"]], flag["environment"])[flag["id"]]
            replace_variants(conn, actors[0], [(flag, before, change["variants"])])
        body = variants.get(conn, project_id, feature_name, change["environments"][0])
    return json_response(body)
