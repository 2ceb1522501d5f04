"""Kills an embedded server, and reads its log."""

import os
import signal
from pathlib import Path

import psycopg
import pytest

is_root = os.geteuid() == 0


root_only = pytest.mark.skipif(not is_root, reason="only root may become another user")


def kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process."""
    assert pid is not None
    os.kill(pid, number)


def log_of(data: Path) -> str:
    """What the server has written to its log files."""
    return "".join(path.read_text() for path in (data / "postgres" / "log").iterdir())


def is_kept(url: str) -> bool:
    """Whether the server at this address has the data."""
    with psycopg.connect(url) as conn:
        return conn.execute("SELECT one FROM test.kept").fetchone() == (1,)
