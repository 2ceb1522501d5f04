"""Measure event streams of SDKs, and write docs/development/performance-streams.md.

SCALE, BENCH_DATABASE_URL and OUT: as in __main__.py.
"""

import resource
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat
from statistics import median
from typing import Self

from bench.applications import CLIENT, DOCUMENT, HERE, administrator, current_poller, flip
from bench.checkout import Checkout, Client, commit, database_server, machine
from bench.processors import Processors, share
from bench.results import options, short, write

OVERVIEW = "/api/admin/projects/p1/overview"
REQUEST = f"GET /api/client/streaming HTTP/1.1\r\nHost: bench\r\nAuthorization: {CLIENT}\r\n\r\n".encode()
# The numbers of flags, those of streams, and the seconds and rounds of each figure.
SCALES = {"usual": ((34, 1_000), (400, 1_600), 20.0, 10), "tiny": ((34,), (30, 40), 0.1, 1)}
# Seconds between two changes of somebody who changes flags all the time.
PAUSE = 0.2


class Listeners:
    """Applications with an open stream each."""

    def __init__(self, checkout: Checkout, number: int) -> None:
        self._selector, self._stack = selectors.DefaultSelector(), ExitStack()
        self.connect_ms: list[float] = []
        for _ in range(number):
            began, data = time.perf_counter(), b""
            sock = self._stack.enter_context(socket.create_connection(("127.0.0.1", checkout.port), timeout=60))
            sock.sendall(REQUEST)
            while not data.endswith(b"\n\n\r\n"):
                received = sock.recv(1 << 20)
                if not received or b"fetch-mode" in received:
                    raise RuntimeError("There is no place for a stream.")
                data += received
            self.connect_ms.append((time.perf_counter() - began) * 1000)
            self._selector.register(sock, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._selector.close()

    def read(self) -> tuple[float, float]:
        """Wait for an event on each stream. Return when the first and the last one came, as time.perf_counter()."""
        waiting, times = {key.fd for key in self._selector.get_map().values()}, [time.perf_counter()]
        while waiting:
            for key, _ in self._selector.select(60) or sys.exit("A stream got no event within a minute."):
                if b"unleash-updated" in key.fileobj.recv(1 << 18):  # pyright: ignore
                    waiting.discard(key.fd)
                    times.append(time.perf_counter())
        return times[1], times[-1]


def changes(checkout: Checkout, number: int, rounds: int) -> tuple[float, float, float, float]:
    """Return the milliseconds of a change with so many streams.

    From its response to the event on the first stream and on the last one, the longest of the latter, and processor
    time.
    """
    admin, first, last, spent = administrator(checkout), [], [], []
    flip(admin, 1, False)
    with Listeners(checkout, number) as listeners:
        for turn in range(3 * rounds):
            time.sleep(PAUSE)
            processors = Processors(checkout)
            flip(admin, 1, turn % 2 == 0)
            began = time.perf_counter()
            times = listeners.read()
            first.append((times[0] - began) * 1000)
            last.append((times[1] - began) * 1000)
            spent.append(processors.spent())
    return median(first), median(last), max(last), median(spent)


def idle(checkout: Checkout, seconds: float) -> tuple[float, float]:
    """Return the load of the workers and of PostgreSQL without requests, in % of a core."""
    # The workers have just closed connections.
    time.sleep(min(seconds, 6))
    processors, began = Processors(checkout), time.perf_counter()
    time.sleep(seconds)
    by_workers, by_database = processors.spent_by()
    factor = 0.1 / (time.perf_counter() - began)
    return by_workers * factor, by_database * factor


def costs(checkout: Checkout, number: int, seconds: float, rounds: int) -> Iterator[float]:
    """Yield the milliseconds of processor time of an overview without and with so many streams, and those of a 304.

    With and without streams take turns. The first round warms up.
    """
    kinds: tuple[tuple[Callable[[Checkout], Client], str, int], ...] = (
        (administrator, OVERVIEW, 200),
        (current_poller, DOCUMENT, 304),
    )
    took: list[list[float]] = [[], [], [], []]
    for turn in range(rounds + 1):
        for streams in (0, number) if turn % 2 else (number, 0):
            with Listeners(checkout, streams):
                for kind, (connect, path, status) in enumerate(kinds):
                    # The workers have just closed connections.
                    time.sleep(min(seconds, 0.4))
                    clients, requests = [connect(checkout) for _ in range(4)], repeat(("GET", path))
                    processors, deadline = Processors(checkout), time.monotonic() + seconds / 10
                    with ThreadPoolExecutor(len(clients)) as pool:
                        done = sum(pool.map(Client.repeat, clients, repeat(requests), repeat(deadline), repeat(status)))
                    if turn:
                        took[2 * kind + (streams > 0)].append(processors.spent() / done)
    yield from map(median, took)


def measure(checkout: Checkout, few: int, many: int, seconds: float, rounds: int) -> Iterator[tuple[str, str, float]]:
    """Yield every figure: its name, its target and its value."""
    with checkout.served():
        # The first stream needs more than the next ones.
        for _ in range(5):
            with Listeners(checkout, 4):
                flip(administrator(checkout), 1, False)
        for number in (0, few):
            memory = share(checkout)
            with Listeners(checkout, number) as listeners:
                if number:
                    yield "to open a stream: ms", "", median(listeners.connect_ms)
                    yield "memory of 100 streams: MB", "≤ 6", (share(checkout) - memory) / number * 100
                by_workers, by_database = idle(checkout, seconds)
                yield f"{number:,} idle streams: % of a core for two workers", "≤ 1" if number else "", by_workers
                yield f"{number:,} idle streams: % of a core for PostgreSQL", "≤ 0.5" if number else "", by_database
        names = ("an overview", "an overview", "304", "304")
        for name, number, value in zip(names, (0, few) * 2, costs(checkout, few, seconds, rounds), strict=True):
            yield f"{name}, {number:,} idle streams: ms of processor time", "within 3 %" if number else "", value
        for number, target in ((0, ""), (few, "≤ 25 for 34 flags"), (many, "≤ 45 for 34 flags")):
            first, last, longest, spent = changes(checkout, number or 20, rounds)
            yield f"a change, {number or 20:,} streams: ms of processor time", target, spent
            if number:
                yield f"a change, {number:,} streams: ms until the first one has it", "", first
                yield f"a change, {number:,} streams: ms until the last one has it", "≤ 400", last
                yield f"a change, {number:,} streams: ms until the last one has it, at most", "≤ 1,000", longest


def open_many_files() -> None:
    """Let this process open as many files as it may."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def main() -> None:
    """Run the bench with the options from the environment."""
    (sizes, (few, many), seconds, rounds), out = options(SCALES)
    open_many_files()
    checkout, rows = Checkout("streams", HERE), dict[str, list[str]]()
    with database_server() as server:
        for size in sizes:
            checkout.fill(server, size, "applications.sql")
            # One worker gets more of the streams than the other.
            checkout.environ["CLIENT_STREAMS"] = str(many)
            for name, target, value in measure(checkout, few, many, seconds, rounds):
                print(f"{size:,} flags,", name, short(value), file=sys.stderr, flush=True)
                rows.setdefault(name, [name, target]).append(short(value))
            checkout.drop(server)
        heads = ["Figure", "Target", *(f"{size:,} flags" for size in sizes)]
        write(out, "performance-streams.md", f"Commit {commit(HERE)}. {machine(server)}.", heads, rows.values())


if __name__ == "__main__":
    main()
