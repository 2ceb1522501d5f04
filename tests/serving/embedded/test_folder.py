"""The embedded PostgreSQL: names of its folder, rights, secrets and its log."""

import fcntl
import os
import shutil
import threading
from pathlib import Path

import psycopg
import pytest

from sql.database.embedded import Server
from sql.database.migrate import DatabaseProblem
from tests.support.embedded_server import is_kept
from tests.support.service import postmaster_of, wait_until

pytestmark = pytest.mark.slow

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


def test_the_server_can_be_reached_by_its_socket_and_user_alone(data: Path):
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
    modes = {
        path.name: (path.stat().st_mode & 0o777, path.stat().st_uid)
        for path in (data, data / "starting.lock", data / "in-use.lock")
    }
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


def test_a_process_that_waits_for_the_lock_reports_the_wait(data: Path, capfd):
    server = Server(data)
    server.ensure()
    with (data / "starting.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=server.release)
        waiting.start()
        messages = []
        wait_until(
            lambda: messages.append(capfd.readouterr().err) or "\n" in "".join(messages),
            "the process reported the wait",
        )
        assert waiting.is_alive()
    waiting.join()
    assert "".join(messages) == f"Waiting for another process to start or stop {data} ...\n"
