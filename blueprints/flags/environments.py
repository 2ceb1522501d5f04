"""Enable and disable flags in environments, and get a flag in an environment."""

from itertools import chain

from flask import Blueprint, Response, abort

from rules.access import require
from rules.environment_copies import PERMISSIONS, copy_environment, lock_source, read_sides
from rules.strategies import NO_FLAG_THERE, lock_all_in_environment, lock_in_environment, switch_off, switch_on
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import empty_response, json_response
from sql.database import connection, transaction
from sql.flags import environments as flag_environments
from sql.flags import records as flag_records
from validators.flags.environments import EnvironmentCopy, FlagsToSwitch, SwitchOnOptions

bp = Blueprint("flag_environments", __name__)

BASE = "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>"
BULK = "/api/admin/projects/<project_id>/bulk_features/environments/<environment>"
PERMISSION = "UPDATE_FEATURE_ENVIRONMENT"


@bp.get(BASE)
@operation(record="flagEnvironment", refuses=(401, 403, 404))
def get_flag_environment(project_id: str, feature_name: str, environment: str) -> Response:
    """Get a flag in an environment.

    Returns its strategies and variants in the environment, and its usage in the last hour. The property `name` has the
    name of the flag.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = flag_environments.get(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
    return json_response(body)


@bp.post(f"{BASE}/on")
@operation(record="flag", query=SwitchOnOptions, refuses=(400, 401, 403, 404, 409))
def enable_flag(project_id: str, feature_name: str, environment: str) -> Response:
    """Enable a flag in an environment.

    A flag without an enabled strategy gets the default strategy of the project in the environment. If the project has
    none, the flag gets a strategy that is on for all users. Adding a strategy also needs the permission
    CREATE_FEATURE_STRATEGY, enabling disabled ones UPDATE_FEATURE_STRATEGY. Nothing changes if the flag is already
    enabled.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        query = load_query(SwitchOnOptions)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        switch_on(conn, actor, [flag], activate=query["shouldActivateDisabledStrategies"] == "true")
        # Our choice: the response contains the whole flag, because clients read it.
        body = flag_records.get(conn, project_id, feature_name, actor.user_id)
    return json_response(body)


@bp.post(f"{BASE}/off")
@operation(record="flag", refuses=(401, 403, 404))
def disable_flag(project_id: str, feature_name: str, environment: str) -> Response:
    """Disable a flag in an environment.

    Its strategies stay. Nothing changes if the flag is already disabled.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        switch_off(conn, actor, [flag])
        body = flag_records.get(conn, project_id, feature_name, actor.user_id)
    return json_response(body)


@bp.post(f"{BASE}/copy")
@operation(record="flagEnvironment", body=EnvironmentCopy, refuses=(400, 401, 403, 404, 409, 415), errors=IF_SHOWN)
def copy_flag_environment(project_id: str, feature_name: str, environment: str) -> Response:
    """Copy a flag from another environment of the project.

    Replaces the strategies and variants of the flag in this environment. Strategies keep their groupId and stickiness,
    so a rollout reaches the same users. Each strategy replaces the one at its place, and equal ones stay. With
    `enabled`, the flag is enabled or disabled as in the other environment, by the rules of `on` and `off`. The caller
    needs the permissions for what changes.
    """
    with transaction() as conn:
        actor = require(conn, *chain(*PERMISSIONS.values()), project=project_id, environment=environment)
        copy = load(EnvironmentCopy())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        source = lock_source(conn, flag, copy.pop("from_"))
        refuse_changed(
            lambda: content_version(read_sides(conn, source, flag), *sorted((source["environment"], environment))), None
        )
        copy_environment(conn, actor, flag, source, copy)
        body = flag_environments.get(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.post(f"{BULK}/on")
@operation(record=None, body=FlagsToSwitch, query=SwitchOnOptions, refuses=(400, 401, 403, 404, 409, 415))
def enable_flags(project_id: str, environment: str) -> Response:
    """Enable several flags in an environment.

    Enables all of them or none. The rules for a single flag apply.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        query, body = load_query(SwitchOnOptions), load(FlagsToSwitch())
        flags = lock_all_in_environment(conn, project_id, body["features"], environment)
        switch_on(conn, actor, flags, activate=query["shouldActivateDisabledStrategies"] == "true")
    return empty_response()


@bp.post(f"{BULK}/off")
@operation(record=None, body=FlagsToSwitch, refuses=(400, 401, 403, 404, 415))
def disable_flags(project_id: str, environment: str) -> Response:
    """Disable several flags in an environment.

    Disables all of them, or none if one does not exist.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, environment=environment)
        body = load(FlagsToSwitch())
        switch_off(conn, actor, lock_all_in_environment(conn, project_id, body["features"], environment))
    return empty_response()
