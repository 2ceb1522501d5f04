"""make bench writes its pages."""

import os
import subprocess
import sys

import pytest

from sql.database import connect, rows
from tests.support.service import ROOT


def run(module, **environ):
    """Run a module of the benchmarks."""
    command = [sys.executable, "-m", module]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True)


def lines_of(page):
    """The cells of each line of the table on a page."""
    return [line.split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]


@pytest.mark.slow
def test_a_tiny_run_writes_tables(server, tmp_path):
    environ = {"SCALE": "tiny", "OUT": str(tmp_path), "BASE": str(ROOT), "BENCH_DATABASE_URL": server}
    done = run("bench", **environ)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "performance.md")
    assert lines[0][1:4] == ["2,000 events: ms", "2,000 events: ms, base", "2,000 events: ms, ratio"]
    assert (len(lines), {len(line) for line in lines}) == (2 + 2 * 19 + 1, {7})
    done = run("bench.applications", **environ)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "performance-applications.md")
    assert (len(lines), {len(line) for line in lines}) == (2 + 19, {3})
    values = {name.strip("| "): value.strip(" |") for name, _, value in lines[2:]}
    assert values["50 instances report 200 flags at once: % accepted"] == "100"
    done = run("bench.scale", **environ)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "performance-scale.md")
    assert (len(lines), {len(line) for line in lines}) == (2 + 2 * 19 + 1, {5})
    assert (tmp_path / "performance-scale.svg").read_text().count("<g ") == 20
    done = run("bench.capacity", **environ)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "capacity.md")
    assert "| 20 applications that poll every 0.1 s: % answered with 304 within 10 s" in {line[0] for line in lines}
    done = run("bench.streams", **environ)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "performance-streams.md")
    assert (len(lines), {len(line) for line in lines}) == (2 + 19, {3})
    with connect(server) as conn:
        assert rows(conn, "SELECT datname FROM pg_database WHERE datname LIKE 'bench%'") == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["bench", "bench.scale", "bench.applications", "bench.capacity", "bench.streams"])
def test_an_unknown_scale_is_refused(module):
    done = run(module, SCALE="huge")
    assert (done.returncode, done.stderr) == (1, "SCALE must be one of usual, tiny.\n")
