"""The real service behind PgBouncer in transaction mode, with the settings of docs/how-to/scale.md."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from sql.database import connect, value
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.program import AS_ANYBODY, Program, changed
from tests.support.service import IMPORT, ROOT, Answer, Service, free_port, is_alive, run, wait_until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
_printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout if PROGRAM else ""
# As (1, 18); () without the program.
VERSION = tuple(int(part) for part in re.findall(r"\d+", _printed)[:2])

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="needs PgBouncer (on Debian: apt-get install pgbouncer)"),
]

# Not the half minute of the page: that is too long to wait for.
LIMIT_SECONDS = 5
CLIENTS, ROUNDS = 8, 6
HEADERS = {"Authorization": ADMIN_KEY}
OVERVIEW = "/api/admin/projects/default/overview"
FEATURES = "/api/admin/projects/default/features"


def block(language: str) -> str:
    """Return the only block of that language in docs/how-to/scale.md."""
    page = (ROOT / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return found


class Pooler:
    """PgBouncer as docs/how-to/scale.md has it, but for addresses, limits and these changes;

    `with` starts it and stops it.
    """

    def __init__(self, database: str, more: str = "", changes: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="pooler-")
        self._place = Path(self._folder.name)
        self._place.chmod(0o755)
        server = conninfo_to_dict(database)
        user, password = server.get("user") or "postgres", server.get("password") or "secret"
        (self._place / "userlist.txt").write_text(f'"{user}" "{password}"\n')
        own = {
            "host=db.example.org port=5432": f"host={server['host']} port={server.get('port') or 5432}",
            "dbname=flags": f"dbname={server['dbname']}",
            "10.0.0.10": "127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.port}",
            "/etc/pgbouncer/userlist.txt": str(self._place / "userlist.txt"),
            "default_pool_size = 20": "default_pool_size = 2",
        }
        changes = changes or {"statement_timeout = 30000": f"statement_timeout = {LIMIT_SECONDS * 1000}"}
        text = changed(block("ini"), {**own, **changes})
        (self._place / "pgbouncer.ini").write_text(f"{text}unix_socket_dir =\n{more}")
        self.url = f"postgresql://{user}:{password}@127.0.0.1:{self.port}/flags"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()
        self._folder.cleanup()

    def start(self) -> None:
        """Start it, and return when it listens."""
        assert PROGRAM
        # The socket of an embedded PostgreSQL is for its owner alone.
        rights = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override") if AS_ANYBODY else ()
        command = [*AS_ANYBODY, *rights, PROGRAM, self._place / "pgbouncer.ini"]
        self._program = Program(command, self._place / "log")
        self._program.ready(self.port)

    def restart(self) -> None:
        """Stop it with its connections, and start it."""
        self._program.kill()
        self.start()

    def command(self, name: str, setting: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of flags.py on the database behind the pooler."""
        return run("operations/flags.py", name, *arguments, DATABASE_URL=self.url, DATABASE_POOLER=setting)

    def refusal(self, **settings: str) -> str:
        """Return why the service refuses to start behind the pooler, or nothing if it starts."""
        done = run(*IMPORT, DATABASE_URL=self.url, **settings)
        assert (done.returncode, done.stdout) == (1 if done.stderr else 0, "")
        return done.stderr


@dataclass
class Pooled:
    """A service, the pooler between it and the database, and the URL of the database."""

    service: Service
    pooler: Pooler
    url: str

    def get(self) -> Answer:
        """GET, by the administrator's token."""
        return self.service.get(OVERVIEW, headers=HEADERS)

    def get_many(self) -> set[int]:
        """Return the statuses of as many requests at once as there are clients."""
        with ThreadPoolExecutor(CLIENTS) as threads:
            return {answer.status for answer in threads.map(lambda _: self.get(), range(CLIENTS))}


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """An empty database, in whose sessions it is another time of day."""
    url = make_database(empty=True)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE \"{urlsplit(url).path[1:]}\" SET timezone = 'Asia/Tokyo'")  # pyright: ignore
    return url


def service_behind(pooler: Pooler, setting: str) -> Service:
    """Return a service whose connections, up to four, share two of the database."""
    given = {"INIT_ADMIN_PASSWORD": SETTINGS["INIT_ADMIN_PASSWORD"], "INIT_ADMIN_API_TOKENS": ADMIN_KEY}
    more = {"LOGIN_ATTEMPTS_PER_MINUTE": 1000, "WEB_CONCURRENCY": 2, "DATABASE_POOL_SIZE": 2}
    return Service(pooler.url, **given, **more, DATABASE_POOLER=setting)


@pytest.fixture(scope="module")
def pooled(url: str) -> Iterator[Pooled]:
    """Such a service. The pooler was there when it created its schema."""
    with Pooler(url) as pooler, service_behind(pooler, "transaction") as service:
        yield Pooled(service, pooler, url)


def work(service: Service, number: int) -> list[tuple[str, Answer]]:
    """Send the requests of one client. Return their paths and responses."""
    answers: list[tuple[str, Answer]] = []

    def ask(method: str, path: str, json: object = None) -> None:
        answers.append((path, service.request(method, path, json, HEADERS)))

    for round in range(ROUNDS):
        flag = f"flag-{number}-{round}"
        ask("POST", "/auth/simple/login", {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]})
        ask("POST", FEATURES, {"name": flag})
        ask("POST", f"{FEATURES}/{flag}/environments/production/strategies", {"name": "default"})
        ask("POST", f"{FEATURES}/{flag}/environments/production/on")
        ask("GET", f"/api/admin/search/events?feature=IS:{flag}&limit=1")
        ask("GET", OVERVIEW)
    return answers


def other_clients(conn: psycopg.Connection) -> list[int]:
    """Return the PIDs of all other client sessions of the database. Autovacuum workers are left out."""
    found = conn.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return [pid for (pid,) in found]


def assert_everything_works(pooled: Pooled) -> None:
    """Assert that many clients get the right responses many times."""
    with ThreadPoolExecutor(CLIENTS) as threads:
        found = threads.map(lambda number: work(pooled.service, number), range(CLIENTS))
        answers = [answer for some in found for answer in some]
    assert len(answers) == CLIENTS * ROUNDS * 6
    assert [(path, answer.status, answer.body) for path, answer in answers if answer.status >= 300] == []
    created = [answer.json["createdAt"] for path, answer in answers if path == FEATURES]
    assert len(created) == CLIENTS * ROUNDS
    assert all(abs(datetime.fromisoformat(instant) - datetime.now(UTC)) < timedelta(minutes=5) for instant in created)
    with psycopg.connect(pooled.url) as conn:
        assert 1 <= len(other_clients(conn)) <= 2
        events = dict(conn.execute("SELECT type, count(*) FROM events WHERE project = 'default' GROUP BY type"))  # pyright: ignore
    assert events["feature-created"] == events["feature-environment-enabled"] == CLIENTS * ROUNDS
    assert "Traceback" not in pooled.service.err


def test_many_clients_share_two_connections(pooled: Pooled) -> None:
    assert_everything_works(pooled)


@pytest.mark.skipif(VERSION < (1, 22), reason="needs PgBouncer 1.22 or newer")
def test_prepared_statements_of_the_pooler(make_database: Callable[..., str]) -> None:
    url = make_database(empty=True)
    with Pooler(url, "max_prepared_statements = 200\n") as pooler, service_behind(pooler, "prepared") as service:
        pooled = Pooled(service, pooler, url)
        assert_everything_works(pooled)
        with connect(pooler.url, "prepared") as conn:
            assert value(conn, "SELECT count(*) FROM pg_prepared_statements") > 10
        # Refusals of changes are rolled back.
        assert {service.request("DELETE", f"{FEATURES}/none", headers=HEADERS).status for _ in range(8)} == {404}
        assert pooled.get_many() == pooled.get_many() == {200}


def test_each_session_has_our_settings(pooled: Pooled) -> None:
    with ExitStack() as stack:
        for conn in [stack.enter_context(connect(pooled.pooler.url, "transaction")) for _ in range(4)] * 3:
            settings = [value(conn, f"SHOW {name}") for name in ("TimeZone", "statement_timeout", "jit")]
            assert settings == ["UTC", f"{LIMIT_SECONDS}s", "off"]
            assert value(conn, "SELECT now()").utcoffset() == timedelta(0)
            assert value(conn, "SELECT to_json(timestamptz '2026-01-01T00:00:00Z')") == "2026-01-01T00:00:00+00:00"


# What a session of the database has kept for its next user, beside its settings.
KEPT = """
    SELECT (SELECT count(*) FROM pg_prepared_statements) AS prepared,
           (SELECT count(*) FROM pg_cursors WHERE is_holdable) AS cursors,
           (SELECT count(*) FROM pg_listening_channels()) AS channels,
           (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS locks,
           (SELECT count(*) FROM pg_class WHERE relpersistence = 't') AS tables
"""
SET = "SELECT array_agg(name) FROM pg_settings WHERE source = 'session' AND name <> 'application_name'"


def test_sessions_keep_no_state(pooled: Pooled) -> None:
    work(pooled.service, CLIENTS)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(pooled.pooler.url, "transaction")) for _ in range(2)]
        # In transactions at the same time: both sessions of the database.
        for conn in connections:
            stack.enter_context(conn.transaction())
        assert len({value(conn, "SELECT pg_backend_pid()") for conn in connections}) == 2
        for conn in connections:
            assert set((conn.execute(KEPT).fetchone() or {}).values()) == {0}
            # The time zone by PgBouncer for each client, the others as the page says.
            assert set(value(conn, SET)) == {"TimeZone", "jit", "statement_timeout"}


def test_event_streams_are_complete_beside_other_requests(pooled: Pooled) -> None:
    # Batches end at a megabyte, in the middle of a statement, which is cancelled through the pooler.
    with psycopg.connect(pooled.url, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO events (type, created_by, data) SELECT 'user-updated', 'large',"
            " json_build_object('x', repeat('y', 100000)) FROM generate_series(1, 40)"
        )
    lines = HEADERS | {"Accept": "application/x-ndjson"}

    def stream(_: int) -> int:
        assert pooled.get().status == 200
        answer = pooled.service.get("/api/admin/search/events?type=IS:user-updated", headers=lines)
        assert answer.status == 200
        return len(answer.body.splitlines())

    # As many at once as one process streams.
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(stream, range(CLIENTS))) == {40}
    done = pooled.pooler.command("events", "transaction", "export")
    assert (done.returncode, done.stdout.count('"createdBy" : "large"')) == (0, 40), done.stderr


@pytest.mark.timing
def test_slow_statements_are_ended(pooled: Pooled) -> None:
    with psycopg.connect(pooled.url) as conn:
        conn.execute("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        answer = pooled.get()
        seconds = time.monotonic() - began
    assert (answer.status, answer.json["name"]) == (503, "UnavailableError")
    assert LIMIT_SECONDS - 0.5 < seconds < LIMIT_SECONDS * 4
    assert pooled.get_many() == {200}


def test_lost_connections_fail_no_later_request(pooled: Pooled) -> None:
    assert pooled.get_many() == {200}
    pooled.pooler.restart()
    assert pooled.get_many() == {200}
    with psycopg.connect(pooled.url, autocommit=True) as conn:
        ended = other_clients(conn)
        assert ended
        conn.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::integer[]) AS pid", [ended])
        wait_until(lambda: not any(map(is_alive, ended)), "the sessions had ended")
    assert pooled.get_many() == {200}


def test_commands_work_behind_the_pooler(pooled: Pooled) -> None:
    done = pooled.pooler.command("doctor", "transaction")
    assert done.returncode == 0, done.stdout
    assert "ok    connections     This service needs up to 8 connections to the pooler." in done.stdout
    done = pooled.pooler.command("migrate", "transaction")
    assert (done.returncode, done.stderr) == (0, "")
    assert pooled.service.request("POST", FEATURES, {"name": "flag-of-users"}, HEADERS).status == 201
    done = pooled.pooler.command("demo", "transaction", "--use-database-url")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: This database is not empty: it has users, projects or flags.")


def test_a_wrong_pooler_setting_is_reported(pooled: Pooled) -> None:
    assert pooled.pooler.refusal().endswith(". Behind PgBouncer, set DATABASE_POOLER=transaction.\n")
    if VERSION < (1, 21):
        message = "DATABASE_POOLER is prepared, but no pooler tracks prepared statements."
        assert pooled.pooler.refusal(DATABASE_POOLER="prepared").startswith(message)
        # It has left none of its own in the sessions of others.
        assert pooled.get_many() == {200}
    with Pooler(pooled.url, "ignore_startup_parameters = options\n") as deaf:
        done = deaf.command("doctor", "none")
        assert (done.returncode, done.stderr) == (0, "")
        assert "warn  connections     A pooler in transaction mode breaks prepared statements." in done.stdout


def test_the_database_can_have_the_settings_instead_of_the_pooler(make_database: Callable[..., str]) -> None:
    url = make_database()
    without = {" connect_query='SET statement_timeout = 30000; SET jit = off'": ""}
    with Pooler(url, "ignore_startup_parameters = options\n", without) as pooler:
        lost = "The session settings of this service have no effect (statement_timeout and jit)."
        assert pooler.refusal() == f"{lost} Behind PgBouncer, set DATABASE_POOLER=transaction.\n"
        advice = "The pooler does not set statement_timeout and jit. Set it as in docs/how-to/scale.md.\n"
        assert pooler.refusal(DATABASE_POOLER="transaction") == advice
        with psycopg.connect(url, autocommit=True) as conn:
            here = f'ROLE "{conn.info.user}" IN DATABASE "{conn.info.dbname}"'
            assert block("sql").count("ROLE flags IN DATABASE flags") == 2
            conn.execute(block("sql").replace("ROLE flags IN DATABASE flags", here))  # pyright: ignore
        pooler.restart()
        assert pooler.refusal(DATABASE_POOLER="transaction") == ""
