"""Behind PgBouncer in transaction mode: the real one, with the settings of docs/how-to/scale.md, before the real
service.
"""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from subprocess import CompletedProcess

import psycopg
import pytest

from sql.database import connect, value
from tests.support.instance import SETTINGS
from tests.support.pooled_service import CLIENTS, HEADERS, OVERVIEW, Pooled, alter, service_behind
from tests.support.pooler import PROGRAM, VERSION, Pooler, block
from tests.support.service import IMPORT, Answer, Service, run, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="needs PgBouncer (on Debian: apt-get install pgbouncer)"),
]

# Not the half minute of the page: that is too long to wait for.
LIMIT_SECONDS = 5
SOONER = {"statement_timeout = 30000": f"statement_timeout = {LIMIT_SECONDS * 1000}"}
ROUNDS = 6


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """An empty database, in whose sessions it is another time of day."""
    url = make_database(empty=True)
    alter(url, "SET timezone = 'Asia/Tokyo'")
    return url


@pytest.fixture(scope="module")
def pooled(url: str) -> Iterator[Pooled]:
    """Such a service, on a database that was set up through the pooler too."""
    with Pooler(url, SOONER) as pooler, service_behind(pooler, "transaction") as service:
        yield Pooled(service, pooler, url)


def test_everything_works_for_many_at_once_and_again_and_again(pooled: Pooled) -> None:
    everything_works(pooled)


@pytest.mark.skipif(VERSION < (1, 22), reason="needs PgBouncer 1.22 or newer")
def test_everything_works_with_prepared_statements_that_the_pooler_keeps(make_database: Callable[..., str]) -> None:
    url = make_database(empty=True)
    with (
        Pooler(url, SOONER, "max_prepared_statements = 200\n") as pooler,
        service_behind(pooler, "prepared") as service,
    ):
        pooled = Pooled(service, pooler, url)
        everything_works(pooled)
        with connect(pooler.url, "prepared") as conn:
            assert value(conn, "SELECT count(*) FROM pg_prepared_statements") > 10
        # Refusals of changes are rolled back.
        assert {
            service.request("DELETE", f"{OVERVIEW[:-9]}/features/none", headers=HEADERS).status for _ in range(8)
        } == {404}
        assert pooled.get_many() == pooled.get_many() == {200}


def everything_works(pooled: Pooled) -> None:
    """AssertionError unless many clients are answered many times."""
    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = [
            answer
            for found in threads.map(lambda number: work(pooled.service, number), range(CLIENTS))
            for answer in found
        ]
    assert len(answers) == CLIENTS * ROUNDS * 7
    assert [(path, answer.status, answer.body) for path, answer in answers if answer.status >= 300] == []
    created = [answer.json["createdAt"] for path, answer in answers if path == "/api/admin/projects/default/features"]
    assert len(created) == CLIENTS * ROUNDS
    assert all(abs(datetime.fromisoformat(instant) - datetime.now(UTC)) < timedelta(minutes=5) for instant in created)
    with psycopg.connect(pooled.url) as conn:
        assert 1 <= len(other_clients(conn)) <= 2
        events = conn.execute(
            "SELECT type, count(*) FROM events WHERE project = 'default' GROUP BY type ORDER BY type"
        ).fetchall()
    assert [number for name, number in events if name in ("feature-created", "feature-environment-enabled")] == [
        CLIENTS * ROUNDS
    ] * 2
    assert "Traceback" not in pooled.service.err


def work(service: Service, number: int) -> list[tuple[str, Answer]]:
    """What one client asks, each with its answer."""
    answers: list[tuple[str, Answer]] = []

    def ask(method: str, path: str, json: object = None) -> None:
        answers.append((path, service.request(method, path, json, HEADERS)))

    for round in range(ROUNDS):
        flag = f"flag-{number}-{round}"
        ask("POST", "/auth/simple/login", {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]})
        ask("POST", "/api/admin/projects/default/features", {"name": flag})
        ask(
            "POST",
            f"/api/admin/projects/default/features/{flag}/environments/production/strategies",
            {"name": "default"},
        )
        ask("POST", f"/api/admin/projects/default/features/{flag}/environments/production/on")
        ask("GET", f"/api/admin/search/events?feature=IS:{flag}&limit=1")
        ask("GET", OVERVIEW)
        ask("GET", "/api/admin/insights")
    return answers


def other_clients(conn: psycopg.Connection) -> list[int]:
    """Return the PIDs of all other client sessions of the database. Autovacuum workers are left out."""
    found = conn.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return [pid for (pid,) in found]


def test_every_session_is_set_as_ours_are(pooled: Pooled) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(pooled.pooler.url, "transaction")) for _ in range(4)]
        for _ in range(3):
            for conn in connections:
                assert value(conn, "SHOW TimeZone") == "UTC"
                assert value(conn, "SHOW statement_timeout") == f"{LIMIT_SECONDS}s"
                assert value(conn, "SHOW jit") == "off"
                assert value(conn, "SELECT now()").utcoffset() == timedelta(0)
                assert value(conn, "SELECT to_json(timestamptz '2026-01-01T00:00:00Z')") == "2026-01-01T00:00:00+00:00"
    with psycopg.connect(pooled.url) as conn:
        assert conn.execute(
            "SELECT count(*) FROM pg_db_role_setting WHERE 'TimeZone=Asia/Tokyo' = ANY(setconfig)"
        ).fetchone() == (1,)


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
        for conn in connections:
            stack.enter_context(conn.transaction())
        # In transactions at the same time: both sessions that there are.
        assert len({value(conn, "SELECT pg_backend_pid()") for conn in connections}) == 2
        for conn in connections:
            assert conn.execute(KEPT).fetchone() == dict.fromkeys(
                ("prepared", "cursors", "channels", "locks", "tables"), 0
            )
            # The time zone by PgBouncer for each client, the others as the page says.
            assert set(value(conn, SET)) == {"TimeZone", "jit", "statement_timeout"}


def test_streams_of_the_log_are_whole_while_others_are_served(pooled: Pooled) -> None:
    # Batches end at a megabyte, in the middle of a statement, which is cancelled through the pooler.
    large = (
        "INSERT INTO events (type, created_by, data) "
        "SELECT 'user-updated', 'large', json_build_object('x', repeat('y', 100000))"
    )
    with psycopg.connect(pooled.url, autocommit=True) as conn:
        conn.execute(f"{large} FROM generate_series(1, 40)")
    streams = {"headers": HEADERS | {"Accept": "application/x-ndjson"}}
    # As many at once as one process streams.
    with ThreadPoolExecutor(4) as threads:
        paths = ["/api/admin/search/events?type=IS:user-updated", OVERVIEW] * CLIENTS
        answers = list(
            threads.map(
                lambda path: pooled.service.get(path, **(streams if path != OVERVIEW else {"headers": HEADERS})), paths
            )
        )
    assert [answer.body for answer in answers if answer.status != 200] == []
    assert "successfully sent cancel request" in pooled.pooler.log
    assert {len(answer.body.splitlines()) for path, answer in zip(paths, answers, strict=True) if path != OVERVIEW} == {
        40
    }
    done = command(pooled.pooler, "events", "transaction", "export")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"createdBy" : "large"') == 40


@pytest.mark.timing
def test_a_statement_that_takes_too_long_is_ended(pooled: Pooled) -> None:
    with psycopg.connect(pooled.url) as conn:
        conn.execute("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        answer = pooled.get()
        seconds = time.monotonic() - began
    assert (answer.status, answer.json["name"]) == (503, "UnavailableError")
    assert LIMIT_SECONDS - 0.5 < seconds < LIMIT_SECONDS * 4
    assert pooled.get_many() == {200}


def test_a_pooler_that_restarts_between_two_requests_is_not_noticed(pooled: Pooled) -> None:
    assert pooled.get_many() == {200}
    pooled.pooler.stop()
    pooled.pooler.start()
    assert pooled.get_many() == {200}


def test_sessions_that_the_database_ends_are_not_noticed(pooled: Pooled) -> None:
    assert pooled.get_many() == {200}
    known = pooled.pooler.log.count("closing because")
    with psycopg.connect(pooled.url, autocommit=True) as conn:
        ended = other_clients(conn)
        assert ended
        conn.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::integer[]) AS pid", [ended])
        wait_until(lambda: pooled.pooler.log.count("closing because") >= known + len(ended), "the pooler had noticed")
    assert pooled.get_many() == {200}


def test_the_commands_work_through_the_pooler(pooled: Pooled) -> None:
    done = command(pooled.pooler, "doctor", "transaction")
    assert done.returncode == 0, done.stdout
    assert "ok    connections     This service needs up to 8 connections to the pooler." in done.stdout
    done = command(pooled.pooler, "migrate", "transaction")
    assert (done.returncode, done.stderr) == (0, "")
    done = command(pooled.pooler, "demo", "transaction", "--use-database-url")
    assert (done.returncode, done.stderr.partition(".")[0]) == (
        1,
        "Error: This database is not empty: it has users, projects or flags",
    )


def command(pooler: Pooler, name: str, setting: str, *arguments: str) -> CompletedProcess[str]:
    """What a command says on a database behind a pooler."""
    return run("flags.py", name, *arguments, DATABASE_URL=pooler.url, DATABASE_POOLER=setting)


def test_a_missing_pooler_setting_is_reported(pooled: Pooled) -> None:
    done = run(*IMPORT, DATABASE_URL=pooled.pooler.url)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(
        r"unsupported startup parameter.*\. Behind PgBouncer, set DATABASE_POOLER=transaction\.\n$", done.stderr
    )
    assert done.stderr.count("\n") == 1
    if VERSION < (1, 21):
        done = run(*IMPORT, DATABASE_URL=pooled.pooler.url, DATABASE_POOLER="prepared")
        assert (done.returncode, done.stderr.partition(".")[0]) == (
            1,
            "DATABASE_POOLER is prepared, but no pooler tracks prepared statements",
        )
        # It has left none of its own in the sessions of others.
        assert pooled.get_many() == {200}
    with Pooler(pooled.url, SOONER, "ignore_startup_parameters = options\n") as deaf:
        done = command(deaf, "doctor", "none")
        assert (done.returncode, done.stderr) == (0, "")
        assert "warn  connections     A pooler in transaction mode breaks prepared statements." in done.stdout


def test_a_database_can_have_the_settings_that_the_pooler_lacks(make_database: Callable[..., str]) -> None:
    url = make_database()
    without = {" connect_query='SET statement_timeout = 30000; SET jit = off'": ""}
    with Pooler(url, without, "ignore_startup_parameters = options\n") as pooler:
        done = run(*IMPORT, DATABASE_URL=pooler.url)
        lost = "The session settings of this service have no effect (statement_timeout and jit)."
        assert (done.returncode, done.stderr) == (1, f"{lost} Behind PgBouncer, set DATABASE_POOLER=transaction.\n")
        done = run(*IMPORT, DATABASE_URL=pooler.url, DATABASE_POOLER="transaction")
        advice = "Set it as in docs/how-to/scale.md."
        assert (done.returncode, done.stderr) == (1, f"The pooler does not set statement_timeout and jit. {advice}\n")
        with psycopg.connect(url, autocommit=True) as conn:
            here = f'ROLE "{conn.info.user}" IN DATABASE "{conn.info.dbname}"'
            assert block("sql").count("ROLE flags IN DATABASE flags") == 2
            conn.execute(block("sql").replace("ROLE flags IN DATABASE flags", here))
        pooler.stop()
        pooler.start()
        done = run(*IMPORT, DATABASE_URL=pooler.url, DATABASE_POOLER="transaction")
        assert (done.returncode, done.stderr) == (0, "")
