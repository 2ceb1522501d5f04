"""Measure what applications ask for, and write docs/development/performance-applications.md.

SCALE, BENCH_DATABASE_URL and OUT: as in __main__.py.
"""

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count, repeat
from pathlib import Path
from statistics import median, quantiles

from bench.checkout import KEY, TOKEN, Checkout, Client, commit, database_server, machine
from bench.processors import Processors, resident
from bench.results import options, short, write

HERE = Path(__file__).parent.parent
DOCUMENT, FRONTEND = "/api/client/features", "/api/frontend"
CLIENT, BROWSER = f"all-client{TOKEN}", f"all-frontend{TOKEN}"
# Tokens of a project without flags.
NO_FLAGS = {DOCUMENT: f"none-client{TOKEN}", FRONTEND: f"none-frontend{TOKEN}"}
POLL = 15_000  # milliseconds between two polls of an SDK
INSTANCES, REPORTED = 50, 200
# The numbers of flags, and the seconds and rounds of each figure.
SCALES = {"usual": ((100, 1_000, 5_000, 10_000), 1.0, 7), "tiny": ((200,), 0.05, 1)}


def administrator(checkout: Checkout) -> Client:
    """Return a client with an admin token."""
    return Client(checkout, KEY)


def poller(checkout: Checkout) -> Client:
    """Return an SDK that has no flags yet."""
    client = Client(checkout, CLIENT)
    client.headers |= {"Accept-Encoding": "gzip", "Unleash-Client-Spec": "5.2.0"}
    return client


def current_poller(checkout: Checkout) -> Client:
    """Return an SDK that has the flags."""
    client = poller(checkout)
    client.expect("GET", DOCUMENT)
    client.headers["If-None-Match"] = client.received["ETag"]
    return client


def reconnecting_poller(checkout: Checkout) -> Client:
    """Return an SDK that opens a connection for each request, because the server closes idle ones after 5 s."""
    client = current_poller(checkout)
    client.headers["Connection"] = "close"
    return client


def browser(checkout: Checkout) -> Client:
    """Return a web page."""
    client = Client(checkout, BROWSER)
    client.headers["Accept-Encoding"] = "gzip"
    return client


def flip(client: Client, number: int, is_on: bool) -> None:
    """Switch a flag on or off."""
    word = "on" if is_on else "off"
    path = f"/api/admin/projects/p{1 + number % 20}/features/flag-{number}/environments/production/{word}"
    client.expect("POST", path)


def costs(checkout: Checkout, seconds: float, rounds: int) -> dict[str, float]:
    """Return the milliseconds of processor time of a request, by name. The kinds take turns."""
    kinds: dict[str, tuple[Callable[[Checkout], Client], Iterator[tuple[str, str]], int]] = {
        "an empty answer": (administrator, repeat(("GET", "/health")), 200),
        "304": (current_poller, repeat(("GET", DOCUMENT)), 304),
        "304, new connection": (reconnecting_poller, repeat(("GET", DOCUMENT)), 304),
        "cached 200": (poller, repeat(("GET", DOCUMENT)), 200),
        "frontend": (browser, map(lambda user: ("GET", f"{FRONTEND}?userId=user-{user}"), count()), 200),
    }
    took: dict[str, list[float]] = {name: [] for name in kinds}
    # The first round warms up.
    for turn in range(rounds + 1):
        for name, (connect, requests, status) in kinds.items():
            clients = [connect(checkout) for _ in range(8)]
            processors, deadline = Processors(checkout), time.monotonic() + seconds
            with ThreadPoolExecutor(len(clients)) as pool:
                done = sum(pool.map(Client.repeat, clients, repeat(requests), repeat(deadline), repeat(status)))
            if turn:
                took[name].append(processors.spent() / done)
    return {name: median(each) for name, each in took.items()}


def first_answers(checkout: Checkout, client: Client, path: str, rounds: int) -> tuple[float, float]:
    """Return the milliseconds of the first answer after a change: until it arrives, and of processor time."""
    admin, waited, spent = Client(checkout, KEY), [], []
    client.expect("GET", path)
    for turn in range(2 * rounds):
        flip(admin, 1, turn % 2 == 0)
        # After CLIENT_KEEP_MS.
        time.sleep(0.15)
        processors, began = Processors(checkout), time.perf_counter()
        client.expect("GET", path)
        waited.append((time.perf_counter() - began) * 1000)
        spent.append(processors.spent())
    return median(waited), median(spent)


def report_times(
    checkout: Checkout, size: int, rounds: int, app_name: Callable[[int], str]
) -> tuple[float, float, float]:
    """Return p95 in ms, processor time and % accepted of reports that instances send at the same moment."""
    start, p95, spent, statuses = threading.Barrier(INSTANCES), [], [], Counter[int]()
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
    used = range(1, min(size, REPORTED) + 1)
    toggles = {f"flag-{number}": {"yes": 3, "no": 1, "variants": {"blue": 1}} for number in used}
    clients = [Client(checkout, CLIENT) for _ in range(INSTANCES)]

    def report(number: int) -> float:
        bucket = {"start": hour, "stop": hour, "toggles": toggles}
        body = json.dumps({"appName": app_name(number), "instanceId": f"instance-{number}", "bucket": bucket})
        start.wait()
        began = time.perf_counter()
        statuses[clients[number].ask("POST", "/api/client/metrics", body)] += 1
        return (time.perf_counter() - began) * 1000

    for _ in range(rounds):
        processors = Processors(checkout)
        with ThreadPoolExecutor(INSTANCES) as pool:
            times = [*pool.map(report, range(INSTANCES))]
        p95.append(quantiles(times, n=20)[-1])
        spent.append(processors.spent() / INSTANCES)
        time.sleep(1)
    return median(p95), median(spent), 100 * statuses[202] / statuses.total()


def growth(checkout: Checkout) -> float:
    """Return by how many MB a worker grows that serves and evaluates the flags, through three changes."""
    with checkout.served(workers=1):
        admin = Client(checkout, KEY)

        def ask(tokens: dict[str, str]) -> None:
            def send(_number: int) -> None:
                for path, token in tokens.items():
                    client = Client(checkout, token)
                    client.headers["Accept-Encoding"] = "gzip"
                    client.expect("GET", path)

            with ThreadPoolExecutor(8) as pool:
                list(pool.map(send, range(80)))

        ask(NO_FLAGS)
        flip(admin, 1, False)
        before = resident(checkout)
        for is_on in (True, False, True):
            ask({DOCUMENT: CLIENT, FRONTEND: BROWSER})
            flip(admin, 1, is_on)
            time.sleep(0.15)
        return resident(checkout) - before


def measure(checkout: Checkout, size: int, seconds: float, rounds: int) -> Iterator[tuple[str, str, float]]:
    """Yield every figure: its name, its target and its value."""
    with checkout.served():
        waited, _ = first_answers(checkout, poller(checkout), DOCUMENT, rounds)
        yield "right after the import, first 200 after a change: ms", "≤ 60, ≤ 250, ≤ 600", waited
        if rounds > 1:  # A tiny run does not wait for autovacuum.
            checkout.settle()
        spent = costs(checkout, seconds, rounds)
        yield "an empty answer: ms of processor time", "", spent["an empty answer"]
        yield "304: ms of processor time", "", spent["304"]
        yield "304: % of the rate of empty answers", "≥ 70", 100 * spent["an empty answer"] / spent["304"]
        yield "304 on a new connection: ms of processor time", "", spent["304, new connection"]
        yield "304 on a new connection every 15 s: instances for each core", "", POLL / spent["304, new connection"]
        yield "200 of kept flags, compressed: ms of processor time", "≤ 1.8", spent["cached 200"]
        yield "frontend: ms of processor time", "≤ 4 for 1,000", spent["frontend"]
        waited, took = first_answers(checkout, poller(checkout), DOCUMENT, rounds)
        yield "first 200 after a change: ms", "≤ 60, ≤ 250, ≤ 600", waited
        yield "first 200 after a change: ms of processor time", "≤ 60, ≤ 250, ≤ 600", took
        waited, took = first_answers(checkout, browser(checkout), FRONTEND, rounds)
        yield "first frontend answer after a change: ms", "", waited
        yield "first frontend answer after a change: ms of processor time", "", took
        for instances, app_name in (
            ("50 instances", lambda _number: "shop"),
            ("50 applications", lambda number: f"shop-{number}"),
        ):
            waited, took, accepted = report_times(checkout, size, rounds, app_name)
            yield f"{instances} report 200 flags at once: 95th percentile in ms", "≤ 500", waited
            yield f"{instances} report 200 flags at once: % accepted", "100", accepted
            yield f"{instances} report 200 flags at once: ms of processor time for each", "", took
    yield "growth of a worker: MB", "≤ 90 for 10,000", growth(checkout)


def main() -> None:
    """Run the bench with the options from the environment."""
    (sizes, seconds, rounds), out = options(SCALES)
    checkout, rows = Checkout("applications", HERE), dict[str, list[str]]()
    with database_server() as server:
        for size in sizes:
            checkout.fill(server, size, "applications.sql")
            for name, target, value in measure(checkout, size, seconds, rounds):
                print(f"{size:,} flags,", name, short(value), file=sys.stderr, flush=True)
                rows.setdefault(name, [name, target]).append(short(value))
            checkout.drop(server)
        heads = ["Figure", "Target", *(f"{size:,} flags" for size in sizes)]
        write(out, "performance-applications.md", f"Commit {commit(HERE)}. {machine(server)}.", heads, rows.values())


if __name__ == "__main__":
    main()
