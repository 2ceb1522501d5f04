"""Event streams: tell applications and web pages about changed flags at once.

The view of a stream sends the first event like any response. Then it hands the socket over to this module
(operations/worker.py), so that a stream occupies neither a thread nor a connection of gunicorn. One thread in each
worker asks the database for changes and writes to all sockets without waiting.
"""

import errno
import logging
import random
import resource
import select
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, current_app, request

from rules.client_access import ClientToken, as_token, client_access, environment_of
from rules.client_deltas import Snapshot, snapshot
from sql.client import tokens
from sql.database.connections import deadline

if TYPE_CHECKING:
    from serving.metrics import Meters

# Seconds between two looks at the database.
TICK = 0.25
# Seconds between two comments. SDKs and proxies close a silent stream after 30 to 60 s.
COMMENT_SECONDS = 10.0
COMMENT = b":\n\n"
# Seconds that a client has to read an event, and one more for each MiB.
READ_SECONDS = 15.0
# Milliseconds until the kernel ends the stream of a client that does not acknowledge data.
USER_TIMEOUT_MS = 20_000
# Descriptors of a worker without streams: of connections, and of files.
DESCRIPTORS = 900

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Stream:
    """An open stream.

    snapshot: what the client has. version: the revision and mark of its token. A page (is_page) is only told to read
    its flags again. That also happens when the version differs: it may have read other flags between two changes that
    cancel each other out.
    """

    is_chunked: bool
    is_page: bool
    digest: bytes
    snapshot: Snapshot
    version: tuple[int, int]
    sock: socket.socket = field(init=False)
    pending: bytes | memoryview = b""
    read_by: float = 0.0
    comment_at: float = field(default_factory=lambda: time.monotonic() + COMMENT_SECONDS * random.uniform(0.5, 1))

    def send(self, data: bytes) -> None:
        """Send data without waiting. What the client cannot take yet is pending. Raises OSError if it is gone.

        data: a chunk if the response is chunked.
        """
        now = time.monotonic()
        self.pending = data
        self.read_by = now + READ_SECONDS + len(data) / (1 << 20)
        self.comment_at = now + COMMENT_SECONDS
        self.send_pending()

    def send_pending(self) -> None:
        """Send more of what is pending. Raises OSError if the client is gone, or reads too slowly."""
        with suppress(BlockingIOError):
            # Slow clients share the bytes of an event.
            self.pending = memoryview(self.pending)[self.sock.send(self.pending) :] or b""
        if self.pending and time.monotonic() > self.read_by:
            raise TimeoutError("the client reads too slowly")


def utc_now() -> str:
    """Return the time in the form of Snapshot.dates, which can be compared as texts."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def framed(data: bytes) -> bytes:
    """Return data as a chunk of HTTP/1.1."""
    return b"%X\r\n%b\r\n" % (len(data), data)


class ClientStreams:
    """The streams of a worker."""

    def __init__(self, app: Flask, meters: "Meters | None") -> None:
        self.app = app
        self.meters = meters
        self.limit = places(app.config)
        self.streams: dict[int, Stream] = {}
        self._lock = Lock()
        self._poll: select.epoll | None = None
        self._is_closed = False
        self._failed = False
        self._looked_at = utc_now()

    def is_full(self, is_page: bool) -> bool:
        """Return whether there is no place for another stream. Web pages get half of the places: they are public."""
        # Our choice: a burst can open some streams more than the limit, because they count from their first event on.
        if len(self.streams) >= self.limit:
            return True
        return is_page and sum(stream.is_page for stream in list(self.streams.values())) >= self.limit // 2

    def add(self, stream: Stream, sock: socket.socket) -> None:
        """Take over a stream and its socket after the first event. The first stream starts the thread."""
        stream.sock = sock
        with suppress(OSError):
            # Not for Unix sockets.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
        sock.setblocking(False)
        with self._lock:
            if self._poll is None:
                poll = select.epoll()
                Thread(target=self._serve, args=(poll,), name="client-streams", daemon=True).start()
                self._poll = poll
            self._poll.register(sock, select.EPOLLRDHUP)
            self.streams[sock.fileno()] = stream
        if self._is_closed:
            self._end(stream)

    def close(self) -> None:
        """End all streams. The worker ends."""
        with self._lock:
            self._is_closed = True
        for stream in list(self.streams.values()):
            self._end(stream)

    def _serve(self, poll: select.epoll) -> None:
        """Serve streams until the last one ends. After an error, end all, so that their clients connect again."""
        self._failed = False
        try:
            while True:
                tick_at = time.monotonic() + TICK
                while (left := tick_at - time.monotonic()) > 0:
                    for number, _ in poll.poll(left):
                        # The client is gone.
                        self._drop(number)
                self._tick()
                with self._lock:
                    if self._is_closed or not self.streams:
                        self._poll = None
                        return
        except Exception:
            with self._lock:
                self._poll = None
            for stream in list(self.streams.values()):
                self._end(stream)
            raise
        finally:
            poll.close()

    def _tick(self) -> None:
        """Send what has changed, and comments."""
        streams = list(self.streams.values())
        current = self._current({stream.digest for stream in streams})
        before, self._looked_at = self._looked_at, utc_now()
        known = {stream.snapshot for stream in streams}
        dated = {old for old in known if any(before < date <= self._looked_at for date in old.dates)}
        # Each event is built once.
        events: dict[tuple[str, Snapshot, bool, bool], bytes] = {}
        pushes, now = 0, time.monotonic()
        for stream in streams:
            old, told = stream.snapshot, stream.version
            new, version = (old, told) if current is None else current.get(stream.digest, (None, told))
            try:
                if stream.pending:
                    stream.send_pending()
                elif new is None:
                    # The token was deleted, or has expired.
                    self._end(stream)
                elif new.etag != old.etag or (stream.is_page and (version != told or new in dated)):
                    key = old.etag, new, stream.is_page, stream.is_chunked
                    if key not in events:
                        event = page_event(new) if stream.is_page else sdk_event("unleash-updated", new, old)
                        events[key] = framed(event) if stream.is_chunked else event
                    stream.snapshot, stream.version = new, version
                    stream.send(events[key])
                    pushes += 1
                elif now > stream.comment_at:
                    stream.send(framed(COMMENT) if stream.is_chunked else COMMENT)
            except OSError:
                self._drop(stream.sock.fileno())
        if self.meters is not None:
            self.meters.count_streams(len(self.streams), pushes)

    def _current(self, digests: set[bytes]) -> Mapping[bytes, tuple[Snapshot | None, tuple[int, int]]] | None:
        """Return the flags of the valid tokens among these and their versions, or None without the database."""
        try:
            with self.app.app_context():
                access = client_access()
                with access.connection() as conn, deadline(conn, access.wait):
                    found = [as_token(row, 0.0) for row in tokens.list_by_digest(conn, list(digests))]
                current = {
                    token.digest: (snapshot(token, environment_of(token, None))[0], token.version) for token in found
                }
        except Exception as error:
            current = None
            if not self._failed:
                log.warning("Streams wait, because the flags cannot be read: %s", type(error).__name__)
        self._failed = current is None
        return current

    def _end(self, stream: Stream) -> None:
        """End a stream, so that its client connects again."""
        with suppress(OSError):
            if stream.is_chunked and not stream.pending:
                stream.sock.send(framed(b""))
        self._drop(stream.sock.fileno())

    def _drop(self, number: int) -> None:
        """Close the socket of a stream."""
        with self._lock:
            stream = self.streams.pop(number, None)
            if stream is not None:
                stream.sock.close()


def places(config: Mapping[str, Any]) -> int:
    """Return the maximum number of streams of a worker: CLIENT_STREAMS, or fewer if it cannot open as many files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(0, min(config["CLIENT_STREAMS"], files - DESCRIPTORS - config["DATABASE_POOL_SIZE"]))


def init_app(app: Flask, meters: "Meters | None") -> None:
    """Begin without streams."""
    app.extensions["client_streams"] = ClientStreams(app, meters)


def sdk_event(name: str, new: Snapshot, old: Snapshot | None) -> bytes:
    """Return an event for SDKs with what has changed. old: None for all flags."""
    return f"event: {name}\nid: {new.etag}\ndata: {new.changes_since(old)}\n\n".encode()


def page_event(new: Snapshot) -> bytes:
    """Return an event that tells a web page to read its flags again."""
    return f'id: {new.etag}\ndata: {{"type":"refetchEvaluation","etag":"{new.etag}"}}\n\n'.encode()


def hand_over(sock: Any, first: bytes, stream: Stream) -> Iterator[bytes]:
    """Yield the first event. Then leave the socket to the stream, without the last chunk of the response."""
    yield first
    sock.stream = stream
    # gunicorn treats this like a disconnected client.
    raise ConnectionResetError(errno.ECONNRESET, "the stream continues without gunicorn")


def stream_response(token: ClientToken, new: Snapshot, first: bytes, if_full: bytes, *, is_page: bool) -> Response:
    """Return an event stream.

    new: what the client has after the first event. if_full: the whole response if there is no place, or if another
    server than gunicorn with our worker serves the application.
    """
    streams: ClientStreams = current_app.extensions["client_streams"]
    sock = request.environ.get("gunicorn.socket")
    # Without a Content-Length.
    body: Iterator[bytes] | bytes = iter(())
    if request.method != "HEAD":
        if not hasattr(sock, "stream") or streams.is_full(is_page):
            if streams.meters is not None:
                streams.meters.streams_refused.inc()
            # An iterator, so that the head is the same with and without a place.
            body = iter((if_full,))
        else:
            is_chunked = request.environ["SERVER_PROTOCOL"] != "HTTP/1.0"
            body = hand_over(sock, first, Stream(is_chunked, is_page, token.digest, new, token.version))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Response(body, mimetype="text/event-stream", headers=headers)
