"""The commands of README.md and docs/how-to/curl.md do what the pages show, on the real service with the data of `make demo`."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from flask import Flask

import sql
from app import create_app
from tests.conftest import ADMIN_KEY, SETTINGS
from tests.support.page_examples import README, fits
from tests.support.service import ROOT, Service, run
from validators import settings

CURL = ROOT / "docs" / "how-to" / "curl.md"
SCALING = ROOT / "docs" / "how-to" / "scale.md"


def commands_of(page: Path) -> list[tuple[str, str]]:
    """The curl commands of a page, each with the answer that it shows."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = entry.partition("\n")
            if command.startswith("curl "):
                found.append((command, answer.strip()))
    return found


@pytest.fixture(scope="module")
def demo(make_database: Callable[..., str]) -> tuple[str, str]:
    """A database with the demo, and the signup token that the command printed."""
    url = make_database()
    done = run("-m", "flask", "--app", "app", "demo", "--use-database-url", DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    token = re.search(r"signup token: (\w+)", done.stdout)
    assert token is not None
    return url, token[1]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), [(README, 9), (CURL, 20)], ids=["README", "curl"])
def test_every_command_gets_the_answer_that_the_page_shows(page, number, demo, make_database, tmp_path):
    url, token = demo
    commands = commands_of(page)
    assert len(commands) >= number
    with Service(make_database(like=url)) as service:
        given = {"BASE": service.origin, "KEY": ADMIN_KEY, "PASSWORD": str(SETTINGS["INIT_ADMIN_PASSWORD"]), "TOKEN": token}
        for command, shown in commands:
            done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=os.environ | given, capture_output=True, text=True, check=True)
            assert fits(shown, done.stdout), f"{command}\n{done.stdout}"


def test_the_comparison_is_no_rubber_stamp():
    assert fits('{"a": …, "b": 2}', '{"a": [1, 2],\n "b": 2}')
    assert not fits('{"a": …, "b": 2}', '{"a": 1, "b": 3}')
    assert not fits('{"a": 1}', '{"a": 1, "b": 3}')
    assert not fits("200", "404")


def test_the_readme_shows_each_of_the_nine_operations():
    shown = " ".join(command for command, _ in commands_of(README))
    for part in (
        "-X PUT … /api/admin/invite-link/tokens/",
        "/api/admin/insights",
        "/api/admin/search/events",
        "-X DELETE … /api/admin/projects/checkout/features/",
        "/overview",
        "-X POST … /auth/simple/login",
        "/access",
        "-X POST … /signup",
        "-X POST … /api/admin/events/search",
    ):
        assert re.search(".*".join(map(re.escape, part.split(" … "))), shown), part


def test_the_readme_begins_with_what_it_is_and_with_the_demo():
    text = README.read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["Start", "Nine operations", "Administration", "Settings", "Upgrading", "Backup"]
    assert text.split("\n\n")[1] == "A small self-hosted feature-flag server with the Unleash API. One command starts it."
    assert re.findall(r"```console\n\$ (make \w+)\n", text) == ["make demo", "make run", "make test"]


def test_the_readme_lists_every_setting_with_its_default_and_meaning():
    rows = re.findall(r"^\| `([A-Z_]+)`( \*)? \| (?:`(.*?)`)? *\| (.*) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [(it.name, " *" if it.secret else "", it.default or "", it.meaning) for it in settings.SETTINGS]
    assert rows == expected


def test_what_the_page_about_scaling_sets_is_a_setting():
    text = SCALING.read_text(encoding="utf-8")
    names = {it.name for it in settings.SETTINGS}
    said = re.findall(r"\b([A-Z]{3,}(?:_[A-Z]+)*(?:_(?=…))?)(?=[`=…])", text)
    assert {name for name in said if name not in names} == {"LOGIN_", "MAX_", "INIT_ADMIN_"}
    assert {"DATABASE_URL", "DATABASE_POOLER", "WEB_CONCURRENCY", "DATABASE_POOL_SIZE", "BASE_URL", "TRUSTED_PROXIES"} <= set(said)
    defaults = {it.name: it.default for it in settings.SETTINGS}
    each = int(defaults["WEB_CONCURRENCY"] or 0) * int(defaults["DATABASE_POOL_SIZE"] or 0)
    assert f"With the defaults a service takes {each} at most" in text


PROXY = ROOT / "docs" / "how-to" / "proxy.md"


def test_what_the_page_about_proxies_sets_is_a_setting():
    names = {it.name for it in settings.SETTINGS}
    assert {name for name in re.findall(r"`([A-Z_]{4,})[`=]", PROXY.read_text(encoding="utf-8"))} <= names


def test_a_pooler_is_told_to_set_what_we_set_ourselves():
    assert sql.OPTIONS.startswith("-c statement_timeout=30s -c jit=off ")
    text = SCALING.read_text(encoding="utf-8")
    assert "connect_query='SET statement_timeout = 30000; SET jit = off'\n" in text
    for setting in ("statement_timeout = '30s'", "jit = off"):
        assert f"ALTER ROLE flags IN DATABASE flags SET {setting};\n" in text


def operations_of(app: Flask, commands: list[str]) -> Iterator[str]:
    """The routes that curl commands ask, as METHOD rule. What an earlier command made is at the place that its answer named."""
    places: dict[str, str] = {}
    for command in commands:
        plain = re.sub(r"\$\(sed -n '[^']*' (\S+?)\)", lambda file: places[file[1]], command)
        plain = re.sub(r"\$\((?:[^()']|'[^']*')*\)|\$(?!BASE)\w+", "1", plain)
        method = re.search(r"-X ([A-Z]+)", plain)
        address = re.search(r'"\$BASE(/[^"?]*)', plain)
        assert address, command
        kept = re.search(r"-D (\S+)", plain)
        if kept:
            places[kept[1]] = address[1].rpartition("/")[2] + "/1"
        name = method[1] if method else "GET"
        rule, _ = app.url_map.bind("localhost").match(unquote(address[1]), name, return_rule=True)
        yield f"{name} {rule.rule}"


def test_the_curl_page_shows_every_operation():
    app = create_app(SETTINGS | {"DATABASE_URL": "postgresql://nowhere"})
    routes = {f"{method} {rule.rule}" for rule in app.url_map.iter_rules() for method in (rule.methods or set()) - {"HEAD"}}
    # A page for people, which is looked at.
    routes -= {route for route in routes if route.startswith("GET /docs")}
    assert routes - set(operations_of(app, [command for command, _ in commands_of(CURL)])) == set()


def test_every_choice_in_the_code_can_be_looked_up():
    decisions = (ROOT / "docs" / "development" / "decisions.md").read_text(encoding="utf-8")
    marked = [
        path for room in ("blueprints", "sql", "validators") for path in (ROOT / room).glob("*.py") if "Our choice:" in path.read_text()
    ]
    assert len(marked) >= 10
    assert "`# Our choice:`" in decisions
