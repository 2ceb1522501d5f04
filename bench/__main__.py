"""Fill databases, start the real server on them, and write docs/development/performance.md.

Environment variables:
SCALE=tiny           finish in seconds, to try the bench itself
BASE=../other        measure another checkout too, in turn with this one
BENCH_DATABASE_URL   a PostgreSQL server on which databases can be created, instead of the embedded one
OUT                  the folder for the page
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from statistics import median

from bench.checkout import KEY, TOKEN, Checkout, Client, commit, database_server, machine
from bench.results import options, short, write

HERE = Path(__file__).parent.parent
SEARCH = "/api/admin/search/events"
# Milliseconds. Slower requests are not measured over several connections, where they would time out.
SLOW = 1000
TODAY = datetime.now(UTC).date()
YEAR_AGO, TWO_YEARS_AGO, THREE_YEARS_AGO = (TODAY - timedelta(days=365 * years) for years in (1, 2, 3))


@dataclass(frozen=True)
class Scale:
    """The numbers of events, and for each figure the seconds, rounds and connections."""

    sizes: tuple[int, ...]
    seconds: float
    rounds: int
    clients: int


SCALES = {"usual": Scale((10_000, 1_000_000), 3, 3, 8), "tiny": Scale((2_000,), 0.01, 1, 2)}


def reads(events: int) -> dict[str, tuple[str, str]]:
    """Return the measured requests: path and credential by name."""
    return {
        "an empty response": ("/health", KEY),
        "no filter": (SEARCH, KEY),
        "one project": (f"{SEARCH}?project=IS:p1", KEY),
        "one type": (f"{SEARCH}?type=IS:feature-created", KEY),
        "a month two years ago": (f"{SEARCH}?from=IS:{TWO_YEARS_AGO}&to=IS:{TWO_YEARS_AGO + timedelta(days=30)}", KEY),
        "a member of 20 projects": (SEARCH, TOKEN),
        "2 projects, 2 types, last year": (
            f"{SEARCH}?project=IS_ANY_OF:p1,p2&type=IS_ANY_OF:feature-created,feature-tagged&from=IS:{YEAR_AGO}",
            KEY,
        ),
        "offset 90 %": (f"{SEARCH}?offset={events * 9 // 10}", KEY),
        "one flag": (f"{SEARCH}?feature=IS:p1.f1", KEY),
        "a word in two events": (f"{SEARCH}?query=quetzalcoatl", KEY),
        "insights, 13 weeks": ("/api/admin/insights", KEY),
        "insights, three years": (f"/api/admin/insights?from={THREE_YEARS_AGO}", KEY),
        "project overview": ("/api/admin/projects/p1/overview", KEY),
        "flags of a project": ("/api/admin/projects/p1/features", KEY),
        "search for flags, a page of 50": ("/api/admin/search/features?limit=50", KEY),
        "projects": ("/api/admin/projects", KEY),
        "projects of a member": ("/api/admin/projects", TOKEN),
        "users": ("/api/admin/user-admin", KEY),
        "who am I": ("/api/admin/user", KEY),
    }


def latencies(checkouts: list[Checkout], path: str, credential: str, scale: Scale) -> list[float]:
    """Return the median milliseconds of each checkout at one client. The checkouts take turns."""
    clients = [Client(checkout, credential) for checkout in checkouts]
    took: list[list[float]] = [[] for _ in clients]
    # Warm up for as long as one checkout is measured.
    for client in clients:
        client.repeat(cycle([("GET", path)]), time.monotonic() + scale.seconds)
    deadline = time.monotonic() + scale.seconds * len(clients)
    while time.monotonic() < deadline or len(took[0]) < scale.rounds:
        for number in sorted(range(len(clients)), reverse=len(took[0]) % 2 == 1):
            began = time.perf_counter()
            clients[number].ask("GET", path)
            took[number].append((time.perf_counter() - began) * 1000)
    return [median(each) for each in took]


def rates(
    checkouts: list[Checkout], requests: list[list[tuple[str, str]]], credential: str, scale: Scale
) -> list[float]:
    """Return the requests a second of each checkout: the median of rounds. The checkouts take turns."""
    measured: list[list[float]] = [[] for _ in checkouts]
    for number, checkout in [*enumerate(checkouts)] * scale.rounds:
        began = time.monotonic()
        clients = [Client(checkout, credential) for _ in requests]
        deadlines = [began + scale.seconds / scale.rounds] * len(clients)
        with ThreadPoolExecutor(len(clients)) as pool:
            done = sum(pool.map(Client.repeat, clients, map(cycle, requests), deadlines))
        measured[number].append(done / (time.monotonic() - began))
    return [median(each) for each in measured]


Values = Sequence[float | None]


def measure(checkouts: list[Checkout], events: int, scale: Scale) -> Iterator[tuple[str, Values, Values]]:
    """Yield every figure: its name, the milliseconds at one client and the requests a second, each per checkout."""
    no_times = [None] * len(checkouts)
    for checkout in checkouts:
        client = Client(checkout, KEY)
        # The first requests add up the totals of finished weeks.
        for _ in range(20):
            client.ask("GET", SEARCH)
    for name, (path, credential) in reads(events).items():
        yield f"{name}, right after the import", latencies(checkouts, path, credential, scale), no_times
    for checkout in checkouts if scale.rounds > 1 else ():  # A tiny run does not wait for autovacuum.
        checkout.settle()
    for name, (path, credential) in reads(events).items():
        spent = latencies(checkouts, path, credential, scale)
        requests = [[("GET", path)]] * scale.clients
        is_slow = max(spent) > SLOW
        yield name, [*spent], [None] * len(spent) if is_slow else rates(checkouts, requests, credential, scale)
    switches = [
        [
            ("POST", f"/api/admin/projects/p1/features/p1.f{number}/environments/development/{word}")
            for word in ("off", "on")
        ]
        for number in range(1, scale.clients + 1)
    ]
    yield "changes, each with its event", no_times, rates(checkouts, switches, KEY, scale)


def compared(values: Values) -> list[str]:
    """Return the value of this version. With a base, also return the base's value and the ratio."""
    this, *base = values
    compare = [base[0], this / base[0] if this and base[0] else None] if base else []
    return [short(value) for value in (this, *compare)]


def main() -> None:
    """Run the bench with the options from the environment."""
    scale, out = options(SCALES)
    base = os.environ.get("BASE")
    checkouts = [Checkout("this", HERE), *([Checkout("base", Path(base).resolve())] if base else [])]
    heads, rows = ["Request"], dict[str, list[str]]()
    with database_server() as server:
        for events in scale.sizes:
            columns = ("", ", base", ", ratio") if base else ("",)
            heads += [f"{events:,} events: {unit}{column}" for unit in ("ms", "/s") for column in columns]
            for checkout in checkouts:
                print(f"filling {events:,} events for {checkout.folder}", file=sys.stderr, flush=True)
                checkout.fill(server, events)
            with ExitStack() as services:
                for checkout in checkouts:
                    services.enter_context(checkout.served())
                for name, spent, rate in measure(checkouts, events, scale):
                    cells = [*compared(spent), *compared(rate)]
                    rows.setdefault(name, [name]).extend(cells)
                    print(events, name, *cells, file=sys.stderr, flush=True)
            for checkout in checkouts:
                checkout.drop(server)
        commits = ", base ".join(commit(checkout.folder) for checkout in checkouts)
        write(out, "performance.md", f"Commit {commits}. {machine(server)}.", heads, rows.values())


if __name__ == "__main__":
    main()
