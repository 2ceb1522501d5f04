"""Signals at unlucky moments: a worker ends in time, and serves the connections that it has accepted."""

import os
import signal
import socket
from collections.abc import Callable
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.support.service import PATIENCE, ROOT, Service, wait_until

pytestmark = pytest.mark.slow

# Each of these is appended to gunicorn.conf.py.
STOPPED_EARLY = """
import os, signal, time
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
    """Return a function that makes a service with this text after its gunicorn configuration."""

    def make(text: str) -> Service:
        config = tmp_path / "gunicorn.conf.py"
        config.write_text(f"{(ROOT / 'gunicorn.conf.py').read_text()}\n{text}")
        return Service(make_database(), command=("-m", "gunicorn", "--config", str(config), "wsgi:app"))

    return make


def test_a_worker_that_is_stopped_right_after_its_fork_ends_at_once(configured: Callable[[str], Service]):
    service = configured(STOPPED_EARLY)
    try:
        # gunicorn waits up to 40 s for a worker (graceful_timeout).
        assert service.start().process.wait(20) == 0
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
