"""Clients: one with a stop watch, several at once, and wrk."""

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from itertools import chain, repeat
from pathlib import Path
from threading import Lock

from bench.shapes import Request

CONNECTIONS = 8
# The service gives a statement half a minute.
TIMEOUT = 40
AT_LEAST = 5
# A shape that takes longer is not asked for more often than this, nor over several connections, in seconds.
SLOW = 4.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values is, between the two that are nearest."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass(frozen=True)
class Latency:
    """Of requests one after the other. p50, p95 in milliseconds; size: bytes of the last answer; status: the worst."""

    p50: float
    p95: float
    requests: int
    size: int
    status: int


class Client:
    """One connection that is kept alive."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def ask(self, request: Request) -> tuple[int, float, int]:
        """Status, seconds, and bytes of the answer's body. A connection that the server has hung up is opened again."""
        began = time.perf_counter()
        try:
            status, size = self._send(request)
        except (HTTPException, ConnectionError):
            self._connection.close()
            began = time.perf_counter()
            status, size = self._send(request)
        return status, time.perf_counter() - began, size

    def _send(self, request: Request) -> tuple[int, int]:
        self._connection.request(request.method, request.path, request.body, request.headers)
        response = self._connection.getresponse()
        return response.status, len(response.read())

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def latency(port: int, requests: Iterable[Request], seconds: float, *, warm: int = 0) -> Latency:
    """Ask one after the other for so long, and at least a few times. warm: how many are asked before the clock runs."""
    client, asked = Client(port), iter(requests)
    took: list[float] = []
    status, size = 0, 0
    for request in take(asked, warm):
        _, spent, _ = client.ask(request)
        if spent > SLOW:
            break
    deadline = time.monotonic() + seconds
    for request in asked:
        code, spent, size = client.ask(request)
        status = max(status, code)
        took.append(spent * 1000)
        if time.monotonic() > deadline and (len(took) >= AT_LEAST or sum(took) > SLOW * 1000):
            break
    client.close()
    if not took:
        raise RuntimeError("there was nothing to ask for")
    return Latency(percentile(took, 0.5), percentile(took, 0.95), len(took), size, status)


def take(requests: Iterator[Request], number: int) -> Iterator[Request]:
    """The first few."""
    return (request for request, _ in zip(requests, range(number), strict=False))


def again(request: Request) -> Iterator[Request]:
    """The same request for ever."""
    return repeat(request)


def together(port: int, requests: Iterable[Request], seconds: float, connections: int = CONNECTIONS) -> tuple[float, int]:
    """Requests a second over several connections of this process, each request asked once; and the worst status."""
    asked, lock = iter(requests), Lock()
    deadline = time.monotonic() + seconds

    def work(_: int) -> tuple[int, int]:
        client, done, worst = Client(port), 0, 0
        while time.monotonic() < deadline:
            with lock:
                request = next(asked, None)
            if request is None:
                break
            worst = max(worst, client.ask(request)[0])
            done += 1
        client.close()
        return done, worst

    began = time.monotonic()
    with ThreadPoolExecutor(connections) as pool:
        ended = list(pool.map(work, range(connections)))
    return sum(done for done, _ in ended) / (time.monotonic() - began), max(worst for _, worst in ended)


# In turn, as fast as they are answered.
SCRIPT = """
local requests, number = {%s}, 0
request = function()
  number = number %% #requests + 1
  return requests[number]()
end
"""
ONE = "function() return wrk.format(%s, %s, {%s}, %s) end"


def script(requests: Iterable[Request]) -> str:
    """The program by which wrk sends these requests in turn."""
    formats: list[str] = []
    for request in requests:
        headers = ", ".join(f"[{json.dumps(name)}] = {json.dumps(text)}" for name, text in request.headers.items())
        body = "nil" if request.body is None else json.dumps(request.body)
        formats.append(ONE % (json.dumps(request.method), json.dumps(request.path), headers, body))
    return SCRIPT % ", ".join(formats)


class Wrk:
    """wrk over several connections, which runs beside us inside the block. rate, errors: what it found, when the block has ended."""

    def __init__(self, port: int, requests: Iterable[Request], seconds: float, connections: int = CONNECTIONS) -> None:
        self.rate: float | None = None
        self.errors = 0
        self._file = tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False)  # noqa: SIM115
        with self._file as file:
            file.write(script(requests))
        shape = (f"-c{connections}", "-t1", f"-d{max(1, round(seconds))}s", f"--timeout={TIMEOUT}s")
        self._command = ["wrk", *shape, "-s", self._file.name, f"http://127.0.0.1:{port}"]

    def __enter__(self) -> "Wrk":
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        said, _errors = self._process.communicate(timeout=3600)
        Path(self._file.name).unlink()
        rate, errors = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"Non-2xx or 3xx responses: (\d+)", said)
        self.rate = float(rate[1]) if rate and float(rate[1]) else None
        self.errors = int(errors[1]) if errors else 0

    @property
    def is_running(self) -> bool:
        """Whether it still asks."""
        return self._process.poll() is None


def has_wrk() -> bool:
    """Whether wrk is installed."""
    return shutil.which("wrk") is not None


def rate(port: int, request: Request, seconds: float) -> float | None:
    """Requests a second over 8 connections; None: there is no wrk, or an answer was an error."""
    if not has_wrk():
        return None
    with Wrk(port, [request], seconds) as wrk:
        pass
    return wrk.rate if not wrk.errors else None


def one_after_another(requests: Sequence[Request]) -> Iterator[Request]:
    """The requests in turn, for ever."""
    return chain.from_iterable(repeat(requests))
