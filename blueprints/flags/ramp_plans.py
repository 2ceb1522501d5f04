"""Ramp plans: the share of users rises in steps, at given times."""

from flask import Blueprint, Response
from psycopg.rows import DictRow

from rules.access import require
from rules.ramp_plans import create_plan, delete_plan, read_plans, skip_step, stop_plan
from rules.refusals import Refusal
from rules.strategies import find_strategy, lock_in_environment
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response
from sql.database import Connection, transaction
from sql.flags import strategies
from validators.flags.ramp_plans import RampPlan

bp = Blueprint("ramp_plans", __name__)

BASE = "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan"
REACHED = {409: Refusal("All steps of the plan are reached.")}


@bp.post(BASE)
@operation(
    record="strategies",
    body=RampPlan,
    refuses=(400, 401, 403, 404, 409, 415),
    errors=IF_SHOWN | {409: Refusal("Another strategy already gives more users the flag.")},
)
def create_ramp_plan(project_id: str, feature_name: str, environment: str) -> Response:
    """Create a ramp plan for a flag in an environment, or replace a strategy or a plan by one.

    Each step becomes a gradual rollout (flexibleRollout) with a constraint on the current time. The steps share groupId
    and stickiness, so users of one step are in all later steps too. With `replaces`, the plan keeps the groupId and the
    stickiness of the replaced strategy, and what it omits is as there. The caller needs the permissions to create,
    update and delete strategies for what changes. Returns the strategies of the flag.
    """
    with transaction() as conn:
        permissions = "CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY"
        actor = require(conn, *permissions, project=project_id, environment=environment)
        plan = load(RampPlan())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        if replaced := plan.get("replaces"):
            refuse_changed(lambda: version(conn, flag, replaced), None)
        create_plan(conn, actor, flag, plan)
        body = strategies.get_list(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.delete(f"{BASE}/<strategy_id>")
@operation(record="strategies", refuses=(401, 403, 404), errors=IF_SHOWN)
def delete_ramp_plan(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Delete a ramp plan.

    Deletes all of its steps. The flag is switched off if it has no other enabled strategy. The path has a step's id.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE_STRATEGY", project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        refuse_changed(lambda: version(conn, flag, strategy_id), None)
        delete_plan(conn, actor, flag, strategy_id)
        body = strategies.get_list(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.post(f"{BASE}/<strategy_id>/stop")
@operation(record="strategies", refuses=(401, 403, 404, 409), errors=IF_SHOWN | REACHED)
def stop_ramp_plan(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Stop a ramp plan.

    Deletes the steps that are not reached. The share of users stays as it is. The path has the id of any step.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE_STRATEGY", project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        refuse_changed(lambda: version(conn, flag, strategy_id), None)
        stop_plan(conn, actor, flag, strategy_id)
        body = strategies.get_list(conn, project_id, feature_name, environment)
    return json_response(body)


@bp.post(f"{BASE}/<strategy_id>/skip")
@operation(record="strategies", refuses=(401, 403, 404, 409), errors=IF_SHOWN | REACHED)
def skip_ramp_plan_step(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Skip to the next step of a ramp plan.

    The next step begins now. The times of later steps stay. The path has the id of any step.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        refuse_changed(lambda: version(conn, flag, strategy_id), None)
        skip_step(conn, actor, flag, strategy_id)
        body = strategies.get_list(conn, project_id, feature_name, environment)
    return json_response(body)


def version(conn: Connection, flag: DictRow, strategy_id: str) -> object:
    """Return the version of all steps of the plan with this step, or of another strategy. Raise 404 without it."""
    plan = next((plan for plan in read_plans(conn, flag)[1] if strategy_id in plan.ids), None)
    return content_version(plan.records, *plan.ids) if plan else find_strategy(conn, flag, strategy_id)["version"]
