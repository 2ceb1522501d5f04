"""The embedded PostgreSQL: starts, stops, forks, kills, and the users that run it."""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from operations.postgres.embedded import Server
from operations.postgres.migrate import DatabaseProblem
from tests.support.embedded_server import is_kept, is_root, kill, root_only
from tests.support.service import (
    AS_UNPRIVILEGED,
    IMPORT,
    ROOT,
    UNPRIVILEGED,
    Service,
    address_in,
    is_alive,
    postmaster_of,
    run,
    wait_until,
)

pytestmark = pytest.mark.slow


def owner_of(pid: int | None) -> int:
    """Return the user who runs a process."""
    return Path(f"/proc/{pid}").stat().st_uid


def test_the_server_runs_until_the_last_process_releases_it(data: Path):
    first, second = Server(data), Server(data)
    url = first.ensure()
    assert second.ensure() == first.ensure() == url
    postmaster = postmaster_of(data)
    first.release()
    first.release()
    assert is_kept(url)
    second.release()
    wait_until(lambda: not is_alive(postmaster), "the server had ended")


def test_a_fork_does_not_release_the_server(postgres: Server):
    url = postgres.ensure()
    child = os.fork()
    if child == 0:
        postgres.release()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert is_kept(url)


def test_a_server_that_recovers_is_awaited(postgres: Server, data: Path):
    with psycopg.connect(postgres.ensure()) as conn:
        postmaster = postmaster_of(data)
        # The first process writes the log. A crash of another one makes the server end all connections, and recover.
        kill(int(Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()[1]))
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT pg_sleep(60)")
    assert is_kept(postgres.ensure())
    assert postmaster_of(data) == postmaster


@pytest.mark.parametrize("restart", [Server.ensure, Server.revive])
def test_a_killed_server_is_started_again_at_the_same_address(
    postgres: Server, data: Path, restart: Callable[[Server], None]
):
    url = postgres.ensure()
    killed = postmaster_of(data)
    kill(killed)
    restart(postgres)
    assert is_kept(url)
    postmaster = postmaster_of(data)
    assert postmaster != killed
    restart(postgres)
    assert postmaster_of(data) == postmaster


def test_a_released_server_is_not_revived(postgres: Server, data: Path, capfd):
    postgres.ensure()
    kill(postmaster_of(data))
    postgres.release()
    assert capfd.readouterr() == ("", "")
    assert is_kept(postgres.ensure())
    postgres.release()
    postgres.revive()
    assert postmaster_of(data) is None


def test_a_server_whose_data_is_gone_is_not_revived(tmp: Path):
    server = Server(tmp / "gone")
    server.ensure()
    kill(postmaster_of(server.folder))
    shutil.rmtree(server.cluster)
    server.revive()
    assert not server.cluster.exists()
    server.release()


def test_a_process_that_has_the_number_of_the_killed_server_is_no_obstacle(postgres: Server, data: Path):
    postgres.ensure()
    lock = (data / "postgres" / "postmaster.pid").read_text()
    postgres.release()
    with subprocess.Popen(["sleep", "60"]) as somebody:
        try:
            (data / "postgres" / "postmaster.pid").write_text(lock.replace(lock.split()[0], str(somebody.pid), 1))
            assert is_kept(postgres.ensure())
            postgres.release()
            assert somebody.poll() is None
        finally:
            somebody.terminate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_ends_is_not_interrupted(data: Path, number: signal.Signals):
    program = "import sys; from pathlib import Path; from operations.postgres.embedded import Server; "
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
            assert process.stdout.readline() == f"Waiting for another process to start or stop {data} ...\n"
            process.send_signal(number)
            assert process.poll() is None
        assert (process.stdout.read(), process.wait()) == ("", 0)


# --- Users ------------------------------------------------------------------------------------------------------------


@root_only
def test_root_runs_the_server_under_a_separate_user_id(tmp: Path, monkeypatch):
    everybody = pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: [user for user in everybody if user.pw_name != "postgres"])
    closed = tmp / "closed"
    closed.mkdir(mode=0o700)
    server = Server(closed / "data")
    with psycopg.connect(server.ensure()) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    uid = owner_of(postmaster_of(server.folder))
    assert uid not in {0, *(user.pw_uid for user in everybody)}
    files = (server.folder, server.cluster, server.cluster / "PG_VERSION", server.folder / "in-use.lock")
    assert {path.stat().st_uid for path in files} == {uid}
    # Only root can enter it, as before.
    assert (closed.stat().st_mode & 0o777, closed.stat().st_uid) == (0o700, 0)
    server.release()


@root_only
def test_a_cluster_of_user_nobody_keeps_working(postgres: Server, data: Path):
    owner = f"{UNPRIVILEGED}:{UNPRIVILEGED}"
    subprocess.run(["chown", "--recursive", owner, data / "postgres", data / "socket"], check=True)
    os.chown(data, 0, 0)
    assert is_kept(postgres.ensure())
    assert owner_of(postmaster_of(data)) == UNPRIVILEGED
    postgres.release()
    assert data.stat().st_uid == UNPRIVILEGED


@root_only
@pytest.mark.parametrize("name", ["starting.lock", "in-use.lock", "socket", "postgres/postmaster.pid"])
def test_root_follows_no_link_of_the_owner_of_the_folder(postgres: Server, data: Path, tmp: Path, name: str):
    victim = tmp / "victim"
    if name == "socket":
        victim.mkdir(mode=0o755)
    else:
        victim.write_text("1\nof root\n")
    before = victim.stat()
    link, aside = data / name, tmp / "aside"
    if link.exists():
        link.rename(aside)
    link.symlink_to(victim)
    with pytest.raises(DatabaseProblem) as problem:
        postgres.ensure()
    link.unlink()
    if aside.exists():
        aside.rename(link)
    assert str(problem.value).startswith(f"The data folder {data} cannot be used: ")
    assert str(problem.value).endswith(f" ({link}).")
    after = victim.stat()
    assert (after.st_uid, after.st_mode, after.st_mtime_ns) == (0, before.st_mode, before.st_mtime_ns)
    victim.rmdir() if name == "socket" else victim.unlink()


@root_only
def test_an_ordinary_user_can_start_afresh_or_after_root(postgres: Server, tmp: Path, data: Path):
    if "The setting PORT" not in run(*IMPORT, prefix=AS_UNPRIVILEGED, PORT="none").stderr:
        pytest.skip("an ordinary user cannot read this Python or this project")
    home = tmp / "home"
    home.mkdir()
    os.chown(home, UNPRIVILEGED, UNPRIVILEGED)
    done = run(*IMPORT, prefix=AS_UNPRIVILEGED, DATA_DIR=home / "data")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (home / "data" / "postgres").stat().st_uid == UNPRIVILEGED
    assert postmaster_of(home / "data") is None
    subprocess.run(["chown", "--recursive", f"{UNPRIVILEGED}:{UNPRIVILEGED}", data], check=True)
    for lock in ("starting.lock", "in-use.lock"):
        (data / lock).unlink()
    assert is_kept(postgres.ensure())
    assert owner_of(postmaster_of(data)) == UNPRIVILEGED
    postgres.release()
    with Service(DATA_DIR=data, prefix=AS_UNPRIVILEGED) as service:
        assert is_kept(address_in(data))
        assert owner_of(service.process.pid) == UNPRIVILEGED
        assert service.stop() == 0


def test_a_command_reports_a_folder_that_its_user_cannot_enter(tmp: Path):
    closed = tmp / "closed to others"
    closed.mkdir(mode=0)
    without_rights = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if is_root else ()
    done = run("operations/flags.py", "user", "list", prefix=without_rights, DATA_DIR=closed)
    assert done.returncode == 1
    reason = f"Permission denied ({closed}/postgres). Run this as a user who can write there."
    assert done.stderr == f"Error: The data folder {closed} cannot be used: {reason}\n"
    closed.rmdir()


def test_a_server_without_its_folder_can_be_stopped(created: Path):
    server = Server(created)
    server.ensure()
    postmaster = postmaster_of(created)
    shutil.rmtree(created)
    server.release()
    # It would notice within a minute.
    kill(postmaster, signal.SIGQUIT)
