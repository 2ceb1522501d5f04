"""The circuit breaker of the pool: what opens it, and what does not."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from sql.database import connect, run, value
from tests.support.pool import MARGIN, ask, is_answered, opened, seconds_until_refused
from tests.support.service import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.timing
def test_an_absent_database_is_refused_at_once_once_that_is_known(proxy):
    with opened(proxy.url, 2, wait=10) as database:
        assert ask(database) == 1
        proxy.refuse()
        # Waiting requests are refused with the first.
        with ThreadPoolExecutor(4) as threads:
            waits = list(threads.map(lambda _: seconds_until_refused(partial(ask, database)), range(4)))
        assert max(waits) < 1.2 + MARGIN
        assert sorted(seconds_until_refused(partial(ask, database)) for _ in range(9))[4] < 0.05


@pytest.mark.timing
def test_a_database_that_is_silent_to_all_is_found_while_statements_wait(proxy):
    with opened(proxy.url, 1, wait=6) as database:
        assert ask(database) == 1
        with database.connection() as conn:

            def wait() -> None:
                with suppress(psycopg.OperationalError):
                    value(conn, "SELECT 1")

            proxy.hush()
            held = threading.Thread(target=wait)
            held.start()
            wait_until(lambda: time.monotonic() > database.answered_at + 1.1, "it had been silent")
            # Three seconds to connect.
            assert seconds_until_refused(partial(ask, database)) < 3 + MARGIN
            assert seconds_until_refused(partial(ask, database)) < 0.5
            proxy.talk()
            held.join()
        wait_until(lambda: is_answered(database), "it answered again")


@pytest.mark.timing
def test_all_idle_connections_may_have_been_closed(server):
    url = server.ensure()
    with opened(url, 5) as database, connect(url) as other:
        with ExitStack() as stack:
            pids = [stack.enter_context(database.connection()).info.backend_pid for _ in range(5)]
        run(other, "SELECT pg_terminate_backend(pid) FROM unnest(%(pids)s::integer[]) AS pid", {"pids": pids})
        gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY(%(pids)s::integer[]))"
        wait_until(lambda: value(other, gone, {"pids": pids}), "they had ended")
        began = time.monotonic()
        assert ask(database) == 1
        assert time.monotonic() < began + 1


@pytest.mark.parametrize("limit", [None, 1])
def test_a_busy_database_does_not_count_as_absent(server, limit):
    url = server.ensure()
    if limit:
        # The role may have no more connections than the one in use.
        with connect(url) as conn:
            conn.execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 1")
        url = url.replace("postgres@", "limited@")
    with opened(url, 3 if limit else 1, wait=0.3) as database:
        with database.connection() as conn:
            # Longer than a silence, after which the database is looked at.
            sleeping = threading.Thread(target=lambda: value(conn, "SELECT 1 FROM pg_sleep(4)"))
            sleeping.start()
            while sleeping.is_alive():
                with suppress(PoolTimeout), database.connection():
                    assert not sleeping.is_alive()
                assert database._problem is None
        assert ask(database) == 1


def test_a_connection_that_is_being_returned_does_not_count_as_absent(proxy):
    with opened(proxy.url, wait=1.5) as database, ThreadPoolExecutor(1) as threads:
        is_open = threading.Event()

        def hold() -> None:
            with database.connection() as conn:
                conn.execute("BEGIN")
                is_open.set()
                wait_until(
                    lambda: database._pool and database._pool.get_stats()["requests_waiting"], "another request waited"
                )
                value(conn, "SELECT 1")
                proxy.hush()
            # The pool has rolled back. That takes until proxy.talk().

        holder = threads.submit(hold)
        is_open.wait()
        with pytest.raises(PoolTimeout):
            ask(database)
        assert not holder.done()
        proxy.talk()
        holder.result()
        assert ask(database) == 1


def test_a_database_that_answers_but_opens_no_connection_does_not_count_as_absent(proxy):
    with opened(proxy.url, 2, connect_timeout=2) as database, database.connection() as conn:
        with database.connection() as other:
            proxy.ignore()
            other.close()
        # The pool tries to replace it twice, a second apart; then it is looked why.
        began = time.monotonic()
        while time.monotonic() < began + 8:
            assert value(conn, "SELECT 1 FROM pg_sleep(0.1)") == 1
            assert database._problem is None


@pytest.mark.timing
def test_a_waiting_request_gets_a_late_connection(proxy):
    # One connection for each attempt.
    with opened(proxy.url, wait=10, sslmode="disable", gssencmode="disable") as database:
        assert ask(database) == 1
        # The pool tries twice.
        proxy.refuse(times=2)
        began = time.monotonic()
        assert ask(database) == 1
        assert time.monotonic() < began + 1 + MARGIN


def test_an_embedded_server_is_started_with_pauses_after_failures(proxy, caplog):
    tried: list[float] = []

    def fail() -> None:
        tried.append(time.monotonic())
        raise RuntimeError("The server cannot be started.")

    with opened(proxy.url, revive=fail) as database:
        assert ask(database) == 1
        proxy.refuse()
        assert not is_answered(database)
        wait_until(lambda: len(tried) == 2, "it was tried twice")
        assert tried[1] - tried[0] >= 5
        proxy.talk()
        wait_until(lambda: is_answered(database), "it answered again")
    messages = [record.getMessage().partition(":")[0] for record in caplog.records]
    start = "The server cannot be started."
    assert messages == ["The database is unavailable", start, start, "The database is available again."]
