"""One database of a run: the service on it, and every part of the plan, each figure shown as it is found."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from bench import changes, client, floor, logins, memory, shapes, sizes, steps, writers
from bench.fill import Filled, copy_of, drop
from bench.floor import TRIVIAL, Floor
from bench.logins import Logins
from bench.memory import Memory
from bench.plan import Plan
from bench.service import started
from bench.shapes import HEALTH, Request, Shape
from bench.sizes import Size
from bench.steps import Step
from bench.table import Table
from bench.writers import Writers
from sql import connect, value

REQUESTS = Table(
    ("request", 38),
    ("caller", 7),
    ("p50 ms", 9),
    ("p95 ms", 9),
    ("/s at 8", 9),
    ("floor ms", 9),
    ("floor /s", 9),
    ("of it", 6),
    ("trips", 5),
)


@dataclass(frozen=True)
class Figure:
    """What was measured of one request. rate: a second at 8 connections; statements: round trips; floor: the same in pgbench."""

    name: str
    group: str
    caller: str
    p50: float
    p95: float
    requests: int
    size: int
    status: int
    rate: float | None
    floor: Floor | None
    statements: int | None

    @property
    def share(self) -> float | None:
        """The rate as a share of that of the floor."""
        return self.rate / self.floor.rate if self.rate and self.floor and self.floor.rate else None

    def line(self) -> tuple[Any, ...]:
        """The cells of its row."""
        below = self.floor or Floor(None, None)
        share = None if self.share is None else f"{self.share:.0%}"
        name = self.name if self.status == 200 else f"{self.name} ({self.status})"
        return name, self.caller, self.p50, self.p95, self.rate, below.latency, below.rate, share, self.statements


@dataclass
class Measured:
    """All figures of one database."""

    events: int
    fill_seconds: dict[str, float]
    facts: dict[str, Any]
    empty: Figure
    trivial: Floor
    figures: list[Figure] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    payload: float | None = None
    logins: Logins | None = None
    memory: Memory | None = None
    writers: list[Writers] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def find(self, name: str, caller: str = "admin") -> Figure | None:
        """The figure of a request."""
        return next((figure for figure in self.figures if (figure.name, figure.caller) == (name, caller)), None)


def measure(filled: Filled, plan: Plan, server: str) -> Measured:
    """Every part of the plan on one database."""
    parts, facts = set(plan.parts), filled.facts
    with started(filled.url) as service:
        found = Measured(
            filled.events, filled.seconds, asdict(facts), empty(service.port, plan), floor.floor(filled.url, [TRIVIAL], plan.seconds, 0.05)
        )
        print(f"\n{filled.events:,} events\n\n{REQUESTS.head()}")
        print(REQUESTS.row(*found.empty.line()))
        print(REQUESTS.row("one indexed statement", "", None, None, None, found.trivial.latency, found.trivial.rate, None, None))
        asked = [*(shapes.searches(facts, filled.events) if "searches" in parts else ())]
        asked += [*(shapes.projects(facts) if "projects" in parts else ()), *(shapes.insights(facts) if "insights" in parts else ())]
        with floor.listening(filled.url) as inside:
            for figure in reads(service.port, filled.url, inside, asked, plan.seconds):
                found.figures.append(figure)
                print(REQUESTS.row(*figure.line()), flush=True)
        users = count_users(filled.url)
        if "changes" in parts:
            for name, (alone, rate) in changes.measure(filled.url, service.port, facts, users, plan.seconds).items():
                size, status = alone.size, alone.status
                found.figures.append(Figure(name, "changes", "", alone.p50, alone.p95, alone.requests, size, status, rate, None, None))
                print(REQUESTS.row(*found.figures[-1].line()), flush=True)
    if "sizes" in parts:
        with connect(filled.url) as conn:
            found.sizes, found.payload = sizes.measure(conn)
        print(f"\non disk, bytes an event ({found.payload:.0f} of payload):")
        for size in found.sizes:
            print(f"{size.name:32} {size.kind:6} {size.bytes / filled.events:8.1f}")
    if filled.events == plan.reference:
        measure_reference(found, filled, plan, server, users)
    return found


def empty(port: int, plan: Plan) -> Figure:
    """The lightest answer there is: no database, no guard."""
    alone = client.latency(port, client.again(HEALTH), plan.seconds, warm=50)
    rate = client.rate(port, HEALTH, plan.seconds)
    return Figure("an empty answer", "floor", "", alone.p50, alone.p95, alone.requests, alone.size, alone.status, rate, None, None)


def reads(port: int, url: str, inside: floor.Service, asked: Iterable[Shape], seconds: float) -> Iterable[Figure]:
    """The figures of each shape as each of its callers asks, and its floor at once after it."""
    for shape in asked:
        for caller in shape.callers:
            request = shape.request(caller)
            alone = client.latency(port, client.again(request), seconds, warm=7)
            rate, below, statements = None, None, None
            if alone.status == 200 and alone.p50 < client.SLOW * 1000:
                rate = client.rate(port, request, max(seconds, min(10, 4 * alone.p50 / 1000)))
                heard = inside.statements(request)
                statements = len(heard)
                below = floor.floor(url, heard, seconds, alone.p50, prepares=inside.prepares)
            yield Figure(
                shape.name, shape.group, caller, alone.p50, alone.p95, alone.requests, alone.size, alone.status, rate, below, statements
            )


def measure_reference(found: Measured, filled: Filled, plan: Plan, server: str, users: int) -> None:
    """What is looked at in one database alone: logins, memory, steps of scaling, writers."""
    one_flag = next(shape for shape in shapes.searches(filled.facts, filled.events) if shape.name.startswith("one flag"))
    # A login takes a quarter of a second and more.
    seconds = max(5, plan.seconds * 8)
    if "logins" in plan.parts:
        with started(filled.url) as service:
            found.logins = logins.measure(service.port, users, one_flag.request("admin"), seconds)
        print(f"\nlogins: {found.logins.rate:.1f}/s; bcrypt alone {found.logins.bcrypt:.1f}/s")
    if "memory" in plan.parts:
        mixed: list[Request] = list(shapes.mixed(filled.facts, filled.events))
        with started(filled.url) as service:
            found.memory = memory.measure(service, mixed, plan.load_minutes)
        print(f"memory: {found.memory.idle:.0f} MB idle, {found.memory.after:.0f} MB after {plan.load_minutes:g} minutes of load")
    if "steps" in plan.parts:
        print("\nrequests a second at 8 connections:")
        for step in steps.measure(filled.url, filled.facts, filled.events, plan.seconds):
            found.steps.append(step)
            print(f"{step.name:42} {', '.join(f'{name}: {rate or 0:,.0f}' for name, rate in step.rates.items())}", flush=True)
    if "writers" in plan.parts:
        url = copy_of(server, filled, "bench_writers")
        found.writers = writers.measure(url, max(1, round(plan.seconds * 4)))
        drop(server, "bench_writers")
        for it in found.writers:
            kept, plain = max(it.kept), max(it.plain)
            print(f"writers, {it.where}: {kept:,.0f}/s with {it.triggers} triggers, {plain:,.0f}/s without; loss {it.loss:.0%}")


def count_users(url: str) -> int:
    """How many users with passwords there are, beside the member and the administrator."""
    with connect(url) as conn:
        return value(conn, "SELECT count(*) FROM users WHERE email LIKE 'user%%@example.org'", {})
