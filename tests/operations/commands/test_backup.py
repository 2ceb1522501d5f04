"""flags backup: all of an instance in a file, and out of it again. What a restore refuses is in test_restore.py."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from operations.commands import program
from operations.postgres import backup, embedded, migrate
from operations.postgres.migrate import DatabaseProblem
from sql.database import connect, value
from tests.support import comparison
from tests.support.command_line import FLAGS, CommandLine, install, only_line, run_flags
from tests.support.dumps import contents, fill_the_rest, make_url
from tests.support.event_rows import add
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.lock_waiters import lock_waiters
from tests.support.service import PATIENCE, ROOT, environment, is_alive, wait_until

ADMIN = ("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))


@pytest.mark.slow
def test_a_restored_instance_answers_the_nine_operations_as_before(make_database, make_app, tmp_path):
    one, other = make_database(), make_database(empty=True)
    assert run_flags("demo", "--use-database-url", DATABASE_URL=one).returncode == 0
    with connect(one) as before, connect(other) as after:
        app = make_app(one)
        fill_the_rest(app, before)
        session = app.test_client()
        login = dict(zip(("username", "password"), ADMIN, strict=True))
        assert session.post("/auth/simple/login", json=login).status_code == 200
        cookie = session.get_cookie("session")
        assert cookie
        # What a newcomer would type. Nothing is installed: that is another test's.
        make = ["make", "--no-print-directory", f"--file={ROOT}/Makefile", "-o", ".venv/installed"]
        install(tmp_path)
        file = tmp_path / '-it\'s "all" of; `the` service.dump'
        for target, url in (("backup", one), ("restore", other)):
            environ = os.environ | {"DATABASE_URL": url}
            done = subprocess.run(
                [*make, target, f"FILE={file.name}"], cwd=tmp_path, env=environ, capture_output=True, text=True
            )
            assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert file.stat().st_mode & 0o777 == 0o600
        assert f"Restored {file.name}: {value(before, 'SELECT count(*) FROM events')} events" in done.stderr
        held = contents(before)
        assert all(held.values()), [name for name, them in held.items() if not them]
        assert contents(after) == held
        theirs = make_app(other)
        reader = theirs.test_client()
        reader.set_cookie("session", cookie.value)
        assert reader.get("/api/admin/user").status_code == 200
        assert comparison.differences(app, theirs, before, ADMIN_KEY, ADMIN) == {}
        # The log goes on as it would have.
        assert add(before) == add(after)


@pytest.mark.slow
def test_the_private_instance_is_backed_up_while_running_and_while_stopped(tmp_path):
    here, there = {"DATA_DIR": str(tmp_path / "here"), "BCRYPT_ROUNDS": "10"}, {"DATA_DIR": str(tmp_path / "there")}
    assert run_flags("migrate", **here).returncode == 0
    for file in ("stopped.dump", "running.dump"):
        server = embedded.Server(tmp_path / "here")
        if file == "running.dump":
            server.ensure()
        done = run_flags("backup", str(tmp_path / file), **here)
        server.release()
        assert (done.returncode, done.stdout) == (0, "")
        assert re.fullmatch(
            rf"Wrote .*/{file}: 0\.\d MB, schema version {migrate.VERSION}, in [\d.]+ s\.\n", done.stderr
        )
        assert not (tmp_path / "here" / "postgres" / "postmaster.pid").exists()
    assert run_flags("restore", str(tmp_path / "running.dump"), **there).returncode == 0
    assert " admin " in run_flags("user", "list", **there).stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_aborted_backup_leaves_no_file_and_shows_no_password(make_database, tmp_path, number):
    url = make_database()
    with connect(url) as conn, connect(url) as other, other.transaction():
        other.execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
        environ = environment(DATABASE_URL=f"{url}{'&' if '?' in url else '?'}password=the-secret")
        command = [*FLAGS, "backup", str(tmp_path / "x")]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: lock_waiters(conn), "pg_dump waited for the table")
            [dumping] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            line = Path(f"/proc/{dumping}/cmdline").read_text()
            assert "pg_dump" in line
            assert "secret" not in line
            assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]
        finally:
            process.send_signal(number)
        if number == signal.SIGTERM:
            assert process.wait(PATIENCE) == 128 + signal.SIGTERM
            assert list(tmp_path.iterdir()) == []
            assert not is_alive(int(dumping))
        assert process.wait(PATIENCE) != 0
    # No caller could stop the backup.
    wait_until(lambda: not is_alive(int(dumping)), "pg_dump ended by itself")
    assert [path.name for path in tmp_path.iterdir()] == (["x.part"] if number == signal.SIGKILL else [])


@pytest.mark.parametrize(
    "script",
    [
        'ulimit -f 8; exec {} backup "$1"',
        pytest.param("exec {} backup - > /dev/full", marks=pytest.mark.slow),
    ],
)
def test_a_backup_without_room_leaves_no_file(url, tmp_path, script):
    command = ["bash", "-c", script.format(shlex.join(FLAGS)), "bash", str(tmp_path / "x")]
    environ = environment(DATABASE_URL=url)
    done = subprocess.run(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert only_line(done.stderr).startswith("The backup failed: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [[], [""]])
def test_a_backup_without_a_name_is_named_after_the_time(line, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    result = line.run("backup", *name)
    os.umask(before)
    [path] = tmp_path.iterdir()
    assert re.fullmatch(r"flags-\d{4}-\d\d-\d\dT\d{6}Z\.dump", path.name)
    assert path.stat().st_mode & 0o777 == 0o600
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(f"Wrote {path.name}: ")


def test_a_backup_can_be_written_to_stdout_and_restored_from_stdin(line, empty, url):
    environ = os.environ | {"DATABASE_URL": url}
    done = subprocess.run([*FLAGS, "backup", "-"], cwd=ROOT, env=environ, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    empty.does("restore", "-", input=done.stdout)
    assert contents(empty.conn) == contents(line.conn)
    message = line.refuses("restore", "--replace", "-", input=b"")
    assert message.startswith("The file is not a complete backup of this service in the schema public: ")


def test_an_existing_file_is_not_overwritten(line, tmp_path):
    path = tmp_path / "x.dump"
    path.write_text("dear to somebody")
    assert line.refuses("backup", str(path)) == f"{path} already exists."
    assert path.read_text() == "dear to somebody"
    (tmp_path / "y.dump.part").touch()
    message = line.refuses("backup", str(tmp_path / "y.dump"))
    assert message == f"{tmp_path}/y.dump.part already exists. Delete it, unless another backup is running."
    assert "No such file or directory" in line.refuses("backup", str(tmp_path / "nowhere" / "z.dump"))


def test_a_backup_that_fails_leaves_no_file(line, empty, url, make_app, tmp_path):
    path = str(tmp_path / "x")
    assert empty.app.test_cli_runner().invoke(program, ["backup", path]).exit_code == 1
    role = f"reader_{os.getpid()}"
    line.conn.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON schema_version TO {role}")
    try:
        message = CommandLine(make_app(make_url(url, f"-crole={role}")), line.conn).refuses("backup", path)
    finally:
        line.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
    assert message.startswith("The backup failed: ")
    assert message.endswith(" cannot do this. Use the owner of the tables.")
    assert list(tmp_path.iterdir()) == []


def test_no_secret_is_on_a_command_line():
    environ, option = backup.connection_of(
        "postgresql://ada:the%20secret@db.example.org:5433/flags?sslmode=require&keepalives_idle=7"
    )
    assert environ["PGPASSWORD"] == "the secret"
    wanted = {"user=ada", "dbname=flags", "host=db.example.org", "port=5433", "sslmode=require", "keepalives_idle=7"}
    assert set(option.removeprefix("--dbname=").split()) == wanted
    with pytest.raises(DatabaseProblem, match="A backup cannot use sslpassword in DATABASE_URL"):
        backup.connection_of("postgresql://db.example.org/flags?sslpassword=the-secret")


def test_a_newer_server_needs_its_own_programs(tmp_path, monkeypatch):
    assert backup.programs(14) == backup.programs(embedded.MAJOR_VERSION) == embedded.BINARIES
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "pg_dump"
    for version in (None, 97):
        if version:
            program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {version}.1 (Debian {version}.1-1)'\n")
            program.chmod(0o755)
        with pytest.raises(DatabaseProblem) as problem:
            backup.programs(98)
        assert str(problem.value) == (
            "The database is PostgreSQL 98. Install its pg_dump (on Debian: postgresql-client-98) on the PATH."
        )
    assert backup.programs(97) == tmp_path


def test_without_the_embedded_server_the_programs_on_the_path_are_used(line, empty, tmp_path, monkeypatch):
    included, path = embedded.BINARIES, str(tmp_path / "x")
    monkeypatch.setattr(embedded, "BINARIES", tmp_path / "not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    server = line.conn.info.server_version // 10000
    assert line.refuses("backup", path) == (
        f"The database is PostgreSQL {server}. Install its pg_dump (on Debian: postgresql-client-{server}) on the PATH."
    )
    for name in ("pg_dump", "pg_restore", "psql"):
        (tmp_path / name).symlink_to(included / name)
    line.does("backup", path)
    empty.does("restore", path)
    assert contents(empty.conn) == contents(line.conn)


def test_backup_and_restore_refuse_a_pooler(with_settings, file):
    pooled = with_settings(DATABASE_POOLER="transaction")
    for arguments in (["backup"], ["restore", str(file)]):
        assert "DATABASE_POOLER=none" in pooled.refuses(*arguments)
