"""The embedded PostgreSQL: every kind of path, root and ordinary users, who stops it, and what is left after it was killed."""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from sql.database import embedded
from sql.database.embedded import Server
from sql.database.migrate import DatabaseProblem
from tests.support.service import AS_UNPRIVILEGED, IMPORT, UNPRIVILEGED, Service, address_in, is_alive, postmaster_of, run, wait_until

pytestmark = pytest.mark.slow

is_root = os.geteuid() == 0
root_only = pytest.mark.skipif(not is_root, reason="only root may become another user")


@pytest.fixture(scope="module")
def tmp() -> Iterator[Path]:
    """A folder with a short path that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="embedded-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def made(tmp: Path) -> Path:
    """A data folder that has been used once, with a table in it. A start that was interrupted had left something there."""
    server = Server(tmp / "made" / "on the way")
    (server.folder / "postgres.new" / "base").mkdir(parents=True)
    with psycopg.connect(server.ensure()) as conn:
        conn.execute("CREATE SCHEMA test")
        conn.execute("CREATE TABLE test.kept AS SELECT 1 AS one")
    server.release()
    return server.folder


@pytest.fixture
def data(made: Path) -> Iterator[Path]:
    """That folder, with nothing running in it."""
    yield made
    assert postmaster_of(made) is None


def kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process."""
    assert pid is not None
    os.kill(pid, number)


def log_of(data: Path) -> str:
    """What the server has written to its log files."""
    return "".join(path.read_text() for path in (data / "postgres" / "log").iterdir())


def is_kept(url: str) -> bool:
    """Whether the server at this address has the data."""
    with psycopg.connect(url) as conn:
        return conn.execute("SELECT one FROM test.kept").fetchone() == (1,)


NAMES = ["a space", "'single' and \"double\"", "$HOME `id` \\n", "Größe €", "100%25", "-p 5433", "--help"]


@pytest.mark.parametrize("name", NAMES)
def test_the_folder_may_be_called_anything(data: Path, name: str):
    folder = data.rename(data.with_name(name))
    server = Server(folder)
    try:
        url = server.ensure()
        assert is_kept(url)
        assert server.ensure() == url
    finally:
        server.release()
        folder.rename(data)
    assert postmaster_of(data) is None


@pytest.mark.parametrize("name", ["a, comma", "long" * 50])
def test_too_long_a_path_is_refused_before_anything_is_created(tmp: Path, name: str):
    with pytest.raises(DatabaseProblem) as problem:
        Server(tmp / name).ensure()
    sentence = f"DATA_DIR must be a path of at most 81 bytes without a comma. A symbolic link can shorten {tmp / name}."
    assert str(problem.value) == sentence
    assert not (tmp / name).exists()


def test_the_folder_may_be_relative(data: Path, monkeypatch):
    monkeypatch.chdir(data.parent)
    server = Server(Path(data.name))
    monkeypatch.chdir("/")
    assert is_kept(server.ensure())
    server.release()
    assert postmaster_of(data) is None


def test_the_folder_may_be_a_link_to_a_longer_path(data: Path):
    target = data.rename(data.with_name("far" * 60))
    data.symlink_to(target)
    server = Server(data)
    try:
        assert is_kept(server.ensure())
    finally:
        server.release()
        data.unlink()
        target.rename(data)


def test_it_can_be_reached_by_its_socket_and_user_alone(data: Path):
    server = Server(data)
    with psycopg.connect(server.ensure()) as conn:
        assert conn.execute("SHOW listen_addresses").fetchone() == ("",)
        assert conn.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        assert conn.execute("SHOW data_checksums").fetchone() == ("on",)
    server.release()
    for private in (data / "postgres", data / "socket"):
        assert private.stat().st_mode & 0o777 == 0o700


def test_the_folder_and_its_locks_belong_to_the_owner_alone(data: Path):
    data.chmod(0o755)
    for name in ("starting.lock", "in-use.lock"):
        (data / name).chmod(0o644)
    server = Server(data)
    server.ensure()
    server.release()
    owner = (data / "postgres").stat().st_uid
    modes = {path.name: (path.stat().st_mode & 0o777, path.stat().st_uid) for path in (data, data / "starting.lock", data / "in-use.lock")}
    assert modes == {data.name: (0o700, owner), "starting.lock": (0o600, owner), "in-use.lock": (0o600, owner)}


def test_a_folder_that_holds_other_files_keeps_its_mode(tmp: Path):
    shared = tmp / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody's file").touch()
    server = Server(shared)
    server.ensure()
    server.release()
    assert shared.stat().st_mode & 0o777 == 0o755
    assert shared.stat().st_uid == os.geteuid()
    shutil.rmtree(shared)


def test_the_server_gets_none_of_our_secrets(data: Path, monkeypatch):
    monkeypatch.setenv("INIT_ADMIN_PASSWORD", "a password of the first start")
    server = Server(data)
    server.ensure()
    environment = Path(f"/proc/{postmaster_of(data)}/environ").read_text().strip("\0").split("\0")
    server.release()
    names = {entry.partition("=")[0] for entry in environment if not entry.startswith("PG")}
    # The shell of pg_ctl adds PWD.
    assert names - {"PWD"} == {"PATH", "LANG", "TZ"}


def test_the_log_is_rotated_daily_and_overwritten_after_a_week(data: Path):
    server = Server(data)
    with psycopg.connect(server.ensure()) as conn:
        today, previous = conn.execute(
            "SELECT pg_current_logfile(), 'log/server-' || to_char(now() - interval '7 days', 'Dy') || '.log'"
        ).fetchone()
        names = ("log_rotation_age", "log_truncate_on_rotation", "logging_collector")
        settings = [conn.execute("SELECT current_setting(%s)", [name]).fetchone() for name in names]
    server.release()
    assert today == previous
    assert (data / "postgres" / today).stat().st_mode & 0o777 == 0o600
    assert settings == [("1d",), ("on",), ("on",)]


def test_a_process_that_waits_for_the_lock_says_so(data: Path, capfd):
    server = Server(data)
    server.ensure()
    with (data / "starting.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=server.release)
        waiting.start()
        said = []
        wait_until(lambda: said.append(capfd.readouterr().err) or "Waiting" in "".join(said), "it said so")
        assert waiting.is_alive()
    waiting.join()
    assert "".join(said) == f"Waiting for another process to start or stop {data} ...\n"


def test_what_an_interrupted_start_had_left_is_gone(data: Path):
    assert not (data / "postgres.new").exists()


def test_it_runs_until_the_last_process_releases_it(data: Path):
    first, second = Server(data), Server(data)
    url = first.ensure()
    assert second.ensure() == first.ensure() == url
    postmaster = postmaster_of(data)
    first.release()
    first.release()
    assert is_kept(url)
    second.release()
    assert not is_alive(postmaster)


def test_a_fork_does_not_let_go_of_it(data: Path):
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


def test_a_server_that_has_ended_is_brought_back_where_it_was(data: Path):
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


def test_letting_go_of_a_server_that_was_killed_says_nothing(data: Path):
    server = Server(data)
    server.ensure()
    kill(postmaster_of(data))
    server.release()
    assert is_kept(server.ensure())
    server.release()


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            "PG_VERSION",
            "17\n",
            "is of PostgreSQL 17; this version needs PostgreSQL 18. Restore a backup into a new data folder.",
        ),
        (
            "PG_VERSION",
            "",
            "is of PostgreSQL (unknown); this version needs PostgreSQL 18. Restore a backup into a new data folder.",
        ),
        (
            "postgresql.conf",
            "no = such setting\n",
            "failed (pg_ctl): pg_ctl: could not start server. See postgres/server.log and the newest file in postgres/log there.",
        ),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_sentence(data: Path, file: str, text: str, sentence: str):
    spoilt = data / "postgres" / file
    before = spoilt.read_text()
    spoilt.write_text(text)
    server = Server(data)
    with pytest.raises(DatabaseProblem) as problem:
        server.ensure()
    spoilt.write_text(before)
    server.release()
    assert str(problem.value).endswith(f"{data} {sentence}")


@pytest.mark.parametrize("left", [b"", bytes(64), b"\xff\n" * 6], ids=["nothing", "zeros", "no text"])
def test_what_a_power_cut_has_left_of_a_lock_file_is_no_obstacle(data: Path, left: bytes):
    for lock in (data / "postgres" / "postmaster.pid", data / "socket" / ".s.PGSQL.5432.lock"):
        lock.write_bytes(left)
    server = Server(data)
    assert is_kept(server.ensure())
    server.release()


def test_what_is_missing_in_a_folder_is_named(tmp: Path):
    (tmp / "hollow" / "postgres").mkdir(parents=True)
    with pytest.raises(DatabaseProblem) as problem:
        Server(tmp / "hollow").ensure()
    missing = tmp / "hollow" / "postgres" / "PG_VERSION"
    assert str(problem.value) == f"The data folder {tmp / 'hollow'} cannot be used: No such file or directory ({missing})."


@pytest.mark.parametrize(("place", "reason"), [("a file", "File exists"), ("a file/data", "Not a directory")])
def test_a_folder_that_cannot_be_one_is_refused_in_one_sentence(tmp: Path, place: str, reason: str):
    (tmp / "a file").touch()
    done = run(*IMPORT, DATA_DIR=tmp / place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"The data folder {tmp / place} cannot be used: {reason}.\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "exit status 3"),
        ("echo initdb: removing it >&2", "initdb: removing it"),
        ("echo initdb: error: no room >&2; echo initdb: removing it >&2", "initdb: error: no room"),
    ],
)
def test_a_cluster_that_cannot_be_made_is_refused_in_one_sentence(tmp: Path, monkeypatch, said: str, told: str):
    monkeypatch.setattr(embedded, "BINARIES", tmp)
    (tmp / "initdb").write_text(f"#!/bin/sh\n{said}\nexit 3\n")
    (tmp / "initdb").chmod(0o755)
    with pytest.raises(DatabaseProblem) as problem:
        Server(tmp / "never").ensure()
    assert str(problem.value).endswith(f" failed (initdb): {told}.")
    assert not (tmp / "never" / "postgres").exists()


@root_only
def test_root_may_keep_it_where_only_root_may_go(tmp: Path):
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
def test_without_a_user_postgres_root_runs_it_as_a_user_id_of_its_own(tmp: Path, monkeypatch):
    everybody = pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: [user for user in everybody if user.pw_name != "postgres"])
    server = Server(tmp / "own")
    url = server.ensure()
    uid = Path(f"/proc/{postmaster_of(server.folder)}").stat().st_uid
    assert uid not in {0, *(user.pw_uid for user in everybody)}
    assert {
        path.stat().st_uid for path in (server.folder, server.cluster, server.cluster / "PG_VERSION", server.folder / "in-use.lock")
    } == {uid}
    with psycopg.connect(url) as conn:
        conn.execute("SELECT 1")
    server.release()


@root_only
def test_a_cluster_of_user_nobody_keeps_working(data: Path):
    subprocess.run(["chown", "--recursive", f"{UNPRIVILEGED}:{UNPRIVILEGED}", str(data / "postgres"), str(data / "socket")], check=True)
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
def test_what_root_has_started_its_owner_can_start_too(data: Path):
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


def test_a_server_without_its_folder_can_be_stopped(made: Path):
    server = Server(made)
    server.ensure()
    postmaster = postmaster_of(made)
    shutil.rmtree(made)
    server.release()
    # It would notice within a minute.
    kill(postmaster, signal.SIGQUIT)


def test_a_command_says_that_the_folder_is_closed_to_its_user(tmp: Path):
    closed = tmp / "closed to others"
    closed.mkdir(mode=0)
    without_rights = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if is_root else ()
    done = run("-m", "flask", "--app", "app", "user", "list", prefix=without_rights, DATA_DIR=closed)
    assert done.returncode == 1
    assert done.stderr == f"Error: The data folder {closed} cannot be used: Permission denied ({closed}/postgres).\n"
    closed.rmdir()
