"""An answer of events, a line each, for as long as it takes: batch by batch, and no connection is held while the client reads."""

import errno
import time
from collections.abc import Iterator
from threading import BoundedSemaphore

from flask import Flask, Response, current_app, request, stream_with_context
from werkzeug.exceptions import HTTPException

from blueprints import request_log, stopping
from blueprints.access import require
from sql import connection
from sql.event_stream import Held, Stream
from validators.errors import Unavailable

LINES = "application/x-ndjson"


class Stopping(Exception):
    """The process stops, and does not wait for this stream any more. Its client can go on from the last id that came."""


def init_app(app: Flask) -> None:
    """Let each process stream to a few clients at once: a quarter of the requests that it works on, and one at least."""
    app.extensions["streams"] = BoundedSemaphore(max(1, app.config["THREADS"] // 4))


def wants_lines() -> bool:
    """Whether the client would rather have lines than one document. Who has no preference gets the document."""
    return request.accept_mimetypes.best_match(["application/json", LINES]) == LINES


def lines_response(stream: Stream, first: bytes) -> Response:
    """An answer that begins with the first lines and goes on to the end of the stream; 503 when too many are under way."""
    if request.method == "HEAD":
        return Response(mimetype=LINES)
    free: BoundedSemaphore = current_app.extensions["streams"]
    # Our choice: each of them goes on asking the database for as long as its client reads, so there is a limit.
    if not free.acquire(blocking=False):
        raise Unavailable("Too many event streams are under way at this moment.")
    response = Response(stream_with_context(sent(stream, first)), mimetype=LINES)
    response.call_on_close(free.release)
    request_log.wait_for_close()
    return response


def sent(stream: Stream, text: bytes) -> Iterator[bytes]:
    """The batches of a stream. What goes wrong cuts the connection, so that no client takes a part for the whole."""
    try:
        if text:
            yield text
        while not stream.is_over:
            time.sleep(stream.pause)
            if stopping.is_over():
                raise Stopping
            with connection() as conn:
                # Our choice: each batch is what the caller may see by then; who may not search any more gets no more.
                actor = require(conn, listing=True)
                text = stream.read(conn, actor.visible)
            if text:
                yield text
    except GeneratorExit:
        request_log.note(cut="stopping" if stopping.is_begun() else "client")
        raise
    except Exception as error:
        request_log.note(**why(error))
        # What gunicorn takes for a client that has gone: it hangs up without the last chunk, and says nothing of its own.
        raise ConnectionResetError(errno.ECONNRESET, "the stream was cut") from None
    finally:
        request_log.note(events=stream.lines)


def why(error: Exception) -> dict[str, object]:
    """What the log says of a stream that did not come to its end."""
    if isinstance(error, Held):
        return {"cut": "held"}
    if isinstance(error, Stopping):
        return {"cut": "stopping"}
    if isinstance(error, HTTPException):
        return {"cut": "refused"}
    return {"cut": "failed", "error": error}
