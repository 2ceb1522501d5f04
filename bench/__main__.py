"""python -m bench: fill, measure, report. See bench/plan.py for what the environment can say."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import fill, machine, report
from bench.client import has_wrk
from bench.fill import Filled
from bench.measure import Measured, measure
from bench.plan import Plan, PlanError, load
from bench.postgres import Server
from bench.targets import verdicts


@contextmanager
def folder_of(plan: Plan) -> Iterator[Path]:
    """Where data lie while the block lasts; afterwards they go, unless they are to be kept."""
    if plan.folder and plan.keep:
        yield plan.folder
        return
    with tempfile.TemporaryDirectory(prefix="bench-", dir=plan.folder and made(plan.folder)) as name:
        yield Path(name)


def made(folder: Path) -> Path:
    """A folder that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> None:
    """Do what the plan says."""
    try:
        plan = load(os.environ)
    except PlanError as problem:
        sys.exit(str(problem))
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if not has_wrk():
        print("wrk is not installed (apt-get install wrk): no figures of 8 connections.", file=sys.stderr)
    if plan.url:
        found, about = on_server(plan, plan.url)
    else:
        with folder_of(plan) as folder:
            found, about = on_own_server(plan, folder)
    tell(plan, found, about)


def on_server(plan: Plan, url: str) -> tuple[list[Measured], dict[str, str]]:
    """The figures on a server that is there."""
    filled = [fill.kept(url, events) or fill.fill(url, events) for events in plan.sizes]
    about = machine.describe(filled[-1].url)
    found = [measure(it, plan, url) for it in filled]
    for it in () if plan.keep else filled:
        fill.drop(url, fill.name_of(it.events))
    return found, about


def on_own_server(plan: Plan, folder: Path) -> tuple[list[Measured], dict[str, str]]:
    """The figures on a server of our own, which is set to fill first and then to be measured."""
    server = Server(folder / "postgres")
    try:
        url = server.start(filling=True)
        filled = [fill.kept(url, events) or fill.fill(url, events) for events in plan.sizes]
        url = server.start(filling=False)
        filled = [Filled(fill.address_of(url, fill.name_of(it.events)), it.events, it.facts, it.seconds) for it in filled]
        about = machine.describe(filled[-1].url)
        return [measure(it, plan, url) for it in filled], about
    finally:
        server.end()


def tell(plan: Plan, found: list[Measured], about: dict[str, str]) -> None:
    """Print the verdicts, and write the report: into docs if nothing was left out, else into the folder, if there is one."""
    print()
    for verdict in (it for it in verdicts(found) if it.measured or plan.is_whole):
        print(f"{report.plain(verdict.word):>12}  {verdict.target}\n{'':>12}  {verdict.measured}")
    if plan.is_whole:
        report.write(report.DOCS / "performance", report.DOCS / "performance.md", found, about, plan)
        print("\nWritten to docs/performance.md.")
    elif plan.folder:
        report.write(made(plan.folder) / "performance", plan.folder / "performance.md", found, about, plan)
        print(f"\nWritten to {plan.folder / 'performance.md'}; docs/performance.md takes whole runs alone.")


if __name__ == "__main__":
    main()
