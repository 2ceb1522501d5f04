"""Variants of a flag in one or more environments."""

from flask import Blueprint, Response, abort

from rules.access import require, require_parts
from rules.flags import NO_FLAG
from rules.strategies import (
    NO_FLAG_THERE,
    lock_in_environment,
    lock_in_environments,
)
from rules.variants import replace_variants, replace_variants_in_environments
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
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
PERMISSION_FOR_ALL = "UPDATE_FEATURE_VARIANTS"


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
@operation(record="flagVariants", body=Variant, many=True, refuses=(400, 401, 403, 404, 415), errors=IF_SHOWN)
def set_variants(project_id: str, feature_name: str, environment: str) -> Response:
    """Set the variants of a flag in an environment.

    The body replaces the variants. An empty list removes them. The weights of variable variants are computed, so that
    all weights add up to 1000.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        [before] = variants.list_each(conn, [flag])
        refuse_changed(lambda: content_version({"name": environment, "variants": before}, "name", "variants"), None)
        after = or_400(balanced, load_many(Variant()))
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
        [before] = variants.list_each(conn, [flag])
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
        places = lock_in_environments(conn, project_id, feature_name, change["environments"])
        replace_variants_in_environments(conn, actors[0], places, change["variants"])
        body = variants.get(conn, project_id, feature_name, change["environments"][0])
    return json_response(body)


@bp.get(f"{FLAG}/variants")
@operation(record="flagVariants", refuses=(401, 403, 404), deprecated=True)
def list_variants_of_all_environments(project_id: str, feature_name: str) -> Response:
    """List the variants of a flag in all environments (deprecated).

    Each name occurs once. If several environments have a variant with this name, the list has the variant of the first
    environment.
    """
    with connection() as conn:
        require(conn, project=project_id)
        found = variants.read_all(conn, project_id, feature_name) or abort(404, NO_FLAG)
    return json_response(found["body"])


@bp.put(f"{FLAG}/variants")
@operation(record="flagVariants", body=Variant, many=True, refuses=(400, 401, 403, 404, 415), deprecated=True)
def set_variants_in_all_environments(project_id: str, feature_name: str) -> Response:
    """Set the variants of a flag in all environments (deprecated).

    The body replaces the variants of the flag in each environment of the project. The caller also needs the permission
    UPDATE_FEATURE_ENVIRONMENT_VARIANTS in each of them.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION_FOR_ALL, project=project_id, direct=True)
        after = or_400(balanced, load_many(Variant()))
        places = lock_in_environments(conn, project_id, feature_name)
        require_parts(conn, actor, project_id, [(PERMISSION, place["environment"]) for place in places])
        replace_variants_in_environments(conn, actor, places, after)
        found = variants.read_all(conn, project_id, feature_name) or abort(404, NO_FLAG)
    return json_response(found["body"])


@bp.patch(f"{FLAG}/variants")
@operation(record="flagVariants", body=PatchOperation, many=True, refuses=(400, 401, 403, 404, 415), deprecated=True)
def patch_variants_in_all_environments(project_id: str, feature_name: str) -> Response:
    """Patch the variants of a flag in all environments (deprecated).

    The body is a JSON patch (RFC 6902) of the list that GET returns. The result replaces the variants of each
    environment of the project. The caller needs the same permissions as for PUT.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION_FOR_ALL, project=project_id, direct=True)
        operations = load_many(PatchOperation())
        places = lock_in_environments(conn, project_id, feature_name)
        require_parts(conn, actor, project_id, [(PERMISSION, place["environment"]) for place in places])
        before = variants.read_all(conn, project_id, feature_name) or abort(404, NO_FLAG)
        after = or_400(lambda variants: patched_variants(variants, operations), before["record"]["variants"])
        replace_variants_in_environments(conn, actor, places, after)
        found = variants.read_all(conn, project_id, feature_name) or abort(404, NO_FLAG)
    return json_response(found["body"])
