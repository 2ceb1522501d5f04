"""Log one line of JSON on stdout for each request. It never contains a path, body, API token or password."""

import re
import time
import traceback
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
from flask import Flask, Response, g, request

from rules.log_lines import now, write


@dataclass
class LogEntry:
    """The start of a request (time.perf_counter()), and facts for its line.

    error_id: the id in the error body. error: an exception to log with its traceback. events, cut: the number of
    events in a stream, and why it was cut. more: a function that takes the duration in milliseconds and returns more
    facts.
    """

    began: float = field(default_factory=time.perf_counter)
    facts: dict[str, Any] = field(default_factory=dict)
    waits_for_close: bool = False

    def note(self, **facts: Any) -> None:
        """Add facts to the line."""
        self.facts.update(facts)


# The entry of the request that this thread handles.
entry: ContextVar[LogEntry] = ContextVar("entry")
REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def init_app(app: Flask) -> None:
    """Log the requests of this app."""
    app.before_request(begin)
    app.after_request(end)


def begin() -> None:
    """Record the start time and the request id. A valid X-Request-ID of the client is kept."""
    entry.set(LogEntry())
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if REQUEST_ID.fullmatch(given) else str(uuid4())


def end(response: Response) -> Response:
    """Add the request id to the response, and write the line."""
    response.headers["X-Request-ID"] = g.request_id
    own, line = entry.get(), first_part(response)
    if own.waits_for_close:
        # Read the request context before it ends. The response is closed later.
        response.call_on_close(lambda: write(complete(line, own)))
    else:
        write(complete(line, own))
    return response


def first_part(response: Response) -> dict[str, Any]:
    """Return the part of the line that is known when the response begins."""
    return {
        "time": now(),
        "requestId": g.request_id,
        "method": request.method if request.url_rule else None,
        # The rule, not the path: paths contain secrets of signup tokens.
        "route": request.url_rule.rule if request.url_rule else None,
        "status": response.status_code,
        "ms": None,
        "caller": str(g.caller) if g.get("caller") else None,
    }


def complete(line: dict[str, Any], entry: LogEntry) -> dict[str, Any]:
    """Return the line with the duration and the facts."""
    facts = entry.facts
    line["ms"] = round((time.perf_counter() - entry.began) * 1000, 1)
    if "error_id" in facts:
        line["errorId"] = facts["error_id"]
    line |= {fact: facts[fact] for fact in ("events", "cut") if fact in facts}
    if "error" in facts and (line["status"] >= 500 or "cut" in facts):
        line["error"] = frames(facts["error"])
    if "more" in facts:
        line |= facts["more"](line["ms"])
    return line


# The first characters of SQLSTATEs of an unavailable database: no connection, no resources, shutdown, read-only.
UNAVAILABLE = ("08", "53", "57P", "25006")


def frames(error: BaseException | None) -> str:
    """Return the types and tracebacks of an exception and its causes, without messages, which can quote the request."""
    parts: list[str] = []
    while error is not None:
        state = getattr(error, "sqlstate", None)
        name = f"{type(error).__module__}.{type(error).__qualname__}{f' (SQLSTATE {state})' if state else ''}"
        # Then no line of code is the cause. Without a SQLSTATE, libpq or the pool has no connection.
        if (state or "").startswith(UNAVAILABLE) or (state is None and isinstance(error, psycopg.OperationalError)):
            return "because of\n".join([*parts, name])
        stack = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)))
        parts.append(f"{name}\n{stack}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "because of\n".join(parts)
