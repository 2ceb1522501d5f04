"""The real service under more than it can do: waits are bounded, long statements end, and slow clients wait alone."""

import json
import selectors
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Self
from uuid import UUID

import pytest

from sql import connect, value
from tests.conftest import ADMIN_KEY
from tests.service import Answer, Service, wait_until

pytestmark = pytest.mark.slow

THREADS = 4
KEY = {"Authorization": ADMIN_KEY}
TAG_TYPES = "/api/admin/tag-types"
BIG = "/api/admin/search/events?limit=100"
# An ordinary answer takes milliseconds, and what hung here took 20 seconds and more; on a busy machine, it may take a while.
QUICK = 2.0
SLOW_INSERT = """
    CREATE OR REPLACE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN new; END';
    CREATE TRIGGER slow BEFORE INSERT ON tag_types FOR EACH ROW EXECUTE FUNCTION be_slow()
"""
# An answer of 300 kB: more than the kernel takes for a client that reads nothing.
FILL = """
    INSERT INTO events (type, created_by, data)
    SELECT 'feature-updated', 'system', json_build_object('text', repeat('x', 3000)) FROM generate_series(1, 100)
"""


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database with a log that makes a big answer."""
    url = make_database()
    with connect(url) as conn:
        conn.execute(FILL)
    return url


def refused(answer: Answer) -> str:
    """The message of a 503, which must be the one error body and say when to come back."""
    assert (answer.status, answer.headers["Retry-After"], answer.headers["Content-Type"]) == (503, "1", "application/json")
    error = answer.json
    assert set(error) == {"id", "name", "message"}
    assert error["name"] == "UnavailableError"
    assert UUID(error["id"])
    return error["message"]


def line_of(service: Service, answer: Answer) -> dict:
    """The log line that an error's id leads to."""
    (line,) = (line for line in service.out.splitlines() if answer.json["id"] in line)
    return json.loads(line)


# --- The database is slow ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hurried(url: str) -> Iterator[Service]:
    """A service that waits for nothing longer than a second: with two connections, and four threads."""
    limits = {"WAIT_SECONDS": 1, "STATEMENT_TIMEOUT_SECONDS": 2, "LOCK_TIMEOUT_SECONDS": 1}
    with Service(url, THREADS=THREADS, DATABASE_POOL_SIZE=2, **limits) as service:
        yield service


def create(service: Service, name: str) -> tuple[float, Answer]:
    """How long it took to make a type of tags, and the answer."""
    began = time.monotonic()
    answer = service.request("POST", TAG_TYPES, json={"name": name}, headers=KEY)
    return time.monotonic() - began, answer


def test_what_takes_too_long_is_ended_and_who_waits_for_it_is_told_to_come_back(hurried: Service, url: str) -> None:
    with connect(url) as conn:
        before = value(conn, "SELECT count(*) FROM tag_types")
        conn.execute(SLOW_INSERT)
        try:
            with ThreadPoolExecutor(12) as pool:
                asked = [pool.submit(create, hurried, f"slow-{number}") for number in range(12)]
                health = [hurried.get("/health", timeout=QUICK).status for _ in range(5)]
                ended = [one.result() for one in asked]
        finally:
            conn.execute("DROP TRIGGER slow ON tag_types")
        assert health == [200] * 5
        # Two were at the database; the others waited for a connection, or for their turns before it.
        others = {"The database cannot be reached or is too slow.", "Too many requests are under way at this moment."}
        assert {refused(answer) for _, answer in ended} == others
        # A second for the turn, one for the connection, two for the statement, and a busy machine.
        assert max(seconds for seconds, _ in ended) < 4 + QUICK
        lines = [line_of(hurried, answer) for _, answer in ended]
        assert {(line["method"], line["route"], line["status"]) for line in lines} == {("POST", TAG_TYPES, 503)}
        kinds = Counter(line["error"].partition("\n")[0] for line in lines)
        # Two at first; others get their connections if those end in the very moment in which they would give up.
        canceled = kinds.pop("psycopg.errors.QueryCanceled (SQLSTATE 57014)")
        assert 2 <= canceled <= 4
        assert set(kinds) == {"psycopg_pool.PoolTimeout", "validators.errors.Unavailable"}
        statements = [line["slow"]["statements"][0]["statement"] for line in lines if "QueryCanceled" in line["error"]]
        assert statements == ["tag_types.INSERT"] * canceled
        # Nothing was changed, and the same connections work.
        assert value(conn, "SELECT count(*) FROM tag_types") == before
        pids = pids_of(url)
        assert [create(hurried, f"quick-{number}")[1].status for number in range(4)] == [201] * 4
        assert pids_of(url) == pids


def pids_of(url: str) -> set[int]:
    """The processes of PostgreSQL that serve a database, but for our own."""
    with connect(url) as conn:
        found = conn.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query <> ''"
        )
        return {row["pid"] for row in found}


def test_who_waits_too_long_for_another_change_is_told_to_come_back(hurried: Service, url: str) -> None:
    assert create(hurried, "held")[1].status == 201
    with connect(url) as conn, conn.transaction():
        conn.execute("SELECT FROM tag_types WHERE name = 'held' FOR UPDATE")
        began = time.monotonic()
        answer = hurried.request("PUT", f"{TAG_TYPES}/held", json={"description": "new"}, headers=KEY)
        assert time.monotonic() - began < 1 + QUICK
        refused(answer)
        assert line_of(hurried, answer)["error"].startswith("psycopg.errors.LockNotAvailable (SQLSTATE 55P03)\n")
    assert hurried.request("PUT", f"{TAG_TYPES}/held", json={"description": "new"}, headers=KEY).status == 200


# --- Clients are slow -------------------------------------------------------------------------------------------------------------------

HEAD = b"POST /auth/simple/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
# What each kind of slow client begins with; of the next it sends a byte now and then.
BEGUN = {
    "says nothing": b"",
    "headers": b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "a body": HEAD + b"Content-Length: 900\r\n\r\n{",
    "a body in chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n384\r\n{",
    "does not hang up": b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "keeps its connection": b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "reads nothing": f"GET {BIG} HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN_KEY}\r\n\r\n".encode(),
}
DRIPS = ("headers", "a body", "a body in chunks")


class SlowClients:
    """Clients of one kind, which go when the block ends."""

    def __init__(self, service: Service, kind: str) -> None:
        self.service = service
        self.kind = kind
        self.sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self.sockets:
            # Without a goodbye, as one that vanishes.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()

    def grow(self, count: int) -> None:
        """Let there be so many."""
        while len(self.sockets) < count:
            sock = socket.socket()
            # The least that can be on its way, as the network has it and not as this machine has it for itself.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
            sock.connect(("127.0.0.1", self.service.port))
            sock.sendall(BEGUN[self.kind])
            self.sockets.append(sock)

    def drip(self) -> None:
        """Each of them sends a byte, if it is one that sends."""
        for sock in self.sockets if self.kind in DRIPS else ():
            sock.sendall(b"x")

    def closed(self) -> int:
        """How many of them the service has hung up on."""
        with selectors.DefaultSelector() as selector:
            for sock in self.sockets:
                selector.register(sock, selectors.EVENT_READ)
            return sum(is_closed(key.fileobj) for key, _ in selector.select(0))


def is_closed(sock) -> bool:
    """Whether nothing more will come."""
    try:
        sock.setblocking(False)
        while sock.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True


@pytest.fixture(scope="module")
def patient(url: str) -> Iterator[Service]:
    """A service of one process and four threads, with all the patience that it has by default."""
    with Service(url, THREADS=THREADS) as service:
        yield service


@pytest.mark.parametrize("kind", BEGUN)
def test_slow_clients_hold_nobody_else_up(patient: Service, kind: str) -> None:
    with SlowClients(patient, kind) as slow:
        for count in (THREADS, 100):
            slow.grow(count)
            if kind == "reads nothing":
                # What they ask for is work, which has to be done before others are served; what is looked at here is what comes after.
                wait_until(lambda count=count: lines_of(patient, BIG) == count, "they could read")
            for _ in range(3):
                slow.drip()
                for path in ("/health", TAG_TYPES):
                    began = time.monotonic()
                    assert patient.get(path, headers=KEY, timeout=QUICK).status == 200
                    assert time.monotonic() - began < QUICK
    assert "Traceback" not in patient.err


def lines_of(service: Service, path: str) -> int:
    """How many requests to a path it has worked on."""
    return service.out.count(f'"route": "{path.partition("?")[0]}"')


@pytest.fixture(scope="module")
def impatient(url: str) -> Iterator[Service]:
    """A service that gives its clients a second, and has place for fourteen of them."""
    with Service(url, THREADS=THREADS, CLIENT_TIMEOUT_SECONDS=1, CLIENT_CONNECTIONS=10) as service:
        yield service


def test_it_hangs_up_on_clients_that_are_too_slow(impatient: Service) -> None:
    with ExitStack() as stack:
        everybody = [stack.enter_context(SlowClients(impatient, kind)) for kind in BEGUN if kind != "keeps its connection"]
        for slow in everybody:
            slow.grow(3)
        for slow in everybody:
            # So much may take twenty seconds, even when nothing is read at all; tests/test_worker.py looks at that.
            if slow.kind != "reads nothing":
                wait_until(lambda slow=slow: slow.closed() == 3, f"it had hung up on those that are slow: {slow.kind}")
    wait_until(
        lambda: [line["status"] for line in impatient.lines if line["route"] == "/auth/simple/login"] == [400] * 6, "six were refused"
    )
    assert "Traceback" not in impatient.err


def test_clients_that_go_away_in_the_middle_leave_no_trace(impatient: Service) -> None:
    for kind in BEGUN:
        with SlowClients(impatient, kind) as slow:
            slow.grow(50)
    assert impatient.get(TAG_TYPES, headers=KEY, timeout=QUICK).status == 200
    assert not [line for line in impatient.lines if line["status"] >= 500]
    assert impatient.err.count("\n") == 1  # that it serves


def test_more_connections_than_it_takes_wait_until_others_have_gone(impatient: Service) -> None:
    with SlowClients(impatient, "headers") as slow:
        slow.grow(30)
        # Twice fourteen of them have to be given up before.
        assert impatient.get(TAG_TYPES, headers=KEY).status == 200
