"""A terminal in which a test types the commands of a page."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.page_examples import fits
from tests.support.service import PATIENCE, wait_until


class Terminal:
    """Runs commands in a folder, each in a shell of its own; and one program that goes on until exit."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(os.environ | environment)
        self.output = folder / "output"
        self.program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.program:
            self.program.kill()
            self.program.wait(PATIENCE)

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, command: str) -> None:
        with self.output.open("wb") as output:
            self.program = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_for_output(self, shown: str) -> None:
        """Return when the end of the program's output is what a page shows."""
        wait_until(lambda: fits(f"…{shown}", self.output.read_text()), f"the program printed {shown}")
