"""Lock, create and change flags, and build their events."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, NotFound

from rules.access import Actor, require
from rules.instance_limits import refuse_excess
from rules.projects import refuse_full_project
from rules.refusals import Refuse, first_five, raise_error
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import core as flags
from sql.projects import core as projects
from validators.errors import NameExists
from validators.projects import naming

NO_FLAG = "This project has no such flag, or the flag is archived."
NO_FLAG_ANYWHERE = "No flag has that name."
NAME_TAKEN = "name: a flag with this name already exists; it can be archived or in another project"


def lock_flag(conn: Connection, project_id: str, name: str) -> DictRow:
    """Lock a live flag of the project, and return it as flags.lock() does; 404 if it does not exist."""
    flag = flags.lock(conn, project_id, name)
    if flag is None:
        raise NotFound(NO_FLAG)
    return flag


def lock_flag_anywhere(conn: Connection, name: str, permission: str) -> tuple[Actor, DictRow]:
    """Return the caller and the locked flag, live or archived. The caller holds the permission in its project.

    For paths that name the flag but not its project. Raises, in this order: 401, 403 wrong kind of token, 404 unknown
    flag or hidden project, 403 missing permission.
    """
    # Our choice: callers who can see the project can know its flags, so a 403 tells them nothing. For others, the flag
    # does not exist.
    caller = require(conn)
    flag = flags.lock_anywhere(conn, name, caller.viewer)
    if flag is None:
        raise NotFound(NO_FLAG_ANYWHERE)
    return require(conn, permission, project=flag["project_id"]), flag


def refuse_archived(flag: DictRow) -> None:
    """Raise 404 if the flag is archived."""
    if flag["archived_at"] is not None:
        raise NotFound("The flag is archived. Revive it first.")


def lock_flags(conn: Connection, actor: Actor, project_id: str, names: Sequence[str]) -> list[DictRow]:
    """Lock flags of the project, live or archived, in the order of the names. 404 if one does not exist."""
    found = flags.lock_many(conn, names, actor.viewer, project_id)
    refuse_unknown(names, [flag["name"] for flag in found], "features: these flags are not in this project:")
    return found


def lock_live_flags(conn: Connection, actor: Actor, project_id: str, names: Sequence[str]) -> list[DictRow]:
    """Lock live flags of the project, in the order of the names. Raise 404 if one is unknown or archived."""
    found = [flag for flag in flags.lock_many(conn, names, actor.viewer, project_id) if flag["archived_at"] is None]
    refuse_unknown(names, [flag["name"] for flag in found], "features: unknown or archived flags:")
    return found


def refuse_unknown(names: Sequence[str], found: Collection[str], prefix: str) -> None:
    """Raise 404 if names were not found. The message is the prefix and these names."""
    known = set(found)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound(f"{prefix} {first_five(unknown)}")


def flag_event(type: str, actor: Actor, flag: DictRow, **fields: Any) -> Event:
    """Return an event about a flag: its project, environment, name and tags, unless fields has others."""
    from_flag = {
        "project": flag["project_id"],
        "environment": flag.get("environment"),
        "feature": flag["name"],
        "tags": flag["tags"],
    }
    return Event(type, actor, **(from_flag | fields))


def add_flags(conn: Connection, actor: Actor, project: DictRow, new: Sequence[Mapping[str, Any]]) -> list[DictRow]:
    """Create flags, off in every environment, and return them as flags.lock() does.

    new: name, type, description and impressionData of each flag. Raises 400 for a name that does not match the naming
    pattern of the project and for too many flags in the instance, and 409 for a name that is taken and for too many
    flags in the project.
    """
    names = [flag["name"] for flag in new]
    refuse_bad_names(project, names)
    refuse_above_limits(conn, project, names)
    return insert_flags(conn, actor, project, new)


def insert_flags(
    conn: Connection, actor: Actor, project: DictRow, new: Sequence[Mapping[str, Any]], refuse: Refuse = raise_error
) -> list[DictRow]:
    """Create flags as add_flags() does after its checks. Refuse names that are taken, and return the other flags."""
    if not new:
        return []
    token = None if actor.token_id is None else actor.name
    added = flags.insert(conn, project["id"], new, actor.user_id, token)
    refuse(NameExists(NAME_TAKEN), {flag["name"] for flag in new} - {flag["name"] for flag in added})
    events.record(conn, *[flag_event("feature-created", actor, flag, data=flag["record"]) for flag in added])
    return added


def refuse_unusable_name(conn: Connection, viewer: int | None, name: str, project_id: str | None) -> None:
    """Refuse a name that a new flag could not have, in this project or in any."""
    if project_id is not None:
        project = projects.get_naming(conn, project_id, viewer)
        if project is None:
            raise BadRequest("projectId: must be an existing project")
        refuse_bad_names(project, [name])
    if flags.is_taken(conn, name):
        raise NameExists(NAME_TAKEN)


def refuse_bad_names(project: DictRow, names: Sequence[str], refuse: Refuse = raise_error) -> None:
    """Refuse names that do not match the naming pattern of the project."""
    pattern = project["naming_pattern"]
    if pattern is not None:
        try:
            refuse(
                BadRequest(f"name: must match the naming pattern of the project, {pattern}"),
                naming.mismatches(pattern, names),
            )
        except naming.PatternError as error:
            refuse(BadRequest(f"name: the naming pattern of the project, {pattern}, {error}"), names)


def refuse_above_limits(conn: Connection, project: DictRow, names: Sequence[str], refuse: Refuse = raise_error) -> None:
    """Refuse new flags that would exceed the limits of the instance or of the project."""
    refuse_excess(conn, "MAX_FLAGS", "flag", names, refuse)
    refuse_full_project(conn, project, names, refuse)


def change_flags(conn: Connection, actor: Actor, changes: Sequence[tuple[DictRow, Mapping[str, Any]]]) -> None:
    """Change locked flags, and record the events. changes: pairs of a flag and its changed properties."""
    changes = [(flag, change) for flag, change in changes if flag["record"] != flag["record"] | change]
    if not changes:
        return
    updated = flags.update(conn, [flag["record"] | change | {"id": flag["id"]} for flag, change in changes])
    log = []
    for flag, _ in changes:
        before, changed = flag["record"], updated[flag["id"]]["record"]
        # Our choice: a change of `stale` has an event of its own, which comes last.
        if any(changed[key] != before[key] for key in ("type", "description", "impressionData")):
            log.append(flag_event("feature-metadata-updated", actor, flag, data=changed, pre_data=before))
        if changed["stale"] != before["stale"]:
            log.append(flag_event("feature-stale-on" if changed["stale"] else "feature-stale-off", actor, flag))
    events.record(conn, *log)
