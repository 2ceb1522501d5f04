"""Undo what one event changed, by the rules of the direct operation, unless the record has changed since."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict

from rules.access import Actor, require
from rules.constraints import check_strategy
from rules.flag_lifecycle import archive, revive
from rules.flags import change_flags
from rules.instance_limits import unique_or_409
from rules.projects import change_default_strategy, change_project, hold_project, lock_project
from rules.segments import PROJECT_PERMISSION, add_segment, change_segment, lock_changeable, remove_segment
from rules.strategies import (
    add_strategies,
    change_order,
    change_strategy,
    find_strategy,
    is_any_enabled,
    remove_strategy,
    switch_off,
    switch_on,
)
from rules.tags import change_tags
from rules.variants import in_order, replace_variants
from sql.catalog import segments
from sql.database import Connection, as_json, noted_events
from sql.flags import core as flags
from sql.flags import environments, strategies, variants
from sql.projects import environments as project_environments

Record = Mapping[str, Any]
# Longer values are cut in the message about a later change.
MAX_VALUE = 80
PARAMETER = "parameters."
# The place of a strategy and the last use of a flag change without it. The stale mark has an event of its own.
SKIPPED = ("sortOrder", "lastSeenAt", "stale")


def undo(conn: Connection, event: DictRow) -> str:
    """Undo an event of events.get(), and return a message for the caller.

    Raises 409 for other types of events and if the record has changed since, and the errors of the direct operation.
    """
    if event["type"] not in UNDO:
        raise Conflict(f"Events of the type {event['type']} cannot be undone.")
    permissions, environment = needed(event)
    # Undoing a revival archives the flag, which changes it in all environments.
    direct = True if event["type"] == "feature-revived" else None
    actor = require(conn, *permissions, project=event["project"], environment=environment, direct=direct)
    refuse(event["is_of_another"], "another flag or project has its name")
    message = UNDO[event["type"]][0](conn, replace(actor, undoes=event["id"]), event)
    return message or ("The change is undone." if noted_events.get() else "There was nothing to undo.")


def needed(event: Record) -> tuple[tuple[str, ...], str | None]:
    """Return the permissions of which one is needed to undo an event, or none if it cannot be, and the environment."""
    _, permissions = UNDO.get(event["type"], (None, ()))
    environment = None if event["type"] == "default-strategy-updated" else event["environment"]
    return permissions, environment


def properties(record: Record | None) -> dict[str, Any]:
    """Return the properties of a record that an undo compares. Each parameter is one, such as parameters.rollout."""
    own = dict(record or {})
    parameters = own.pop("parameters", {})
    return own | {PARAMETER + name: text for name, text in parameters.items()}


def restored(event: DictRow, present: Record | None) -> dict[str, Any]:
    """Return the present record with what the event has replaced. Raise 409 if a part of that has changed since."""
    before, after, now = properties(event["pre_data"]), properties(event["data"]), properties(present)
    changed = [
        name
        for name in before | after
        if name not in SKIPPED and (before.get(name) != after.get(name) or not (before and after))
    ]
    later = [name for name in changed if after.get(name) != now.get(name)]
    refuse(later, "; ".join(f"{name} was {words(after.get(name))}, and is {words(now.get(name))}" for name in later))
    source = {name: before if name in changed else now for name in before | now}
    wanted = {name: source[name][name] for name in source if name in source[name]}
    parameters = {name.removeprefix(PARAMETER): item for name, item in wanted.items() if name.startswith(PARAMETER)}
    record = wanted | {"parameters": parameters}
    return {name: record[name] for name in {**(event["pre_data"] or {}), **(present or {})} if name in record}


def words(value: Any) -> str:
    """Return a value for a message. Long ones are cut."""
    text = "not set" if value is None else value if value and isinstance(value, str) else as_json(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def refuse(is_changed: object, what: str) -> None:
    """Raise 409 if the record has changed since the event. what: how it is now."""
    if is_changed:
        raise Conflict(f"Changed since this event: {what} now.")


def lock_flag(conn: Connection, actor: Actor, event: DictRow, *, archived: bool = False) -> DictRow:
    """Lock the flag of an event, and return it, in its environment if it has one. Raise 409 if it is not there now."""
    names, project, environment = [event["feature_name"]], event["project"], event["environment"]
    found = flags.lock_many(conn, names, actor.viewer, project)
    refuse(not found, f"the flag {names[0]} is deleted, or in another project,")
    is_archived = found[0]["archived_at"] is not None
    refuse(is_archived != archived, f"the flag is {'archived' if is_archived else 'not archived'}")
    found = environments.lock(conn, project, names, environment) if environment else found
    refuse(not found, f"the project does not have the environment {environment}")
    return found[0]


def undo_strategy(conn: Connection, actor: Actor, event: DictRow) -> str | None:
    """Delete the strategy that was added, change it back, or add the deleted one again with its id."""
    flag, record = lock_flag(conn, actor, event), event["data"] or event["pre_data"]
    exists = bool(strategies.used_ids(conn, [record["id"]]))
    refuse(exists != bool(event["data"]), f"the strategy {'exists' if exists else 'is deleted'}")
    if not exists:
        check_strategy(conn, record, event["project"])
        add_strategies(conn, actor, [(flag, record | {"variants": in_order(record["variants"])})])
        return "The strategy is back in its place. That did not switch the flag on."
    strategy = find_strategy(conn, flag, record["id"])
    wanted = restored(event, strategy["record"])
    if event["pre_data"]:
        change_strategy(conn, actor, flag, strategy, wanted | {"variants": in_order(wanted["variants"])})
        return None
    remove_strategy(conn, actor, flag, strategy["record"])
    return None


def undo_order(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Put the strategies in the order that they had before."""
    flag = lock_flag(conn, actor, event)
    present = strategies.list_by_flag(conn, [flag["id"]], flag["environment"])[flag["id"]]
    restored(event, {"strategyIds": [strategy["id"] for strategy in present]})
    # The same positions in another order, so that a deleted strategy can return to its place.
    positions = sorted({strategy["sortOrder"] for strategy in present})
    positions = positions if len(positions) == len(present) else range(len(present))
    order = zip(event["pre_data"]["strategyIds"], positions, strict=True)
    change_order(conn, actor, flag, [{"id": id, "sortOrder": position} for id, position in order])


def undo_switch(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Switch the flag back."""
    flag, was_on = lock_flag(conn, actor, event), event["type"] == "feature-environment-enabled"
    refuse(flag["enabled"] != was_on, f"the flag is {'off' if was_on else 'on'} in {flag['environment']}")
    if was_on:
        switch_off(conn, actor, [flag])
        return
    # Our choice: the default strategy of the environment could be on for more users than the deleted ones.
    present = strategies.list_by_flag(conn, [flag["id"]], flag["environment"])[flag["id"]]
    refuse(not is_any_enabled(present), f"the flag has no enabled strategy in {flag['environment']}")
    switch_on(conn, actor, [flag])


def undo_variants(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Give the flag the variants that it had before."""
    flag = lock_flag(conn, actor, event)
    [present] = variants.list_each(conn, [flag])
    replace_variants(conn, actor, [(flag, present, in_order(restored(event, {"variants": present})["variants"]))])


def undo_properties(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Give the flag the type, description, impression data or stale mark that it had before."""
    flag, was_stale = lock_flag(conn, actor, event), event["type"] == "feature-stale-on"
    if event["type"] == "feature-metadata-updated":
        change = restored(event, flag["record"])
    else:
        refuse(flag["record"]["stale"] != was_stale, f"the flag is {'not ' if was_stale else ''}stale")
        change = {"stale": not was_stale}
    change_flags(conn, actor, [(flag, change)])


def undo_archive(conn: Connection, actor: Actor, event: DictRow) -> str | None:
    """Revive the flag that was archived, or archive the revived one."""
    if event["type"] == "feature-revived":
        archive(conn, actor, [lock_flag(conn, actor, event)])
        return None
    # Lock the project before its flags, like all changes that lock both.
    hold_project(conn, event["project"])
    lock_flag(conn, actor, event, archived=True)
    revive(conn, actor, event["project"], [event["feature_name"]])
    return "The flag is live again, and off in all environments. Dependencies that it had are not restored."


def undo_tag(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Remove a tag that the flag got, or add one that it lost."""
    flag, tag = lock_flag(conn, actor, event), event["data"] or event["pre_data"]
    has_tag = tag in flag["tags"]
    text = f"the flag {'has' if has_tag else 'does not have'} the tag {tag['type']}:{tag['value']}"
    refuse(has_tag != bool(event["data"]), text)
    change_tags(conn, actor, [flag], {"addedTags": [] if has_tag else [tag], "removedTags": [tag] if has_tag else []})


def undo_segment(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Delete the segment that was created, change it back, or create the deleted one again with its id."""
    taken = segments.TAKEN | {"segments_pkey": "Changed since this event: the segment exists now."}
    with unique_or_409(taken):
        if not event["data"]:
            add_segment(conn, actor, event["pre_data"])
            return
        permission = "UPDATE_SEGMENT" if event["pre_data"] else "DELETE_SEGMENT"
        _, segment = lock_changeable(conn, permission, str(event["data"]["id"]))
        refuse(segment is None, "the segment is deleted")
        wanted = {"project": None} | restored(event, segment)
        if event["pre_data"]:
            change_segment(conn, actor, segment or {}, wanted)
        else:
            remove_segment(conn, actor, segment or {})


def undo_default_strategy(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Set the former default strategy, or none."""
    project, environment = event["project"], event["environment"]
    link = project_environments.lock_link(conn, project, environment) or {}
    refuse(not link, f"the project does not have the environment {environment}")
    wanted = restored(event, link["default_strategy"])
    after = wanted if event["pre_data"] else None
    change_default_strategy(conn, actor, project, environment, link["default_strategy"], after)


def undo_project(conn: Connection, actor: Actor, event: DictRow) -> None:
    """Give the project the settings that it had before."""
    project = lock_project(conn, event["project"])["logged"]
    change_project(conn, actor, project, {**project, **restored(event, project)})


# For each type of event: what undoes it, and the permissions of the direct operation, of which the caller needs one. A
# function returns what else the caller should know.
UNDO: dict[str, tuple[Callable[[Connection, Actor, DictRow], str | None], tuple[str, ...]]] = {
    "feature-strategy-add": (undo_strategy, ("DELETE_FEATURE_STRATEGY",)),
    "feature-strategy-update": (undo_strategy, ("UPDATE_FEATURE_STRATEGY",)),
    "feature-strategy-remove": (undo_strategy, ("CREATE_FEATURE_STRATEGY",)),
    "strategy-order-changed": (undo_order, ("UPDATE_FEATURE_STRATEGY",)),
    "feature-environment-enabled": (undo_switch, ("UPDATE_FEATURE_ENVIRONMENT",)),
    "feature-environment-disabled": (undo_switch, ("UPDATE_FEATURE_ENVIRONMENT",)),
    "feature-environment-variants-updated": (undo_variants, ("UPDATE_FEATURE_ENVIRONMENT_VARIANTS",)),
    "feature-metadata-updated": (undo_properties, ("UPDATE_FEATURE",)),
    "feature-stale-on": (undo_properties, ("UPDATE_FEATURE",)),
    "feature-stale-off": (undo_properties, ("UPDATE_FEATURE",)),
    "feature-archived": (undo_archive, ("UPDATE_FEATURE",)),
    "feature-revived": (undo_archive, ("DELETE_FEATURE",)),
    "feature-tagged": (undo_tag, ("UPDATE_FEATURE",)),
    "feature-untagged": (undo_tag, ("UPDATE_FEATURE",)),
    "segment-created": (undo_segment, ("DELETE_SEGMENT", PROJECT_PERMISSION)),
    "segment-updated": (undo_segment, ("UPDATE_SEGMENT", PROJECT_PERMISSION)),
    "segment-deleted": (undo_segment, ("CREATE_SEGMENT", PROJECT_PERMISSION)),
    "default-strategy-updated": (undo_default_strategy, ("UPDATE_PROJECT", "PROJECT_DEFAULT_STRATEGY_WRITE")),
    "project-updated": (undo_project, ("UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE")),
}
