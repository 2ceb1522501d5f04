"""Record the time of each statement of the current request."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Statements in order with their seconds, or None if the request is not timed.
statements: ContextVar[list[tuple[str, float]] | None] = ContextVar("statements", default=None)


@contextmanager
def of(statement: str) -> Iterator[None]:
    """Record the time of the statement in the block."""
    began = time.perf_counter()
    try:
        yield
    finally:
        if (recorded := statements.get()) is not None:
            recorded.append((statement, time.perf_counter() - began))
