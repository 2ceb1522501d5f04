"""Which strategies use which segments (neighbours.md 3.16)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import Actor, id_in_path, require
from rules.constraints import check_segments
from rules.flags import flag_event
from rules.strategies import find_strategy, lock_in_environment
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, json_response
from sql import events
from sql.database import Connection, as_json, connection, transaction
from sql.flags import strategies
from sql.vocabulary import segment_strategies
from validators.vocabulary.segments import GiveSegments

bp = Blueprint("segment_strategies", __name__)

NOT_THERE = "No such strategy of a live flag is in this project and environment."
# Seen from /api/admin/segments/strategies.
STRATEGY = "../projects/{}/features/{}/environments/{}/strategies/{}"


@bp.get("/api/admin/segments/<segment_id>/strategies")
@operation(record="segmentStrategies", refuses=(400, 401, 403, 404))
def list_segment_strategies(segment_id: str) -> Response:
    """List the strategies that use a segment.

    Those of live flags in projects that the caller may see.
    """
    with connection() as conn:
        actor = require(conn)
        body = segment_strategies.strategies_of(conn, id_in_path(segment_id), actor.viewer) or abort(404, "No segment has that id.")
    return json_response(body)


@bp.get("/api/admin/segments/strategies/<strategy_id>")
@operation(record="strategySegments", refuses=(401, 403))
def list_strategy_segments(strategy_id: str) -> Response:
    """List the segments of a strategy.

    A strategy that is not there, or hidden from the caller, has none.
    """
    with connection() as conn:
        actor = require(conn)
        body = segment_strategies.segments_of(conn, strategy_id, actor.viewer)
    return json_response(body)


@bp.post("/api/admin/segments/strategies")
@operation(record="segmentsOfStrategy", body=GiveSegments, status=201, refuses=(400, 401, 403, 404, 415))
def set_strategy_segments() -> Response:
    """Set the segments of a strategy.

    They replace those that it has: segments of all projects, or of the strategy's own.
    """
    with transaction() as conn:
        require(conn)
        asked = load(GiveSegments())
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=asked["projectId"], environment=asked["environmentId"])
        flag = lock_flag_of(conn, asked)
        set_segments(conn, actor, flag, asked)
    where = flag["project_id"], flag["name"], flag["environment"], asked["strategyId"]
    return created(as_json({name: asked[name] for name in GiveSegments().fields}), STRATEGY, *where)


def lock_flag_of(conn: Connection, asked: Mapping[str, Any]) -> DictRow:
    """Lock the live flag of the strategy, and return it with the environment; 404 if the strategy does not exist."""
    name = segment_strategies.flag_of(conn, asked["projectId"], asked["environmentId"], asked["strategyId"])
    return lock_in_environment(conn, asked["projectId"], name or abort(404, NOT_THERE), asked["environmentId"])


def set_segments(conn: Connection, actor: Actor, flag: DictRow, asked: Mapping[str, Any]) -> None:
    """Set the segments of a strategy of the flag, each once."""
    before = find_strategy(conn, flag, asked["strategyId"])["record"]
    wanted = sorted(set(asked["segmentIds"]))
    check_segments(conn, wanted, flag["project_id"], before["segments"], field="segmentIds")
    if wanted != before["segments"]:
        strategies.set_segments(conn, before["id"], wanted)
        after = find_strategy(conn, flag, before["id"])["record"]
        events.record(conn, flag_event("feature-strategy-update", actor, flag, data=after, pre_data=before))
