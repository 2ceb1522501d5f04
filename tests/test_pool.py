"""The pool of one process: when it takes its database for away, how soon it sees it come back, and what that costs the database."""

import gc
import io
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import PoolClosed

from sql import connect_options, discard_if_closed, embedded, value
from sql.pool import Line, Lines, Pool
from tests.service import wait_until
from tests.silent_proxy import Proxy
from tests.test_database_away import together

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="pool-") as name:
        Path(name).chmod(0o755)
        server = embedded.Server(Path(name) / "data")
        server.ensure()
        yield server
        server.release()


@pytest.fixture
def proxy(server: embedded.Server) -> Iterator[Proxy]:
    """A way to it, which ends before a test waits for ever."""
    with Proxy(server.ensure()) as proxy:
        end = threading.Timer(20, proxy.refuse)
        end.start()
        yield proxy
        end.cancel()


@contextmanager
def opened(
    url: str, size: int = 1, *, silence: float = 0.3, longest: float = 30, revive: Callable[[], None] | None = None
) -> Iterator[Pool]:
    """A pool."""
    pool = Pool(url, connect_options(url), size, silence=silence, longest=longest, check=discard_if_closed, revive=revive)
    try:
        yield pool
    finally:
        pool.close()


def ask(pool: Pool) -> Any:
    """1, from the database."""
    with pool.connection(5) as line:
        return value(line, "SELECT 1")


def is_answered(pool: Pool) -> bool:
    """Whether the database answers."""
    with suppress(psycopg.OperationalError):
        return ask(pool) == 1
    return False


def test_where_the_first_of_two_addresses_falls_silent_the_other_one_answers_soon(server):
    with Proxy(server.ensure()) as first, Proxy(server.ensure()) as second, opened(together(first, second), 3) as pool:
        assert is_answered(pool)
        first.hush()
        assert not is_answered(pool)
        wait_until(lambda: is_answered(pool), "the other one answered")
        # Nobody asks the first one any more.
        began = time.monotonic()
        with ExitStack() as stack:
            for _ in range(3):
                assert value(stack.enter_context(pool.connection(5)), "SELECT 1") == 1
        assert time.monotonic() < began + 2
        first.talk()
        second.hush()
        assert not is_answered(pool)
        wait_until(lambda: is_answered(pool), "the first one answered again")


def test_a_connection_on_which_nothing_comes_any_more_is_given_up_though_others_work(proxy):
    with opened(proxy.url, silence=60, longest=0.5) as pool:
        assert ask(pool) == 1
        proxy.forget()
        with pytest.raises(psycopg.OperationalError, match=r"closed|terminat"):
            ask(pool)
        assert ask(pool) == 1


def test_a_statement_is_waited_for_while_others_are_answered_though_no_new_connection_is(proxy):
    with opened(proxy.url, 2) as pool, pool.connection(5) as slow, pool.connection(5) as quick:
        proxy.ignore()
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.append(value(slow, "SELECT 1 FROM pg_sleep(2)")))
        asking.start()
        while asking.is_alive():
            assert value(quick, "SELECT 1") == 1
            time.sleep(0.01)
        assert answers == [1]


def test_where_no_new_connection_is_answered_either_it_is_not(proxy):
    with opened(proxy.url) as pool, pool.connection(5) as slow:
        proxy.ignore()
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            value(slow, "SELECT 1 FROM pg_sleep(5)")
        assert time.monotonic() < began + 3


def test_who_waits_for_the_first_connection_is_told_that_nobody_makes_one(proxy):
    proxy.ignore()
    with opened(proxy.url) as pool:
        began = time.monotonic()
        assert not is_answered(pool)
        assert time.monotonic() < began + 2


def test_a_statement_that_takes_long_has_the_database_asked_a_few_times_a_second(proxy):
    with opened(proxy.url) as pool, pool.connection(5) as line:
        before = proxy.accepted
        assert value(line, "SELECT 1 FROM pg_sleep(2)") == 1
        assert 1 <= proxy.accepted - before <= 8


def test_a_way_on_which_connecting_takes_longer_than_silence_may_is_gone_again(proxy):
    with opened(proxy.url) as pool:
        assert ask(pool) == 1
        proxy.hush()
        assert not is_answered(pool)
        proxy.delay = 1.0
        proxy.talk()
        wait_until(lambda: is_answered(pool), "it answered again")
        with pool.connection(5) as line:
            line.close()
        assert is_answered(pool)


def test_who_looks_for_another_connection_when_the_pool_is_closed_is_told_at_once(server):
    url = server.ensure()

    def find_it_broken(_line: Line) -> None:
        lines.close(timeout=0)
        raise psycopg.OperationalError

    lines = Lines(url, connection_class=Line, kwargs=connect_options(url), check=find_it_broken, min_size=1, open=True)
    began = time.monotonic()
    with pytest.raises(PoolClosed), lines.connection(5):
        pass
    assert time.monotonic() < began + 3


def test_a_database_that_is_back_is_not_asked_while_nobody_asks_for_it(proxy):
    with opened(proxy.url) as pool:
        assert ask(pool) == 1
        proxy.hush()
        assert not is_answered(pool)
        proxy.talk()
        # Not by asking, which would open a pool.
        wait_until(lambda: not pool._is_away, "it was found to be back")
        before = proxy.accepted
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + 1.2, "that was time for four attempts")
        assert proxy.accepted <= before + 1
        assert ask(pool) == 1


def test_a_database_of_ones_own_is_brought_back_in_growing_pauses_and_soon_again_the_next_time(proxy):
    tried: list[float] = []

    def fail() -> None:
        tried.append(time.monotonic())
        raise RuntimeError("It cannot be.")

    with opened(proxy.url, revive=fail) as pool:
        for _ in range(2):
            assert ask(pool) == 1
            tried.clear()
            proxy.refuse()
            assert not is_answered(pool)
            wait_until(lambda: len(tried) == 3, "it was tried three times")
            first, second = tried[1] - tried[0], tried[2] - tried[1]
            assert 0.5 <= first < 1.0 <= second
            proxy.talk()
            wait_until(lambda: is_answered(pool), "it answered again")


def test_no_thread_is_503_and_soon_over(proxy, monkeypatch):
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with opened(proxy.url) as pool:
        with monkeypatch.context() as scarce:
            scarce.setattr(threading.Thread, "start", fail)
            with pytest.raises(psycopg.OperationalError, match="can't start new thread"):
                ask(pool)
        assert ask(pool) == 1
        proxy.hush()
        assert not is_answered(pool)
        with monkeypatch.context() as scarce:
            scarce.setattr(threading.Thread, "start", fail)
            wait_until(lambda: pool._trying_since is None, "an attempt had ended")
            began = time.monotonic()
            wait_until(lambda: time.monotonic() > began + 0.5, "others had failed to begin")
        proxy.talk()
        wait_until(lambda: is_answered(pool), "it answered again")


@pytest.mark.parametrize("count", range(5))
def test_fewer_threads_than_a_pool_takes_are_given_back(server, monkeypatch, count):
    """One looks after the pool, and four work in it."""
    start, left = threading.Thread.start, [count]
    others = set(threading.enumerate())

    def take(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    with opened(server.ensure()) as pool:
        with monkeypatch.context() as scarce:
            scarce.setattr(threading.Thread, "start", take)
            began = time.monotonic()
            assert not is_answered(pool)
            assert time.monotonic() < began + 2
        gc.collect()
        wait_until(lambda: {thread.name for thread in set(threading.enumerate()) - others} <= {"database-watch"}, "they were given back")
        assert ask(pool) == 1


def test_why_no_connection_can_be_made_is_said_once(proxy, caplog):
    with opened(proxy.url, 3) as pool:
        with ExitStack() as stack:
            for line in [stack.enter_context(pool.connection(5)) for _ in range(3)]:
                assert value(line, "SELECT 1") == 1
            proxy.refuse()
        for _ in range(3):
            assert not is_answered(pool)
    (said,) = [record.getMessage() for record in caplog.records if record.name == "psycopg.pool"]
    assert said.startswith("error connecting in ")


def test_it_is_watched_though_nothing_can_be_said(proxy, monkeypatch):
    with open("/dev/full", "wb", buffering=0) as full, opened(proxy.url) as pool:
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(full, write_through=True))
        for _ in range(2):
            assert ask(pool) == 1
            proxy.hush()
            assert not is_answered(pool)
            proxy.talk()
            wait_until(lambda: is_answered(pool), "it answered again")
