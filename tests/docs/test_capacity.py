"""docs/reference/capacity.md calculates its table from its measurements, by its formula."""

import re
from math import ceil

import pytest

from tests.support.service import ROOT

PAGE = (ROOT / "docs" / "reference" / "capacity.md").read_text(encoding="utf-8")
MEASUREMENTS = (ROOT / "docs" / "development" / "performance-applications.md").read_text(encoding="utf-8")
INSTANCES = (10_000, 100_000, 1_000_000)


def row(name: str, text: str = PAGE) -> list[float]:
    """Return the numbers of a row of a table."""
    (cells,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", text, re.MULTILINE)
    return [float(cell.replace(",", "")) for cell in cells.split("|") if cell.strip()]


def cores(instances: int, poll: float, report: float) -> int:
    """Return the formula of the page. The times are in milliseconds."""
    return ceil(2 * instances * (poll / 15 + report / 60) / 1000)


def test_cores_follow_from_the_measurements() -> None:
    poll = row("a poll that returns 304, in ms")
    # Measurements of newer versions may differ a little.
    assert poll[0] == pytest.approx(row("304 on a new connection: ms of processor time", MEASUREMENTS)[1], rel=0.15)
    for flags in (200, 20):
        report = row(f"a report of {flags} flags, in ms")
        assert row(f"workers, if each reports {flags} flags") == [cores(each, poll[0], report[0]) for each in INSTANCES]
        assert row(f"cores for PostgreSQL, if each reports {flags} flags") == [
            cores(each, poll[1], report[1]) for each in INSTANCES
        ]
    workers = row("workers, if each reports 200 flags")
    assert row("machines for the workers (200 flags)") == [ceil(each / 8) for each in workers]
    assert row("database connections (200 flags)") == [8 * each for each in workers]


def test_network_follows_from_the_sizes() -> None:
    (found,) = re.findall(r"have ([\d,]+) bytes, 1,000 flags ([\d,]+) bytes compressed, and .* ([\d,]+) bytes", PAGE)
    poll, flags, report = (int(size.replace(",", "")) * 8 / 1e6 for size in found)
    assert row("polls a second") == [round(each / 15) for each in INSTANCES]
    assert row("reports a second") == [round(each / 60) for each in INSTANCES]
    assert row("network for polls, in Mbit/s") == [round(each / 15 * poll) for each in INSTANCES]
    assert row("network for reports of 200 flags, in Mbit/s") == [round(each / 60 * report) for each in INSTANCES]
    assert row("network for 15 s after a change, in Mbit/s") == [round(each / 15 * flags) for each in INSTANCES]
