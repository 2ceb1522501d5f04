"""Signals under load and at unlucky moments: a reload loses no request, and a worker ends in time."""

import os
import signal
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from threading import Event

import pytest

from sql.database import connect, value
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, ROOT, Service, encode, wait_until

pytestmark = pytest.mark.slow

HEADERS = {"Authorization": ADMIN_KEY, "Content-Type": "application/json"}
TAG_TYPES = "/api/admin/tag-types"
CLIENTS = 8


def test_a_reload_under_load_loses_nothing(make_database: Callable[..., str], tmp_path: Path) -> None:
    url, address = make_database(), tmp_path / "address"
    address.write_text(url)
    created: dict[int, list[str]] = {number: [] for number in range(CLIENTS)}
    failed: list[str] = []
    over = Event()

    def work(number: int) -> None:
        """Send one change after the other: half of the clients on one connection, as long as the service keeps it."""
        connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        while not over.is_set() and not failed:
            name = f"client-{number}-{len(created[number])}"
            try:
                connection.request("POST", TAG_TYPES, encode({"name": name}), HEADERS)
                response = connection.getresponse()
                response.read()
                assert response.status == 201
            except (AssertionError, OSError, HTTPException) as error:
                failed.append(f"{name}: {error!r}")
            created[number].append(name)
            if number % 2:
                connection.close()
        connection.close()

    def go_on() -> None:
        """Return when each client has made ten more changes, or one has failed."""
        goals = {number: len(names) + 10 for number, names in created.items()}
        wait_until(lambda: failed or all(len(created[number]) >= goal for number, goal in goals.items()), "all went on")

    with Service(DATABASE_URL_FILE=address, WEB_CONCURRENCY=2) as service, ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(work, number) for number in range(CLIENTS)]
        try:
            go_on()
            # Which database it is, and what names us there, is read anew.
            address.write_text(f"{url}{'&' if '?' in url else '?'}application_name=renewed")
            service.reload()
            go_on()
        finally:
            over.set()
        for one in running:
            one.result(PATIENCE)
        assert failed == []
        with connect(url) as conn:
            renewed = "SELECT bool_and(application_name = 'renewed') FROM pg_stat_activity"
            others = "backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
            assert value(conn, f"{renewed} WHERE {others}")
            kept = {row["name"] for row in conn.execute("SELECT name FROM tag_types WHERE name LIKE 'client-%'")}
        assert kept == {name for names in created.values() for name in names}
        assert "Traceback" not in service.err


def test_a_second_master_is_refused_and_the_first_one_serves() -> None:
    # The program that the systemd unit starts. `python -m gunicorn` cannot start itself again.
    with Service(command=(str(Path(sys.executable).with_name("gunicorn")), "wsgi:app")) as service:
        service.reload()
        service.process.send_signal(signal.SIGUSR2)
        refusal = f"Cannot listen on 127.0.0.1:{service.port}: Address already in use."
        wait_until(lambda: refusal in service.err, "the second master was refused")
        assert service.get("/ready").status == 200
        assert service.stop() == 0


# --- Unlucky moments --------------------------------------------------------------------------------------------------

# Each of these is appended to gunicorn.conf.py.
STOPPED_EARLY = """
import os, signal, time
graceful_timeout = 600
prepare = post_fork

def post_fork(server, worker):
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1)
    prepare(server, worker)
"""

STOPPED_WITH_LOCK = """
import os, signal, time
init = post_worker_init

class Lock:
    def __init__(self, worker):
        self.worker, self.lock = worker, worker.tpool._shutdown_lock

    def __enter__(self):
        self.lock.acquire()
        if not self.worker.alive:
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(60)

    def __exit__(self, *_):
        self.lock.release()

def post_worker_init(worker):
    init(worker)
    worker.tpool._shutdown_lock = Lock(worker)
"""

STOPPED_BEFORE_FIRST_BYTE = """
import os, signal, sys
from pathlib import Path
from gunicorn.workers import gthread
finish = Worker.finish_request

def finish_request(worker, conn, fs):
    stops = fs.result() is gthread._DEFER and Path(__file__).with_name("stop").exists()
    if stops:
        os.kill(os.getpid(), signal.SIGTERM)
    finish(worker, conn, fs)
    if stops:
        print("the worker stops", file=sys.stderr, flush=True)

Worker.finish_request = finish_request
"""


@pytest.fixture
def configured(make_database: Callable[..., str], tmp_path: Path) -> Callable[[str], Service]:
    """configured(text): a service with this text after its gunicorn configuration."""

    def make(text: str) -> Service:
        config = tmp_path / "gunicorn.conf.py"
        config.write_text(f"{(ROOT / 'gunicorn.conf.py').read_text()}\n{text}")
        return Service(make_database(), command=("-m", "gunicorn", "--config", str(config), "wsgi:app"))

    return make


def test_a_worker_that_is_stopped_right_after_its_fork_ends_at_once(configured: Callable[[str], Service]):
    service = configured(STOPPED_EARLY)
    try:
        # gunicorn would wait ten minutes for a worker that does not end (graceful_timeout).
        assert service.start().process.wait(2 * PATIENCE) == 0
    finally:
        service.end()


def test_ctrl_c_ends_a_worker_that_closes_its_thread_pool(configured: Callable[[str], Service]):
    with configured(STOPPED_WITH_LOCK) as service:
        [worker] = service.workers
        os.kill(worker, signal.SIGINT)
        assert service.process.wait(PATIENCE) == 0


def test_a_stopping_worker_serves_a_connection_that_it_has_accepted(
    configured: Callable[[str], Service], tmp_path: Path
):
    with configured(STOPPED_BEFORE_FIRST_BYTE) as service:
        (tmp_path / "stop").touch()
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as client:
            wait_until(lambda: "the worker stops" in service.err, "the worker had waited for the first byte")
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            response = HTTPResponse(client)
            response.begin()
            assert (response.status, response.headers["Connection"]) == (200, "close")
