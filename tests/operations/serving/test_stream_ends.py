"""Event streams of the real service when something ends: a token, a client, the service, the database."""

import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import psycopg
import pytest

from sql.database import connect
from tests.support.embedded_server import own_server
from tests.support.event_streams import (
    SDK,
    TOKENS,
    EventStream,
    change,
    listeners,
    new_flag,
    new_token,
    page_path,
    scraped,
    switch,
)
from tests.support.instance import ADMIN_KEY, address_of
from tests.support.metrics import TOKEN
from tests.support.service import PATIENCE, Service, wait_until

pytestmark = pytest.mark.slow

# The service after a statement.
PATCHED = """
import runpy, sys
from serving import client_streams
%s
sys.argv[1:] = ["wsgi:app"]
runpy.run_module("gunicorn", run_name="__main__", alter_sys=True)
"""
# A client of a stream usually has 15 seconds.
IMPATIENT = PATCHED % "client_streams.READ_SECONDS = 1.0"
BROKEN = PATCHED % "client_streams.utc_now = iter(['', '']).__next__"
# Let the flag have 100 bytes for each of so many users.
ENLARGE = """
    UPDATE strategies SET constraints = json_build_array(json_build_object(
        'contextName', 'userId', 'operator', 'IN', 'inverted', false, 'caseInsensitive', false,
        'values', (SELECT json_agg('user-' || number || repeat('x', 90)) FROM generate_series(1, %s) AS number)))
"""


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The address of the database of `service`."""
    return make_database()


@pytest.fixture(scope="module")
def service(url: str) -> Iterator[Service]:
    """The service with metrics."""
    with Service(url, METRICS_TOKEN=TOKEN) as service:
        yield service


@pytest.mark.parametrize("kind", ["client", "frontend"])
def test_a_deleted_and_an_expired_token_end_their_own_streams(service: Service, url: str, kind: str) -> None:
    new_flag(service, f"ended-{kind}")
    deleted, expired, valid = (new_token(service, kind) for _ in range(3))
    with ExitStack() as stack:

        def opened(token: str) -> EventStream:
            is_page = kind == "frontend"
            stream = EventStream(service, page_path(service, token) if is_page else SDK, None if is_page else token)
            stack.enter_context(stream).event()
            return stream

        of_deleted, of_expired, of_valid = opened(deleted), opened(expired), opened(valid)
        change(service, "DELETE", f"{TOKENS}/{deleted}")
        assert of_deleted.all() == []
        with connect(url) as conn:
            conn.execute("UPDATE api_keys SET expires_at = now() WHERE digest = sha256(%s)", [expired.encode()])
        assert of_expired.all() == []
        switch(service, f"ended-{kind}", "off")
        of_valid.event()


def test_a_client_that_closes_frees_its_place(service: Service) -> None:
    token = new_token(service)
    with listeners(service, token, 3) as clients:
        wait_until(lambda: scraped(service, "flags_client_streams") == 3, "all were open")
        clients.sockets[0].close()
        clients.sockets[1].shutdown(socket.SHUT_WR)
        wait_until(lambda: scraped(service, "flags_client_streams") == 1, "two places were free")


def test_a_client_that_stops_reading_is_dropped_and_delays_no_other(make_database: Callable[..., str]) -> None:
    url = make_database()
    with Service(url, command=("-c", IMPATIENT), METRICS_TOKEN=TOKEN) as service:
        token = new_token(service)
        new_flag(service, "large")
        with listeners(service, token, 2), EventStream(service, SDK, token) as reader:
            reader.event()
            with connect(url) as conn:
                conn.execute(ENLARGE, [60_000])
            # These events are more than the kernel takes for a client that reads nothing.
            for number in range(4):
                switch(service, "large", "off" if number % 2 == 0 else "on")
                assert reader.event().flags == {"large": number % 2 == 1}
            # The kernel drops clients that read nothing at all after 20 s.
            wait_until(lambda: scraped(service, "flags_client_streams") == 1, "the others were dropped", patience=16)
            switch(service, "large", "off")
            assert reader.event().flags == {"large": False}
        assert "Traceback" not in service.err


def test_streams_end_if_their_thread_fails(make_database: Callable[..., str]) -> None:
    with Service(make_database(), command=("-c", BROKEN)) as service:
        token = new_token(service)
        for _ in range(2):
            with EventStream(service, SDK, token) as stream:
                assert [sent.name for sent in stream.all()] == ["unleash-connected"]
        assert "StopIteration" in service.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_signals_end_streams_properly(make_database: Callable[..., str], number: signal.Signals) -> None:
    with Service(make_database(), WEB_CONCURRENCY=2) as service, ExitStack() as stack:
        token = new_token(service)
        opened = [stack.enter_context(EventStream(service, SDK, token)) for _ in range(8)]
        for stream in opened:
            stream.event()
        if number == signal.SIGHUP:
            service.reload()
        else:
            service.process.send_signal(number)
        assert [stream.next() for stream in opened] == [None] * 8
        if number == signal.SIGHUP:
            with EventStream(service, SDK, token) as stream:
                assert stream.event().name == "unleash-connected"
        else:
            service.process.wait(PATIENCE)
        assert "Traceback" not in service.err


def test_a_reload_with_streams_loses_no_request(make_database: Callable[..., str]) -> None:
    with Service(make_database(), WEB_CONCURRENCY=2) as service, ThreadPoolExecutor(4) as pool:
        token, done = new_token(service), 0
        headers = {"Authorization": token}

        def ask(_number: int) -> int:
            nonlocal done
            done += 1
            return service.get("/api/client/features", headers=headers).status

        with listeners(service, token, 100):
            asked = pool.map(ask, range(600))
            wait_until(lambda: done > 50, "requests were on their way")
            service.reload()
            assert set(asked) == {200}
        assert "Traceback" not in service.err


def test_streams_survive_the_absence_of_the_database() -> None:
    with own_server() as server, Service(server.ensure(), INIT_ADMIN_API_TOKENS=ADMIN_KEY) as service:
        token = new_token(service)
        new_flag(service, "absent")
        with EventStream(service, SDK, token) as old:
            old.event()
            server.release()
            wait_until(lambda: "Streams wait" in service.err, "streams had noticed it")
            old.comment()
            # From memory.
            with EventStream(service, SDK, token) as new:
                assert new.event().flags == {"absent": True}
                server.ensure()
                wait_until(lambda: service.get("/ready").status == 200, "it was back")
                switch(service, "absent", "off")
                assert [stream.event().flags for stream in (old, new)] == [{"absent": False}] * 2
        assert "Traceback" not in service.err


def test_another_content_of_the_database_arrives(server: str, make_database: Callable[..., str]) -> None:
    url = make_database()
    with Service(url) as service:
        token = new_token(service)
        for name in ("first", "second", "third"):
            new_flag(service, name)
    backup, lost = urlsplit(make_database(like=url)).path[1:], urlsplit(url).path[1:]
    with Service(url) as service:
        # Changes that the backup lacks.
        switch(service, "second", "off")
        new_flag(service, "fourth")
        with EventStream(service, SDK, token) as stream:
            assert stream.event().flags == {"first": True, "second": False, "third": True, "fourth": True}
            with psycopg.connect(address_of(server, "postgres"), autocommit=True) as admin:
                admin.execute(f'ALTER DATABASE "{lost}" ALLOW_CONNECTIONS false')  # pyright: ignore
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [lost])
                for old, new in ((lost, f"{lost}_old"), (backup, lost), (f"{lost}_old", backup)):
                    admin.execute(f'ALTER DATABASE "{old}" RENAME TO "{new}"')  # pyright: ignore
            sent = stream.event()
            assert (sent.name, sent.flags) == ("unleash-updated", {"second": True})
            assert [event["featureName"] for event in sent.data["events"] if "featureName" in event] == ["fourth"]
