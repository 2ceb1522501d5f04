"""The floor: what pgbench reaches with the very statements that the service sends, on as many connections."""

import contextlib
import io
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast

from flask import Flask
from psycopg import Connection
from psycopg.rows import DictRow

from app import create_app
from bench.client import CONNECTIONS
from bench.postgres import program
from bench.shapes import Request
from sql import connect, connect_options, database, rows

# One probe of an index, which no request can do without.
TRIVIAL = ("SELECT name FROM projects WHERE id = %(id)s", {"id": "default"})
PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")

Statement = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Floor:
    """What pgbench reached. latency: the mean at one connection, in milliseconds; rate: rounds a second over 8 connections."""

    latency: float | None
    rate: float | None


class Listener(Connection[DictRow]):
    """A connection that writes down what is asked of it."""

    heard: list[Statement]
    prepares: bool

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        """Write it down, and ask."""
        text = query if isinstance(query, str) else query.as_string(self)
        self.heard.append((text, dict(params or {})))
        self.prepares = self.prepares and kwargs.get("prepare") is not False
        return super().execute(cast(LiteralString, query), params, **kwargs)


class Service:
    """The service in this process, on one connection, to hear which statements a request takes."""

    def __init__(self, url: str) -> None:
        self.app: Flask = create_app({"DATABASE_URL": url})
        options: Any = connect_options(url)
        self.conn = Listener.connect(url, **options)
        self.conn.heard, self.conn.prepares = [], True

    def statements(self, request: Request) -> list[Statement]:
        """Those of the second time: the first one marks its caller as seen."""
        with self.app.app_context(), database().pinned(self.conn), contextlib.redirect_stdout(io.StringIO()):
            for _ in range(2):
                self.conn.heard, self.conn.prepares = [], True
                self.app.test_client().open(request.path, method=request.method, headers=request.headers, data=request.body)
        return list(self.conn.heard)

    @property
    def prepares(self) -> bool:
        """Whether each of them was to be planned once for all values."""
        return self.conn.prepares

    def close(self) -> None:
        """Hang up."""
        self.conn.close()


def literal(value: Any) -> str | None:
    """A parameter as PostgreSQL reads it; None: NULL."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, list | tuple | set | frozenset):
        quoted = ('"' + str(one).replace("\\", r"\\").replace('"', r"\"") + '"' if one is not None else "NULL" for one in value)
        return "{" + ",".join(quoted) + "}"
    return str(value)


def as_script(statements: Sequence[Statement]) -> tuple[str, dict[str, str]]:
    """The statements as pgbench reads them, and its variables. One that is not defined is NULL there."""
    texts: list[str] = []
    variables: dict[str, str] = {}
    for number, (text, params) in enumerate(statements):

        def name(match: re.Match[str], prefix: str = f"s{number}_", params: Mapping[str, Any] = params) -> str:
            # Of its variables, none can be empty.
            return "%" if not match[1] else "''" if params[match[1]] == "" else f":{prefix}{match[1]}"

        texts.append(PLACEHOLDER.sub(name, text).strip() + ";\n")
        known = {f"s{number}_{key}": literal(value) for key, value in params.items()}
        variables |= {key: value for key, value in known.items() if value}
    return "".join(texts), variables


OURS = """
    SELECT name, setting
      FROM pg_settings
     WHERE name IN ('TimeZone', 'jit', 'statement_timeout', 'plan_cache_mode', 'enable_seqscan', 'work_mem', 'random_page_cost')
"""


def session_options(url: str) -> str:
    """What a session of the service is set to, for sessions of pgbench."""
    with connect(url) as conn:
        return " ".join(f"-c {row['name']}={row['setting']}" for row in rows(conn, OURS))


def pgbench(
    url: str,
    scripts: Sequence[str],
    variables: Mapping[str, str],
    *,
    clients: int,
    each: int | None = None,
    seconds: int | None = None,
    prepares: bool = True,
) -> tuple[float, float] | None:
    """Mean latency in milliseconds and rounds a second, over so many rounds of each client, or so long; None: it cannot be done here."""
    command = program("pgbench")
    if command is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        files: list[str] = []
        for number, text in enumerate(scripts):
            path = Path(folder, f"{number}.sql")
            path.write_text(text, encoding="utf-8")
            files += ["-f", str(path)]
        length = ["-T", str(seconds)] if seconds else ["-t", str(each)]
        given = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        arguments = [
            "-n",
            "-M",
            "prepared" if prepares else "extended",
            "-c",
            str(clients),
            "-j",
            str(min(2, clients)),
            *length,
            *files,
            *given,
            url,
        ]
        environment = os.environ | {"PGOPTIONS": session_options(url)}
        done = subprocess.run([command, *arguments], env=environment, capture_output=True, text=True, timeout=600)
    latency = re.search(r"latency average = ([\d.]+) ms", done.stdout)
    rate = re.search(r"tps = ([\d.]+)", done.stdout)
    if done.returncode != 0 or not latency or not rate:
        raise RuntimeError(f"pgbench failed: {done.stderr.strip()[-500:]}")
    return float(latency[1]), float(rate[1])


def floor(url: str, statements: Sequence[Statement], seconds: float, expected: float, *, prepares: bool = True) -> Floor:
    """The floor of these statements. seconds: how long each figure may take; expected: how long a round takes about, in milliseconds.

    prepares: whether they are prepared, as the service prepares them.
    """
    text, variables = as_script(statements)
    rounds = int(min(20_000, max(3, seconds * 1000 / expected)))
    alone = pgbench(url, [text], variables, clients=1, each=rounds, prepares=prepares)
    if alone is None:
        return Floor(None, None)
    rounds = int(min(20_000, max(2, seconds * 1000 / max(alone[0], 0.02) / CONNECTIONS * 2)))
    full = pgbench(url, [text], variables, clients=CONNECTIONS, each=rounds, prepares=prepares)
    return Floor(alone[0], full and full[1])


@contextlib.contextmanager
def listening(url: str) -> Iterator[Service]:
    """The service in this process, while the block lasts."""
    service = Service(url)
    try:
        yield service
    finally:
        service.close()
