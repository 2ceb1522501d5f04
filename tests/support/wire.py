"""What goes over the wire between the service and PostgreSQL, as libpq itself sees it: each statement, BEGIN and COMMIT
included.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile

from psycopg.pq import Trace

from sql.database import Connection


@dataclass
class Wire:
    """How often the service waited for PostgreSQL, the beginning of each statement, and how many bytes came back."""

    round_trips: int = 0
    received: int = 0
    statements: list[str] = field(default_factory=list)


@contextmanager
def watched(conn: Connection) -> Iterator[Wire]:
    """What goes over the wire of a connection while the block lasts, known after it.

    A statement is sent as on its first execution.
    """
    wire, threshold = Wire(), conn.prepare_threshold
    # The preparation of a statement that has come often enough is a round trip too, but once in the life of a
    # connection.
    conn.prepare_threshold = None
    with TemporaryFile() as trace:
        conn.pgconn.trace(trace.fileno())
        conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield wire
        finally:
            conn.pgconn.untrace()
            conn.prepare_threshold = threshold
        trace.seek(0)
        traced = trace.read().decode(errors="replace")
    # Whatever a round trip carried, the server ends it with this message.
    wire.round_trips = len(re.findall(r"^B\t\d+\tReadyForQuery\t", traced, re.MULTILINE))
    wire.received = sum(map(int, re.findall(r"^B\t(\d+)\t", traced, re.MULTILINE)))
    wire.statements = [
        " ".join(text.split())[:80]
        for text in re.findall(r'^F\t\d+\t(?:Query|Parse)\t(?: "\w*")? "([^"]*)', traced, re.MULTILINE)
    ]
