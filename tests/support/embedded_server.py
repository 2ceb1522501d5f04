"""Starts and kills an embedded server, and reads its log."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from operations.postgres import embedded

is_root = os.geteuid() == 0


root_only = pytest.mark.skipif(not is_root, reason="only root may become another user")


@contextmanager
def own_server() -> Iterator[embedded.Server]:
    """Start a PostgreSQL that no other test uses, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        # If root runs the tests, PostgreSQL runs as another user, which must be able to enter the folder.
        Path(name).chmod(0o755)
        server = embedded.Server(Path(name) / "data")
        try:
            server.ensure()
            yield server
        finally:
            server.release()


def kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> None:
    assert pid is not None
    os.kill(pid, number)


def is_kept(url: str) -> bool:
    """Whether the server at this address has the data."""
    with psycopg.connect(url) as conn:
        return conn.execute("SELECT one FROM test.kept").fetchone() == (1,)
