"""A response of one event per line, read in batches. No database connection is held while the client reads."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from threading import BoundedSemaphore
from typing import Any

from flask import Flask, Response, current_app, request, stream_with_context
from werkzeug.exceptions import HTTPException

from blueprints import request_log
from blueprints.access import require
from sql import connection
from sql.event_stream import Stream, newest
from validators.errors import Unavailable

LINES = "application/x-ndjson"


def init_app(app: Flask) -> None:
    """Let each process stream to a few clients at once: a quarter of the requests that it works on, and one at least."""
    app.extensions["streams"] = BoundedSemaphore(max(1, app.config["THREADS"] // 4))


def wants_lines() -> bool:
    """Return whether the client prefers lines to one document. A client without a preference gets the document."""
    return request.accept_mimetypes.best_match(["application/json", LINES]) == LINES


def lines_response(filters: Mapping[str, Any], after: int, limit: int | None) -> Response:
    """Return a response with all events that match. Raise Unavailable if too many are being sent, or an open transaction holds it up."""
    if request.method == "HEAD":
        return Response(mimetype=LINES)
    free: BoundedSemaphore = current_app.extensions["streams"]
    # Our choice: each stream keeps asking the database for as long as its client reads, so their number is limited.
    if not free.acquire(blocking=False):
        raise Unavailable("Too many event streams are running. Try again later.")
    with ExitStack() as slot:
        slot.callback(free.release)
        until = newest(connection, after, current_app.config["WAIT_SECONDS"])
        stream = Stream(filters, after=after, until=until, limit=limit)
        # The first batch comes before the response begins, so that an error still has its status.
        response = Response(stream_with_context(sent(stream, read(stream))), mimetype=LINES)
        response.call_on_close(slot.pop_all().close)
    request_log.wait_for_close()
    return response


def read(stream: Stream) -> bytes:
    """Return the next batch."""
    with connection() as conn:
        # Our choice: each batch holds what the caller can see at that moment. A caller without access any more gets no further batch.
        actor = require(conn, listing=True)
        return stream.read(conn, actor.visible)


def sent(stream: Stream, text: bytes) -> Iterator[bytes]:
    """Yield the batches of a stream. An error cuts the connection, so that no client mistakes a part for the whole."""
    try:
        yield text
        while not stream.is_over:
            yield read(stream)
    except GeneratorExit:
        request_log.note(cut="client")
        raise
    except Exception as error:
        request_log.note(**({"cut": "refused"} if isinstance(error, HTTPException) else {"cut": "failed", "error": error}))
        # gunicorn takes this for a client that has gone: it closes the connection without the last chunk, and logs nothing.
        raise ConnectionResetError(errno.ECONNRESET, "the stream was cut") from None
    finally:
        request_log.note(events=stream.lines)
