"""A move into this instance, while it runs: its transaction, what it brings, and what it has found so far."""

from dataclasses import dataclass, field
from typing import Any

from rules.access import Actor
from rules.import_contents import Contents, Json
from rules.import_report import Report
from sql import events
from sql.database import Connection
from sql.events import Event

# The properties of a strategy that move, in the order in which they are stored.
STRATEGY = ("name", "title", "disabled", "constraints", "variants", "parameters", "segments")


@dataclass
class Move:
    """What the parts of a move share."""

    conn: Connection
    actor: Actor
    contents: Contents
    report: Report
    # The flags that do not exist here.
    new_flags: list[Json] = field(default_factory=list)
    # What this move creates: (noun, name), or the id of a user or group.
    new: set[tuple[str, str | int]] = field(default_factory=set)
    # Ids of segments here, by their ids in the source.
    segments: dict[int, int] = field(default_factory=dict)

    def record(self, type: str, **about: Any) -> None:
        """Record an event of the author."""
        events.record(self.conn, Event(type, self.actor, **about))

    def with_segments_here(self, strategy: Json) -> Json:
        """Return a strategy with the ids that its segments have here. Without one, it would be on for more users."""
        wanted = set(strategy.get("segments", ()))
        if unknown := wanted - self.segments.keys():
            self.report.conflict(f"A strategy uses segment {min(unknown)}, which {self.report.source} does not have.")
        return {**strategy, "segments": sorted(self.segments[number] for number in wanted - unknown)}


def differing(wanted: Json, found: Json, properties: tuple[str, ...]) -> list[str]:
    """Return the properties of a moved record whose values differ. No value, an empty one and null are equal."""
    return [name for name in properties if name in wanted and (wanted[name] or None) != (found.get(name) or None)]
