"""flask demo: made once, all or nothing, the same for a seed, and what it prints is true."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import Result
from flask import Flask

import commands
from commands import demo as command
from sql import Connection, connect, flags, projects, rows
from tests.conftest import ADMIN_KEY
from tests.world import Caller

pytestmark = pytest.mark.slow

THERE = "The demo data is there already; nothing was changed.\n"
# Secrets are random, whatever the seed.
VOLATILE = {"secret", "digest"}


class Instance:
    """A database with what `flask demo` did to it."""

    def __init__(self, url: str, make_app: Callable[..., Flask]) -> None:
        self.url = url
        self.app = make_app(url)

    def demo(self, *args: str) -> Result:
        """Run the command; a bug is raised here."""
        return self.app.test_cli_runner().invoke(command.demo, args, catch_exceptions=False)

    def read(self, statement: str) -> list[dict[str, Any]]:
        """The rows of a statement."""
        with connect(self.url) as conn:
            return rows(conn, statement)  # pyright: ignore

    def digests(self) -> dict[str, str]:
        """Of every table its rows, in any order, as a digest."""
        return {table["name"]: self.digest(table["name"]) for table in self.read(TABLES)}

    def digest(self, table: str) -> str:
        found = [row["row"] for row in self.read(f'SELECT to_jsonb(t) AS row FROM "{table}" AS t')]
        texts = sorted(json.dumps({key: word for key, word in row.items() if key not in VOLATILE}, sort_keys=True) for row in found)
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


TABLES = "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
SMALL = ("--scale", "0.05")


@pytest.fixture(scope="module")
def make_instance(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Callable[..., Instance]:
    """make_instance(): a database that is bootstrapped, and no more."""
    return lambda **kind: Instance(make_database(**kind), make_app)


@pytest.fixture(scope="module")
def made(make_instance: Callable[..., Instance]) -> tuple[Instance, Result]:
    """An instance with the demo of a day long ago, and what the command said."""
    instance = make_instance()
    return instance, instance.demo(*SMALL, "--today", "2024-02-29")


@pytest.fixture(scope="module")
def fresh(make_instance: Callable[..., Instance]) -> tuple[Instance, Result]:
    """An instance with the demo of today, and what the command said."""
    instance = make_instance()
    return instance, instance.demo(*SMALL)


def test_the_command_is_one_of_the_service() -> None:
    assert command.demo in commands.ALL


def test_it_counts_what_it_made(made: tuple[Instance, Result]) -> None:
    instance, result = made
    assert (result.exit_code, result.stderr) == (0, "")
    told = {kind: int(number.replace(",", "")) for kind, number in re.findall(r"^  (\S.*?)  +([\d,]+)$", result.stdout, re.MULTILINE)}
    tables = {
        "users": "users WHERE account_type = 'User' AND username IS DISTINCT FROM 'admin'",
        "service accounts": "users WHERE account_type = 'Service Account'",
        "groups": "groups",
        "projects": "projects WHERE id <> 'default'",
        "segments": "segments",
        "flags": "flags",
        "strategies": "strategies",
        "application keys": "api_keys WHERE kind <> 'admin'",
        "signup tokens": "signup_tokens",
        "events": "events WHERE created_at < '2024-02-29Z'",
        "usage reports": "usage_metrics",
    }
    assert told == {kind: instance.read(f"SELECT count(*) FROM {rest}")[0]["count"] for kind, rest in tables.items()}
    assert told["events"] == 2500
    assert all(told.values())


def test_a_second_run_changes_nothing(made: tuple[Instance, Result]) -> None:
    instance, _ = made
    before = instance.digests()
    for args in ((), ("--seed", "2")):
        again = instance.demo(*args)
        assert (again.exit_code, again.stdout, again.stderr) == (0, THERE, "")
    assert instance.digests() == before


def test_the_same_seed_and_day_make_the_same_data(made: tuple[Instance, Result], make_instance: Callable[..., Instance]) -> None:
    instance, _ = made
    twin, other = make_instance(), make_instance()
    assert twin.demo(*SMALL, "--seed", "1", "--today", "2024-02-29").exit_code == 0
    assert other.demo(*SMALL, "--seed", "2", "--today", "2024-02-29").exit_code == 0
    assert twin.digests() == instance.digests()
    different = {table for table, digest in other.digests().items() if digest != instance.digest(table)}
    assert different >= {"events", "flags", "flag_environments", "strategies", "usage_metrics", "user_seen_days"}
    names = "SELECT name, type FROM flags ORDER BY 1"
    assert other.read(names) == instance.read(names)


def test_of_two_at_once_one_makes_it_and_the_other_finds_it(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance()

    def make(_number: int) -> object:
        with instance.app.app_context():
            return command.make(instance.url, 1, date(2024, 2, 29), 0.05)

    with ThreadPoolExecutor(2) as both:
        results = list(both.map(make, range(2)))
    assert sorted(result is None for result in results) == [False, True]
    assert instance.read("SELECT count(*) FROM events WHERE created_at < '2024-02-29Z'") == [{"count": 2500}]


def test_an_empty_database_is_set_up_first(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance(empty=True)
    result = instance.demo(*SMALL)
    assert result.exit_code == 0
    assert "The database is new" in result.stderr
    assert instance.read("SELECT count(*) FROM users WHERE username = 'admin'") == [{"count": 1}]
    assert instance.read("SELECT count(*) FROM flags")[0]["count"] > 0


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (lambda conn: projects.insert(conn, "checkout", "Our own"), "there is a project checkout already"),
        (lambda conn: flags.insert(conn, "checkout-one-page", "default"), "there is a flag checkout-one-page already"),
    ],
    ids=["early", "late"],
)
def test_a_name_that_is_taken_refuses_all(make_instance: Callable[..., Instance], take: Callable[[Connection], Any], what: str) -> None:
    instance = make_instance()
    with connect(instance.url) as conn:
        take(conn)
    before = instance.digests()
    result = instance.demo(*SMALL)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: The demo data cannot be made: {what}. Nothing was changed.\n"
    assert instance.digests() == before


@pytest.mark.parametrize("day", ["tomorrow", "2009-12-31", "2024-02-30", (datetime.now(UTC) + timedelta(days=2)).date().isoformat()])
def test_a_day_that_makes_no_sense_is_refused(made: tuple[Instance, Result], day: str) -> None:
    result = made[0].demo("--today", day)
    assert result.exit_code == 2
    assert "Invalid value for '--today'" in result.stderr


def test_nobody_of_the_company_can_log_in(made: tuple[Instance, Result]) -> None:
    instance, result = made
    assert instance.read("SELECT username FROM users WHERE password_hash IS NOT NULL") == [{"username": "admin"}]
    assert instance.read("SELECT count(*) FROM sessions") == instance.read("SELECT count(*) FROM personal_tokens") == [{"count": 0}]
    secrets = {row["secret"] for row in instance.read("SELECT secret FROM api_keys WHERE secret IS NOT NULL")}
    assert secrets
    assert not any(secret in result.stdout for secret in secrets)


def test_its_log_tells_no_secret(made: tuple[Instance, Result]) -> None:
    instance, _ = made
    secrets = instance.read("SELECT secret FROM signup_tokens UNION ALL SELECT secret FROM api_keys WHERE secret IS NOT NULL")
    for row in secrets:
        assert instance.read(f"SELECT id FROM events AS t WHERE to_jsonb(t)::text LIKE '%{row['secret'][-30:]}%'") == []


def test_every_line_that_it_prints_works(fresh: tuple[Instance, Result]) -> None:
    instance, result = fresh
    caller = Caller(instance.app, ADMIN_KEY)
    lines = [shlex.split(line) for line in result.stdout.splitlines() if line.startswith("  curl ")]
    assert len(lines) == 7
    answers = []
    for words in lines:
        assert ("Authorization: <API_KEY>" in words) == ("/invite/" not in words[-1])
        address = urlsplit(words[-1].replace("http://localhost", ""))
        body = words[words.index("-d") + 1].replace("<PASSWORD>", "quite a long password") if "-d" in words else None
        method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
        path = f"{address.path}?{address.query}" if address.query else address.path
        answer = caller.request(method, path, data=body, content_type="application/json" if body else None)
        assert answer.status_code == 200, (words, answer.text)
        answers.append(answer.json)
    overview, insights, short_life, zurich, access, kim, token = answers
    assert overview["name"] == "Checkout"
    assert len(insights["userTrends"]) in (26, 27)
    assert {event["featureName"] for event in short_life["events"]} == {"checkout-one-page"}
    assert short_life["total"] == 17
    assert "Café Zürich" in json.dumps(zurich, ensure_ascii=False)
    assert {user["name"] for user in access["users"]} >= {"Tomasz Wójcik", "Jonas Weber"}
    assert (kim["name"], kim["rootRole"]) == ("Kim", 3)
    assert (token["enabled"], [user["name"] for user in token["users"]]) == (False, ["Kim"])


def test_the_strategy_of_the_readme_can_go_without_switching_its_flag_off(fresh: tuple[Instance, Result]) -> None:
    instance, _ = fresh
    path = "/api/admin/projects/checkout/features/checkout-one-page/environments/production/strategies/6e1b8d2c-4a7f-4f6e-9c1d-2b5a3c4d5e6f"
    assert Caller(instance.app, ADMIN_KEY).delete(path).status_code == 200
    left = instance.read(
        "SELECT enabled, disabled FROM flags JOIN flag_environments ON flag_id = flags.id"
        "  JOIN strategies USING (flag_id, environment) WHERE flags.name = 'checkout-one-page' AND environment = 'production'"
    )
    assert left == [{"enabled": True, "disabled": False}]
    assert instance.demo().stdout == THERE
