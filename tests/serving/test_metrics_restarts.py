"""Metrics of the real service, whatever becomes of its processes: killed, replaced, without space, waiting, or unable
to start.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from serving.metrics_files import PREFIX
from sql.database import connect
from tests.support.metrics import BEARER, TOKEN, Metered, read, total
from tests.support.service import (
    GUNICORN,
    PATIENCE,
    ROOT,
    Service,
    environment,
    free_port,
    is_alive,
    run_together,
    wait_until,
)

pytestmark = pytest.mark.slow

EMPTY = "The file in METRICS_TOKEN_FILE is empty. Write the value to it, or unset the variable."


def kill(service: Metered) -> None:
    """Kill one worker process."""
    before = service.workers
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    wait_until(
        lambda: victim not in service.workers and len(service.workers) == len(before), "another one took its place"
    )


def reload(service: Metered) -> None:
    """Replace all worker processes."""
    before = service.workers
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(service.workers) == len(before) and not service.workers & before, "all were new")


def test_counters_never_decrease_and_the_files_do_not_grow_in_number(make_database):
    with Metered(make_database()) as service:
        folder = service.folder
        started, expected, files = total(service.scraped(), "process_start_time_seconds"), 0, set()
        for change in (kill, reload, kill, reload):
            service.send(10)
            expected += 10
            assert service.counted() == expected
            change(service)
            wait_until(
                lambda: total(service.scraped(), "flags_workers") == 2,
                "the new ones were counted, and the old ones not",
            )
            assert service.counted() == expected
            files |= {file.name for file in folder.iterdir()}
        assert total(service.scraped(), "process_start_time_seconds") == started
        # Three of each slot: of twice as many slots as worker processes, for those that are replaced.
        assert len(files) <= 3 * 4
        assert service.stop() == 0
        assert not folder.exists()
        assert "Traceback" not in service.err
    with socket.create_server(("127.0.0.1", service.metrics_port)):
        pass


def test_a_reload_changes_the_token_at_both_addresses(make_database, tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with Metered(make_database(), METRICS_TOKEN="", METRICS_TOKEN_FILE=file) as service:
        other = "another-token-of-the-operator"
        file.write_text(other)
        reload(service)
        for ask in (service.ask, service.get):
            assert ask("/metrics", headers=BEARER).status == 401
            assert ask("/metrics", headers={"Authorization": f"Bearer {other}"}).status == 200
        # A file that is empty at that moment changes nothing.
        file.write_text("")
        reload(service)
        assert f"{EMPTY} The previous settings stay in effect.\n" in service.err
        for ask in (service.ask, service.get):
            assert ask("/metrics", headers={}).status == 401
            assert ask("/metrics", headers={"Authorization": f"Bearer {other}"}).status == 200


def test_a_hundred_reloads_leave_the_files_of_living_workers_only(make_database):
    with Metered(make_database(), WEB_CONCURRENCY=1) as service:
        service.send(3)
        for _ in range(100):
            reload(service)
        wait_until(lambda: total(service.scraped(), "flags_workers") == 1, "the last worker was counted")
        assert service.counted() == 3
        # A counter, a histogram and a gauge, for the slots of an old and a new worker.
        assert len(list(service.folder.iterdir())) <= 3 * 2


def test_a_file_that_a_worker_has_not_written_yet_does_not_fail_a_scrape(make_database):
    with Metered(make_database(), WEB_CONCURRENCY=1) as service:
        service.send(3)
        (service.folder / "counter_9.db").touch()
        assert service.counted() == 3


def test_a_port_without_a_token_is_open_at_its_own_address_alone(make_database):
    with Metered(make_database(), METRICS_TOKEN="", METRICS_HOST="::1", WEB_CONCURRENCY=1) as service:
        with socket.create_connection(("::1", service.metrics_port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
        assert total(read(answer.partition(b"\r\n\r\n")[2]), "flags_workers") == 1
        with pytest.raises(ConnectionRefusedError):
            service.ask()
        assert service.get("/metrics", headers=BEARER).status == 404


def test_waiting_threads_are_shown_and_killed_workers_forgotten(make_database):
    url = make_database()
    with Metered(url, WEB_CONCURRENCY=1, THREADS=1, DATABASE_POOL_SIZE=1) as service, connect(url) as conn:
        with conn.transaction():
            conn.execute("LOCK TABLE schema_version")
            waiting = [threading.Thread(target=give_up, args=(service,)) for _ in range(2)]
            for thread in waiting:
                thread.start()
            wait_until(
                lambda: total(service.scraped(), "flags_database_connections_in_use") == 1,
                "a request held the only connection",
            )
            kill(service)
            wait_until(lambda: is_idle(service), "the new process had nothing in hand")
        for thread in waiting:
            thread.join()
        assert service.get("/ready").status == 200


def give_up(service: Service) -> None:
    """Ask what needs the database, and make nothing of a connection that breaks."""
    with suppress(OSError, HTTPException):
        service.get("/ready")


def is_idle(service: Metered) -> bool:
    """Whether a worker process lives that holds no connection."""
    found = service.scraped()
    return total(found, "flags_workers") == 1 and total(found, "flags_database_connections_in_use") == 0


def test_a_start_clears_up_what_a_killed_service_has_left_and_nothing_else(make_database):
    url = make_database()
    with Metered(url) as living:
        with Metered(url) as killed:
            left, workers = killed.folder, killed.workers
            killed.process.send_signal(signal.SIGKILL)
            wait_until(lambda: not any(map(is_alive, workers)), "its worker processes had noticed")
            # The master is a zombie until wait() is called, so no service of another test has removed its folder.
            assert left.exists()
            assert killed.process.wait(PATIENCE) == -signal.SIGKILL
        with Metered(url, METRICS_PORT=killed.metrics_port):
            assert not left.exists()
            assert total(living.scraped(), "flags_workers") == 2


def test_orphans_that_still_work_do_not_keep_the_port(make_database):
    url = make_database()
    with Metered(url, WEB_CONCURRENCY=1) as killed, connect(url) as conn, conn.transaction():
        conn.execute("LOCK TABLE schema_version")
        waiting = threading.Thread(target=give_up, args=(killed,))
        waiting.start()
        wait_until(lambda: total(killed.scraped(), "flags_database_connections_in_use") == 1, "a request waited")
        (orphan,) = killed.workers
        assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        with Metered(make_database(), METRICS_PORT=killed.metrics_port, WEB_CONCURRENCY=1):
            assert killed.ask().status == 200
            assert is_alive(orphan)
    waiting.join()
    wait_until(lambda: not is_alive(orphan), "it had answered")


def test_a_folder_of_other_programs_stays(make_database, tmp_path):
    (tmp_path / "counter_1.db").touch()
    with Service(make_database(), PROMETHEUS_MULTIPROC_DIR=tmp_path) as service:
        assert service.get("/metrics", headers=BEARER).status == 404
        assert service.stop() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["counter_1.db"]


def test_a_start_that_fails_leaves_no_folder():
    settings = {"METRICS_TOKEN": TOKEN, "PORT": free_port(), "DATABASE_URL": f"postgresql://127.0.0.1:{free_port()}/x"}
    with subprocess.Popen(
        [sys.executable, *GUNICORN], cwd=ROOT, env=environment(**settings), stderr=subprocess.DEVNULL
    ) as process:
        assert process.wait(PATIENCE) == 1
    assert list(Path("/dev/shm").glob(f"{PREFIX}-{os.geteuid()}-{process.pid}-*")) == []


WITHOUT_FOLDER = "import os, sys, tempfile; tempfile.tempdir = '/dev/null'; os.access = lambda *_: False; "
WITHOUT_FOLDER += f"sys.argv = {list(GUNICORN[1:])!r}; import runpy; runpy.run_module('gunicorn', run_name='__main__')"


def test_a_start_that_cannot_count_or_tell_is_refused_with_a_sentence(tmp_path):
    port = free_port()
    # As another service of ours would have it.
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        refusals = [
            (GUNICORN, {"METRICS_PORT": port}, f"Cannot listen on 127.0.0.1:{port}: Address already in use."),
            (
                GUNICORN,
                {"METRICS_PORT": port, "METRICS_HOST": "192.0.2.1"},
                f"Cannot listen on 192.0.2.1:{port}: Cannot assign ",
            ),
            (
                GUNICORN,
                {"METRICS_PORT": port, "METRICS_HOST": "nowhere.invalid"},
                f"Cannot listen on nowhere.invalid:{port}: Unknown host ",
            ),
            (
                ("-c", WITHOUT_FOLDER),
                {"METRICS_TOKEN": TOKEN},
                "The folder for metrics cannot be created: Not a directory.",
            ),
        ]
        common = {"DATA_DIR": tmp_path / "data"}
        done = run_together([(arguments, {**common, "PORT": free_port(), **given}) for arguments, given, _ in refusals])
    for process, (*_, sentence) in zip(done, refusals, strict=True):
        assert (process.returncode, process.stdout, process.stderr.count("\n")) == (1, "", 1), process.stderr
        assert process.stderr.startswith(sentence)
    assert not (tmp_path / "data").exists()
