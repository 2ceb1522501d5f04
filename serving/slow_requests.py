"""Add the slowest statements to the log line of a slow request."""

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from flask import Flask, current_app

from serving import request_log
from sql.database import timing

# The maximum number of statements in the log line.
MAX_STATEMENTS = 10


def init_app(app: Flask) -> None:
    """Record the statements of each request, unless SLOW_REQUEST_MS is 0."""
    if app.config["SLOW_REQUEST_MS"]:
        app.before_request(begin)


def begin() -> None:
    """Begin a new list of statements."""
    recorded: list[tuple[str, float]] = []
    timing.statements.set(recorded)
    request_log.entry.get().note(more=partial(facts, recorded, current_app.config["SLOW_REQUEST_MS"]))


def facts(recorded: Iterable[tuple[str, float]], limit: int, ms: float) -> dict[str, Any]:
    """Return the facts for the log line of a request that took this many milliseconds."""
    if ms <= limit:
        return {}
    totals: dict[str, tuple[int, float]] = {}
    for statement, seconds in recorded:
        times, before = totals.get(statement, (0, 0.0))
        totals[statement] = times + 1, before + seconds
    slowest = sorted(totals.items(), key=lambda item: item[1][1], reverse=True)[:MAX_STATEMENTS]
    statements = [
        {"statement": name_of(text), "times": times, "ms": round(seconds * 1000, 1)}
        for text, (times, seconds) in slowest
    ]
    return {"slow": {"statements": statements}}


def name_of(statement: str) -> str:
    """Return module.CONSTANT, or the beginning of a statement that is no constant. Neither contains values."""
    # Iterate over a copy, because another thread can import a module at the same time.
    for name, module in list(sys.modules.items()):
        if name.startswith("sql."):
            for constant, text in list(vars(module).items()):
                if constant.isupper() and text == statement:
                    return f"{name.removeprefix('sql.')}.{constant}"
    words = " ".join(statement.split())
    return words if len(words) <= 60 else f"{words[:60]}…"
