"""Event streams of the real service, with bounds in seconds. docs/development/performance-streams.md has figures."""

import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event

import pytest

from sql.database import connect
from tests.support.embedded_server import own_server
from tests.support.event_streams import TOKENS, change, listeners, new_flag, new_token, scraped, switch
from tests.support.instance import ADMIN_KEY
from tests.support.metrics import TOKEN
from tests.support.service import PATIENCE, Service, is_alive, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timing]

FILL = """
    INSERT INTO flags (name, project_id, description)
    SELECT 'flag-' || number, 'default', repeat('x', 300) FROM generate_series(1, 1000) AS number
"""


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """This process may open as many files as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def url(make_database: Callable[..., str]) -> str:
    """The address of the database of `service`."""
    return make_database()


@pytest.fixture
def service(url: str) -> Iterator[Service]:
    """The service with two workers and metrics."""
    with Service(url, WEB_CONCURRENCY=2, METRICS_TOKEN=TOKEN, CLIENT_STREAMS=1000) as service:
        yield service


@contextmanager
def lasting(most: float) -> Iterator[None]:
    """Fail if the block takes longer than this many seconds."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < most


def count(service: Service) -> float:
    """Return the number of open streams."""
    return scraped(service, "flags_client_streams")


def test_a_change_arrives_on_400_streams_within_a_second(service: Service) -> None:
    new_flag(service, "quick")
    with listeners(service, new_token(service), 400) as clients:
        for state in ("off", "on", "off", "on"):
            switch(service, "quick", state)
            with lasting(1.0):
                clients.wait_for(b"unleash-updated")


def test_a_reload_with_800_streams_takes_3_seconds_longer_at_most(service: Service) -> None:
    headers = {"Authorization": new_token(service)}

    def reload(streams: int) -> tuple[float, float]:
        """Return the seconds of a reload, and of the slowest request meanwhile."""
        is_over, waits = Event(), list[float]()

        def ask() -> None:
            while not is_over.is_set():
                began = time.monotonic()
                assert service.get("/api/client/features", headers=headers).status == 200
                waits.append(time.monotonic() - began)

        with listeners(service, headers["Authorization"], streams), ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask) for _ in range(4)]
            wait_until(lambda: len(waits) > 50, "requests were on their way")
            began = time.monotonic()
            service.reload()
            took = time.monotonic() - began
            is_over.set()
            for one in asked:
                one.result(PATIENCE)
        return took, max(waits)

    without, with_streams = reload(0), reload(800)
    assert with_streams[0] < without[0] + 3
    assert with_streams[1] < without[1] + 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_service_stops_within_5_seconds(service: Service, number: signal.Signals) -> None:
    workers = service.workers
    with listeners(service, new_token(service), 400), lasting(5):
        service.process.send_signal(number)
        service.process.wait(PATIENCE)
        wait_until(lambda: not any(map(is_alive, workers)), "the workers had ended")


def test_places_are_free_soon(service: Service) -> None:
    token = new_token(service)
    with listeners(service, token, 30) as clients:
        wait_until(lambda: count(service) == 30, "all were open")
        for sock in clients.sockets[:10]:
            sock.close()
        with lasting(0.5):
            wait_until(lambda: count(service) == 20, "ten places were free")
        change(service, "DELETE", f"{TOKENS}/{token}")
        with lasting(1.0):
            wait_until(lambda: count(service) == 0, "the streams of the token were closed")


def test_a_slow_client_is_dropped_within_30_seconds_and_delays_no_other(service: Service, url: str) -> None:
    with connect(url) as conn:
        conn.execute(FILL)
    slow, quick = new_token(service), new_token(service)
    with listeners(service, quick, 20) as clients, listeners(service, slow, 3):
        wait_until(lambda: count(service) == 23, "all were open")
        began, number = time.monotonic(), 0
        while count(service) > 20:
            # Each event has all flags: 0.5 MB.
            with connect(url) as conn:
                conn.execute("UPDATE flags SET description = md5(%s) || repeat('x', 300)", [str(number)])
            number += 1
            new_flag(service, f"flag-of-change-{number}")
            with lasting(1.0):
                clients.wait_for(b"unleash-updated")
        assert time.monotonic() < began + 30


def test_a_client_without_network_frees_its_place_within_35_seconds(service: Service) -> None:
    with listeners(service, new_token(service), 3) as clients:
        wait_until(lambda: count(service) == 3, "all were open")
        port = str(clients.sockets[0].getsockname()[1])
        rule = ["INPUT", "-i", "lo", "-p", "tcp", "--dport", port, "-j", "DROP"]
        try:
            done = subprocess.run(["iptables", "-A", *rule], capture_output=True)
        except FileNotFoundError:
            pytest.skip("there is no iptables")
        if done.returncode:
            pytest.skip("the rules of the network cannot be changed")
        try:
            with lasting(35):
                wait_until(lambda: count(service) == 2, "the place was free", patience=40)
        finally:
            subprocess.run(["iptables", "-D", *rule], check=True)


def test_streams_stay_while_the_database_is_away_for_20_seconds() -> None:
    with own_server() as server, Service(server.ensure(), INIT_ADMIN_API_TOKENS=ADMIN_KEY) as service:
        new_flag(service, "away")
        with listeners(service, new_token(service), 100) as clients:
            server.release()
            gone = time.monotonic()
            wait_until(lambda: time.monotonic() > gone + 20, "it was away for a while")
            server.ensure()
            wait_until(lambda: service.get("/ready").status == 200, "it was back")
            switch(service, "away", "off")
            # wait_for() fails at the end of a stream.
            with lasting(1.0):
                clients.wait_for(b"unleash-updated")


def test_the_service_answers_with_all_places_and_files_taken(make_database: Callable[..., str]) -> None:
    limited = ("sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh")
    with Service(make_database(), prefix=limited, METRICS_TOKEN=TOKEN) as service, ExitStack() as stack:
        with listeners(service, new_token(service), 116) as clients:
            workers = service.workers
            for _ in range(2000):
                stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE))
            # Idle connections are closed after 5 s, 800 at a time.
            with lasting(20):
                assert service.get("/health").status == 200
            new_flag(service, "crowded")
            clients.wait_for(b"unleash-updated")
            assert service.workers == workers
        assert "Traceback" not in service.err
