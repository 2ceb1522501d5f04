"""Move what flags are described with: environments, context fields, segments, tags, and types of flags."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rules.access import SYSTEM
from rules.import_contents import Json
from rules.instance_import_findings import warn_of_segment
from rules.instance_import_move import Move, differing
from rules.stickiness import BUILT_IN
from sql.catalog import context_fields, environments, flag_types, segments, strategy_types, tag_types, tags
from sql.database import Connection
from validators.fields import NAME


def insert_environment(conn: Connection, environment: Json) -> Json:
    """Insert an environment, and return its record."""
    place = {"enabled": environment["enabled"], "sort_order": environment["sortOrder"]}
    return environments.insert(conn, environment["name"], environment["type"], **place)


@dataclass(frozen=True)
class Kind:
    """Records of the catalog. statements: their module in sql/. compared: the properties that can differ.

    installed: the compared values of built-in records in a new installation. A record that still has them takes those
    of the source. blank: the properties of a record that flags use and the source does not have.
    """

    noun: str
    rows: str
    event: str
    statements: Any
    compared: tuple[str, ...]
    insert: Callable[[Connection, Json], Json] | None
    blank: Mapping[str, Any]
    installed: Mapping[str, tuple[Any, ...]]
    key: str = "name"


# The properties that decide who is in a segment.
MEANING = ("constraints", "project")
ENVIRONMENT = Kind(
    *("environment", "environments", "environment", environments, ("type", "enabled", "sortOrder"), insert_environment),
    blank={"type": "development", "enabled": True, "sortOrder": None},
    installed={"development": ("development", True, 1), "production": ("production", True, 2)},
)
CONTEXT_FIELD = Kind(
    *("context field", "context_fields", "context-field", context_fields),
    compared=("description", "stickiness", "sortOrder", "legalValues"),
    insert=lambda conn, field: context_fields.insert_missing(conn, [field])[0],
    blank={"description": None, "stickiness": True, "sortOrder": 10, "legalValues": []},
    installed={
        "environment": ("The environment in which the application runs.", False, 0, []),
        "userId": ("The user of the application.", True, 1, []),
        "appName": ("The name of the application.", False, 2, []),
        "currentTime": ("The time of the request.", False, 3, []),
        "sessionId": ("The session of the user.", True, 4, []),
    },
)
TAG_TYPE = Kind(
    *("tag type", "tag_types", "tag-type", tag_types, ("description", "icon")),
    insert=lambda conn, type: tag_types.insert_missing(conn, [type])[0],
    blank={"description": "", "icon": None},
    installed={"simple": ("A plain tag.", None)},
)
STRATEGY_TYPE = Kind(
    *("strategy type", "strategy_types", "strategy", strategy_types),
    compared=("title", "description", "deprecated", "parameters"),
    insert=strategy_types.insert,
    blank={"title": None, "description": None, "deprecated": False, "parameters": []},
    installed={},
)
FLAG_TYPE = Kind(
    *("flag type", "flag_types", "feature-type", flag_types, ("lifetimeDays",), None),
    blank={},
    installed={"release": (40,), "experiment": (40,), "operational": (7,), "sunset": (90,)}
    | {"kill-switch": (None,), "permission": (None,)},
    key="id",
)


def write_kind(move: Move, kind: Kind, used: Mapping[str, Json] = {}) -> set[str]:
    """Write the records that do not exist here. Return the names of those that exist then.

    used: the names of records that the flags use, with properties for those that the source does not have.
    """
    conn, report, noun = move.conn, move.report, kind.noun
    wanted = {record[kind.key]: record for record in getattr(move.contents, kind.rows)}
    existing = {record[kind.key]: record for record in records_of(kind.statements.list_all(conn))}
    for name in sorted(used.keys() - wanted.keys() - existing.keys()):
        report.warn(f"The source does not have this {noun}. It is created, because flags use it", name)
        wanted[name] = {kind.key: name, **kind.blank, **used[name]}
    for name, record in wanted.items():
        about = {"environment": name} if kind is ENVIRONMENT else {}
        found = existing.get(name)
        if found is None and kind.insert is None:
            report.warn(f"There is no {noun} of this name here", name)
            report.count(noun, "not moved")
        elif found is None and kind.insert:
            move.record(f"{kind.event}-created", data=kind.insert(conn, record), **about)
            report.count(noun, "new")
            move.new.add((noun, name))
        elif found:
            # Our choice: a built-in strategy type stays as it is here.
            different = differing(record, found, kind.compared) if found.get("editable", True) else []
            if different and kind.installed.get(name) == tuple(found[key] for key in kind.compared):
                before = kind.statements.lock(conn, name)
                after = kind.statements.update(conn, before | {key: record[key] for key in different})
                move.record(f"{kind.event}-updated", data=after, pre_data=before, **about)
                report.count(noun, "new")
            else:
                report.compare(noun, name, different)
    return existing.keys() | (wanted.keys() if kind.insert else set())


def records_of(text: str) -> list[Json]:
    """Return the records of a list as JSON text, which can be a property of an object."""
    found = json.loads(text)
    return found if isinstance(found, list) else next(item for item in found.values() if isinstance(item, list))


def write_catalog(move: Move) -> tuple[set[str], set[str]]:
    """Write the records of the catalog, without segments. Return the names of all flag types and environments here."""
    contents = move.contents
    states = [state for flag in contents.flags for state in flag["environments"]]
    strategies = [strategy for state in states for strategy in state["strategies"]]
    strategies += [place["defaultStrategy"] for project in contents.projects for place in project["environments"]]
    strategies = [strategy for strategy in strategies if strategy]
    variants = [variant for item in [*states, *strategies] for variant in item["variants"]]
    lists = [item.get("constraints", []) for item in [*strategies, *contents.segments]]
    lists += [variant.get("overrides") or [] for variant in variants]
    fields = {item["contextName"] for items in lists for item in items}
    sticky = {project["defaultStickiness"] for project in contents.projects}
    sticky |= {variant["stickiness"] for variant in variants}
    sticky |= {item["parameters"].get("stickiness", "") for item in strategies if item["name"] == "flexibleRollout"}
    sticky = {name for name in sticky - BUILT_IN if name}
    all_tags = [*contents.tags, *(tag for flag in contents.flags for tag in flag["tags"])]
    places = write_kind(move, ENVIRONMENT, {state["environment"]: {} for state in states})
    names = (name for name in fields | sticky if len(name) <= 100 and NAME.fullmatch(name))
    write_kind(move, CONTEXT_FIELD, {name: {"stickiness": name in sticky} for name in names})
    write_kind(move, TAG_TYPE, {tag["type"]: {} for tag in all_tags})
    write_tags(move, {(tag["type"], tag["value"]) for tag in all_tags})
    write_kind(move, STRATEGY_TYPE, {strategy["name"]: {} for strategy in strategies})
    return write_kind(move, FLAG_TYPE), places


def write_tags(move: Move, wanted: set[tuple[str, str]]) -> None:
    """Write the tags that do not exist here, with and without flags."""
    existing = {(tag["type"], tag["value"]) for tag in records_of(tags.list_all(move.conn))}
    new = sorted(wanted - existing)
    for type, text in new:
        tags.insert(move.conn, type, text)
    move.record_all([move.event("tag-created", data={"type": type, "value": text}) for type, text in new])
    move.report.count("tag", "new", len(new))
    move.report.count("tag", "exists", len(wanted & existing))


def write_segments(move: Move) -> None:
    """Write the segments that do not exist here. One with another meaning is `NAME (moved)` if its name is taken."""
    existing = {segment["name"]: segment for segment in records_of(segments.list_all(move.conn, None))}
    used = {
        number
        for flag in move.new_flags
        for state in flag["environments"]
        for strategy in state["strategies"]
        for number in strategy["segments"]
    }
    for segment in move.contents.segments:
        if "constraints" not in segment and segment["name"] not in existing:
            message = "does not exist here, and the file does not have its constraints"
            move.report.conflict(f"Segment {segment['name']} {message}.")
            continue
        if segment.get("project") and not segments.hold_project(move.conn, segment["project"]):
            move.report.count("segment", "not moved")
            move.report.warn("This segment is not moved, because its project is not", segment["name"])
            continue
        name, moved = segment["name"], f"{segment['name']} (moved)"
        found, other = existing.get(name), existing.get(moved)
        # Our choice: a segment of an earlier move that was changed here since stays the same one for flags that exist.
        is_changed = not other and segment["id"] not in used and found and found["createdBy"] == SYSTEM.name
        if found and differing(segment, found, MEANING) and not is_changed:
            name, found = moved, other
            message = "Segments of these names have other constraints here. The moved ones are named NAME (moved)"
            move.report.warn(message, segment["name"])
        if found is None:
            move.segments[segment["id"]] = insert_segment(move, {**segment, "name": name})
            continue
        if segment["id"] in used and differing(segment, found, MEANING):
            move.report.conflict(f"Segment {name} has other constraints here. Rename it first.")
        move.report.compare("segment", name, differing(segment, found, ("description", *MEANING)))
        move.segments[segment["id"]] = found["id"]


def insert_segment(move: Move, segment: Json) -> int:
    """Insert a segment, and return its id."""
    warn_of_segment(move, segment)
    more = {"description": segment.get("description"), "project": segment.get("project"), "created_by": SYSTEM.name}
    segment_id = segments.insert(move.conn, segment["name"], segment["constraints"], **more)
    record = segments.lock(move.conn, segment_id, None)
    move.record("segment-created", project=segment.get("project"), data=record)
    move.report.count("segment", "new")
    return segment_id
