"""Give imported strategies their segments. Create those that do not exist."""

from collections import defaultdict
from collections.abc import Collection

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor, held_permissions
from rules.import_documents import Document, Findings, Json
from rules.instance_limits import refuse_excess, unique_or_409
from rules.segments import check_segment
from sql import events
from sql.catalog import segments
from sql.database import Connection
from sql.events import Event
from sql.flags import transfer

OTHER = "This segment exists here with other constraints. The flags use it as it is."


def with_own_segments(
    conn: Connection, project: DictRow, document: Document, archived: Collection[str], findings: Findings
) -> Document:
    """Return the document with the ids of its segments in this instance. Missing ones have their negative id in it.

    Add an error for flags with missing segments that cannot be created, except archived flags.
    """
    by_name = {segment["name"]: segment for segment in document.segments.values()}
    existing = transfer.hold_segments(conn, by_name, project["id"]) if by_name else {}
    users, own = users_of(document), dict[int, int]()
    for number, segment in document.segments.items():
        name, here = segment["name"], existing.get(segment["name"])
        if here:
            own[number] = here["id"]
            findings.warn(
                OTHER, [name] if segment.get("constraints", here["constraints"]) != here["constraints"] else []
            )
        elif "constraints" in segment and not segments.is_taken(conn, name):
            own[number] = -by_name[name]["id"]
        else:
            message = f"segments: no segment named {name} exists for all projects or for this one"
            findings.add_error(message, users[number].difference(archived) if users[number] else [name])
    replace(document, own)
    return document


def add_missing_segments(
    conn: Connection, actor: Actor, project: DictRow, document: Document, findings: Findings
) -> None:
    """Create the missing segments of the strategies in a document from with_own_segments(), and record the events."""
    ids: dict[int, int] = {}
    for number, flags in users_of(document).items():
        ids[number] = number
        if number > 0:
            continue
        segment = document.segments[-number]
        try:
            check_segment(conn, segment)
            refuse_excess(conn, "MAX_SEGMENTS", "segment")
        except BadRequest as error:
            findings.add_error(f"segment {segment['name']}: {error.description}", flags)
            del ids[number]
            continue
        place = project["id"] if segment["project"] else None
        needs_all = place is None or held_permissions(conn, ["CREATE_SEGMENT"], project["id"])
        findings.need("CREATE_SEGMENT" if needs_all else "UPDATE_PROJECT_SEGMENT", segment)
        fields: Json = {key: segment[key] for key in ("name", "constraints", "description")}
        with unique_or_409(segments.TAKEN):
            ids[number] = segments.insert(conn, **fields, project=place, created_by=actor.name)
        events.record(conn, Event("segment-created", actor, project=place, data=segments.lock(conn, ids[number], None)))
    replace(document, ids)


def users_of(document: Document) -> dict[int, set[str]]:
    """Return the names of the flags with strategies that have a segment, by its id in the document."""
    users: dict[int, set[str]] = defaultdict(set)
    for flag in document.flags:
        for strategy in flag.strategies:
            for number in strategy["segments"]:
                users[number].add(flag.name)
    return users


def replace(document: Document, ids: dict[int, int]) -> None:
    """Replace the ids of segments of strategies. Segments without a new id are removed."""
    for flag in document.flags:
        for strategy in flag.strategies:
            strategy["segments"] = {ids[number] for number in strategy["segments"] if number in ids}
