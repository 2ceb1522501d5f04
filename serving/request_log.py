"""One JSON line on stdout for each request: what was asked, by whom, and how it ended. Never a raw path, a body, a key or a password."""

import json
import re
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from flask import Flask, Response, g, request

REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def init_app(app: Flask) -> None:
    """Write the line of each request of this app."""
    app.before_request(begin)
    app.after_request(end)


def begin() -> None:
    """Start the clock. A caller's own request id is kept when it is of sane form."""
    g.began = time.perf_counter()
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if REQUEST_ID.fullmatch(given) else str(uuid4())


def note(**facts: Any) -> None:
    """Have the line say more: error_id; error, an exception whose traceback belongs there; of a stream, events and why it was cut.

    more: what gives further facts when it is told how many milliseconds the request took.
    """
    g.setdefault("noted", {}).update(facts)


def wait_for_close() -> None:
    """Have the line written when the last byte of the answer has been sent, not before the first."""
    g.waits_for_close = True


def end(response: Response) -> Response:
    """Send the request id back, and write the line."""
    response.headers["X-Request-ID"] = g.request_id
    line, began, noted = begun_line(response), g.began, g.setdefault("noted", {})
    if g.get("waits_for_close"):
        # By then there is no request any more to look at.
        response.call_on_close(lambda: write(ended_line(line, began, noted)))
    else:
        write(ended_line(line, began, noted))
    return response


def begun_line(response: Response) -> dict[str, Any]:
    """What the line says as soon as there is an answer."""
    return {
        "time": now(),
        "requestId": g.request_id,
        "method": request.method if request.url_rule else None,
        # The rule, not the path: paths hold the secrets of signup tokens.
        "route": request.url_rule.rule if request.url_rule else None,
        "status": response.status_code,
        "ms": None,
        "caller": g.get("caller"),
    }


def ended_line(line: dict[str, Any], began: float, noted: Mapping[str, Any]) -> dict[str, Any]:
    """The line with how long it took, and what was noted."""
    line["ms"] = round((time.perf_counter() - began) * 1000, 1)
    if "error_id" in noted:
        line["errorId"] = noted["error_id"]
    line |= {fact: noted[fact] for fact in ("events", "cut") if fact in noted}
    if "error" in noted and (line["status"] >= 500 or "cut" in noted):
        line["error"] = frames(noted["error"])
    if "more" in noted:
        line |= noted["more"](line["ms"])
    return line


def now() -> str:
    """The present instant as the API writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def frames(error: BaseException | None) -> str:
    """Where an exception came from, and those that led to it: the types and the lines of code. Their texts may quote what was sent."""
    told: list[str] = []
    while error is not None:
        stack = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)))
        state = getattr(error, "sqlstate", None)
        told.append(f"{type(error).__module__}.{type(error).__qualname__}{f' (SQLSTATE {state})' if state else ''}\n{stack}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "because of\n".join(told)


def write(line: dict[str, Any]) -> None:
    """One line in ASCII, whatever stdout is set to, and written at once, so that those of several threads and processes do not mix."""
    # The change has been made: a reader that has gone or a disk that is full must not turn its answer into an error.
    with suppress(OSError):
        print(json.dumps(line) + "\n", end="", flush=True)
