"""300,000 events, through the real service: in constant memory, each once, and without delaying other requests."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path
from threading import Event, Thread

import pytest

from sql.database import connect, value
from tests.support.event_search import PATH
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, Service, wait_until

pytestmark = pytest.mark.slow

MANY = 300_000
# In kB. A batch is 1 MiB of lines at most, and is there about four times while it is made and sent; all of it would be
# 75,000.
MOST_GROWTH = 10_000
FILL = """
    INSERT INTO events (created_at, type, created_by, project, data)
    SELECT now() - number * interval '1 second', 'feature-updated', 'system', 'p' || number %% 7,
           json_build_object('number', number)
      FROM generate_series(1, %s) AS number
"""


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database with many events, whose ids begin with 1."""
    url = make_database()
    with connect(url) as conn:
        conn.execute("SET statement_timeout = 0")
        conn.execute("TRUNCATE events RESTART IDENTITY")
        conn.execute(FILL, [MANY])
        # As PostgreSQL does by itself within a minute.
        conn.execute("ANALYZE events")
    return url


@pytest.fixture(scope="module")
def service(url: str) -> Iterator[Service]:
    """The real service on it: one process with four threads, which streams to one client at a time."""
    with Service(url, THREADS=4) as service:
        yield service


@contextmanager
def streaming(service: Service, query: str = "", key: str = ADMIN_KEY) -> Iterator[HTTPResponse]:
    """An answer whose head has been read; its connection is closed in the end, whatever is left."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{PATH}{query}", headers={"Authorization": key, "Accept": "application/x-ndjson"})
        yield connection.getresponse()
    finally:
        connection.close()


def id_of(line: bytes) -> int:
    """The id of a line, which stands first in it."""
    assert line.startswith(b'{"id" : '), line
    assert line.endswith(b"}"), line
    return int(line[8 : line.index(b",")])


def follow(answer: HTTPResponse, last: int, until: int | None = None) -> int:
    """The id of the last line that was read, each of which must have the next id, beginning behind this one; until:
    where to stop.
    """
    rest = b""
    while (until is None or last < until) and (more := answer.read1(1 << 18)):
        *lines, rest = (rest + more).split(b"\n")
        assert [id_of(line) for line in lines] == list(range(last + 1, last + 1 + len(lines)))
        last += len(lines)
    assert until is not None or rest == b""
    return last


def memory(pid: int) -> int:
    """What a process has for itself, with its share of what it shares, in kB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0])


@contextmanager
def bounded_memory(pid: int) -> Iterator[None]:
    """Look at the memory of a process while the block lasts. Fail if it grows by more than MOST_GROWTH."""
    before, most, is_over = memory(pid), [0], Event()

    def look() -> None:
        while not is_over.wait(0.05):
            with suppress(FileNotFoundError, ProcessLookupError, IndexError):
                most.append(memory(pid) - before)

    thread = Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    assert max(most) < MOST_GROWTH


def test_many_events_come_each_once_in_constant_memory(service: Service) -> None:
    with streaming(service, "?limit=5000") as answer:
        assert answer.read().count(b"\n") == 5000
    with bounded_memory(*service.workers):
        # The client goes in the middle.
        with streaming(service) as answer:
            assert (answer.status, answer.headers["Transfer-Encoding"]) == (200, "chunked")
            begun = last = follow(answer, 0, MANY // 2)
        wait_until(lambda: service.lines[-1].get("cut") == "client", "the service had seen that the client is gone")
        with streaming(service, f"?after={last}") as answer:
            assert follow(answer, last) == MANY
    wait_until(lambda: service.lines[-1].get("events") == MANY - begun, "the line of the whole stream was there")
    assert "cut" not in service.lines[-1]


def test_client_that_does_not_read_delays_no_other(service: Service, url: str) -> None:
    with streaming(service) as answer, connect(url) as conn:
        assert id_of(answer.readline().rstrip()) == 1
        # Nothing of the database is held: no statement runs, and no transaction is open.
        idle = (
            "SELECT bool_and(state = 'idle') FROM pg_stat_activity "
            "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        wait_until(lambda: value(conn, idle), "the stream waited for its client")
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(service.get, PATH, headers={"Authorization": ADMIN_KEY}) for _ in range(9)]
            assert {one.result().status for one in asked} == {200}
        # One more stream of the same caller could.
        with streaming(service) as other:
            assert (other.status, other.headers["Retry-After"]) == (429, "1")

    def is_free() -> bool:
        with streaming(service, "?limit=1") as other:
            return other.status == 200

    wait_until(is_free, "another could stream")


@pytest.mark.timing
def test_stream_keeps_a_service_that_stops_no_longer_than_a_request(url: str) -> None:
    with Service(url, THREADS=1, STATEMENT_TIMEOUT_SECONDS=1, WAIT_SECONDS=1) as service, streaming(service) as answer:
        assert id_of(answer.readline().rstrip()) == 1
        began = time.monotonic()
        assert service.stop() == 0
        # gunicorn's graceful timeout is 3 s then.
        assert time.monotonic() - began < 10
        with pytest.raises(IncompleteRead):
            answer.read()
