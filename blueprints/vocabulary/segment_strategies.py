"""Which strategies use which segments (neighbours.md 3.16)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import Actor, id_in_path, require
from rules.constraints import check_segments
from rules.strategies import find_strategy, hold
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, json_response
from sql import events
from sql.database import Connection, as_json, connection, transaction
from sql.events import Event
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
        place = find(conn, asked)
        give(conn, actor, place, asked)
    where = place["project"], place["flag"], place["environment"], asked["strategyId"]
    return created(as_json({name: asked[name] for name in GiveSegments().fields}), STRATEGY, *where)


def find(conn: Connection, asked: Mapping[str, Any]) -> DictRow:
    """The live flag of the strategy in the environment, as rollout.hold() gives it; 404 when there is no such strategy."""
    flag = segment_strategies.flag_of(conn, asked["projectId"], asked["environmentId"], asked["strategyId"])
    return hold(conn, asked["projectId"], flag or abort(404, NOT_THERE), asked["environmentId"])


def give(conn: Connection, actor: Actor, place: DictRow, asked: Mapping[str, Any]) -> None:
    """Give a strategy of the place these segments, each once."""
    before = find_strategy(conn, place, asked["strategyId"])["record"]
    wanted = sorted(set(asked["segmentIds"]))
    check_segments(conn, wanted, place["project"], before["segments"], field="segmentIds")
    if wanted != before["segments"]:
        strategies.set_segments(conn, before["id"], wanted)
        after = find_strategy(conn, place, before["id"])["record"]
        events.record(conn, Event("feature-strategy-update", actor, data=after, pre_data=before, **place["about"]))
