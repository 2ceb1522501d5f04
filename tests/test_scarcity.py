"""The real service on a machine that has run out of something: it waits, and serves on."""

import os
import resource
import subprocess
from collections.abc import Callable

import pytest

from tests.pooler import AS_ANYBODY
from tests.service import Service, wait_until
from tests.test_overload import KEY, TAG_TYPES, SlowClients

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database of our own."""
    return make_database()


def test_when_no_thread_can_be_started_clients_wait_for_those_that_there_are(url: str) -> None:
    with Service(url, prefix=AS_ANYBODY, CLIENT_TIMEOUT_SECONDS=1) as service:
        (worker,) = service.workers
        subprocess.run([*AS_ANYBODY, "prlimit", f"--pid={worker}", "--nproc=1:1"], check=True)
        threads = len(os.listdir(f"/proc/{worker}/task"))
        with SlowClients(service, "says nothing") as slow:
            slow.grow(3)
            assert service.get(TAG_TYPES, headers=KEY).status == 200
        assert service.workers == {worker}
        assert len(os.listdir(f"/proc/{worker}/task")) <= threads
        assert "Traceback" not in service.err


def test_when_no_file_can_be_opened_clients_wait_until_others_have_gone(url: str) -> None:
    with Service(url, CLIENT_TIMEOUT_SECONDS=1) as service:
        (worker,) = service.workers
        limit = max(map(int, os.listdir(f"/proc/{worker}/fd"))) + 6
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (limit, limit))
        with SlowClients(service, "says nothing") as slow:
            slow.grow(15)
            assert service.get(TAG_TYPES, headers=KEY).status == 200
        assert service.workers == {worker}
        assert "Traceback" not in service.err


def test_there_are_no_more_clients_than_files_for_them(url: str) -> None:
    with Service(url, prefix=("prlimit", "--nofile=200:200"), THREADS=4, CLIENT_TIMEOUT_SECONDS=1) as service:
        assert service.err.startswith("This machine lets a process open 200 files: there are at most 92 connections of clients ")
        (worker,) = service.workers
        with SlowClients(service, "says nothing") as slow:
            slow.grow(120)
            files = [0]
            wait_until(lambda: files.append(len(os.listdir(f"/proc/{worker}/fd"))) or slow.closed() == 120, "it had hung up on all of them")
            # The others are the database's, and Python's.
            assert 92 <= max(files) < 92 + 50
