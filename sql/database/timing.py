"""How long each statement of the current request took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Statements in order, each with its seconds. None: the request is not timed.
statements: ContextVar[list[tuple[str, float]] | None] = ContextVar("statements", default=None)


@contextmanager
def of(statement: str) -> Iterator[None]:
    """Note how long the statement in the block takes."""
    began = time.perf_counter()
    try:
        yield
    finally:
        if (noted := statements.get()) is not None:
            noted.append((statement, time.perf_counter() - began))
