"""The flags that a request is about, held until it is done, and the events that tell of them."""

from collections.abc import Collection, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import NotFound

from rules.access import Actor, require
from sql.database import Connection
from sql.events import Event
from sql.flags import core as flags

NO_FLAG = "No such flag is in this project, or it is archived."
NO_FLAG_ANYWHERE = "No flag has that name."


def hold(conn: Connection, project_id: str, name: str) -> DictRow:
    """A live flag of the project, as flags.lock() gives it; 404 if there is none."""
    flag = flags.lock(conn, project_id, name)
    if flag is None:
        raise NotFound(NO_FLAG)
    return flag


def hold_anywhere(conn: Connection, name: str, permission: str) -> tuple[Actor, DictRow]:
    """The caller, who holds the permission in the flag's project, and the flag, live or archived.

    Where an address names the flag alone, its project decides. In this order: 401, 403 wrong kind of key, 404 unknown or in a hidden
    project, 403 no permission.
    """
    # Our choice: who may see the project may know its flags, so that 403 tells him nothing; to who may not, the flag is not there.
    caller = require(conn)
    flag = flags.lock_anywhere(conn, name, caller.viewer)
    if flag is None:
        raise NotFound(NO_FLAG_ANYWHERE)
    return require(conn, permission, project=flag["project_id"]), flag


def hold_many(conn: Connection, actor: Actor, project_id: str, names: Sequence[str]) -> list[DictRow]:
    """Flags of the project, live or archived, in the order of their names here; 404 unless all are there."""
    found = [flag for flag in flags.lock_many(conn, names, actor.viewer) if flag["project_id"] == project_id]
    refuse_unknown(names, [flag["name"] for flag in found], "features: this project has no flag")
    return found


def refuse_unknown(names: Sequence[str], found: Collection[str], what: str) -> None:
    """404 that says which of the flags are not among those found; what: the beginning of that sentence."""
    known = set(found)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound(f"{what} {listed(unknown)}")


def listed(names: Sequence[str]) -> str:
    """Some names in a sentence: the first five of them."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def flag_event(type: str, actor: Actor, flag: DictRow, **payload: Any) -> Event:
    """Return an event of a flag: with its project, its name, and its tags unless the payload has others."""
    return Event(type, actor, **({"project": flag["project_id"], "feature": flag["name"], "tags": flag["tags"]} | payload))
