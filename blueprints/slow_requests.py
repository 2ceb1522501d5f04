"""What the log line of a slow request says more: which statements took how long, and how long it waited before."""

from functools import partial
from typing import Any

from flask import Flask, current_app

from blueprints import request_log
from sql import timing
from sql.timing import Spent

# The slowest of them; the others make no request slow.
MOST_STATEMENTS = 10


def init_app(app: Flask) -> None:
    """Watch the requests of this app, unless SLOW_REQUEST_MS is 0."""
    if app.config["SLOW_REQUEST_MS"]:
        app.before_request(begin)


def begin() -> None:
    """Count what this request spends."""
    request_log.note(more=partial(told, timing.begin(), current_app.config["SLOW_REQUEST_MS"]))


def told(spent: Spent, limit: int, ms: float) -> dict[str, Any]:
    """What the line says more of a request that took so many milliseconds."""
    if ms <= limit:
        return {}
    slowest = sorted(spent.statements.items(), key=lambda item: item[1][1], reverse=True)[:MOST_STATEMENTS]
    statements = [
        {"statement": timing.name_of(statement), "times": times, "ms": milliseconds(seconds)} for statement, (times, seconds) in slowest
    ]
    waits = {"bodyMs": spent.body, "turnMs": spent.turn, "connectionMs": spent.connection}
    return {"slow": {**{name: milliseconds(seconds) for name, seconds in waits.items()}, "statements": statements}}


def milliseconds(seconds: float) -> float:
    """Seconds in milliseconds, as the log writes them."""
    return round(seconds * 1000, 1)
