"""Archive, revive and delete flags, and mark them stale, with the events."""

from collections.abc import Sequence

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict

from rules.access import SYSTEM, Actor
from rules.dependencies import refuse_parents
from rules.flags import change_flags, flag_event, lock_flags, refuse_unknown
from rules.projects import hold_project, refuse_full_project
from rules.refusals import first_five
from sql import events
from sql.database import Connection
from sql.flags import core as flags
from sql.flags import lifecycle


def archive(conn: Connection, actor: Actor, live: Sequence[DictRow]) -> None:
    """Archive locked live flags and record the events. Raise 409 if other live flags depend on them."""
    ids = [flag["id"] for flag in live]
    refuse_parents(conn, live)
    former_children = lifecycle.archive(conn, ids)
    log = [
        flag_event(type, actor, flag)
        for flag in live
        for type in ("feature-archived", "feature-dependencies-removed")
        if type == "feature-archived" or flag["id"] in former_children
    ]
    events.record(conn, *log)


def revive(conn: Connection, actor: Actor, project_id: str, names: Sequence[str]) -> None:
    """Revive archived flags, and record the events. Raise 404 if one is unknown, 409 for too many flags."""
    # Lock the project before its flags, like all changes that lock both.
    project = hold_project(conn, project_id)
    archived = [flag for flag in lock_flags(conn, actor, project_id, names) if flag["archived_at"] is not None]
    refuse_full_project(conn, project, [flag["name"] for flag in archived])
    lifecycle.revive(conn, [flag["id"] for flag in archived])
    events.record(conn, *[flag_event("feature-revived", actor, flag) for flag in archived])


def delete(conn: Connection, actor: Actor, archived: Sequence[DictRow]) -> None:
    """Delete locked flags and record their events; raise 409 if one of them is not archived."""
    live = [flag["name"] for flag in archived if flag["archived_at"] is None]
    if live:
        raise Conflict(f"Flags must be archived before they can be deleted: {first_five(live)}.")
    lifecycle.delete(conn, [flag["id"] for flag in archived])
    events.record(conn, *[flag_event("feature-deleted", actor, flag, pre_data=flag["record"]) for flag in archived])


def mark_stale(conn: Connection, actor: Actor, project_id: str, *, features: Sequence[str], stale: bool) -> None:
    """Mark live flags stale or not, and record the events. Raise 404, or 409 if one is in another project."""
    # Our choice: an archived flag is 404, as in GET of this flag.
    live = [flag for flag in flags.lock_many(conn, features, actor.viewer) if flag["archived_at"] is None]
    refuse_unknown(features, [flag["name"] for flag in live], "features: unknown or archived flags:")
    misplaced = [flag["name"] for flag in live if flag["project_id"] != project_id]
    if misplaced:
        raise Conflict(f"These flags are in another project: {first_five(misplaced)}.")
    change_flags(conn, actor, [(flag, {"stale": stale}) for flag in live])


def note_potentially_stale(conn: Connection) -> None:
    """Record an event of each flag that has become older than its type should get, once until it is revived."""
    found = lifecycle.note_potentially_stale(conn)
    events.record(conn, *[flag_event("feature-potentially-stale-on", SYSTEM, old, data=old["data"]) for old in found])
