"""The report: docs/performance.md between its two marks, plots, and the raw figures."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measure import Measured
from bench.plan import Plan
from bench.plots import plot
from bench.table import markdown
from bench.targets import verdicts

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- figures -->", "<!-- end -->"

# Which requests are in which plot, and who asks.
PLOTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "filters": ("The newest 50 events", ("page", "one", "limit"), "admin"),
    "filters-member": ("The newest 50 events, as a member sees them", ("page", "one", "limit"), "member"),
    "two-and-days": ("Two of each, and days", ("two", "days", "deprecated"), "admin"),
    "combined": ("Filters together", ("combined",), "admin"),
    "words": ("Words, and pages far back", ("words", "offset"), "admin"),
    "projects": ("Projects and insights", ("overview", "access", "insights"), "admin"),
}


def write(folder: Path, page: Path, found: Sequence[Measured], machine: Mapping[str, str], plan: Plan) -> None:
    """Write the plots and raw figures into the folder, and the tables into the page, whose other text stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"date": today(), "machine": machine, "scale": plan.scale, "databases": [asdict(it) for it in found]}
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    drawn = [name for name in PLOTS if draw(folder / f"{name}.svg", name, found)]
    text = page.read_text(encoding="utf-8") if page.exists() else f"# Performance\n\n{BEGIN}\n{END}\n"
    page.write_text(put(text, "\n".join(sections(found, machine, drawn, folder.name))), encoding="utf-8")


def today() -> str:
    """The day in UTC."""
    return str(datetime.now(UTC).date())


def put(text: str, generated: str) -> str:
    """The text with this between its marks, and nothing else changed."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{generated.strip()}\n\n{END}{after}"


def draw(path: Path, name: str, found: Sequence[Measured]) -> bool:
    """Write one plot; False when nothing of it was measured."""
    title, groups, caller = PLOTS[name]
    lines: dict[str, list[tuple[float, float]]] = {}
    for it in found:
        for figure in it.figures:
            if figure.group in groups and figure.caller == caller:
                lines.setdefault(figure.name, []).append((it.events, figure.p50))
    if lines:
        path.write_text(plot(title, lines), encoding="utf-8")
    return bool(lines)


def sections(found: Sequence[Measured], machine: Mapping[str, str], drawn: Sequence[str], folder: str) -> Iterator[str]:
    """The generated part of the page, section by section."""
    yield f"Measured on {today()}.\n"
    yield markdown(("Machine", ""), list(machine.items()), words=2)
    yield "### Targets\n"
    yield markdown(("Target", "Measured", "Verdict"), [(it.target, it.measured, it.word) for it in verdicts(found)], words=3)
    yield "### Latency against the size of the log\n"
    for name in drawn:
        yield f"![{PLOTS[name][0]}: milliseconds against events]({folder}/{name}.svg)\n"
    for it in found:
        yield f"### {it.events:,} events\n"
        yield requests(it)
        yield from sizes(it)
    for it in found:
        yield from writers(it)
        yield from logins(it)
        yield from memory(it)
        yield from steps(it)


HEAD = ("Request", "Caller", "p50 ms", "p95 ms", "/s at 8", "floor ms", "floor /s", "of the floor", "statements", "kB")


def requests(it: Measured) -> str:
    """The table of requests of one database."""
    lines: list[Sequence[Any]] = [(*it.empty.line(), it.empty.size / 1000)]
    lines.append(("one indexed statement", "", None, None, None, it.trivial.latency, it.trivial.rate, None, 1, None))
    lines += [(*figure.line(), figure.size / 1000) for figure in it.figures]
    return markdown(HEAD, lines, words=2)


def sizes(it: Measured) -> Iterator[str]:
    """What an event costs on disk."""
    if it.sizes:
        yield f"On disk, of {it.events:,} events of {it.payload:.0f} bytes of payload each:\n"
        lines = [(size.name, size.kind, size.bytes / 1e6, size.bytes / it.events) for size in it.sizes]
        total = sum(size.bytes for size in it.sizes)
        lines.append(("together", "", total / 1e6, total / it.events))
        yield markdown(("", "", "MB", "bytes an event"), lines, words=2)


def writers(it: Measured) -> Iterator[str]:
    """What the kept totals cost writers."""
    if it.writers:
        yield f"### Eight writers, {it.events:,} events\n"
        triggers = it.writers[0].triggers
        yield f"Events a second in pgbench, each its own transaction, in turn with the {triggers} triggers of the log and without.\n"
        lines = [(one.where, rates(one.kept), rates(one.plain), f"{one.loss:.0%}") for one in it.writers]
        yield markdown(("Events of", "with", "without", "loss, by the medians"), lines)


def rates(runs: Sequence[float]) -> str:
    """Rates of several runs."""
    return ", ".join(f"{rate:,.0f}" for rate in runs)


def logins(it: Measured) -> Iterator[str]:
    """Logins and what others feel of them."""
    if it.logins:
        yield f"### Logins, {it.events:,} events\n"
        lines: list[Sequence[Any]] = [
            ("logins a second, 4 connections", it.logins.rate),
            ("bcrypt alone on two cores, a second", it.logins.bcrypt),
        ]
        lines += [("one flag, p95 ms, while idle", it.logins.idle.p95)]
        lines += [("one flag, p95 ms, during logins", it.logins.busy.p95)] if it.logins.busy else []
        yield markdown(("", ""), lines)


def memory(it: Measured) -> Iterator[str]:
    """Memory before and after the load."""
    if it.memory:
        yield f"### Memory, {it.events:,} events\n"
        workers = " + ".join(f"{one:.0f}" for one in it.memory.workers)
        lines: list[Sequence[Any]] = [("MB of master and workers, started", it.memory.idle)]
        lines.append((f"MB after {it.memory.minutes:g} minutes of mixed load", it.memory.after))
        lines.append(("of which master; workers", f"{it.memory.master:.0f}; {workers}"))
        lines.append(("requests a second of that load", it.memory.rate))
        yield markdown(("", ""), lines)


def steps(it: Measured) -> Iterator[str]:
    """What each step of docs/scaling.md carries."""
    if it.steps:
        yield f"### Steps of scaling, {it.events:,} events\n"
        yield "Requests a second over 8 connections in all; the load, the services and PostgreSQL share the machine's cores.\n"
        yield markdown(("", *it.steps[0].rates), [(step.name, *step.rates.values()) for step in it.steps])


def plain(text: str) -> str:
    """Markdown's table as one reads it on a terminal."""
    return re.sub(r"\*\*", "", text)
