"""Run many applications on this machine, and a service without requests, and write docs/reference/capacity.md.

SCALE, BENCH_DATABASE_URL and OUT: as in __main__.py.
"""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from statistics import quantiles

import psycopg

from bench.applications import DOCUMENT, HERE, current_poller
from bench.checkout import Checkout, commit, database_server, machine
from bench.processors import Processors, family, share
from bench.results import options, short, write
from bench.streams import Listeners, changes, idle, open_many_files

# The numbers of polling applications, of their polls, of streams and of flags; the seconds between two polls, those of
# an idle figure, and the rounds of the others.
SCALES = {"usual": (10_000, 4, 1_000, 1_000, 15.0, 60.0, 10), "tiny": (20, 2, 30, 34, 0.1, 0.1, 1)}
# Seconds after which a poll counts as not answered.
TIMEOUT = 10
USED = """
    INSERT INTO integrations (provider, enabled, parameters, events, projects, environments)
    SELECT 'webhook', true, json_build_object('url', 'http://127.0.0.1:9/' || n), '{}', '{}', '{}'
      FROM generate_series(1, 3) AS n;
    INSERT INTO applications (name) SELECT 'app' || n FROM generate_series(1, 100) AS n
"""


async def poll(port: int, request: bytes, starts: Iterable[float]) -> list[float]:
    """Poll as one application. Return the milliseconds of each poll that got a 304.

    The server closes an idle connection after 5 s, so each poll opens one.
    """
    took, writer = list[float](), None
    for start in starts:
        await asyncio.sleep(start - time.monotonic())
        if writer:
            writer.close()
        began = time.monotonic()
        with suppress(OSError, EOFError):
            async with asyncio.timeout(TIMEOUT):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"HTTP/1.1 304"):
                    took.append((time.monotonic() - began) * 1000)
                if b"\r\nConnection: close\r\n" in head:
                    writer.close()
    return took


async def poll_all(checkout: Checkout, number: int, turns: int, pause: float) -> list[float]:
    """Poll as so many applications at once, which begin one after the other. Return the milliseconds of the polls."""
    headers = current_poller(checkout).headers | {"Host": "bench"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request, start = f"GET {DOCUMENT} HTTP/1.1\r\n{head}\r\n".encode(), time.monotonic() + 1
    starts = ([start + pause * (turn + each / number) for turn in range(turns)] for each in range(number))
    polls = await asyncio.gather(*(poll(checkout.port, request, each) for each in starts))
    return [each for took in polls for each in took]


def polling(checkout: Checkout, number: int, turns: int, pause: float) -> Iterator[tuple[str, float]]:
    """Yield the figures of so many applications."""
    name = f"{number:,} applications that poll every {pause:g} s"
    # Both workers read the flags before.
    asyncio.run(poll_all(checkout, 20, 2, 0.1))
    processors, began = Processors(checkout), time.monotonic()
    took = asyncio.run(poll_all(checkout, number, turns, pause))
    by_workers, by_database = processors.spent_by()
    factor = 0.1 / (time.monotonic() - began)
    yield f"{name}: polls a second", number / pause
    yield f"{name}: % answered with 304 within {TIMEOUT} s", 100 * len(took) / number / turns
    yield f"{name}: median in ms", quantiles(took, n=2)[0]
    yield f"{name}: 95th percentile in ms", quantiles(took, n=20)[-1]
    yield f"{name}: % of a core for two workers", by_workers * factor
    yield f"{name}: % of a core for PostgreSQL", by_database * factor


def streaming(checkout: Checkout, number: int, seconds: float, rounds: int) -> Iterator[tuple[str, float]]:
    """Yield the figures of so many streams."""
    name = f"{number:,} streams"
    # The first streams need more than the next ones.
    changes(checkout, 20, 1)
    yield "without streams: MB of memory for two workers", share(checkout)
    with Listeners(checkout, number):
        yield f"{name}: MB of memory for two workers", share(checkout)
        by_workers, by_database = idle(checkout, seconds)
        yield f"{name}, idle: % of a core for two workers", by_workers
        yield f"{name}, idle: % of a core for PostgreSQL", by_database
    _, last, longest, spent = changes(checkout, number, rounds)
    yield f"{name}, a change: ms until the last one has it", last
    yield f"{name}, a change: ms until the last one has it, at most", longest
    yield f"{name}, a change: ms of processor time", spent


def unused(checkout: Checkout, seconds: float) -> Iterator[tuple[str, float]]:
    """Yield the load of all processes without requests."""
    with psycopg.connect(checkout.url) as conn:
        conn.execute(USED)
        ((postmaster,),) = conn.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer")
    # The workers have just closed connections.
    time.sleep(min(seconds, 6))
    pids = {"the service": checkout.pid, "PostgreSQL": postmaster}
    before = {name: family(pid) for name, pid in pids.items()}
    time.sleep(seconds)
    for name, pid in pids.items():
        spent = family(pid) - before[name]
        yield f"no requests, 3 integrations, 100 applications: % of a core for {name}", spent / seconds / 10


def main() -> None:
    """Run the bench with the options from the environment."""
    (clients, turns, streams, flags, pause, seconds, rounds), out = options(SCALES)
    open_many_files()
    checkout, rows = Checkout("capacity", HERE), list[list[str]]()
    with database_server() as server:
        checkout.fill(server, flags, "applications.sql")
        checkout.environ["CLIENT_STREAMS"] = str(streams)
        with checkout.served():
            if rounds > 1:  # A tiny run does not wait for autovacuum.
                checkout.settle()
            figures = (
                # First, because polls leave free memory.
                streaming(checkout, streams, seconds, rounds),
                polling(checkout, clients, turns, pause),
                unused(checkout, seconds),
            )
            for name, value in chain(*figures):
                print(name, short(value), file=sys.stderr, flush=True)
                rows.append([name, short(value)])
        checkout.drop(server)
        run = f"Commit {commit(HERE)}. {flags:,} flags. {machine(server)}."
        write(out, "capacity.md", run, ["Figure", "Measured"], rows)


if __name__ == "__main__":
    main()
