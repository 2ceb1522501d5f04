"""A real PostgreSQL for every test: a rolled-back transaction for most, a database of its own for those that need
commits or races.
"""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from flask import Flask

from app import create_app
from operations import bootstrap
from operations.postgres import embedded
from sql.database import Connection, connect
from tests.access import RouteWorld, make_route_world
from tests.support.command_line import CommandLine
from tests.support.instance import SETTINGS, address_of, apps, pinned_to
from tests.support.secrecy import VAULT
from tests.support.world import Caller, World

# Files of slow tests that take half a minute and more: begun first, or a process would be left alone with one of them
# at the end.
LONG = (
    "service/events/test_page_size",
    "service/hostile/test_everywhere",
    "service/hostile/test_requests",
    "hunts/",
    "clients/browser/test_documentation",
    "clients/browser/test_every_page",
    "clients/browser/test_unleash_ui",
    "clients/generated/test_generated_clients",
    "operations/commands/test_backup",
    "operations/commands/test_move_from_unleash",
    "operations/commands/demo/",
    "operations/commands/test_restore",
    "docs/test_operations",
    "docs/test_pages",
    "service/pages/test_permissions",
    "clients/sdk/",
    "operations/serving/test_crashes",
    "operations/serving/test_database_away",
    "operations/serving/embedded/",
    "operations/serving/test_failover",
    "operations/serving/test_metrics_service",
    "service/serving/pool/",
    "operations/serving/test_pooler",
    "operations/serving/test_secrets_kept",
)

# Files that depend on the version of the PostgreSQL server (make test-postgres): schema and its upgrades, searches and
# their plans, dumps, roles, locks and transactions. test_story and test_round_trips ask every route once, and so run
# its SQL.
POSTGRES = (
    "service/events/",
    "service/flags/test_records",
    "service/flags/test_search",
    "service/insights/",
    "service/projects/test_overview",
    "service/test_round_trips",
    "service/test_story",
    "operations/commands/test_backup",
    "operations/commands/test_doctor",
    "operations/commands/test_migrate",
    "operations/commands/test_restore",
    "service/races/",
    "operations/schema/",
    "service/serving/pool/",
    "service/serving/test_transactions",
)

# The slow tests of the gate (make test-gate): start, stop, signals, reload, proxy, backup and restore, migration, two
# services, one SDK that polls and one with a stream, one walk through the pages, and what each permission opens.
GATE = (
    "service/access/test_by_permission",
    "service/access/test_elsewhere",
    "clients/browser/test_use",
    "clients/browser/test_search.py::test_flag_is_found",
    "clients/browser/test_projects.py::test_several_flags_are_archived",
    "clients/browser/test_flag_changes.py::test_switch_is_undone",
    "clients/browser/test_strategy_editor.py::test_a_fifth_of_one_country_gets_two_variants_by_mouse",
    "clients/browser/test_strategy_editor.py::test_a_ramp_plan",
    "operations/commands/test_backup",
    "operations/schema/test_migrate_beside_old",
    "operations/schema/test_upgrade",
    "clients/sdk/test_push.py::test_application_sees_each_change[python-streaming]",
    "clients/sdk/test_unleash.py::test_application_sees_flags_and_reports_their_usage[unleash_client.py]",
    "operations/serving/test_proxy",
    "operations/serving/test_server_start",
    "operations/serving/test_server_stop",
    "operations/serving/test_several_services",
    "operations/serving/test_signals",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the gate, and what depends on the server's version. Run long files first."""
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name.startswith(GATE) and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.gate)
        if name.startswith(POSTGRES):
            item.add_marker(pytest.mark.postgres)
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(LONG))


def pytest_collection_finish() -> None:
    """Leave out the collected tests when garbage is collected: they stay until the end. That saves 6 % of the processor
    time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> None:
    """The secrets of a test are its own; every answer is held against them (tests/support/secrecy.py)."""
    VAULT.forget()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL in which databases can be made: TEST_DATABASE_URL, or a private one."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        yield url
        return
    private = embedded.Server(Path(tmp_path_factory.mktemp("postgres")) / "data")
    url = private.ensure()
    with connect(url) as conn:
        # Nothing here has to outlive a power cut. Autovacuum takes locks and processor time whenever it likes.
        for option in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
            conn.execute(f"ALTER SYSTEM SET {option} = off")  # pyright: ignore
        conn.execute("SELECT pg_reload_conf()")
    yield url
    private.release()


@pytest.fixture(scope="session")
def make_database(server: str) -> Iterator[Callable[..., str]]:
    """make_database(): the address of a new database, bootstrapped; or empty=True, or like another one; dropped at the
    end.
    """
    created: list[str] = []
    with psycopg.connect(server, autocommit=True) as admin:

        def make(*, empty: bool = False, like: str | None = None) -> str:
            name = f"test_{uuid4().hex}"
            origin = "template0" if empty else urlsplit(like).path[1:] if like else created[0]
            admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{origin}" ENCODING UTF8')  # pyright: ignore
            created.append(name)
            return address_of(server, name)

        bootstrap.prepare_database(make(empty=True), create_app(SETTINGS).config)
        yield make
        # A private server goes with all that it has.
        for name in created if "TEST_DATABASE_URL" in os.environ else ():
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # pyright: ignore


@pytest.fixture(scope="module")
def make_app() -> Iterator[Callable[..., Flask]]:
    """make_app(url, **settings): the service on a database; its connections go with the module, so that the server has
    enough for all.
    """
    with apps() as make:
        yield make


@pytest.fixture(scope="module")
def line(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Iterator[CommandLine]:
    """The command line on a database that is set up; who changes it changes it back."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


@pytest.fixture
def empty(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Iterator[CommandLine]:
    """The command line on an empty database."""
    url = make_database(empty=True)
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


@pytest.fixture(scope="session")
def shared_url(make_database: Callable[..., str]) -> str:
    """The database of all tests that roll back."""
    return make_database()


@pytest.fixture(scope="session")
def shared_app(shared_url: str) -> Iterator[Flask]:
    """The service on that database."""
    with apps() as make:
        yield make(shared_url)


@pytest.fixture(scope="session")
def shared_connection(shared_url: str) -> Iterator[Connection]:
    """The one connection of all tests that roll back."""
    with connect(shared_url) as conn:
        # Refusals are rolled back to savepoints here. psycopg would forget what is prepared each time, and most of a
        # test be planning.
        conn._prepared.clear = lambda: False  # pyright: ignore
        conn.prepared_max = 1000
        # Tables without statistics count as large, and starting parallel workers takes longer than reading them all.
        conn.execute("SET max_parallel_workers_per_gather = 0")
        yield conn


@pytest.fixture
def conn(shared_app: Flask, shared_connection: Connection) -> Iterator[Connection]:
    """A connection inside a transaction that is rolled back; the app uses it too. now() stands still for the whole
    test.
    """
    with shared_connection.transaction(force_rollback=True), pinned_to(shared_app, shared_connection):
        yield shared_connection


@pytest.fixture
def empty_log(make_database: Callable[..., str]) -> str:
    """The address of a database of its own without events, for commits."""
    url = make_database()
    with connect(url) as conn:
        conn.execute("TRUNCATE events RESTART IDENTITY")
    return url


@pytest.fixture
def app(shared_app: Flask, conn: Connection) -> Flask:  # noqa: ARG001
    """The service, on the test's connection."""
    return shared_app


@pytest.fixture
def world(app: Flask, conn: Connection) -> World:
    """What there is, and the means to make more."""
    return World(app, conn)


@pytest.fixture
def alice(world: World) -> Caller:
    """Alice administers."""
    return world.user("Alice", root_role=1)


@pytest.fixture
def eve(world: World) -> Caller:
    """Eve edits."""
    return world.user("Eve", root_role=2)


@pytest.fixture
def victor(world: World) -> Caller:
    """Victor views."""
    return world.user("Victor")


@pytest.fixture
def apollo(world: World) -> str:
    """Project apollo, private: Olga's and Max's."""
    return world.project("apollo", mode="private")


@pytest.fixture
def olga(world: World, apollo: str) -> Caller:
    """Olga owns project apollo."""
    olga = world.user("Olga")
    world.member(apollo, olga, role=4)
    return olga


@pytest.fixture
def max(world: World, apollo: str) -> Caller:
    """Max is a member of project apollo."""
    max = world.user("Max")
    world.member(apollo, max, role=5)
    return max


@pytest.fixture
def stranger(app: Flask) -> Caller:
    """A caller without a credential."""
    return Caller(app)


@pytest.fixture
def route_world(
    world: World,
    alice: Caller,
    eve: Caller,
    victor: Caller,
    olga: Caller,
    max: Caller,
    stranger: Caller,
    monkeypatch: pytest.MonkeyPatch,
) -> RouteWorld:
    """The world of the routes, with everybody in it, and with a mail server that does not listen."""
    for setting, value in {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": 9, "SMTP_FROM": "flags@example.org"}.items():
        monkeypatch.setitem(world.app.config, setting, value)
    return make_route_world(world, alice=alice, eve=eve, victor=victor, olga=olga, max=max, stranger=stranger)
