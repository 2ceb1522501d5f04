"""Stream events as lines of JSON, read in batches. No database connection is held while the client reads."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from threading import BoundedSemaphore
from typing import Any

from flask import Flask, Response, current_app, request, stream_with_context
from werkzeug.exceptions import HTTPException

from rules.access import require
from serving import request_log
from serving.caller_limit import account
from sql.database import connection
from sql.event_stream import Stream, newest
from validators.errors import RateLimited, Unavailable

LINES = "application/x-ndjson"


def init_app(app: Flask) -> None:
    """Limit the streams of each process to a quarter of its THREADS, and those of one caller to half of that."""
    limit = max(1, app.config["THREADS"] // 4)
    app.extensions["streams"] = BoundedSemaphore(limit)
    app.extensions["streams_of"] = lru_cache(10_000)(lambda _caller: BoundedSemaphore(max(1, limit // 2)))


def wants_lines() -> bool:
    """Return whether the client prefers lines to one document. The default is the document."""
    return request.accept_mimetypes.best_match(["application/json", LINES]) == LINES


def lines_response(filters: Mapping[str, Any], after: int, limit: int | None) -> Response:
    """Return a response with all events that match.

    Raises RateLimited if the caller has too many streams. Raises Unavailable if the process has too many, or if an open
    transaction does not end.
    """
    if request.method == "HEAD":
        return Response(mimetype=LINES)
    # Our choice: the number of streams is limited, because each one occupies a thread for as long as its client reads.
    of_caller: BoundedSemaphore = current_app.extensions["streams_of"](account())
    of_process: BoundedSemaphore = current_app.extensions["streams"]
    with ExitStack() as stack:
        if not of_caller.acquire(blocking=False):
            raise RateLimited("You have too many open event streams. Close one of them first.", 1)
        stack.callback(of_caller.release)
        if not of_process.acquire(blocking=False):
            raise Unavailable("Too many event streams are open. Try again later.")
        stack.callback(of_process.release)
        until = newest(connection, after, current_app.config["WAIT_SECONDS"])
        stream = Stream(filters, after=after, until=until, limit=limit)
        entry = request_log.entry.get()
        # The first batch is read before the response begins, so that an error still gets its status.
        response = Response(stream_with_context(batches(stream, read(stream), entry)), mimetype=LINES)
        # With this header, nginx sends the lines on at once. It buffers all other responses, so that slow clients
        # occupy no threads.
        response.headers["X-Accel-Buffering"] = "no"
        response.call_on_close(stack.pop_all().close)
    entry.waits_for_close = True
    return response


def read(stream: Stream) -> bytes:
    """Return the next batch of lines."""
    with connection() as conn:
        # Our choice: access is checked for each batch. A caller who loses access gets no further batch.
        actor = require(conn, list_projects=True)
        return stream.read(conn, actor.visible)


def batches(stream: Stream, first: bytes, entry: request_log.LogEntry) -> Iterator[bytes]:
    """Yield the batches of a stream. After an error, close the connection, so that the client notices."""
    try:
        yield first
        while not stream.is_over:
            yield read(stream)
    except GeneratorExit:
        entry.note(cut="client")
        raise
    except Exception as error:
        is_refusal = isinstance(error, HTTPException)
        entry.note(**({"cut": "refused"} if is_refusal else {"cut": "failed", "error": error}))
        # gunicorn treats this like a disconnected client: it closes the connection without the last chunk, and logs
        # nothing.
        raise ConnectionResetError(errno.ECONNRESET, "the stream was cut") from None
    finally:
        entry.note(events=stream.lines)
