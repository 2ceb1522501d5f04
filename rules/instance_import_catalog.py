"""Move what flags are described with: environments, context fields, segments, tags, and types of flags."""

import json
from collections.abc import Callable, Iterator, Mapping
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

# The properties that decide who is in a segment.
MEANING = ("constraints", "project")


@dataclass(frozen=True)
class Kind:
    """Records of the catalog.

    event: the beginning of the types of their events. statements: their module in sql/. insert: None if no record can
    be added. blank: the properties that are compared, as flags get them if the source does not have the record.
    installed: the same properties of built-in records in a new installation. A record that still has these values takes
    those of the source, except that it keeps its stickiness.
    """

    noun: str
    event: str
    statements: Any
    insert: Callable[[Connection, Json], Json] | None
    blank: Json
    installed: Mapping[str, tuple[Any, ...]]
    key: str = "name"


def insert_environment(conn: Connection, new: Json) -> Json:
    """Insert an environment, and return its record."""
    return environments.insert(conn, new["name"], new["type"], enabled=new["enabled"], sort_order=new["sortOrder"])


ENVIRONMENT = Kind(
    "environment", "environment", environments, insert_environment,
    blank={"type": "development", "enabled": True, "sortOrder": None},
    installed={"development": ("development", True, 1), "production": ("production", True, 2)},
)  # fmt: skip
CONTEXT_FIELD = Kind(
    "context field", "context-field", context_fields,
    lambda conn, field: context_fields.insert_missing(conn, [field])[0],
    blank={"description": None, "stickiness": True, "sortOrder": 10, "legalValues": []},
    installed={
        "environment": ("The environment in which the application runs.", False, 0, []),
        "userId": ("The user of the application.", True, 1, []),
        "appName": ("The name of the application.", False, 2, []),
        "currentTime": ("The time of the request.", False, 3, []),
        "sessionId": ("The session of the user.", True, 4, []),
    },
)  # fmt: skip
TAG_TYPE = Kind(
    "tag type", "tag-type", tag_types, lambda conn, type: tag_types.insert_missing(conn, [type])[0],
    blank={"description": "", "icon": None}, installed={"simple": ("A plain tag.", None)},
)  # fmt: skip
STRATEGY_TYPE = Kind(
    "strategy type", "strategy", strategy_types, strategy_types.insert,
    blank={"title": None, "description": None, "deprecated": False, "parameters": []}, installed={},
)  # fmt: skip
FLAG_TYPE = Kind(
    "flag type", "feature-type", flag_types, None, blank={"lifetimeDays": None}, key="id",
    installed=dict.fromkeys(("release", "experiment"), (40,))
    | {"operational": (7,), "sunset": (90,), "kill-switch": (None,), "permission": (None,)},
)  # fmt: skip


def write_kind(move: Move, kind: Kind, used: Mapping[str, Json] = {}) -> set[str]:
    """Write the records that do not exist here. Return the names of those that exist then.

    used: the names of records that the flags use, with properties for those that the source does not have.
    """
    conn, report, noun, compared = move.conn, move.report, kind.noun, tuple(kind.blank)
    wanted = {item[kind.key]: item for item in getattr(move.contents, f"{noun.replace(' ', '_')}s")}
    existing = {item[kind.key]: item for item in records_of(kind.statements.list_all(conn))}
    for name in sorted(used.keys() - wanted.keys() - existing.keys()):
        report.warn(f"The source does not have this {noun}. It is created, because flags use it", name)
        wanted[name] = {kind.key: name, **kind.blank, **used[name]}
    for name, item in wanted.items():
        about = {"environment": name} if kind is ENVIRONMENT else {}
        if found := existing.get(name):
            # Our choice: a built-in strategy type stays as it is here.
            different = differing(item, found, compared) if found.get("editable", True) else []
            # Flags can always use these fields for stickiness, so the pages go on offering them.
            if name in BUILT_IN and "stickiness" in different and found["stickiness"]:
                different.remove("stickiness")
            if different and kind.installed.get(name) == tuple(found[key] for key in compared):
                before = kind.statements.lock(conn, name)
                after = kind.statements.update(conn, before | {key: item[key] for key in different})
                move.record(f"{kind.event}-updated", data=after, pre_data=before, **about)
                report.change(noun, name, different)
            else:
                report.compare(noun, name, different)
        elif kind.insert:
            move.record(f"{kind.event}-created", data=kind.insert(conn, item), **about)
            report.count(noun, "new")
            move.new.add((noun, name))
        else:
            report.warn(f"There is no {noun} of this name here", name)
            report.count(noun, "not moved")
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
    strategies += filter(None, values_of(contents.projects, "defaultStrategy"))
    places = write_kind(move, ENVIRONMENT, {state["environment"]: {} for state in states})
    everything = [*states, *contents.projects, *contents.segments]
    sticky = {*values_of(everything, "stickiness"), *values_of(everything, "defaultStickiness")} - BUILT_IN
    names = {name for name in {*values_of(everything, "contextName")} | sticky if len(name) <= 100}
    write_kind(move, CONTEXT_FIELD, {name: {"stickiness": name in sticky} for name in names if NAME.fullmatch(name)})
    lists = [contents.tags, *(flag["tags"] for flag in contents.flags)]
    all_tags = {(tag["type"], tag["value"]) for items in lists for tag in items}
    write_kind(move, TAG_TYPE, {type: {} for type, _ in all_tags})
    write_tags(move, all_tags)
    write_kind(move, STRATEGY_TYPE, {strategy["name"]: {} for strategy in strategies})
    return write_kind(move, FLAG_TYPE), places


def values_of(item: Any, name: str) -> Iterator[Any]:
    """Yield the values of all properties of this name, at any depth."""
    if isinstance(item, dict) and name in item:
        yield item[name]
    if isinstance(item, dict | list):
        for inner in item.values() if isinstance(item, dict) else item:
            yield from values_of(inner, name)


def write_tags(move: Move, wanted: set[tuple[str, str]]) -> None:
    """Write the tags that do not exist here, with and without flags."""
    new = wanted - {(tag["type"], tag["value"]) for tag in records_of(tags.list_all(move.conn))}
    for type, text in sorted(new):
        tags.insert(move.conn, type, text)
        move.record("tag-created", data={"type": type, "value": text})
    move.report.count("tag", "new", len(new))
    move.report.count("tag", "exists", len(wanted) - len(new))


def write_segments(move: Move) -> None:
    """Write the segments that do not exist here. One with another meaning is `NAME (moved)` if its name is taken."""
    existing = {segment["name"]: segment for segment in records_of(segments.list_all(move.conn, None))}
    used = {number for flag in move.new_flags for numbers in values_of(flag, "segments") for number in numbers}
    for segment in move.contents.segments:
        name, is_used = segment["name"], segment["id"] in used
        found, other = existing.get(name), existing.get(f"{name} (moved)")
        if not found and "constraints" not in segment:
            message = "does not exist here, and the file does not have its constraints"
            move.report.conflict(f"Segment {name} {message}.")
            continue
        if segment.get("project") and not segments.hold_project(move.conn, segment["project"]):
            move.report.count("segment", "not moved")
            move.report.warn("This segment is not moved, because its project is not", name)
            continue
        # Our choice: a segment of an earlier move that was changed here since stays the same one for flags that exist.
        is_changed = found and not other and not is_used and found["createdBy"] == SYSTEM.name
        if found and differing(segment, found, MEANING) and not is_changed:
            message = "Segments of these names have other constraints here. The moved ones are named NAME (moved)"
            move.report.warn(message, name)
            name, found = f"{name} (moved)", other
        if not found:
            existing[name] = insert_segment(move, {**segment, "name": name})
            move.segments[segment["id"]] = existing[name]["id"]
            continue
        if is_used and differing(segment, found, MEANING):
            move.report.conflict(f"Segment {name} has other constraints here. Rename it first.")
        move.report.compare("segment", name, differing(segment, found, ("description", *MEANING)))
        move.segments[segment["id"]] = found["id"]


def insert_segment(move: Move, segment: Json) -> Json:
    """Insert a segment, and return its record."""
    warn_of_segment(move, segment)
    more = {key: segment.get(key) for key in ("description", "project")}
    segment_id = segments.insert(move.conn, segment["name"], segment["constraints"], **more, created_by=SYSTEM.name)
    record = segments.lock(move.conn, segment_id, None) or {}
    move.record("segment-created", project=more["project"], data=record)
    move.report.count("segment", "new")
    return record
