"""The pages about applications: their programs and commands work as shown, with the SDKs that `make sdks` installs."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self

import pytest

from tests.support.instance import ADMIN_KEY
from tests.support.page_examples import fits
from tests.support.sdk import NODE_MODULES, PYTHON, require
from tests.support.sdk_project import Project
from tests.support.service import PATIENCE, ROOT, Service, wait_until

pytestmark = pytest.mark.slow
DOCS = ROOT / "docs"
SECRET = re.compile(r'"secret" : "([^"]+)"')


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
        """Run a command, and return what it prints on stdout."""
        shell = ["bash", "-c", command]
        done = subprocess.run(
            shell, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, command: str) -> None:
        """Start a program without waiting for its end."""
        shell = ["bash", "-c", f"exec {command}"]
        with self.output.open("wb") as output:
            self.program = subprocess.Popen(
                shell, cwd=self.folder, env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )

    def wait_for_output(self, shown: str) -> None:
        """Return when the end of the program's output is what a page shows."""
        wait_until(lambda: fits(f"…{shown}", self.output.read_text()), f"the program printed {shown}")

    def save(self, name: str, *lines: str) -> None:
        """Write a program in the folder."""
        (self.folder / name).write_text("\n".join(lines), encoding="utf-8")


def blocks(page: str, languages: str = r"\w+") -> list[tuple[str, str]]:
    """Return the code blocks of a page, each with its language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```({languages})\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


# --- Whole pages, typed on an empty instance --------------------------------------------------------------------------


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


def type_in(terminal: Terminal, page: str) -> None:
    """Save the programs of a page, and run its commands. Each prints what the page shows."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, program in re.findall(r"Save this as `([\w.]+)`:\n\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        terminal.save(name, program)
    for language, block in blocks(page):
        # The block before that is the output of the server: see tests/operations/serving/test_server_start.py.
        if language == "text" and terminal.program:
            terminal.wait_for_output(block)
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if language == "console" else ():
            command, _, shown = entry.partition("\n")
            type_command(terminal, command, shown.strip())


def type_command(terminal: Terminal, command: str, shown: str) -> None:
    """Run a command whose output is what the page shows. Keep the secret of a new token."""
    if command.endswith("shop.py"):
        terminal.start(command)
        terminal.wait_for_output(shown.removesuffix("…"))
    elif "/client-metrics/" in command:
        wait_until(lambda: fits(shown, terminal.run(command)), f"the application reported its usage: {command}")
    else:
        output = terminal.run(command)
        assert fits(shown, output), f"{command}\n{output}"
        if found := SECRET.search(output):
            terminal.environment["TOKEN"] = found[1]
    if "-m venv" in command:
        install_python_sdks(terminal)


def install_python_sdks(terminal: Terminal) -> None:
    """Let the virtual environment of the terminal's folder find the SDKs."""
    (packages,) = (terminal.folder / ".venv").glob("lib/python*/site-packages")
    (sdks,) = PYTHON.parent.parent.glob("lib/python*/site-packages")
    (packages / "sdks.pth").write_text(str(sdks), encoding="utf-8")


def test_tutorial_shows_an_application_that_asks(terminal: Terminal) -> None:
    require(".py")
    type_in(terminal, "tutorial.md")
    assert terminal.program


def test_page_about_servers_shows_programs_that_ask(terminal: Terminal) -> None:
    for suffix in (".py", ".mjs", ".rb"):
        require(suffix)
    terminal.run(f"{sys.executable} -m venv .venv")
    install_python_sdks(terminal)
    (terminal.folder / "node_modules").symlink_to(NODE_MODULES)
    type_in(terminal, "how-to/servers.md")
    # Each program reported that it asked once.
    count = terminal.run('curl -s -H "Authorization: $KEY" "$BASE/api/admin/client-metrics/features/short-checkout"')
    assert fits('…"yes" : 3, "no" : 0…', count)


# --- Snippets, which use $KEY, $TOKEN (of a client token) and $SECRET (of a frontend token) and the flags of a shop ---


@pytest.fixture(scope="module")
def shop(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """Open a terminal with the tokens of a shop, whose flags are on."""
    with Service(make_database()) as service:
        project = Project(service, "shop")
        for flag in ("checkout", "new-checkout"):
            project.create(project.features, {"name": flag})
            project.create(f"{project.features}/{flag}/environments/production/on")
        project.create("/api/client/register", {"appName": "checkout"})
        given = {"BASE": service.origin, "KEY": ADMIN_KEY}
        given |= {"TOKEN": project.token("client", environment="production")}
        given |= {"SECRET": project.token("frontend", environment="production")}
        # A command fails if the service refuses its request.
        given |= {"BASH_FUNC_curl%%": '() { command curl --silent --show-error --fail-with-body "$@"; }'}
        with Terminal(tmp_path_factory.mktemp("shop"), given) as terminal:
            # JavaScript finds the SDKs there.
            (terminal.folder / "node_modules").symlink_to(NODE_MODULES)
            yield terminal


@pytest.mark.parametrize("page", ["browsers", "openfeature", "usage"])
def test_service_accepts_the_commands_of_a_page(page: str, shop: Terminal) -> None:
    commands = [block for _, block in blocks(f"how-to/{page}.md", "bash") if block.startswith("curl ")]
    assert commands
    for command in commands:
        shop.run(f"set -e; {command}")


def from_environment(*lines: str) -> str:
    """Return the program of a web page with the address and the token of the terminal."""
    return re.sub(r"^const (BASE|SECRET) = .*$", r"const \1 = process.env.\1;", "\n".join(lines), flags=re.MULTILINE)


def test_snippets_evaluate_a_flag(shop: Terminal) -> None:
    require(".py")
    require(".mjs")
    for language, snippet in blocks("how-to/openfeature.md", "python|js"):
        *lines, last = snippet.splitlines()
        if language == "python":
            shop.save("snippet.py", *lines, f"print({last})")
            assert shop.run(f"{PYTHON} snippet.py") == "True\n"
        else:
            shop.save("snippet.mjs", from_environment(*lines), f"console.log({last.rstrip(';')})", "process.exit()")
            assert shop.run("node snippet.mjs") == "true\n"
    [(_, snippet)] = blocks("how-to/browsers.md", "js")
    shop.save("page.mjs", from_environment(snippet), "process.exit()")
    assert shop.run("node page.mjs").startswith("true {")
