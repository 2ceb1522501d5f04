"""How long the statements of a request took, and its waits: counted in the thread that works on it, for less than a microsecond each."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Spent:
    """What a request has spent, in seconds. statements: by their text, how often and how long."""

    statements: dict[str, tuple[int, float]] = field(default_factory=dict)
    body: float = 0.0
    turn: float = 0.0
    connection: float = 0.0


class Current(threading.local):
    """What the request of this thread has spent; None: nobody asks."""

    spent: Spent | None = None


_current = Current()


def begin() -> Spent:
    """What is counted in this thread from now on."""
    _current.spent = spent = Spent()
    return spent


def add(statement: str, seconds: float) -> None:
    """Count a statement."""
    spent = _current.spent
    if spent is not None:
        times, before = spent.statements.get(statement, (0, 0.0))
        spent.statements[statement] = (times + 1, before + seconds)


@contextmanager
def of(statement: str) -> Iterator[None]:
    """Count a statement that is sent and read in the block. Costs microseconds: for those that give or take many rows."""
    began = time.perf_counter()
    try:
        yield
    finally:
        add(statement, time.perf_counter() - began)


def waited_for_body(seconds: float) -> None:
    """Count how long it took until the client had sent all of the request."""
    if _current.spent is not None:
        _current.spent.body += seconds


def waited_for_turn(seconds: float) -> None:
    """Count how long the request waited before it was worked on."""
    if _current.spent is not None:
        _current.spent.turn += seconds


def waited_for_connection(seconds: float) -> None:
    """Count how long it waited for a connection to the database."""
    if _current.spent is not None:
        _current.spent.connection += seconds


def name_of(statement: str) -> str:
    """The name of a statement: module.CONSTANT; of one that was put together, its first words. Neither has values in it."""
    # Copied at once: another thread may be importing.
    for name, module in list(sys.modules.items()):
        if name.startswith("sql."):
            for constant, text in list(vars(module).items()):
                if constant.isupper() and text == statement:
                    return f"{name.removeprefix('sql.')}.{constant}"
    words = " ".join(statement.split())
    return words if len(words) <= 60 else f"{words[:60]}…"
