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
    # Whether something was written.
    has_written: bool = False
    # The flags that do not exist here.
    new_flags: list[Json] = field(default_factory=list)
    # What this move creates: (noun, name), or the id of a user or group.
    new: set[tuple[str, str | int]] = field(default_factory=set)
    # Ids of segments here, by their ids in the source.
    segments: dict[int, int] = field(default_factory=dict)

    def event(self, type: str, **about: Any) -> Event:
        """Return an event of the author."""
        return Event(type, self.actor, **about)

    def record(self, type: str, **about: Any) -> None:
        """Record an event of what was written."""
        self.record_all([self.event(type, **about)])

    def record_all(self, log: list[Event]) -> None:
        """Record events of what was written."""
        self.has_written = self.has_written or bool(log)
        events.record(self.conn, *log)

    def with_segments_here(self, strategy: Json) -> Json:
        """Return a strategy with the ids that its segments have here. Without one, it would be on for more users."""
        unknown = set(strategy.get("segments", ())) - self.segments.keys()
        if unknown:
            self.report.conflict(f"A strategy uses segment {min(unknown)}, which {self.report.source} does not have.")
        ids = [self.segments[number] for number in strategy.get("segments", ()) if number in self.segments]
        return {**strategy, "segments": sorted(ids)}


def differing(wanted: Json, found: Json, properties: tuple[str, ...]) -> list[str]:
    """Return the properties of a moved record whose values differ. No value, an empty one and null are equal."""
    return [name for name in properties if name in wanted and (wanted[name] or None) != (found.get(name) or None)]
