"""Adds to the log line of a slow request which statements took how long."""

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from flask import Flask, current_app

from serving import request_log
from sql.database import timing

# The slowest ones; the others make no request slow.
MOST_STATEMENTS = 10


def init_app(app: Flask) -> None:
    """Note the statements of each request of this app, unless SLOW_REQUEST_MS is 0."""
    if app.config["SLOW_REQUEST_MS"]:
        app.before_request(begin)


def begin() -> None:
    """Begin a new list of statements."""
    noted: list[tuple[str, float]] = []
    timing.statements.set(noted)
    request_log.note(more=partial(facts, noted, current_app.config["SLOW_REQUEST_MS"]))


def facts(noted: Iterable[tuple[str, float]], limit: int, ms: float) -> dict[str, Any]:
    """Return what the log line says more about a request that took this many milliseconds."""
    if ms <= limit:
        return {}
    totals: dict[str, tuple[int, float]] = {}
    for statement, seconds in noted:
        times, before = totals.get(statement, (0, 0.0))
        totals[statement] = times + 1, before + seconds
    slowest = sorted(totals.items(), key=lambda item: item[1][1], reverse=True)[:MOST_STATEMENTS]
    told = [{"statement": name_of(text), "times": times, "ms": round(seconds * 1000, 1)} for text, (times, seconds) in slowest]
    return {"slow": {"statements": told}}


def name_of(statement: str) -> str:
    """Return module.CONSTANT, or the first words of a statement that was put together. Neither contains values."""
    # A copy: another thread may be importing.
    for name, module in list(sys.modules.items()):
        if name.startswith("sql."):
            for constant, text in list(vars(module).items()):
                if constant.isupper() and text == statement:
                    return f"{name.removeprefix('sql.')}.{constant}"
    words = " ".join(statement.split())
    return words if len(words) <= 60 else f"{words[:60]}…"
