"""What happens to a flag in an environment: it is switched, its strategies are added and changed, and the log is told."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import abort, current_app
from psycopg.rows import DictRow

from rules import flags as flag_holds
from rules.access import Actor, require
from rules.constraints import check_strategy
from rules.flags import refuse_unknown
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import environments as flag_environments
from sql.flags import strategies, strategy_order, variants
from sql.vocabulary.segments import usable_segments
from sql.vocabulary.strategy_types import is_strategy_type
from validators.flags.strategies import with_defaults

NOT_THERE = "No such flag is live in this project, or the environment is not linked to the project."
NO_STRATEGY = "No such strategy belongs to this flag in this project and environment."


def hold(conn: Connection, project: str, flag: str, environment: str) -> DictRow:
    """The flag in the environment, as flag_environments.lock() gives it; 404 when that is None."""
    return flag_environments.lock(conn, project, flag, environment) or abort(404, NOT_THERE)


def hold_many(conn: Connection, project: str, flags: Sequence[str], environment: str) -> list[DictRow]:
    """The same of several flags, each once, in their order; 404 when it is None of one of them."""
    if not flag_environments.is_linked(conn, project, environment):
        abort(404, "The environment is not linked to the project.")
    places = flag_environments.lock_many(conn, project, flags, environment)
    refuse_unknown(flags, [place["flag"] for place in places], "features: this project has no live flag")
    return places


def hold_everywhere(conn: Connection, project: str, flag: str, environments: Sequence[str]) -> list[DictRow]:
    """The flag in each of the environments that a body names; 404 when it is not live in the project, 400 when one is not linked to it."""
    flag_holds.hold(conn, project, flag)
    places = [flag_environments.lock(conn, project, flag, environment) for environment in dict.fromkeys(environments)]
    found = [place for place in places if place is not None]
    if len(found) < len(places):
        abort(400, "environments: must be environments that are linked to the project")
    return found


def find_strategy(conn: Connection, place: DictRow, strategy_id: str) -> DictRow:
    """record and body of a strategy of the place; 404 when it is elsewhere."""
    return strategies.read(conn, place["flag_id"], place["environment"], strategy_id) or abort(404, NO_STRATEGY)


def switch_on(conn: Connection, actor: Actor, place: DictRow, *, activate: bool) -> None:
    """Switch the flag on, with at least one enabled strategy; activate: with all of them. One that is on stays as it is."""
    if place["enabled"]:
        return
    where = place["flag_id"], place["environment"]
    known = strategies.read_many(conn, *where)
    # Our choice: who asks for that has all disabled strategies enabled, even where one is enabled already.
    if activate:
        strategies.enable_all(conn, *where)
        for before in known:
            if before["disabled"]:
                after = before | {"disabled": False}
                events.record(conn, Event("feature-strategy-update", actor, data=after, pre_data=before, **place["about"]))
    if not known or (not activate and all(strategy["disabled"] for strategy in known)):
        require(conn, "CREATE_FEATURE_STRATEGY", project=place["project"], environment=place["environment"])
        add_strategy(conn, actor, place, default_strategy(conn, place))
    flag_environments.enable(conn, *where)
    events.record(conn, Event("feature-environment-enabled", actor, **place["about"]))


def switch_off(conn: Connection, actor: Actor, place: DictRow) -> None:
    """Switch the flag off. One that is off stays as it is."""
    if place["enabled"]:
        flag_environments.disable(conn, place["flag_id"], place["environment"])
        events.record(conn, Event("feature-environment-disabled", actor, **place["about"]))


def default_strategy(conn: Connection, place: DictRow) -> dict[str, Any]:
    """What the flag gets when it is switched on without an enabled strategy: what the project's environment says, else everybody."""
    said: dict[str, Any] = {"name": "flexibleRollout", "title": None, "parameters": {}, "constraints": [], "variants": [], "segments": []}
    said |= place["default_strategy"] or {}
    said |= {"disabled": False, "parameters": dict(said["parameters"])}
    said.pop("sortOrder", None)
    # Our choice: flags that share a default strategy do not share a group.
    if said["name"] == "flexibleRollout" or "groupId" in said["parameters"]:
        said["parameters"]["groupId"] = place["flag"]
    usable = usable_segments(conn, said["segments"], place["project"])
    if not is_strategy_type(conn, said["name"]) or set(said["segments"]) - usable:
        abort(409, "The default strategy of this environment refers to a type of strategy or a segment that is no longer there.")
    return said


def add_strategy(conn: Connection, actor: Actor, place: DictRow, asked: Mapping[str, Any]) -> DictRow:
    """record and body of a new strategy, made as StrategyInput reads it; 400 when there are as many as there can be."""
    where = place["flag_id"], place["environment"]
    slot = strategy_order.place(conn, *where)
    if slot["taken"] >= current_app.config["MAX_STRATEGIES"]:
        abort(400, f"A flag can have at most {current_app.config['MAX_STRATEGIES']} strategies in an environment.")
    strategy_id = strategies.insert(
        conn,
        *where,
        name=asked["name"],
        title=asked["title"],
        disabled=asked["disabled"],
        sort_order=asked.get("sortOrder", slot["next"]),
        parameters=with_defaults(asked["name"], asked["parameters"], flag=place["flag"], stickiness=place["default_stickiness"]),
        constraints=asked["constraints"],
    )
    variants.replace(conn, *where, strategy_id, asked["variants"])
    strategies.set_segments(conn, strategy_id, asked["segments"])
    made = find_strategy(conn, place, strategy_id)
    events.record(conn, Event("feature-strategy-add", actor, data=made["record"], **place["about"]))
    return made


def change_strategy(conn: Connection, actor: Actor, place: DictRow, strategy: DictRow, asked: Mapping[str, Any]) -> DictRow:
    """record and body of a strategy when it has been changed as StrategyChange reads it."""
    before = strategy["record"]
    after = before | dict(asked)
    if "name" in asked or "parameters" in asked:
        said = after["parameters"]
        after["parameters"] = with_defaults(after["name"], said, flag=place["flag"], stickiness=place["default_stickiness"])
    check_strategy(conn, after, place["project"], before)
    if after == before:
        return strategy
    if after["disabled"]:
        leave_without(conn, actor, place, before["id"])
    strategies.update(conn, after)
    variants.replace(conn, place["flag_id"], place["environment"], after["id"], after["variants"])
    strategies.set_segments(conn, after["id"], after["segments"])
    made = find_strategy(conn, place, after["id"])
    events.record(conn, Event("feature-strategy-update", actor, data=made["record"], pre_data=before, **place["about"]))
    return made


def leave_without(conn: Connection, actor: Actor, place: DictRow, strategy_id: str) -> None:
    """Switch the flag off if it is on and this is its last enabled strategy: on without strategies, it would be on for everyone."""
    # Our choice: off comes first, in the log as in the transaction.
    if place["enabled"] and strategies.disable_environment_without(conn, strategy_id):
        events.record(conn, Event("feature-environment-disabled", actor, **place["about"]))


def replace_variants(conn: Connection, actor: Actor, place: DictRow, asked: list[dict[str, Any]]) -> None:
    """Give the flag these variants, balanced, in place of those that it has there."""
    where = place["flag_id"], place["environment"]
    before = variants.read(conn, *where)
    variants.replace(conn, *where, None, asked)
    after = variants.read(conn, *where)
    if after != before:
        data, pre_data = {"variants": after}, {"variants": before}
        events.record(conn, Event("feature-environment-variants-updated", actor, data=data, pre_data=pre_data, **place["about"]))
