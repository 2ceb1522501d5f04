"""Flags in an environment: lock them, switch them on and off, and change their strategies.

In this module, a flag is a row of sql/flags/environments.py: the flag and its state in one environment. All flags of a
list are in the same environment.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from flask import abort, current_app
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Conflict

from rules.access import Actor, require_parts
from rules.constraints import check_strategies, check_strategy
from rules.flags import flag_event, lock_flag, refuse_unknown
from rules.refusals import Refuse, quantity, raise_error
from rules.strategy_parameters import changed_strategy, filled_parameters
from rules.variants import in_order
from sql import events
from sql.catalog.segments import hold_usable_segments
from sql.catalog.strategy_types import hold_strategy_types
from sql.database import Connection
from sql.flags import environments, strategies, strategy_order, variants
from validators.flags.strategies import CHANGEABLE

Strategy = Mapping[str, Any]

NO_FLAG_THERE = "The project has no such flag, the flag is archived, or the environment is not linked to the project."
NO_STRATEGY = "The flag has no such strategy in this project and environment."


def lock_in_environment(conn: Connection, project: str, name: str, environment: str) -> DictRow:
    """Lock a live flag, and return it with its environment. Raise 404 if the project lacks the flag or environment."""
    found = environments.lock(conn, project, [name], environment)
    return found[0] if found else abort(404, NO_FLAG_THERE)


def lock_all_in_environment(conn: Connection, project: str, names: Sequence[str], environment: str) -> list[DictRow]:
    """Lock live flags, and return each once, in the order of the names. Raise 404 if one is not there."""
    if not environments.is_linked(conn, project, environment):
        abort(404, "The environment is not linked to the project.")
    found = environments.lock(conn, project, names, environment)
    refuse_unknown(names, [flag["name"] for flag in found], "features: unknown or archived flags:")
    return found


def lock_in_environments(
    conn: Connection, project: str, name: str, environment_names: Sequence[str] | None = None
) -> list[DictRow]:
    """Lock a live flag, and return it for each of these environments, or for all. Raise 404 or 400 for unknown ones."""
    lock_flag(conn, project, name)
    wanted = dict.fromkeys(environments.list_linked(conn, project) if environment_names is None else environment_names)
    found = [flag for environment in wanted for flag in environments.lock(conn, project, [name], environment)]
    if len(found) < len(wanted):
        abort(400, "environments: must be environments that are linked to the project")
    return found


def find_strategy(conn: Connection, flag: DictRow, strategy_id: str) -> DictRow:
    """Return a strategy as strategies.read() does. Raise 404 if the flag lacks it in the flag's environment."""
    owner = flag["id"], flag["environment"]
    found = [
        strategy
        for strategy in strategies.read(conn, [strategy_id])
        if (strategy["flag_id"], strategy["environment"]) == owner
    ]
    return found[0] if found else abort(404, NO_STRATEGY)


def switch_on(
    conn: Connection, actor: Actor, flags: Sequence[DictRow], *, activate: bool = False, fills: bool = True
) -> None:
    """Switch on the flags that are off. Give the default strategy to flags without an enabled one, unless not fills.

    activate: enable all their strategies first. Raises 403 if the caller lacks the permission to do so, or to add the
    default strategy.
    """
    off = [flag for flag in flags if not flag["enabled"]]
    if not off:
        return
    ids, environment = [flag["id"] for flag in off], off[0]["environment"]
    found = strategies.list_by_flag(conn, ids, environment)
    disabled = any(strategy["disabled"] for flag in off for strategy in found[flag["id"]])
    filled = off if fills else []
    lacking = [flag for flag in filled if not (found[flag["id"]] if activate else is_any_enabled(found[flag["id"]]))]
    needed = {"UPDATE_FEATURE_STRATEGY": activate and disabled, "CREATE_FEATURE_STRATEGY": lacking}
    require_parts(conn, actor, off[0]["project_id"], [(name, environment) for name in needed if needed[name]])
    log = []
    # Our choice: activate enables all disabled strategies, even if one is enabled already.
    if activate:
        strategies.enable_all(conn, ids, environment)
        for flag in off:
            for before in found[flag["id"]]:
                if before["disabled"]:
                    data = {"data": before | {"disabled": False}, "pre_data": before}
                    log.append(flag_event("feature-strategy-update", actor, flag, **data))
    add_strategies(conn, actor, default_strategies(conn, lacking))
    environments.switch(conn, ids, environment, enabled=True)
    events.record(conn, *log, *[flag_event("feature-environment-enabled", actor, flag) for flag in off])


def is_any_enabled(strategies: Sequence[Strategy]) -> bool:
    """Return whether one of the strategies is enabled. A flag that is on without one would be on for everyone."""
    return any(not strategy["disabled"] for strategy in strategies)


def switch_off(conn: Connection, actor: Actor, flags: Sequence[DictRow]) -> None:
    """Switch off the flags that are on."""
    on = [flag for flag in flags if flag["enabled"]]
    if on:
        environments.switch(conn, [flag["id"] for flag in on], on[0]["environment"], enabled=False)
        events.record(conn, *[flag_event("feature-environment-disabled", actor, flag) for flag in on])


def default_strategies(
    conn: Connection, flags: Sequence[DictRow], refuse: Refuse = raise_error
) -> list[tuple[DictRow, dict[str, Any]]]:
    """Return each flag with the default strategy of its environment. Without one, that is a rollout to all users.

    Refuse the flags (409) if the default strategy uses a strategy type or segment that no longer exists.
    """
    if not flags:
        return []
    default = default_strategy(flags[0])
    usable = hold_usable_segments(conn, default["segments"], flags[0]["project_id"])
    if not hold_strategy_types(conn, [default["name"]]) or set(default["segments"]) - usable:
        message = "The default strategy of this environment uses a deleted strategy type or segment. Change it first."
        refuse(Conflict(message), [flag["name"] for flag in flags])
    return [(flag, default_strategy(flag)) for flag in flags]


def default_strategy(flag: DictRow) -> dict[str, Any]:
    """Return the default strategy of the environment of a flag, as the flag would get it."""
    default: dict[str, Any] = {"name": "flexibleRollout", "title": None, "parameters": {}}
    default |= {"constraints": [], "variants": [], "segments": []}
    default |= (flag["default_strategy"] or {}) | {"disabled": False}
    default.pop("sortOrder", None)
    # Our choice: each flag gets its own groupId, so that different users see the flags first.
    has_group = default["name"] == "flexibleRollout" or "groupId" in default["parameters"]
    return default | {"parameters": default["parameters"] | ({"groupId": flag["name"]} if has_group else {})}


def refuse_too_many(counts: Sequence[tuple[DictRow, int]], refuse: Refuse = raise_error) -> None:
    """Refuse flags that would have more strategies than the setting allows. counts: flags with their numbers."""
    limit = current_app.config["MAX_STRATEGIES"]
    most = f"A flag can have at most {quantity(limit, 'strategy')} in an environment."
    error = BadRequest(f"{most} The setting MAX_STRATEGIES raises this limit.")
    refuse(error, {flag["name"] for flag, count in counts if count > limit})


def add_strategies(
    conn: Connection, actor: Actor, new: Sequence[tuple[DictRow, Strategy]], *, are_counted: bool = False
) -> list[DictRow]:
    """Add strategies to flags, record the events, and return the strategies as strategies.read() does.

    new: pairs of a flag and a strategy as StrategyInput loads it. If a flag gets several, each needs a sortOrder.
    Raises 400 if a flag would have more strategies than the setting allows. are_counted: the caller has checked this.
    """
    if not new:
        return []
    environment, counts = new[0][0]["environment"], Counter(flag["id"] for flag, _ in new)
    ends = strategy_order.ends(conn, counts, environment)
    no_strategies = {"count": 0, "next": 0}
    if not are_counted:
        refuse_too_many([(flag, ends.get(flag["id"], no_strategies)["count"] + counts[flag["id"]]) for flag, _ in new])
    rows = [
        {
            "id": str(uuid4()),
            "flagId": flag["id"],
            "sortOrder": ends.get(flag["id"], no_strategies)["next"],
            **strategy,
            "parameters": filled_parameters(flag, strategy),
        }
        for flag, strategy in new
    ]
    return insert_strategies(conn, actor, [flag for flag, _ in new], rows)


def insert_strategies(
    conn: Connection, actor: Actor, flags: Sequence[DictRow], rows: Sequence[Strategy]
) -> list[DictRow]:
    """Insert strategies as they are, and do the rest of add_strategies(). rows: with id, flagId and sortOrder.

    flags: the flag of each row.
    """
    environment = flags[0]["environment"]
    strategies.insert(conn, environment, rows)
    owners = [{"flagId": row["flagId"], "strategyId": row["id"], "variants": row["variants"]} for row in rows]
    variants.insert(conn, [owner | {"environment": environment} for owner in owners])
    added = strategies.read(conn, [row["id"] for row in rows])
    log = [
        flag_event("feature-strategy-add", actor, flag, data=strategy["record"])
        for flag, strategy in zip(flags, added, strict=True)
    ]
    events.record(conn, *log)
    return added


def change_strategy(
    conn: Connection, actor: Actor, flag: DictRow, strategy: DictRow, change: Strategy, *, stays_on: bool = False
) -> DictRow:
    """Change a strategy as StrategyChange loads it, and return it as read(). Raise 400 if it is invalid.

    stays_on: do not switch the flag off if this disables its last enabled strategy.
    """
    before = strategy["record"]
    # Check it without defaults: the request is not to blame for an old default stickiness of the project.
    check_strategy(conn, changed_strategy(before, change), flag["project_id"], before)
    after = changed_strategy(before, change, flag)
    if after == before:
        return strategy
    if after["disabled"] and not stays_on:
        switch_off_without_strategy(conn, actor, flag, before["id"])
    strategies.update(conn, after)
    place = {"flagId": flag["id"], "environment": flag["environment"]}
    variants.replace(conn, [{**place, "strategyId": after["id"], "variants": after["variants"]}])
    strategies.set_segments(conn, after["id"], after["segments"])
    changed = find_strategy(conn, flag, after["id"])
    events.record(conn, flag_event("feature-strategy-update", actor, flag, data=changed["record"], pre_data=before))
    return changed


def change_order(conn: Connection, actor: Actor, flag: DictRow, order: Sequence[Strategy]) -> None:
    """Set the positions of strategies, given as [{"id", "sortOrder"}]. Raise 404 if the flag lacks one of them."""
    before = strategy_order.ids(conn, flag["id"], flag["environment"])
    if not {strategy["id"] for strategy in order} <= set(before):
        abort(404, NO_STRATEGY)
    changed = strategy_order.change(conn, order)
    after = strategy_order.ids(conn, flag["id"], flag["environment"]) if changed else before
    # Our choice: positions that leave the order as it was have no event, because an undo could not restore them.
    if after != before:
        data = {"data": {"strategyIds": after}, "pre_data": {"strategyIds": before}}
        events.record(conn, flag_event("strategy-order-changed", actor, flag, **data))


def remove_strategies(conn: Connection, actor: Actor, old: Sequence[tuple[DictRow, Strategy]]) -> None:
    """Remove strategies, and record the events. old: pairs of a flag and the record of a strategy.

    Switch off flags without another enabled strategy before you call this.
    """
    if old:
        strategies.delete(conn, [strategy["id"] for _, strategy in old])
        events.record(
            conn, *[flag_event("feature-strategy-remove", actor, flag, pre_data=strategy) for flag, strategy in old]
        )


def remove_strategy(
    conn: Connection, actor: Actor, flag: DictRow, strategy: Strategy, *, stays_on: bool = False
) -> None:
    """Remove a strategy, and record the event. Switch the flag off first if this is its last enabled strategy.

    stays_on: do not switch it off.
    """
    if not stays_on:
        switch_off_without_strategy(conn, actor, flag, strategy["id"])
    remove_strategies(conn, actor, [(flag, strategy)])


def switch_off_without_strategy(conn: Connection, actor: Actor, flag: DictRow, strategy_id: str) -> None:
    """Switch the flag off if this is its last enabled strategy. Without one, it would be on for all users."""
    # Our choice: the flag is switched off before the strategy changes, in the log too.
    if flag["enabled"] and strategies.switch_off_if_last(conn, strategy_id):
        events.record(conn, flag_event("feature-environment-disabled", actor, flag))


def replace_strategies(
    conn: Connection, actor: Actor, flag: DictRow, before: Sequence[Strategy], wanted: Sequence[Strategy]
) -> None:
    """Give a flag these strategies, in this order. before: those that it has in its environment, from list_by_flag().

    wanted: those with the id of an old one change it, and those with None are added. Raises 403 without permission.
    """
    old = {one["id"]: {**one, "variants": in_order(one["variants"])} for one in before}
    wanted = [{**one, "id": one["id"] or str(uuid4()), "variants": in_order(one["variants"])} for one in wanted]
    ids = [one["id"] for one in wanted]
    added = [one for one in wanted if one["id"] not in old]
    changed = [one for one in wanted if any(one[key] != old.get(one["id"], one)[key] for key in CHANGEABLE)]
    removed = [one for one in before if one["id"] not in ids]
    is_moved = [id for id in old if id in ids] + [one["id"] for one in added] != ids
    parts = {"CREATE": added, "UPDATE": changed or is_moved, "DELETE": removed}
    needed = [(f"{word}_FEATURE_STRATEGY", flag["environment"]) for word in parts if parts[word]]
    require_parts(conn, actor, flag["project_id"], needed)
    # All in one statement, by id, so that two requests cannot deadlock.
    hold_usable_segments(conn, [segment for one in wanted for segment in one["segments"]], flag["project_id"])
    check_strategies(conn, [(flag["name"], one, None) for one in added], flag["project_id"])
    refuse_too_many([(flag, len(wanted))] if len(wanted) > len(before) else [])
    # Added first and disabled last, so that the flag stays on as long as it has an enabled strategy.
    last = min(max((one["sortOrder"] for one in before), default=-1), 2**31 - 1 - len(added))
    new = [{**one, "sortOrder": last + number} for number, one in enumerate(added, 1)]
    add_strategies(conn, actor, [(flag, one) for one in new], are_counted=True)
    for one in sorted(changed, key=lambda one: one["disabled"]):
        change_strategy(conn, actor, flag, find_strategy(conn, flag, one["id"]), {key: one[key] for key in CHANGEABLE})
    for one in removed:
        remove_strategy(conn, actor, flag, one)
    if is_moved:
        change_order(conn, actor, flag, [{"id": id, "sortOrder": place} for place, id in enumerate(ids)])
