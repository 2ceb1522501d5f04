"""A program for a test, such as a server that is not ours."""

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.service import PATIENCE, wait_until


def listens(host: str, port: int) -> bool:
    """Return whether a program listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def children_of(pid: int) -> list[int]:
    """Return the pids of the processes that a process has started."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class Program:
    """A program in a process group of its own, with its output in a file."""

    def __init__(self, command: Sequence[str | Path], log: Path, environ: dict[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=log.parent,
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until(self, condition: Any, what: str) -> None:
        """Return as soon as the condition holds. Fail if the program ends before."""

        def holds() -> bool:
            assert self._process.poll() is None, self.log.read_text()
            return condition()

        wait_until(holds, what)

    def kill(self) -> None:
        """End the program and its process group at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
