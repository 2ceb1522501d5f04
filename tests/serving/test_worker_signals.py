"""Signals at unlucky moments: a worker ends in time."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.service import PATIENCE, Service

pytestmark = pytest.mark.slow

STOPPED_EARLY = """
import os, signal, time
exec(open("gunicorn.conf.py").read())
prepare = post_fork

def post_fork(server, worker):
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1)
    prepare(server, worker)
"""

STOPPED_WITH_LOCK = """
import os, signal, time
exec(open("gunicorn.conf.py").read())
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


@pytest.fixture
def configured(make_database: Callable[..., str], tmp_path: Path) -> Callable[[str], Service]:
    """Return a function that makes a service with this gunicorn configuration."""

    def make(text: str) -> Service:
        config = tmp_path / "gunicorn.conf.py"
        config.write_text(text)
        return Service(make_database(), command=("-m", "gunicorn", "--config", str(config), "wsgi:app"))

    return make


def test_a_worker_that_is_stopped_right_after_its_fork_ends_at_once(configured: Callable[[str], Service]):
    service = configured(STOPPED_EARLY)
    try:
        # gunicorn waits up to 40 s for a worker (graceful_timeout).
        assert service.start().process.wait(PATIENCE) == 0
    finally:
        service.end()


def test_ctrl_c_ends_a_worker_that_closes_its_thread_pool(configured: Callable[[str], Service]):
    with configured(STOPPED_WITH_LOCK) as service:
        [worker] = service.workers
        os.kill(worker, signal.SIGINT)
        assert service.process.wait(PATIENCE) == 0
