"""Applications with real SDKs. `make sdks` installs the SDKs in .sdks."""

import json
import os
import re
import select
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.service import PATIENCE, ROOT, wait_until

DRIVERS = ROOT / "tests" / "clients" / "sdk" / "drivers"
PYTHON = ROOT / ".sdks" / "python" / "bin" / "python"
NODE_MODULES = ROOT / ".sdks" / "node" / "node_modules"
OLDEST_NODE = 20


@cache
def missing(suffix: str) -> str:
    """Return what is needed to run drivers of this kind and not installed, or an empty text."""
    if suffix == ".py":
        return "" if PYTHON.exists() else "the SDKs in Python (make sdks)"
    if suffix == ".rb":
        found = shutil.which("ruby") and subprocess.run(["ruby", "-e", "require 'unleash'"], capture_output=True)
        return "" if found and found.returncode == 0 else "the SDK in Ruby (on Debian: apt-get install ruby-unleash)"
    version = shutil.which("node") and subprocess.check_output(["node", "--version"], text=True)
    if not version or int(re.sub(r"\..*|v", "", version)) < OLDEST_NODE:
        return f"Node.js {OLDEST_NODE} or newer, with npm"
    return "" if NODE_MODULES.exists() else "the packages in JavaScript (make sdks)"


def require(suffix: str) -> None:
    """Skip the test if drivers of this kind cannot run. In CI, where CI is set, fail."""
    if needed := missing(suffix):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs {needed}")


class Application:
    """A process that asks an SDK for flags, as the test tells it; started on entry and ended on exit.

    driver: its file in tests/clients/sdk/drivers; url: the address of the service. answers counts the results for each
    flag, as the SDK should report them.
    """

    def __init__(self, driver: str, folder: Path, **given: Any) -> None:
        self.driver = DRIVERS / driver
        self.folder = folder
        self.given = {"appName": driver} | given
        self.answers: dict[str, Counter[str]] = {}
        require(self.driver.suffix)

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                [*self._program(), json.dumps(self.given)],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=PATIENCE)

    def _program(self) -> list[str]:
        if self.driver.suffix == ".py":
            return [str(PYTHON), str(self.driver)]
        if self.driver.suffix == ".rb":
            return ["ruby", str(self.driver)]
        # Node.js looks for packages beside the program.
        for program in DRIVERS.glob("*.mjs"):
            shutil.copy(program, self.folder)
        (self.folder / "node_modules").symlink_to(NODE_MODULES)
        return ["node", self.driver.name]

    def call(self, command: str, *arguments: Any) -> Any:
        """Run a command in the process and return its result."""
        process = self.process
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps([command, *arguments]).encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else b""
        assert line, f"no result of {command}: {self.errors}"
        return json.loads(line)

    @property
    def errors(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8")

    def is_ready(self) -> bool:
        return self.call("isReady")

    def wait(self) -> None:
        wait_until(self.is_ready, f"{self.driver.name} had flags")

    def is_enabled(self, flag: str, **context: Any) -> bool:
        enabled = self.call("isEnabled", flag, context)
        self.answers.setdefault(flag, Counter())["yes" if enabled else "no"] += 1
        return enabled

    def variant(self, flag: str, **context: Any) -> tuple[str, str | None]:
        """Return the name of the variant that the SDK chooses, and the value of its payload."""
        name, payload = self.call("getVariant", flag, context)
        self.answers.setdefault(flag, Counter())[f"variant {name}"] += 1
        return name, payload

    def evaluate(self, flag: str, default: Any, context: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of a flag with its variant, reason and error, as OpenFeature gives them."""
        return self.call("evaluate", flag, default, context)
