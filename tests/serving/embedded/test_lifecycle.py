"""The embedded PostgreSQL: starts, stops, forks, and what is left after it was killed."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sql.database.embedded import Server
from tests.support.embedded_server import is_kept, kill, log_of
from tests.support.service import ROOT, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow


def test_files_of_an_interrupted_start_are_removed(data: Path):
    assert not (data / "postgres.new").exists()


def test_the_server_runs_until_the_last_process_releases_it(data: Path):
    first, second = Server(data), Server(data)
    url = first.ensure()
    assert second.ensure() == first.ensure() == url
    postmaster = postmaster_of(data)
    first.release()
    first.release()
    assert is_kept(url)
    second.release()
    assert not is_alive(postmaster)


def test_a_fork_does_not_release_the_server(data: Path):
    server = Server(data)
    url = server.ensure()
    child = os.fork()
    if child == 0:
        server.release()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert is_kept(url)
    server.release()


def test_a_server_that_is_starting_is_awaited(data: Path):
    server = Server(data)
    server.ensure()
    postmaster = postmaster_of(data)
    crashes = log_of(data).count("terminating any other active server processes")
    # A crash of one of its processes makes it start over by itself. The first process writes the log.
    kill(int(Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()[1]))
    wait_until(lambda: log_of(data).count("terminating any other active server processes") > crashes, "it had noticed")
    assert is_kept(server.ensure())
    assert postmaster_of(data) == postmaster
    server.release()


def test_a_server_that_was_killed_is_started_again(data: Path):
    killed = Server(data)
    killed.ensure()
    postmaster = postmaster_of(data)
    kill(postmaster)
    assert is_kept(killed.ensure())
    assert postmaster_of(data) != postmaster
    killed.release()


def test_a_server_that_has_ended_is_restarted_at_the_same_address(data: Path):
    server = Server(data)
    url = server.ensure()
    kill(postmaster_of(data))
    server.revive()
    assert is_kept(url)
    postmaster = postmaster_of(data)
    server.revive()
    assert postmaster_of(data) == postmaster
    server.release()
    server.revive()
    assert postmaster_of(data) is None


def test_a_server_whose_data_is_gone_is_not_brought_back(tmp: Path):
    server = Server(tmp / "gone")
    server.ensure()
    kill(postmaster_of(server.folder))
    shutil.rmtree(server.cluster)
    server.revive()
    assert not server.cluster.exists()
    server.release()


def test_a_process_that_has_the_number_of_the_killed_server_is_no_obstacle(data: Path):
    server = Server(data)
    server.ensure()
    lock = (data / "postgres" / "postmaster.pid").read_text()
    server.release()
    with subprocess.Popen(["sleep", "60"]) as somebody:
        try:
            (data / "postgres" / "postmaster.pid").write_text(lock.replace(lock.split()[0], str(somebody.pid), 1))
            assert is_kept(server.ensure())
            server.release()
            assert somebody.poll() is None
        finally:
            somebody.terminate()


def test_releasing_a_killed_server_prints_nothing(data: Path):
    server = Server(data)
    server.ensure()
    kill(postmaster_of(data))
    server.release()
    assert is_kept(server.ensure())
    server.release()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_ends_is_not_interrupted(data: Path, number: signal.Signals):
    program = "import sys; from pathlib import Path; from sql.database.embedded import Server; "
    program += "Server(Path(sys.argv[1])).ensure(); print('ready', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(data)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        with (data / "starting.lock").open() as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            process.stdin.close()
            message = f"Waiting for another process to start or stop {data} ...\n"
            assert process.stdout.readline() == message
            process.send_signal(number)
            assert process.poll() is None
        assert (process.stdout.read(), process.wait()) == ("", 0)
    assert postmaster_of(data) is None
