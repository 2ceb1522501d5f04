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


def use_segments(
    conn: Connection, actor: Actor, project: DictRow, environment: str, document: Document, findings: Findings
) -> None:
    """Give the strategies of a document the ids that their segments have here. Create missing segments.

    Add an error for flags with a segment that cannot be created.
    """
    strategies = [(flag.name, strategy) for flag in document.flags for strategy in flag.strategies]
    users: dict[int, set[str]] = defaultdict(set)
    for flag, strategy in strategies:
        for number in document.segments.keys() & strategy["segments"]:
            users[number].add(flag)
    names = {document.segments[number]["name"] for number in users}
    existing = transfer.hold_segments(conn, names, project["id"], environment) if names else {}
    for number, flags in users.items():
        segment = document.segments[number]
        found = existing.get(segment["name"])
        if found is None:
            existing |= create_segment(conn, actor, project, segment, flags, findings)
        elif segment.get("constraints", found["constraints"]) != found["constraints"]:
            findings.warn(OTHER, [segment["name"]])
    for _, strategy in strategies:
        used = [document.segments[number]["name"] for number in strategy["segments"] if number in document.segments]
        strategy["segments"] = {existing[name]["id"] for name in used if name in existing}


def create_segment(
    conn: Connection, actor: Actor, project: DictRow, segment: Json, flags: Collection[str], findings: Findings
) -> dict[str, DictRow]:
    """Create a segment of a document, and return its record by name. Otherwise add an error, and return {}."""
    name = segment["name"]
    if "constraints" not in segment or segments.is_taken(conn, name):
        findings.add_error(f"segments: no segment named {name} exists for all projects or for this one", flags)
        return {}
    try:
        check_segment(conn, segment)
        refuse_excess(conn, "MAX_SEGMENTS", "segment")
    except BadRequest as error:
        findings.add_error(f"segment {name}: {error.description}", flags)
        return {}
    place = project["id"] if segment["project"] else None
    needs_all = place is None or held_permissions(conn, ["CREATE_SEGMENT"], project["id"])
    findings.need("CREATE_SEGMENT" if needs_all else "UPDATE_PROJECT_SEGMENT", segment)
    more = {"description": segment["description"], "project": place, "created_by": actor.name}
    with unique_or_409(segments.TAKEN):
        segment_id = segments.insert(conn, name, segment["constraints"], **more)
    events.record(conn, Event("segment-created", actor, project=place, data=segments.lock(conn, segment_id, None)))
    return {name: {"id": segment_id, "constraints": segment["constraints"]}}
