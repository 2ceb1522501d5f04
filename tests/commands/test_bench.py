"""make bench runs at a tiny scale, also against another checkout, and writes its pages."""

import os
import subprocess
import sys

import pytest

from sql.database import connect, rows
from tests.support.service import ROOT


@pytest.mark.slow
def test_a_tiny_run_writes_a_table(server: str, tmp_path):
    environ = os.environ | {"SCALE": "tiny", "OUT": str(tmp_path), "BASE": str(ROOT), "BENCH_DATABASE_URL": server}
    done = subprocess.run([sys.executable, "-m", "bench"], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "performance.md").read_text()
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert {len(line) for line in lines} == {7}
    assert lines[0][1:4] == ["2,000 events: ms", "2,000 events: ms, base", "2,000 events: ms, ratio"]
    assert len(lines) == 2 + 2 * 19 + 1
    with connect(server) as conn:
        assert rows(conn, "SELECT datname FROM pg_database WHERE datname LIKE 'bench%'") == []


@pytest.mark.slow
def test_a_tiny_run_writes_the_table_about_applications(server: str, tmp_path):
    environ = os.environ | {"SCALE": "tiny", "OUT": str(tmp_path), "BENCH_DATABASE_URL": server}
    done = subprocess.run(
        [sys.executable, "-m", "bench.applications"], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "performance-applications.md").read_text()
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert (len(lines), {len(line) for line in lines}) == (2 + 19, {3})
    values = {name.strip("| "): value.strip(" |") for name, _, value in lines[2:]}
    assert values["50 instances report 200 flags at once: % accepted"] == "100"
    with connect(server) as conn:
        assert rows(conn, "SELECT datname FROM pg_database WHERE datname LIKE 'bench%'") == []


@pytest.mark.parametrize("module", ["bench", "bench.applications"])
def test_an_unknown_scale_is_refused(module):
    environ = os.environ | {"SCALE": "huge"}
    done = subprocess.run([sys.executable, "-m", module], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "SCALE must be one of usual, tiny.\n")
