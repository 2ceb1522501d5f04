"""README.md and the pages in docs/ agree with the service: their commands, settings and lists."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from inspect import getclosurevars
from pathlib import Path
from shutil import which

import pytest

from contract import operations_page
from operations.commands import program
from serving import settings
from sql import database
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.openapi_document import DOCUMENT
from tests.support.page_examples import fits
from tests.support.promises import commands_in
from tests.support.service import ROOT, Service, run

SETTINGS_PAGE = ROOT / "docs" / "reference" / "settings.md"
COMMANDS_PAGE = ROOT / "docs" / "reference" / "commands.md"
CURL = ROOT / "docs" / "how-to" / "curl.md"
OPERATIONS = ROOT / "docs" / "reference" / "operations.md"
SCALING = ROOT / "docs" / "how-to" / "scale.md"
PROXY = ROOT / "docs" / "how-to" / "proxy.md"


def commands_of(page: Path) -> list[tuple[str, str]]:
    """The commands of a page that send requests or read responses, each with the answer that it shows."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = entry.partition("\n")
            if command.startswith(("curl ", "jq ")):
                found.append((command, answer.strip()))
    return found


@pytest.fixture(scope="module")
def demo(make_database: Callable[..., str]) -> str:
    """A database with the demo."""
    url = make_database()
    done = run("operations/flags.py", "demo", "--use-database-url", DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    return url


@pytest.mark.slow
@pytest.mark.skipif(not which("jq"), reason="jq is not installed")
def test_every_command_gets_the_answer_that_the_page_shows(demo, make_database, tmp_path):
    commands = commands_of(CURL)
    assert len(commands) >= 150
    with Service(make_database(like=demo)) as service:
        given = {"BASE": service.origin, "KEY": ADMIN_KEY, "PASSWORD": str(SETTINGS["INIT_ADMIN_PASSWORD"])}
        for command, shown in commands:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=os.environ | given,
                capture_output=True,
                text=True,
                check=True,
            )
            assert fits(shown, done.stdout), f"{command}\n{done.stdout}"


def test_settings_page_lists_every_setting():
    rows = re.findall(
        r"^\| `([A-Z_]+)`( \*)? \| (?:`(.*?)`)? *\| ([^|]+) \| (.*) \|$",
        SETTINGS_PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    expected = [
        (setting.name, " *" if setting.secret else "", setting.default or "", setting.meaning)
        for setting in settings.SETTINGS
    ]
    assert sorted((*row[:3], row[4]) for row in rows) == sorted(expected)
    limits = {setting.name: getclosurevars(setting.read).nonlocals for setting in settings.SETTINGS}
    ranges = {name: "{low} to {high}".format(**found) for name, found in limits.items() if "low" in found}
    assert len(ranges) > 20
    assert {row[0]: row[3] for row in rows if row[0] in ranges} == ranges


def test_commands_page_lists_every_command_with_its_options():
    rows = re.findall(
        r"^\| `([a-z -]+[a-z])(?: \[?[A-Z]+\]?)*` \| (.*?) ?\| ",
        COMMANDS_PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    listed = {name: set(re.findall(r"`(--[a-z-]+)`", options)) for name, options in rows}
    assert listed == dict(commands_in(program))


def test_pages_about_scaling_and_proxies_set_only_existing_settings():
    text, proxies = (page.read_text(encoding="utf-8") for page in (SCALING, PROXY))
    defaults = {setting.name: setting.default for setting in settings.SETTINGS}
    named = {*re.findall(r"\b([A-Z]{3,}(?:_[A-Z]+)*(?:_(?=…))?)(?=[`=…])", text)}
    assert named - defaults.keys() == {"LOGIN_", "MAX_", "INIT_", "IMPORT_", "PGPASSWORD"}
    assert {*re.findall(r"`([A-Z_]{4,})[`=]", proxies)} <= defaults.keys()
    each = int(defaults["WEB_CONCURRENCY"] or 0) * int(defaults["DATABASE_POOL_SIZE"] or 0)
    assert f"With the defaults a service takes {each} at most" in text


def test_settings_for_poolers_are_our_own():
    assert database.OPTIONS.startswith("-c statement_timeout=30s -c jit=off ")
    text = SCALING.read_text(encoding="utf-8")
    assert "connect_query='SET statement_timeout = 30000; SET jit = off'\n" in text
    for setting in ("statement_timeout = '30s'", "jit = off"):
        assert f"ALTER ROLE flags IN DATABASE flags SET {setting};\n" in text


def test_page_of_operations_is_freshly_generated_and_has_a_command_for_each():
    text = OPERATIONS.read_text(encoding="utf-8")
    assert text == operations_page.page(DOCUMENT), "run make generate"
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("curl ")]
    shown = [json.loads(command[command.index("-d") + 1]) for command in commands if "-d" in command]
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    bodies = [operation["requestBody"] for operation in operations if "requestBody" in operation]
    examples = [body["content"]["application/json"]["examples"]["usual"]["value"] for body in bodies]
    assert len(commands) == len(operations) > 100
    assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, examples))
