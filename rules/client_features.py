"""The flags of applications, kept in each worker as compressed JSON until they change."""

import gzip
import json
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import Any

from flask import Flask, current_app
from werkzeug.exceptions import NotFound

from evaluation.document import Document
from rules.client_access import UNREACHABLE, ClientToken, client_access
from rules.shared_calls import SharedCalls
from sql.client import features
from sql.database import as_json
from validators.catalog.constraints import with_utc_date
from validators.errors import Unavailable

# Bytes of all documents that a worker keeps. The one that was used least recently goes first.
MAX_BYTES = 64 * 1024 * 1024
# The maximum number of them. Clients choose queries, and those without flags take little of MAX_BYTES, but up to 30 kB.
MAX_DOCUMENTS = 1_000
OTHER_DATE = re.compile(r'"value" ?: ?"(?!\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")\d{4}-\d\d-\d\d')
# A compiled document takes about this many times the bytes of its text.
COMPILED_FACTOR = 8


@dataclass(frozen=True)
class ClientQuery:
    """Which flags an application gets. projects: None for all. inline: without a list of segments."""

    environment: str
    projects: tuple[str, ...] | None = None
    prefix: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    inline: bool = False

    @cached_property
    def text(self) -> str:
        """Return the query as JSON, for the document."""
        query: dict[str, Any] = {"environment": self.environment, "inlineSegmentConstraints": self.inline}
        if self.projects is not None:
            query["project"] = self.projects
        if self.prefix:
            query["namePrefix"] = self.prefix
        if self.tags:
            query["tag"] = self.tags
        return as_json(query)

    @cached_property
    def digest(self) -> str:
        """Return 12 hexadecimal characters that differ for each query."""
        return blake2b(self.text.encode(), digest_size=6).hexdigest()


class ClientDocument:
    """The flags of a query at one time. It never changes, so threads can share it.

    etag: a strong ETag, with its quotes. gzipped: the JSON text, compressed.
    """

    def __init__(self, etag: str, text: bytes, previous: "ClientDocument | None" = None) -> None:
        self.etag = etag
        self.gzipped = gzip.compress(text, 6, mtime=0)
        self._length = len(text)
        self._lock = Lock()
        self._flags: Document | None = None
        # What was compiled last, so that only flags that have changed are compiled again.
        self._compiled_before = previous and (previous._flags or previous._compiled_before)

    @property
    def text(self) -> bytes:
        """Return the JSON text."""
        return gzip.decompress(self.gzipped)

    @property
    def flags(self) -> Document:
        """Return the flags to evaluate. They are compiled at the first use."""
        with self._lock:
            if self._flags is None:
                self._flags = Document(json.loads(self.text), self._compiled_before)
                self._compiled_before = None
            return self._flags

    @property
    def size(self) -> int:
        """Return about how many bytes the document takes."""
        compiled = (self._flags is not None) + (self._compiled_before is not None)
        return len(self.gzipped) + compiled * COMPILED_FACTOR * self._length


@dataclass
class KeptDocument:
    """A document, the revision and mark that it was read for, and when it was last known to be current."""

    document: ClientDocument
    version: tuple[int, int]
    current_at: float


class ClientDocuments:
    """The documents that a worker keeps."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, KeptDocument] = OrderedDict()
        self._lock = Lock()
        self._calls: SharedCalls[ClientDocument] = SharedCalls()

    def get(self, token: ClientToken, query: ClientQuery) -> tuple[ClientDocument, timedelta | None]:
        """Return the flags of a query and None. Without the database, return the last known flags and their age."""
        # Tokens count the changes of their own environment and projects, so revisions of different ones do not compare.
        key = query, token.environment, token.projects
        version = token.version
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if token.is_stale:
            return stale(kept)
        if kept is not None and kept.version == version:
            kept.current_at = time.monotonic()
            return kept.document, None
        try:
            document = self._calls.call(
                (key, version),
                lambda: self._read(key, query, version),
                since=0.0,
                timeout=client_access().wait,
            )
        except UNREACHABLE:
            if kept is None:
                raise
            return stale(kept)
        return document, None

    def _read(self, key: Any, query: ClientQuery, version: tuple[int, int]) -> ClientDocument:
        began = time.monotonic()
        with client_access().connection() as conn:
            flags, segments = features.read(
                conn, query.environment, query.projects, prefix=query.prefix, tags=query.tags, inline=query.inline
            )
        flags, segments = with_utc_dates(flags), with_utc_dates(segments)
        content = f'"features":{flags}' + ("" if query.inline else f',"segments":{segments}')
        etag = f'"{query.digest}:{blake2b(content.encode(), digest_size=8).hexdigest()}"'
        kept = self._kept.get(key)
        if kept is not None and kept.document.etag == etag:
            document = kept.document
        else:
            meta = as_json({"revisionId": version[0], "etag": etag, "queryHash": query.digest})
            text = f'{{"version":2,{content},"query":{query.text},"meta":{meta}}}'
            document = ClientDocument(etag, text.encode(), kept and kept.document)
        with self._lock:
            self._kept[key] = KeptDocument(document, version, began)
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_DOCUMENTS or (len(self._kept) > 1 and self._size > MAX_BYTES):
                self._kept.popitem(last=False)
        return document

    @property
    def _size(self) -> int:
        return sum(kept.document.size for kept in self._kept.values())


def stale(kept: KeptDocument | None) -> tuple[ClientDocument, timedelta]:
    """Return a document that may not be current, and its age. Raise 503 if it is too old or missing."""
    access = client_access()
    age = 0.0 if kept is None else time.monotonic() - kept.current_at
    if kept is None or age > access.stale:
        raise Unavailable
    access.warn(age)
    return kept.document, timedelta(seconds=age)


def init_app(app: Flask) -> None:
    """Begin without documents."""
    app.extensions["client_documents"] = ClientDocuments()


def document(
    token: ClientToken, environment: str, payload: Mapping[str, Any] | None = None, *, inline: bool = False
) -> tuple[ClientDocument, timedelta | None]:
    """Return the flags of a token in an environment, and their age if they may not be current, else None.

    payload: which of its flags, as validators.client.features.ClientFeatures loads it. None: all. inline: the
    constraints of segments are among those of the strategies.
    """
    payload = payload or {}
    # Our choice: a token for certain projects gets the flags of all of them, whatever the query says.
    projects = token.projects or tuple(sorted({project for project in payload.get("project", ()) if project})) or None
    tags = tuple(sorted(set(payload.get("tag", ()))))
    query = ClientQuery(environment, projects, payload.get("namePrefix", ""), tags, inline)
    return current_app.extensions["client_documents"].get(token, query)


def feature(token: ClientToken, environment: str, name: str, *, inline: bool = False) -> str:
    """Return one flag of a token as JSON text. Raise 404 if there is no such flag."""
    with client_access().connection() as conn:
        flags, _ = features.read(conn, environment, token.projects, name=name, inline=inline)
    if flags == "[]":
        raise NotFound("The token has no flag with that name.")
    return with_utc_dates(flags)[1:-1]


def with_utc_dates(text: str) -> str:
    """Return flags or segments with dates that all SDKs can read. Versions before 0.3.0 have stored other forms too."""
    return as_json(json.loads(text, object_hook=with_utc_date)) if OTHER_DATE.search(text) else text
