"""What the changes of a change request would replace, and how that differs from when they were proposed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from psycopg.rows import DictRow

from rules.strategy_parameters import changed_strategy
from sql.database import Connection
from sql.flags import environments, strategies, variants
from sql.projects.change_request_actions import list_flags, list_segments
from validators.flags.strategies import CHANGEABLE

Json = dict[str, Any]
# A row of change_request_changes, or the same columns of a new one.
Change = Mapping[str, Any]
# How a conflict names each part of a base.
NAMES = {
    "strategy": "strategy was",
    "segments": "segments of the strategy were",
    "defaultStrategy": "default strategy was",
    "stickiness": "default stickiness of the project was",
    "strategyIds": "order of the strategies was",
    "positions": "order of the strategies was",
    "variants": "variants were",
    "parents": "dependencies were",
    "segment": "segment was",
}


class State(NamedTuple):
    """What some changes of a project and environment would replace, as it is now. Flags and segments by id."""

    is_linked: bool
    flags: dict[int, DictRow]
    segments: dict[int, Json]

    def constraints(self, ids: Iterable[int]) -> Json:
        """Return the constraints of segments by id. None: the segment does not exist."""
        return {str(id): self.segments.get(id, {}).get("constraints") for id in ids}


def read_state(conn: Connection, project: str, environment: str, changes: Sequence[Change]) -> State:
    """Return what the changes would replace."""
    found = list_flags(conn, {change["flag_id"] for change in changes} - {None}, environment)
    by_flag = strategies.list_by_flag(conn, [flag["id"] for flag in found], environment)
    for flag, own in zip(found, variants.list_each(conn, found), strict=True):
        flag |= {"strategies": by_flag[flag["id"]], "variants": own}
    used = {change["segment_id"] for change in changes} - {None}
    for owner in [*(change["payload"] for change in changes), *(flag["default_strategy"] for flag in found)]:
        used |= set(owner.get("segments") or ()) if isinstance(owner, dict) else set()
    is_linked = environments.is_linked(conn, project, environment)
    return State(is_linked, {flag["id"]: flag for flag in found}, list_segments(conn, used))


def base_of(state: State, change: Change) -> Json:
    """Return what a change would replace, as it is now, by keys of NAMES.

    It includes default strategies and segments, because they can change directly while no flag uses them.
    """
    flag, payload = state.flags.get(change["flag_id"], {}), change["payload"]
    match change["action"]:
        case "updateEnabled" if payload["enabled"]:
            default = flag["default_strategy"] or {}
            segments = state.constraints(default.get("segments", ()))
            return {"defaultStrategy": [default, segments]} | stickiness(flag, default or {"name": "flexibleRollout"})
        case "addStrategy":
            return {"segments": state.constraints(payload.get("segments") or ())} | stickiness(flag, payload)
        case "updateStrategy" | "deleteStrategy":
            present = next((one for one in flag["strategies"] if one["id"] == payload["id"]), None)
            if present is None:
                return {"strategy": None}
            added = set(payload.get("segments") or ()) - set(present["segments"])
            filled = {key: payload[key] for key in ("name", "parameters") if payload.get(key) is not None}
            return {
                "strategy": {key: present[key] for key in CHANGEABLE},
                "segments": state.constraints(sorted(added)),
                **(stickiness(flag, changed_strategy(present, filled)) if filled else {}),
            }
        case "reorderStrategy":
            return {"strategyIds": [one["id"] for one in flag["strategies"]], "positions": flag["positions"]}
        case "patchVariant":
            return {"variants": flag["variants"]}
        case "addDependency" | "deleteDependency":
            return {"parents": flag["parents"]}
        case "updateSegment" | "deleteSegment":
            return {"segment": state.segments.get(change["segment_id"])}
        case _:
            return {}


def stickiness(flag: Mapping[str, Any], strategy: Json) -> Json:
    """Return the default stickiness of the project as part of a base, if it would become that of the strategy."""
    is_filled = strategy["name"] == "flexibleRollout" and (strategy.get("parameters") or {}).get("stickiness") is None
    return {"stickiness": flag["default_stickiness"]} if is_filled else {}


def conflict(state: State, project: str, change: Change, defaults: Collection[int]) -> str | None:
    """Return why a change does not fit any more, or None. defaults: the flags that will get the default strategy."""
    if not state.is_linked:
        return "The environment was removed from the project."
    if change["flag_id"] is not None:
        flag = state.flags.get(change["flag_id"])
        if flag is None or flag["is_deleted"]:
            return "The flag was deleted."
        if flag["project_id"] != project:
            return "The flag was moved to another project."
        if flag["is_archived"]:
            return "The flag is archived."
    for part, present in base_of(state, change).items():
        # Bases of older versions lack some parts. Switches have a base only for the default strategy.
        is_same = not differs(present, change["base"].get(part, present))
        if not is_same and (change["action"] != "updateEnabled" or change["flag_id"] in defaults):
            what = "deleted" if present is None else "changed after this change was proposed"
            return f"The {NAMES[part]} {what}."
    return None


def differs(present: Any, base: Any) -> bool:
    """Return whether a part has changed, ignoring the fields that records got in a later version than their base."""
    if isinstance(present, list) and isinstance(base, list):
        return len(present) != len(base) or any(map(differs, present, base))
    if not (isinstance(present, dict) and isinstance(base, dict) and base):
        return present != base
    fields = ((key, present.get(key), base.get(key)) for key in {*base, "project", "payload"})  # Absent if null.
    return any(differs(now, then) if key == "variants" else now != then for key, now, then in fields)


def is_switched(flag_id: int, changes: Sequence[Change]) -> bool:
    """Return whether one of the changes switches a flag on or off."""
    return any(change["flag_id"] == flag_id and change["action"] == "updateEnabled" for change in changes)


def side_effects(state: State, changes: Sequence[Change]) -> tuple[set[int], set[int]]:
    """Return what else applying the changes in this order does: to which flags, by id.

    The first get the default strategy. The second are on, and are switched off because no enabled strategy is left.
    """
    lacking = set[int]()  # Flags that are switched on without an enabled strategy. Later changes may give them one.
    # Whether each strategy is enabled, by id, for each flag.
    enabled = {id: {one["id"]: not one["disabled"] for one in flag["strategies"]} for id, flag in state.flags.items()}
    on = {id: flag["enabled"] for id, flag in state.flags.items()}
    # Flags that are on without an enabled strategy, which those that were moved here can be.
    for_all = {id for id in on if on[id] and not any(enabled[id].values())}
    for number, change in enumerate(changes, 1):
        id, payload = change["flag_id"], change["payload"]
        if id not in on:
            continue
        own = enabled[id]
        match change["action"]:
            case "addStrategy":
                own[change["id"]] = not payload.get("disabled")
            # null means false.
            case "updateStrategy" if "disabled" in payload:
                own[payload["id"]] = not payload["disabled"]
            case "deleteStrategy":
                own.pop(payload["id"], None)
            case "updateEnabled" if payload["enabled"]:
                if not on[id] and payload.get("shouldActivateDisabledStrategies"):
                    own.update(dict.fromkeys(own, True))
                if not on[id] and not any(own.values()):
                    lacking.add(id)
                    for_all.add(id)
                on[id] = True
            case "updateEnabled" | "archiveFeature":
                on[id] = False
                lacking.discard(id)
                for_all.discard(id)
        if id not in for_all and not any(own.values()) and is_switched(id, changes[number:]):
            on[id] = False
    left = {id for id in on if on[id] and not any(enabled[id].values())}
    return left & lacking, left - for_all
