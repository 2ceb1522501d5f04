"""What each step of docs/scaling.md carries: the same requests to more workers, to two services, and behind PgBouncer."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from bench import shapes
from bench.client import CONNECTIONS, Wrk, has_wrk
from bench.facts import Facts
from bench.service import SETTINGS
from bench.shapes import Request
from tests import pooler
from tests.service import Service

WARM_SECONDS = 1


@dataclass(frozen=True)
class Step:
    """Requests a second over 8 connections, by the name of the request; None: it was not answered well."""

    name: str
    rates: dict[str, float | None]


def requests(facts: Facts, events: int) -> dict[str, Request]:
    """A page that an index answers, an overview, and insights, as an admin asks for them."""
    named = {shape.name: shape for shape in (*shapes.searches(facts, events), *shapes.projects(facts), *shapes.insights(facts))}
    chosen = ("one project, the busiest", "overview, a project of the middle", "insights, default range")
    return {name: named[name].request("admin") for name in chosen}


def measure(url: str, facts: Facts, events: int, seconds: float) -> Iterator[Step]:
    """Each step, one after the other; none where there is no wrk."""
    if not has_wrk():
        return
    for workers in (1, 2, 4):
        yield step(f"{workers} worker{'s' if workers > 1 else ''}", [(url, {"WEB_CONCURRENCY": workers})], facts, events, seconds)
    yield step("2 services of 1 worker", [(url, {"WEB_CONCURRENCY": 1})] * 2, facts, events, seconds)
    if not pooler.PROGRAM:
        return
    with pooled(url) as address:
        one: dict[str, Any] = {"DATABASE_POOLER": "transaction", "WEB_CONCURRENCY": 2}
        yield step("2 workers, `DATABASE_POOLER=transaction`", [(address, one)], facts, events, seconds)
    if pooler.VERSION >= (1, 22):
        with pooled(url, "max_prepared_statements = 200\n") as address:
            one = {"DATABASE_POOLER": "prepared", "WEB_CONCURRENCY": 2}
            yield step("2 workers, `DATABASE_POOLER=prepared`", [(address, one)], facts, events, seconds)


@contextmanager
def pooled(url: str, more: str = "") -> Iterator[str]:
    """The database's address behind PgBouncer, with as many connections as docs/scaling.md gives it."""
    same = "default_pool_size = 20"
    with pooler.Pooler(url, {same: same}, more) as it:
        yield it.url


def step(name: str, services: list[tuple[str, dict[str, Any]]], facts: Facts, events: int, seconds: float) -> Step:
    """The rates of one step. services: the address of the database and the settings of each, which share the connections."""
    with ExitStack() as stack:
        ports = [stack.enter_context(Service(url, None, **SETTINGS | changes)).port for url, changes in services]
        return Step(name, {asked: rate(ports, request, seconds) for asked, request in requests(facts, events).items()})


def rate(ports: list[int], request: Request, seconds: float) -> float | None:
    """Requests a second to all of them together, once each of their threads has prepared what it needs."""
    return together(ports, request, WARM_SECONDS) and together(ports, request, seconds)


def together(ports: list[int], request: Request, seconds: float) -> float | None:
    """Requests a second to all of them; None: an answer was an error."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Wrk(port, [request], seconds, CONNECTIONS // len(ports))) for port in ports]
    return None if any(one.errors for one in clients) else sum(one.rate or 0.0 for one in clients)
