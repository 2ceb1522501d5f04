"""The flags of an environment, compiled once and evaluated many times."""

import gc
import marshal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evaluation.context import Fields, fields_of
from evaluation.explanation import Explanation, explain
from evaluation.flags import Flag, Parent
from evaluation.results import UNKNOWN, Result
from evaluation.strategies import Segment


class Document:
    """The flags of an environment, compiled. A document never changes, so threads can share it.

    parsed is the parsed JSON of a client document: {"features": [...], "segments": [...]}. It may contain anything: a
    malformed flag is off, and the rest works. Flags that are the same in the previous document are not compiled again.

    A context is {"userId", "sessionId", "remoteAddress", "environment", "appName", "currentTime", "properties":
    {name: value}}. Everything in it is optional. Names that are not in this list count as properties.
    """

    def __init__(self, parsed: Mapping[str, Any], previous: "Document | None" = None) -> None:
        with collector_paused():
            self.segments = compiled_segments(parsed.get("segments"), previous.segments if previous else {})
            self.flags = compiled_flags(parsed.get("features"), self.segments, previous.flags if previous else {})
        parents = {parent.name for flag in self.flags.values() for parent in flag.parents}
        # The flags that others depend on. A flag with parents cannot be a parent itself.
        self.parents = {name: flag for name, flag in self.flags.items() if name in parents and not flag.parents}

    def evaluate(self, name: str, context: Mapping[str, Any]) -> Result:
        """Return the result of one flag. An unknown flag is off, and its result has no facts."""
        flag = self.flags.get(name)
        if flag is None:
            return UNKNOWN
        fields = context if isinstance(context, Fields) else fields_of(context)
        results = {parent.name: self.parents[parent.name].evaluate(fields) for parent in self.known_parents(flag)}
        return evaluated(flag, fields, results)

    def evaluate_all(self, context: Mapping[str, Any], *, with_disabled: bool = False) -> list[tuple[Flag, Result]]:
        """Return all flags that are on, or with_disabled all flags, in the order of the document."""
        fields = fields_of(context)
        # Parents are evaluated once: a random rollout decides the same for a parent and its children.
        results = {name: flag.evaluate(fields) for name, flag in self.parents.items()}
        found: list[tuple[Flag, Result]] = []
        for name, flag in self.flags.items():
            result = results.get(name) or (evaluated(flag, fields, results) if flag.parents else flag.evaluate(fields))
            if result.enabled or with_disabled:
                found.append((flag, result))
        return found

    def explain(self, name: str, context: Mapping[str, Any]) -> Explanation:
        """Return why a flag is on or off for a context. The flag must exist (KeyError)."""
        flag, fields = self.flags[name], fields_of(context)
        results = {parent.name: self.parents[parent.name].evaluate(fields) for parent in self.known_parents(flag)}
        return explain(flag, fields, results)

    def known_parents(self, flag: Flag) -> list[Parent]:
        return [parent for parent in flag.parents if parent.name in self.parents]


def evaluated(flag: Flag, fields: Fields, parents: Mapping[str, Result]) -> Result:
    """Return the result of a flag whose parents have these results. A missing parent switches the flag off."""
    for parent in flag.parents:
        result = parents.get(parent.name)
        if result is None or not parent.accepts(result):
            return flag.off
    return flag.evaluate(fields)


def compiled_segments(given: Any, previous: Mapping[int, Segment]) -> dict[int, Segment]:
    """Return the segments by id. Those that have not changed are the same objects as in the previous document."""
    segments: dict[int, Segment] = {}
    for item in given if isinstance(given, list) else ():
        number = item.get("id") if isinstance(item, dict) else None
        if isinstance(number, int) and not isinstance(number, bool):
            fingerprint, old = fingerprint_of(item), previous.get(number)
            if old and old.fingerprint == fingerprint and fingerprint is not None:
                segments[number] = old
            else:
                segments[number] = Segment(number, item, fingerprint)
    return segments


def compiled_flags(given: Any, segments: Mapping[int, Segment], previous: Mapping[str, Flag]) -> dict[str, Flag]:
    """Return the flags by name. Those that have not changed are the same objects as in the previous document."""
    flags: dict[str, Flag] = {}
    for item in given if isinstance(given, list) else ():
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str):
            fingerprint, old = fingerprint_of(item), previous.get(name)
            if old and old.fingerprint == fingerprint and fingerprint is not None and old.still_valid(segments):
                flags[name] = old
            else:
                flags[name] = Flag(name, item, segments, fingerprint)
    return flags


def fingerprint_of(item: dict[str, Any]) -> int | None:
    """Return a hash (64 bits) of parsed JSON that tells 1 from true and 1.0, or None if it is nested too deeply."""
    try:
        # Version 2 of the format has no references, so that equal values are equal bytes.
        return hash(marshal.dumps(item, 2))
    except ValueError:
        return None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector: it would look at all new objects many times, and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        # Whatever it was before: another thread may have paused it, and end at the same time.
        gc.enable()
