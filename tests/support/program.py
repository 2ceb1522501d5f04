"""A program for a test that is not ours, such as nginx."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.service import AS_UNPRIVILEGED, PATIENCE, wait_until

# Root runs such programs as another user.
AS_ANYBODY = AS_UNPRIVILEGED if os.geteuid() == 0 else ()


def listens(port: int) -> bool:
    """Return whether a program listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def changed(text: str, changes: Mapping[str, str]) -> str:
    """Return a text with other values in place of some, each of which occurs once."""
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


class Program:
    """A program in a process group of its own, with its output in a file."""

    def __init__(self, command: Sequence[str | Path], log: Path, environ: Mapping[str, str] | None = None) -> None:
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

    def ready(self, is_ready: int | Callable[[], bool]) -> Self:
        """Return when the program listens on this port, or when this holds. Fail if it ends before."""

        def holds() -> bool:
            assert self._process.poll() is None, self.log.read_text()
            return listens(is_ready) if isinstance(is_ready, int) else is_ready()

        wait_until(holds, f"the program of {self.log} was ready")
        return self

    def kill(self) -> None:
        """End the program and its process group at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
