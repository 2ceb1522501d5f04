"""The pages about applications: their programs and commands work as shown, with the SDKs that `make sdks` installs."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.instance import ADMIN_KEY
from tests.support.page_examples import fits
from tests.support.sdk import NODE_MODULES, PYTHON, require
from tests.support.service import ROOT, Service, wait_until
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
TUTORIAL = ROOT / "docs" / "tutorial.md"
SERVERS = ROOT / "docs" / "how-to" / "servers.md"
SECRET = re.compile(r'"secret" : "([^"]+)"')


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the code blocks of a page, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, each with the output that it shows."""
    for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        yield command, shown.strip()


def programs(page: Path) -> dict[str, str]:
    """Return the programs that the reader saves: their file names and texts."""
    text = page.read_text(encoding="utf-8")
    return dict(re.findall(r"Save this as `([\w.]+)`:\n\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


@pytest.fixture
def terminal(make_database: Callable[..., str], tmp_path: Path) -> Iterator[Terminal]:
    """Start an empty instance, and open a terminal with the variables of the pages."""
    home = tmp_path / "home"
    home.mkdir()
    with Service(make_database()) as service:
        # pip finds the SDKs installed, and is not allowed to download others.
        given = {"BASE": service.origin, "KEY": ADMIN_KEY, "HOME": str(home), "PIP_NO_INDEX": "1"}
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        with Terminal(tmp_path, given | {"PATH": path}) as terminal:
            yield terminal


def save(terminal: Terminal, page: Path) -> None:
    """Save the programs of a page in the folder of the terminal."""
    for name, text in programs(page).items():
        (terminal.folder / name).write_text(text, encoding="utf-8")


def install_python_sdks(terminal: Terminal) -> None:
    """Let the virtual environment of the terminal's folder find the SDKs."""
    (packages,) = (terminal.folder / ".venv").glob("lib/python*/site-packages")
    (sdks,) = PYTHON.parent.parent.glob("lib/python*/site-packages")
    (packages / "sdks.pth").write_text(str(sdks), encoding="utf-8")


def type_in(terminal: Terminal, command: str, shown: str) -> None:
    """Run a command whose output is what the page shows. Keep the secret of a new token."""

    if "/client-metrics/" in command:
        wait_until(lambda: fits(shown, terminal.run(command)), f"the application reported its usage: {command}")
        return
    output = terminal.run(command)
    assert fits(shown, output), f"{command}\n{output}"
    if found := SECRET.search(output):
        terminal.environment["TOKEN"] = found[1]


def test_the_tutorial_shows_an_application_that_asks(terminal: Terminal) -> None:
    require(".py")
    save(terminal, TUTORIAL)
    for language, block in blocks(TUTORIAL):
        # The block before that is the output of the server: see tests/serving/test_server_start.py.
        if language == "text" and terminal.program:
            terminal.wait_for_output(block)
        for command, shown in commands(block) if language == "console" else ():
            if command.endswith("shop.py"):
                terminal.start(command)
                terminal.wait_for_output(shown.removesuffix("…"))
            else:
                type_in(terminal, command, shown)
            if "-m venv" in command:
                install_python_sdks(terminal)


def test_the_page_about_servers_shows_programs_that_ask(terminal: Terminal) -> None:
    for suffix in (".py", ".mjs", ".rb"):
        require(suffix)
    save(terminal, SERVERS)
    terminal.run(f"{sys.executable} -m venv .venv")
    install_python_sdks(terminal)
    (terminal.folder / "node_modules").symlink_to(NODE_MODULES)
    for language, block in blocks(SERVERS):
        for command, shown in commands(block) if language == "console" else ():
            type_in(terminal, command, shown)
    # Each program reported that it asked once.
    count = terminal.run('curl -s -H "Authorization: $KEY" "$BASE/api/admin/client-metrics/features/short-checkout"')
    assert fits('…"yes" : 3, "no" : 0…', count)
