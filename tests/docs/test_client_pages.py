"""The short pages about applications: the service accepts their commands, and their snippets get the flag.

The commands and snippets use $KEY, $TOKEN (of a client token) and $SECRET (of a frontend token), and the flags of a
shop.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.instance import ADMIN_KEY
from tests.support.sdk import NODE_MODULES, PYTHON, require
from tests.support.sdk_project import Project
from tests.support.service import ROOT, Service
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
HOW_TO = ROOT / "docs" / "how-to"
PYTHON_BEGINS = 'import os\n\nBASE, SECRET = os.environ["BASE"], os.environ["SECRET"]\n'
JAVASCRIPT_BEGINS = "const { BASE, SECRET } = process.env;\n"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


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
            yield terminal


@pytest.mark.parametrize("page", ["browsers", "openfeature", "usage"])
def test_the_service_accepts_the_commands_of_a_page(page: str, shop: Terminal) -> None:
    commands = [block for block in blocks(page, "bash") if block.startswith("curl ")]
    assert commands
    for command in commands:
        shop.run(f"set -e; {command}")


def save(shop: Terminal, name: str, *lines: str) -> None:
    """Write a program in the folder of the terminal, which finds the SDKs in JavaScript there."""
    (shop.folder / name).write_text("\n".join(lines), encoding="utf-8")
    modules = shop.folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(NODE_MODULES)


def test_the_snippet_in_python_evaluates_a_flag(shop: Terminal) -> None:
    require(".py")
    (snippet,) = blocks("openfeature", "python")
    *lines, last = snippet.splitlines()
    save(shop, "snippet.py", PYTHON_BEGINS, *lines, f"print({last})")
    assert shop.run(f"{PYTHON} snippet.py") == "True\n"


@pytest.mark.parametrize("number", [0, 1], ids=["server", "web"])
def test_the_snippets_in_javascript_evaluate_a_flag(number: int, shop: Terminal) -> None:
    require(".mjs")
    *lines, last = blocks("openfeature", "js")[number].splitlines()
    save(shop, "snippet.mjs", JAVASCRIPT_BEGINS, *lines, f"console.log({last.rstrip(';')})", "process.exit()")
    assert shop.run("node snippet.mjs") == "true\n"


def test_the_snippet_for_pages_shows_the_flags_of_a_user(shop: Terminal) -> None:
    require(".mjs")
    (snippet,) = blocks("browsers", "js")
    save(shop, "page.mjs", JAVASCRIPT_BEGINS, "const secret = SECRET;", snippet, "process.exit()")
    assert shop.run("node page.mjs").startswith("true {")
