"""The embedded PostgreSQL of root and of ordinary users."""

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from sql.database.embedded import Server
from sql.database.migrate import DatabaseProblem
from tests.support.embedded_server import is_kept, is_root, kill, root_only
from tests.support.service import (
    AS_UNPRIVILEGED,
    IMPORT,
    UNPRIVILEGED,
    Service,
    address_in,
    is_alive,
    postmaster_of,
    run,
)

pytestmark = pytest.mark.slow


@root_only
def test_root_may_keep_the_server_in_a_folder_that_only_root_can_enter(tmp: Path):
    closed = tmp / "closed"
    closed.mkdir(mode=0o700)
    server = Server(closed / "data")
    with psycopg.connect(server.ensure()) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    postmaster = postmaster_of(server.folder)
    assert Path(f"/proc/{postmaster}").stat().st_uid == server.cluster.stat().st_uid != 0
    assert (closed.stat().st_mode & 0o777, closed.stat().st_uid) == (0o700, 0)
    server.release()
    assert not is_alive(postmaster)


@root_only
def test_root_runs_the_server_under_a_separate_user_id(tmp: Path, monkeypatch):
    everybody = pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: [user for user in everybody if user.pw_name != "postgres"])
    server = Server(tmp / "own")
    url = server.ensure()
    uid = Path(f"/proc/{postmaster_of(server.folder)}").stat().st_uid
    assert uid not in {0, *(user.pw_uid for user in everybody)}
    assert {
        path.stat().st_uid
        for path in (server.folder, server.cluster, server.cluster / "PG_VERSION", server.folder / "in-use.lock")
    } == {uid}
    with psycopg.connect(url) as conn:
        conn.execute("SELECT 1")
    server.release()


@root_only
def test_a_cluster_of_user_nobody_keeps_working(data: Path):
    subprocess.run(
        ["chown", "--recursive", f"{UNPRIVILEGED}:{UNPRIVILEGED}", str(data / "postgres"), str(data / "socket")],
        check=True,
    )
    os.chown(data, 0, 0)
    server = Server(data)
    assert is_kept(server.ensure())
    assert Path(f"/proc/{postmaster_of(data)}").stat().st_uid == UNPRIVILEGED
    server.release()
    assert data.stat().st_uid == UNPRIVILEGED


@root_only
@pytest.mark.parametrize("name", ["starting.lock", "in-use.lock", "socket", "postgres/postmaster.pid"])
def test_root_follows_no_link_that_the_owner_of_the_folder_has_put_there(data: Path, tmp: Path, name: str):
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
    server = Server(data)
    with pytest.raises(DatabaseProblem) as problem:
        server.ensure()
    link.unlink()
    if aside.exists():
        aside.rename(link)
    server.release()
    assert str(problem.value).startswith(f"The data folder {data} cannot be used: ")
    assert str(problem.value).endswith(f" ({link}).")
    after = victim.stat()
    assert (after.st_uid, after.st_mode, after.st_mtime_ns) == (0, before.st_mode, before.st_mtime_ns)
    victim.rmdir() if name == "socket" else victim.unlink()


@pytest.fixture(scope="module")
def readable() -> None:
    """Skips where an ordinary user cannot run the project at all."""
    done = run(*IMPORT, prefix=AS_UNPRIVILEGED, PORT="none")
    if "The setting PORT" not in done.stderr:
        pytest.skip("an ordinary user cannot read this Python or this project")


@root_only
@pytest.mark.usefixtures("readable")
def test_an_ordinary_user_can_start_afresh(tmp: Path):
    home = tmp / "home"
    home.mkdir()
    os.chown(home, UNPRIVILEGED, UNPRIVILEGED)
    done = run(*IMPORT, prefix=AS_UNPRIVILEGED, DATA_DIR=home / "data")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (home / "data" / "postgres").stat().st_uid == UNPRIVILEGED
    assert postmaster_of(home / "data") is None


@root_only
@pytest.mark.usefixtures("readable")
def test_the_owner_of_the_folder_can_start_the_server_after_root(data: Path):
    subprocess.run(["chown", "--recursive", f"{UNPRIVILEGED}:{UNPRIVILEGED}", str(data)], check=True)
    for lock in ("starting.lock", "in-use.lock"):
        (data / lock).unlink()
    server = Server(data)
    assert is_kept(server.ensure())
    assert Path(f"/proc/{postmaster_of(data)}").stat().st_uid == UNPRIVILEGED
    server.release()
    with Service(DATA_DIR=data, prefix=AS_UNPRIVILEGED) as service:
        assert is_kept(address_in(data))
        assert Path(f"/proc/{service.process.pid}").stat().st_uid == UNPRIVILEGED
        postmaster = postmaster_of(data)
        assert service.stop() == 0
    assert not is_alive(postmaster)


def test_a_server_without_its_folder_can_be_stopped(created: Path):
    server = Server(created)
    server.ensure()
    postmaster = postmaster_of(created)
    shutil.rmtree(created)
    server.release()
    # It would notice within a minute.
    kill(postmaster, signal.SIGQUIT)


def test_a_command_reports_a_folder_that_its_user_cannot_enter(tmp: Path):
    closed = tmp / "closed to others"
    closed.mkdir(mode=0)
    without_rights = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if is_root else ()
    done = run("flags.py", "user", "list", prefix=without_rights, DATA_DIR=closed)
    assert done.returncode == 1
    reason = f"Permission denied ({closed}/postgres). Run this as a user who can write there."
    assert done.stderr == f"Error: The data folder {closed} cannot be used: {reason}\n"
    closed.rmdir()
