"""Set the segments of a strategy, and find strategies that use a segment."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import Actor, id_in_path, require
from rules.constraints import check_segments
from rules.flags import flag_event
from rules.refusals import Refusal
from rules.strategies import find_strategy, lock_in_environment
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, json_response, json_text
from sql import events
from sql.catalog import segment_strategies
from sql.database import Connection, connection, transaction
from sql.flags import strategies
from validators.catalog.segments import GiveSegments

bp = Blueprint("segment_strategies", __name__)

STRATEGY_NOT_FOUND = "No strategy in this project and environment has that id, or its flag is archived."
# The URL of a strategy, relative to /api/admin/segments/strategies.
STRATEGY_PATH = "../projects/{}/features/{}/environments/{}/strategies/{}"


@bp.get("/api/admin/segments/<segment_id>/strategies")
@operation(record="segmentStrategies", refuses=(400, 401, 403, 404))
def list_segment_strategies(segment_id: str) -> Response:
    """List the strategies that use a segment.

    Returns strategies of live flags, in projects that the caller can see.
    """
    with connection() as conn:
        actor = require(conn)
        body = segment_strategies.list_strategies(conn, id_in_path(segment_id), actor.viewer) or abort(
            404, "No segment has that id."
        )
    return json_response(body)


@bp.get("/api/admin/segments/strategies/<strategy_id>")
@operation(record="strategySegments", refuses=(401, 403))
def list_strategy_segments(strategy_id: str) -> Response:
    """List the segments of a strategy.

    The list is empty if the strategy does not exist or is hidden from the caller.
    """
    with connection() as conn:
        actor = require(conn)
        body = segment_strategies.list_segments(conn, strategy_id, actor.viewer)
    return json_response(body)


@bp.post("/api/admin/segments/strategies")
@operation(
    record="segmentsOfStrategy",
    body=GiveSegments,
    status=201,
    refuses=(400, 401, 403, 404, 415),
    errors={
        404: Refusal(
            "No live flag has this strategy in this project and environment, or the project is hidden from the caller.",
            "No strategy in this project and environment has that id, or its flag is archived.",
        )
    },
)
def set_strategy_segments() -> Response:
    """Set the segments of a strategy.

    Replaces the previous segments. Each segment must belong to the strategy's project, or to no project.
    """
    with transaction() as conn:
        require(conn)
        payload = load(GiveSegments())
        actor = require(
            conn, "UPDATE_FEATURE_STRATEGY", project=payload["projectId"], environment=payload["environmentId"]
        )
        flag = lock_flag_of(conn, payload)
        set_segments(conn, actor, flag, payload)
    location = flag["project_id"], flag["name"], flag["environment"], payload["strategyId"]
    return created(json_text({name: payload[name] for name in GiveSegments().fields}), STRATEGY_PATH, *location)


def lock_flag_of(conn: Connection, payload: Mapping[str, Any]) -> DictRow:
    """Lock the live flag of a strategy, and return it with its environment. Raise 404 for an unknown strategy."""
    name = segment_strategies.flag_of(conn, payload["projectId"], payload["environmentId"], payload["strategyId"])
    return lock_in_environment(
        conn, payload["projectId"], name or abort(404, STRATEGY_NOT_FOUND), payload["environmentId"]
    )


def set_segments(conn: Connection, actor: Actor, flag: DictRow, payload: Mapping[str, Any]) -> None:
    """Set the segments of a strategy of the flag, and record the event. Repeated ids count once."""
    before = find_strategy(conn, flag, payload["strategyId"])["record"]
    segment_ids = sorted(set(payload["segmentIds"]))
    check_segments(conn, segment_ids, flag["project_id"], before["segments"], field="segmentIds")
    if segment_ids != before["segments"]:
        strategies.set_segments(conn, before["id"], segment_ids)
        after = find_strategy(conn, flag, before["id"])["record"]
        events.record(conn, flag_event("feature-strategy-update", actor, flag, data=after, pre_data=before))
