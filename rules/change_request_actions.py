"""The changes that a change request can contain: check them, find conflicts, and apply them.

The payload of a change is the body of the direct operation, and the same function applies it. Its base is what it would
replace, as it was when the change was proposed. If that differs later, the change is in conflict.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import abort
from marshmallow import Schema
from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict, HTTPException

from rules.access import Actor
from rules.change_request_conflicts import Change, State, base_of, conflict, is_switched, read_state, side_effects
from rules.constraints import check_strategy
from rules.dependencies import add_dependency, remove_dependencies
from rules.flag_lifecycle import archive
from rules.flags import NO_FLAG, lock_flag
from rules.instance_limits import unique_or_409
from rules.refusals import refuse_used
from rules.segments import PROJECT_PERMISSION, change_segment, remove_segment
from rules.strategies import (
    add_strategies,
    change_order,
    change_strategy,
    default_strategy,
    find_strategy,
    lock_in_environment,
    remove_strategy,
    switch_off,
    switch_on,
)
from rules.variants import replace_variants_in_environments
from sql import access
from sql.catalog import segment_strategies, segments
from sql.database import Connection, rolled_back_transaction
from sql.flags import core as flags
from sql.flags import environments
from validators import load_or_400, or_400, read_array
from validators.flags.dependencies import Dependency
from validators.flags.environments import StrategyPlace, refuse_duplicate_positions
from validators.flags.strategies import StrategyInput
from validators.projects.change_request_actions import (
    ProposedSegment,
    ProposedStrategy,
    ProposedVariants,
    SegmentId,
    StrategyId,
    SwitchChange,
)
from validators.returned import Ignored, ReadOnly, without_read_only

Json = dict[str, Any]
LACKS_SKIP = "It also changes flags in {}, where change requests are on. It needs SKIP_CHANGE_REQUEST there."
# The schema of the payload of each action.
ACTIONS: dict[str, type[Schema] | None] = {
    "updateEnabled": SwitchChange,
    "addStrategy": StrategyInput,
    "updateStrategy": ProposedStrategy,
    "deleteStrategy": StrategyId,
    "reorderStrategy": StrategyPlace,
    "patchVariant": ProposedVariants,
    "archiveFeature": None,
    "addDependency": Dependency,
    "deleteDependency": None,
    "updateSegment": ProposedSegment,
    "deleteSegment": SegmentId,
}
# What happens to a flag that is on when the request leaves it no enabled strategy.
SWITCHED_OFF = {"action": "updateEnabled", "payload": {"enabled": False}}
# Actions in all environments, and of segments, with the permissions of their direct operations.
EVERYWHERE = {"archiveFeature": "DELETE_FEATURE"}
EVERYWHERE |= dict.fromkeys(("addDependency", "deleteDependency"), "UPDATE_FEATURE_DEPENDENCY")
OF_SEGMENTS = {"updateSegment": "UPDATE_SEGMENT", "deleteSegment": "DELETE_SEGMENT"}


def load_payload(action: str, payload: Any) -> Any:
    """Return a payload as the direct operation loads its body. Raise 400 if it is invalid."""
    if action == "reorderStrategy":
        return or_400(lambda items: refuse_duplicate_positions(read_array(StrategyPlace(), items)), payload)
    schema = ACTIONS[action]
    return load_or_400(schema(), payload) if schema else None


def new_change(conn: Connection, actor: Actor, project: str, environment: str, change: Mapping[str, Any]) -> Json:
    """Return the columns of a new change. Raise what its direct operation raises, but for permissions.

    change: feature, action and payload. Raises 409 if it changes other protected environments without the permission.
    """
    action, sent = change["action"], change.get("payload")
    if action not in ACTIONS:
        abort(400, f"action: must be one of {', '.join(ACTIONS)}; {action[:100]} is unsupported")
    payload, schema = load_payload(action, sent), ACTIONS[action]
    if schema is None:
        sent = None
    elif isinstance(sent, dict):
        # Without properties that have no effect.
        known = schema().fields
        sent = {name: sent[name] for name in sent if not isinstance(known[name], (Ignored, ReadOnly))}
    row: Json = {"feature_name": None, "flag_id": None, "segment_id": None, "action": action, "payload": sent}
    if action in OF_SEGMENTS:
        row["segment_id"] = payload["id"]
    else:
        name = change.get("feature") or abort(400, "feature: is required")
        found = flags.list_by_name(conn, project, [name]) or abort(404, NO_FLAG)
        row |= {"feature_name": name, "flag_id": found[0]["id"]}
        refuse_all([(row, refusal(conn, actor, project, environment, row, applies=False))])
    # The base is read first: if it changes during the check, that is a conflict.
    state = read_state(conn, project, environment, [row])
    row["base"] = base_of(state, row)
    with rolled_back_transaction(conn):
        lock(conn, project, environment, [row], state)
        apply_change(conn, replace(actor, is_admin=True), project, environment, row, payload)
    return row


def conflicts(conn: Connection, project: str, environment: str, changes: Sequence[Change]) -> list[str | None]:
    """Return for each change why it does not fit any more, or None."""
    return compare(conn, project, environment, changes)[0]


def compare(
    conn: Connection, project: str, environment: str, changes: Sequence[Change]
) -> tuple[list[str | None], dict[str, Json]]:
    """Return conflicts(), and what else happens to flags, by name: they get the default strategy, or go off."""
    state = read_state(conn, project, environment, changes)
    defaults, off = side_effects(state, changes)
    found = [conflict(state, project, change, defaults) for change in changes]
    more = {id: {"action": "addStrategy", "payload": default_strategy(state.flags[id])} for id in defaults}
    more |= dict.fromkeys(off, SWITCHED_OFF)
    # What another project has stays private.
    return found, {
        flag["name"]: more[id] for id, flag in state.flags.items() if id in more and flag["project_id"] == project
    }


def apply_changes(conn: Connection, actor: Actor, project: str, environment: str, changes: Sequence[DictRow]) -> None:
    """Apply the changes of a change request in their order, and record the events. Raise 409 that names all conflicts.

    The approval replaces the permissions of the direct operations.
    """
    lock(conn, project, environment, changes, read_state(conn, project, environment, changes))
    found, more = compare(conn, project, environment, changes)
    refuse_all(zip(changes, found, strict=True))
    refuse_unpermitted(conn, actor, project, environment, changes)
    author = replace(actor, is_admin=True, change_request_id=changes[0]["change_request_id"])
    for number, change in enumerate(changes, 1):
        # Our choice: what the whole request leaves decides whether a flag that loses its last strategy goes off.
        is_last = not is_switched(change["flag_id"], changes[number:])
        effect = more.get(change["feature_name"], {})
        stays_on, fills = is_last and effect != SWITCHED_OFF, effect.get("action") == "addStrategy"
        try:
            payload = load_payload(change["action"], change["payload"])
            apply_change(conn, author, project, environment, change, payload, stays_on=stays_on, fills=fills)
        except HTTPException as error:
            refuse_all([(change, error.description)])


def refuse_unpermitted(
    conn: Connection, actor: Actor, project: str, environment: str, changes: Sequence[Change]
) -> None:
    """Raise 409 that names each change for which the actor lacks a permission beyond the environment."""
    refuse_all((change, refusal(conn, actor, project, environment, change)) for change in changes)


def refuse_all(found: Iterable[tuple[Change, str | None]]) -> None:
    """Raise 409 that names each change with a reason, unless there is none."""
    reasons = [f"{one['feature_name'] or 'segment ' + str(one['segment_id'])}: {text}" for one, text in found if text]
    if reasons:
        raise Conflict(" ".join(dict.fromkeys(reasons)))


def lock(conn: Connection, project: str, environment: str, changes: Sequence[Change], state: State) -> None:
    """Lock the flags, the default strategy and the segments of the changes, and the segments of their strategies.

    Flags by name and then segments, as direct operations do, and segments by id, so that requests cannot deadlock.
    """
    names = {change["feature_name"] for change in changes} - {None}
    parents = {change["payload"]["feature"] for change in changes if change["action"] == "addDependency"}
    environments.lock(conn, project, list(names | parents), environment)
    updated = {change["payload"]["id"] for change in changes if change["action"] == "updateStrategy"}
    present = [one for flag in state.flags.values() for one in flag["strategies"] if one["id"] in updated]
    for segment_id in sorted(state.segments.keys() | {id for one in present for id in one["segments"]}):
        segments.lock(conn, segment_id, None)


def apply_change(
    conn: Connection,
    actor: Actor,
    project: str,
    environment: str,
    change: Change,
    payload: Any,
    *,
    stays_on: bool = False,
    fills: bool = True,
) -> None:
    """Apply a change. Raise as the direct operation does.

    stays_on: later changes give the flag another strategy. fills: a flag without an enabled strategy gets the default.
    """
    action, name = change["action"], change["feature_name"]
    if action in OF_SEGMENTS:
        change_of_segment(conn, actor, project, action, payload)
        return
    everywhere = action in EVERYWHERE
    flag = lock_flag(conn, project, name) if everywhere else lock_in_environment(conn, project, name, environment)
    match action:
        case "updateEnabled" if payload["enabled"]:
            switch_on(conn, actor, [flag], activate=payload["shouldActivateDisabledStrategies"], fills=fills)
        case "updateEnabled":
            switch_off(conn, actor, [flag])
        case "addStrategy":
            check_strategy(conn, payload, project)
            add_strategies(conn, actor, [(flag, payload)])
        case "updateStrategy":
            strategy = find_strategy(conn, flag, payload["id"])
            new = without_read_only(payload, lambda: strategy["record"])
            change_strategy(conn, actor, flag, strategy, new, stays_on=stays_on)
        case "deleteStrategy":
            strategy = find_strategy(conn, flag, payload["id"])
            remove_strategy(conn, actor, flag, strategy["record"], stays_on=stays_on)
        case "reorderStrategy":
            change_order(conn, actor, flag, payload)
        case "patchVariant":
            replace_variants_in_environments(conn, actor, [flag], payload["variants"])
        case "archiveFeature":
            archive(conn, actor, [flag])
        case "addDependency":
            add_dependency(conn, actor, project, payload | {"child": name})
        case "deleteDependency":
            remove_dependencies(conn, actor, flag)


def change_of_segment(conn: Connection, actor: Actor, project: str, action: str, payload: Json) -> None:
    """Update or delete a segment. It stays in its project."""
    segment = segments.lock(conn, payload["id"], None)
    if segment is None or segment.get("project") not in (None, project):
        abort(404, "No segment has that id.")
    if action == "deleteSegment":
        # Everybody who sees the project can read why this was refused, so it names no flags of private projects.
        refuse_used("segment", segment_strategies.list_places(conn, payload["id"], project, 0))
        remove_segment(conn, actor, segment)
        return
    change = without_read_only(payload, lambda: segment) | {"project": segment.get("project")}
    with unique_or_409(segments.TAKEN):
        change_segment(conn, actor, segment, change)


# Our choice: approvals do not count beyond the environment. The author and the person who applies the change need
# SKIP_CHANGE_REQUEST there. The latter also needs the permission to make it directly.
def refusal(
    conn: Connection, actor: Actor, project: str, environment: str, change: Change, *, applies: bool = True
) -> str | None:
    """Return the permission that the actor lacks because a change reaches beyond the environment, or None."""
    action, user_id, here = change["action"], actor.user_id, (project, environment)
    if actor.is_admin or user_id is None or action not in OF_SEGMENTS | EVERYWHERE:
        return None
    where: Json = {"projects": [project]}
    direct = [EVERYWHERE.get(action) or OF_SEGMENTS[action]]
    if action in OF_SEGMENTS:
        segment, where = segments.get(conn, change["segment_id"], None) or "{}", {"segment": change["segment_id"]}
        if "project" not in json.loads(segment) and not access.projects_permitting(conn, user_id, *direct):
            return f"A change of a segment of all projects needs the permission {direct[0]}."
        direct.append(PROJECT_PERMISSION)

    def reached(*, include_unprotected: bool) -> str:
        found = access.list_protected(conn, user_id, **where, include_unprotected=include_unprotected)
        return ", ".join(sorted({place[1] for place in found if place != here}))

    if protected := reached(include_unprotected=False):
        return LACKS_SKIP.format(protected)
    if not applies or any(project in access.projects_permitting(conn, user_id, one) for one in direct):
        return None
    others = reached(include_unprotected=True)
    return f"It also changes flags in {others}. It needs the permission {' or '.join(direct)}." if others else None
