"""Metrics of the real service: counted over all workers, whether these are killed, replaced or unable to start."""

import os
import signal
import threading
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict

from operations.metrics_files import PREFIX
from sql.database import connect
from tests.support.metrics import BEARER, TOKEN, Series, read, total
from tests.support.service import GUNICORN, PATIENCE, Service, free_port, is_alive, run, wait_until

pytestmark = pytest.mark.slow

REQUESTS = "flags_http_requests_total"


def folders(pid: int) -> list[Path]:
    """Return the folders of the workers' metrics of a master."""
    return list(Path("/dev/shm").glob(f"{PREFIX}-{os.geteuid()}-{pid}-*"))


class Metered(Service):
    """A service with two workers and METRICS_TOKEN."""

    def __init__(self, database: str, **settings: object) -> None:
        super().__init__(database, **{"METRICS_TOKEN": TOKEN, "WEB_CONCURRENCY": 2} | settings)

    @property
    def folder(self) -> Path:
        """Return the folder of the workers' metrics."""
        (folder,) = folders(self.process.pid)
        return folder

    def scraped(self) -> dict[Series, float]:
        """Return every series."""
        answer = self.get("/metrics", headers=BEARER)
        assert answer.status == 200
        return read(answer.body)

    def total(self, name: str) -> float:
        """Return the sum of the series with this name."""
        return total(self.scraped(), name)

    def counted(self) -> float:
        """Return the number of 404 responses."""
        return total(self.scraped(), REQUESTS, route="none", status="404")

    def send(self, number: int) -> None:
        """Send so many requests with the response 404."""
        assert [self.get("/absent").status for _ in range(number)] == [404] * number

    def kill_worker(self) -> None:
        """Kill one worker, and return when another one has replaced it."""
        before = self.workers
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in self.workers and len(self.workers) == len(before), "it was replaced")


def test_metrics_are_those_of_all_workers(make_database):
    with Metered(make_database()) as service:

        def shares() -> list[float]:
            """Return the number of 404 responses of each worker."""
            mine = '"method": "GET", "route": "none", "status": "404"'
            files = [MmapedDict.read_all_values_from_file(file) for file in service.folder.glob("counter_*.db")]
            return [sum(value for key, value, *_ in values if mine in key) for values in files]

        wait_until(lambda: service.total("flags_workers") == 2, "both workers were counted")
        while not all(shares()):
            service.send(1)
        assert service.raw(b"G(T /secret HTTP/1.1\r\n\r\n").status == 400
        found = service.scraped()
        assert total(found, REQUESTS, route="none", status="404") == sum(shares())
        assert total(found, REQUESTS, method="other", route="none", status="400") == 1
        assert total(found, "flags_workers") == total(found, "flags_workers_wanted") == 2
        assert total(found, "flags_database_connections_max") == 16
        assert total(found, "flags_database_connections_in_use") == 0


def test_counters_never_decrease_and_files_are_reused(make_database):
    with Metered(make_database()) as service:
        folder, started = service.folder, service.total("process_start_time_seconds")
        files: set[str] = set()
        for number, change in enumerate((service.kill_worker, service.reload) * 2 + (service.reload,) * 6):
            service.send(10)
            change()
            wait_until(lambda: service.total("flags_workers") == 2, "the metrics were those of the new workers")
            assert service.counted() == 10 * (number + 1)
            files |= {file.name for file in folder.iterdir()}
        assert service.total("process_start_time_seconds") == started
        # Four of each slot: of twice as many slots as worker processes, for those that are replaced.
        assert len(files) <= 4 * 4
        # A new worker creates its files empty.
        (folder / "counter_9.db").touch()
        assert service.total("flags_workers") == 2
        assert service.stop() == 0
        assert not folder.exists()
        assert "Traceback" not in service.err


def test_a_reload_changes_the_token(make_database, tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with Metered(make_database(), METRICS_TOKEN="", METRICS_TOKEN_FILE=file) as service:
        other = {"Authorization": "Bearer another-token-of-the-operator"}
        # An empty file changes nothing.
        for text in ("another-token-of-the-operator", ""):
            file.write_text(text)
            service.reload()
            assert [service.get("/metrics", headers=headers).status for headers in ({}, BEARER, other)] == [
                401,
                401,
                200,
            ]
        sentence = "The file in METRICS_TOKEN_FILE is empty. Write the value to it, or unset the variable."
        assert f"{sentence} The previous settings stay in effect.\n" in service.err


def test_connections_of_a_killed_worker_are_not_in_use(make_database):
    url = make_database()
    with Metered(url, WEB_CONCURRENCY=1, DATABASE_POOL_SIZE=1) as service, connect(url) as conn:

        def ask() -> None:
            with suppress(OSError, HTTPException):
                service.get("/ready")

        with conn.transaction():
            conn.execute("LOCK TABLE schema_version")
            waiting = threading.Thread(target=ask)
            waiting.start()
            wait_until(lambda: service.total("flags_database_connections_in_use") == 1, "a request waited")
            service.kill_worker()
            wait_until(lambda: service.total("flags_workers") == 1, "the new worker was counted")
            assert service.total("flags_database_connections_in_use") == 0
        waiting.join()
        assert service.get("/ready").status == 200


def test_a_start_removes_only_what_a_killed_service_has_left(make_database):
    url = make_database()
    with Metered(url) as living:
        with Metered(url) as killed:
            left, workers = killed.folder, killed.workers
            killed.process.send_signal(signal.SIGKILL)
            wait_until(lambda: not any(map(is_alive, workers)), "its workers had noticed")
            # The master is a zombie until wait() is called, so no service of another test has removed its folder.
            assert left.exists()
            assert killed.process.wait(PATIENCE) == -signal.SIGKILL
        with Metered(url):
            assert not left.exists()
            assert living.total("flags_workers") == 2


def test_folders_of_other_programs_stay_and_failed_starts_leave_none(make_database, tmp_path):
    (tmp_path / "counter_1.db").touch()
    with Service(make_database(), PROMETHEUS_MULTIPROC_DIR=tmp_path) as service:
        assert service.get("/metrics", headers=BEARER).status == 404
        assert service.stop() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["counter_1.db"]
    failed = Metered(f"postgresql://127.0.0.1:{free_port()}/x").start()
    assert failed.process.wait(PATIENCE) == 1
    failed.end()
    assert folders(failed.process.pid) == []


def test_a_start_without_a_folder_for_metrics_is_refused(tmp_path):
    without = "import os, sys, tempfile; tempfile.tempdir = '/dev/null'; os.access = lambda *_: False; "
    without += f"sys.argv = {list(GUNICORN[1:])!r}; import runpy; runpy.run_module('gunicorn', run_name='__main__')"
    done = run("-c", without, DATA_DIR=tmp_path / "data", METRICS_TOKEN=TOKEN, PORT=free_port())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "The folder for metrics cannot be created: Not a directory.\n"
    assert not (tmp_path / "data").exists()
