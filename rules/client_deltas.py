"""What has changed in the flags of an application since a document that it has, for SDKs in delta or streaming mode."""

import gzip
import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cached_property
from threading import Lock
from typing import Any

from flask import Flask, current_app

from rules import client_features
from rules.client_access import ClientToken
from rules.client_features import ClientDocument
from sql.database import as_json

# Bytes of the snapshots that a worker keeps. An application whose snapshot is no longer kept gets all flags.
MAX_BYTES = 16 * 1024 * 1024
# The engine of the SDKs ignores events with larger ids. It does not compare ids.
EVENT_IDS = 2**31
# Constraints have dates in this form. A variant can have a payload that only looks like a date, so it is not parsed.
DATE = re.compile(r'"value" ?: ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z"', re.ASCII)


class Snapshot:
    """The flags and segments of a document, each as JSON text. It never changes, so threads can share it.

    etag: of the document, without its quotes. dates: those in constraints, in UTC.
    """

    def __init__(self, document: ClientDocument, revision: int) -> None:
        text = document.text.decode()
        content = json.loads(text)
        self.etag = document.etag.strip('"')
        self.event_id = revision % EVENT_IDS
        self.flags = {flag["name"]: as_json(flag) for flag in content["features"]}
        self.segments = {segment["id"]: as_json(segment) for segment in content["segments"]}
        self.dates = set(DATE.findall(text))
        # Clients choose queries, and those without flags take this much.
        self.size = 2 * len(text) + 4096

    @cached_property
    def gzipped(self) -> bytes:
        """Return the event with all flags, compressed."""
        return gzip.compress(self.changes_since(None).encode(), 6, mtime=0)

    def changes_since(self, old: "Snapshot | None") -> str:
        """Return the JSON text of the events that lead from a snapshot to this one. None: all flags."""
        if old is None:
            flags, segments = ",".join(self.flags.values()), ",".join(self.segments.values())
            event = f'{{"type":"hydration","eventId":{self.event_id},"features":[{flags}],"segments":[{segments}]}}'
            return f'{{"events":[{event}]}}'
        events = [
            f'{{"type":"{noun}-updated","eventId":{self.event_id},"{noun}":{text}}}'
            for noun, new, known in (("segment", self.segments, old.segments), ("feature", self.flags, old.flags))
            for key, text in new.items()
            if known.get(key) != text
        ]
        for name in old.flags.keys() - self.flags.keys():
            project = json.loads(old.flags[name])["project"]
            gone = {"type": "feature-removed", "eventId": self.event_id, "featureName": name, "project": project}
            events.append(as_json(gone))
        for id in old.segments.keys() - self.segments.keys():
            events.append(as_json({"type": "segment-removed", "eventId": self.event_id, "segmentId": id}))
        return f'{{"events":[{",".join(events)}]}}'


class Snapshots:
    """The snapshots that a worker keeps, by ETag. The one that was used least recently goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()
        self._lock = Lock()

    def of(self, document: ClientDocument, revision: int) -> Snapshot:
        """Return the snapshot of a document. revision: of its flags."""
        etag = document.etag.strip('"')
        with self._lock:
            found = self._kept.get(etag)
            if found is not None:
                self._kept.move_to_end(etag)
                return found
        made = Snapshot(document, revision)
        with self._lock:
            self._kept[etag] = made
            while len(self._kept) > 1 and sum(kept.size for kept in self._kept.values()) > MAX_BYTES:
                self._kept.popitem(last=False)
        return made

    def before(self, current: Snapshot, etags: Iterable[str]) -> Snapshot | None:
        """Return a kept snapshot of the same query with one of these ETags, or None. etags: without quotes."""
        # The first half of an ETag is the digest of the query. Flags of another one may be secret.
        query = current.etag.partition(":")[0] + ":"
        # Apache appends -gzip or -br to the ETag of a response that it compresses.
        names = {etag.removesuffix("-gzip").removesuffix("-br") for etag in etags if etag.startswith(query)}
        with self._lock:
            return next((self._kept[name] for name in names if name in self._kept), None)


def init_app(app: Flask) -> None:
    """Begin without snapshots."""
    app.extensions["client_snapshots"] = Snapshots()


def snapshots() -> Snapshots:
    """Return the kept snapshots of the current app."""
    return current_app.extensions["client_snapshots"]


def snapshot(
    token: ClientToken, environment: str, payload: Mapping[str, Any] | None = None
) -> tuple[Snapshot, timedelta | None]:
    """Return the flags of a token, and their age if they may not be current, else None. payload: as for document()."""
    document, age = client_features.document(token, environment, payload)
    return snapshots().of(document, token.revision), age
