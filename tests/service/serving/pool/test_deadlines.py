"""The connections of one process: which one a request gets, and how long a silent server can hold a thread."""

import threading
import time
from contextlib import ExitStack, suppress
from functools import partial

import psycopg
import pytest

from sql.database import connect, run, transaction_block, value
from sql.database.connections import DatabaseUnavailable
from sql.database.pool import Database
from tests.support.pool import MARGIN, ask, opened, seconds_until_refused
from tests.support.service import wait_until
from tests.support.silent_proxy import Proxy

pytestmark = pytest.mark.slow


def test_the_pool_connects_at_its_first_use(proxy):
    threads = set(threading.enumerate())
    with opened(proxy.url) as database:
        assert set(threading.enumerate()) == threads
        assert ask(database) == 1
        assert any(thread.name.startswith("pool-") for thread in set(threading.enumerate()) - threads)
        # A live connection is reused without a check.
        proxy.hush()
        with database.connection():
            pass


def in_a_statement(database: Database, proxy: Proxy) -> None:
    with database.connection() as conn:
        proxy.hush()
        value(conn, "SELECT 1")


def in_a_rollback(database: Database, proxy: Proxy) -> None:
    with suppress(KeyError), database.connection() as conn, transaction_block(conn):
        proxy.hush()
        raise KeyError
    raise DatabaseUnavailable


def in_a_commit(database: Database, proxy: Proxy) -> None:
    with database.connection() as conn, transaction_block(conn):
        proxy.hush()


def in_a_transaction_that_the_pool_ends(database: Database, proxy: Proxy) -> None:
    with database.connection() as conn:
        conn.execute("BEGIN")
        proxy.hush()
    raise DatabaseUnavailable


@pytest.mark.timing
@pytest.mark.parametrize("act", [in_a_statement, in_a_rollback, in_a_commit, in_a_transaction_that_the_pool_ends])
def test_a_silent_server_holds_no_request_beyond_the_deadline(proxy, act):
    with opened(proxy.url, deadline=1) as database:
        assert ask(database) == 1
        assert 1 <= seconds_until_refused(partial(act, database, proxy)) < 1 + MARGIN


@pytest.mark.timing
def test_idle_connections_are_checked_after_a_silence(proxy):
    with opened(proxy.url, 2, wait=1) as database:
        with database.connection(), database.connection():
            pass
        proxy.hush()
        wait_until(lambda: time.monotonic() > database.answered_at + 1.1, "it had been silent")
        assert seconds_until_refused(partial(ask, database)) < 1 + MARGIN
        # Three seconds to connect; the pool itself would try twice.
        wait_until(lambda: database._problem, "the breaker was open", patience=5)
        assert seconds_until_refused(partial(ask, database)) < 0.5
        began = time.monotonic()
        database.close()
        assert time.monotonic() < began + MARGIN


def test_a_lost_connection_is_replaced_with_all_others(server):
    url = server.ensure()
    with opened(url, 3) as database, connect(url) as other:

        def pids() -> set[int]:
            with ExitStack() as stack:
                return {stack.enter_context(database.connection()).info.backend_pid for _ in range(3)}

        before = pids()
        # One request after another gets the same connection, whose statements are planned.
        served = set()
        for _ in range(6):
            with database.connection() as conn:
                served.add(conn.info.backend_pid)
        assert len(served) == 1

        def be_shut_down() -> None:
            with database.connection() as conn:
                run(other, "SELECT pg_terminate_backend(%(pid)s)", {"pid": conn.info.backend_pid})
                value(conn, "SELECT 1")

        with pytest.raises(psycopg.errors.AdminShutdown):
            be_shut_down()
        assert not before & pids()
