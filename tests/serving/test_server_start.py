"""How the real service starts: what it prints once and never again, what is given to it, and six starts at once."""

import json
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from serving.settings import SETTINGS
from sql.database import connect, value
from tests.support.page_examples import fits
from tests.support.service import (
    GUNICORN,
    IMPORT,
    PATIENCE,
    ROOT,
    SERVE,
    Service,
    address_in,
    free_port,
    is_alive,
    postmaster_of,
    run,
    run_together,
)
from tests.support.world import Caller

pytestmark = pytest.mark.slow

HEADLINE = "The database is new"


@pytest.fixture(scope="module")
def tmp() -> Iterator[Path]:
    """A folder with a short path that every user may enter, as the user who runs PostgreSQL for root has to."""
    with tempfile.TemporaryDirectory(prefix="start-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


# Seconds that a start on existing data may take.
SECOND_START = 3


@dataclass
class Starts:
    """The output of two starts on one data folder.

    The second still runs. seconds: from its start until it was ready.
    """

    first: str
    first_out: str
    status: int
    second: Service
    seconds: float

    @property
    def password(self) -> str:
        """The password that the first start printed."""
        return found(r"admin password +(\S+)", self.first)

    @property
    def key(self) -> str:
        """The API token that the first start printed."""
        return found(r"API token +(\S+)", self.first)


def found(pattern: str, text: str) -> str:
    """The one thing that a pattern finds in a text."""
    matches = re.findall(pattern, text)
    assert len(matches) == 1, text
    return matches[0]


@pytest.fixture(scope="module")
def starts(tmp: Path) -> Iterator[Starts]:
    """Two starts, one after the other, on a data folder that was not there."""
    data = tmp / "made" / "on the way"
    with Service(DATA_DIR=data) as first:
        status = first.stop()
        output = first.err, first.out
    # Other tests run at the same time, so the first of three starts that is fast enough counts.
    for is_last in (False, False, True):
        began = time.monotonic()
        # An empty variable means none, for the workers too, which find an address in the environment.
        with Service(DATA_DIR=data, PORT=first.port, DATABASE_URL_FILE="") as second:
            seconds = time.monotonic() - began
            if seconds < SECOND_START or is_last:
                yield Starts(*output, status, second, seconds)
                return


def test_the_first_start_prints_a_password_a_key_and_a_curl_line_once(starts):
    assert len(starts.password) >= 20
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}", starts.key)
    assert starts.first.count(HEADLINE) == starts.first.count("curl ") == 1
    assert starts.first.count(starts.password) == 1


def test_the_tutorial_shows_what_the_first_start_prints(starts):
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(The database is new.*?)```", tutorial, re.DOTALL)[1]
    assert fits(f"{shown}…", re.sub(r":\d+", ":4242", starts.first))


def test_stdout_has_no_secrets_of_the_start(starts):
    assert [set(json.loads(line)) >= {"time", "route", "status"} for line in starts.first_out.splitlines()] != []
    assert starts.password not in starts.first_out
    assert starts.key not in starts.first_out


def test_the_curl_line_works(starts):
    command, option, header, url = shlex.split(found(r"(?m)^ *(curl .*)$", starts.first))
    assert (command, option) == ("curl", "-H")
    base = f"http://127.0.0.1:{starts.second.port}"
    assert url.startswith(f"{base}/api/admin/")
    name, _, key = header.partition(": ")
    answer = starts.second.get(url.removeprefix(base), headers={name: key})
    assert (answer.status, answer.json["name"]) == (200, "Default")


def test_the_generated_password_logs_the_administrator_in(starts):
    answer = starts.second.request(
        "POST", "/auth/simple/login", json={"username": "admin", "password": starts.password}
    )
    assert (answer.status, answer.json["username"], answer.json["rootRole"]) == (200, "admin", 1)
    assert "session=" in answer.headers["Set-Cookie"]


def test_a_second_start_takes_less_than_three_seconds_and_prints_no_secret(starts):
    assert starts.status == 0
    assert starts.seconds < SECOND_START
    assert HEADLINE not in starts.second.err
    assert f"Serving at http://127.0.0.1:{starts.second.port} " in starts.second.err
    for secret in (starts.password, starts.key):
        assert secret not in starts.second.err + starts.second.out


def bootstrapped(url: str) -> list[tuple[str, int]]:
    """The events of a database by type, after a look at what the first start makes: one administrator, one key."""
    with psycopg.connect(url) as conn:
        assert conn.execute("SELECT count(*) FROM users").fetchone() == (1,)
        assert conn.execute("SELECT count(*) FROM api_keys").fetchone() == (1,)
        return conn.execute("SELECT type, count(*) FROM events GROUP BY type ORDER BY type").fetchall()


ONE_BOOTSTRAP = [("api-token-created", 1), ("user-created", 1)]


def test_six_processes_at_once_bootstrap_an_empty_database_once(make_database):
    url = make_database(empty=True)
    done = run_together([(IMPORT, {"DATABASE_URL": url})] * 6)
    assert [process.returncode for process in done] == [0] * 6, done
    assert sorted(process.stderr.count(HEADLINE) for process in done) == [0] * 5 + [1]
    assert [process.stdout for process in done] == [""] * 6
    assert bootstrapped(url) == ONE_BOOTSTRAP


def test_six_services_at_once_share_a_fresh_data_folder(tmp):
    data = tmp / "shared"
    services = [Service(DATA_DIR=data).start() for _ in range(6)]
    try:
        for service in services:
            service.wait()
        assert sorted(service.err.count(HEADLINE) for service in services) == [0] * 5 + [1]
        assert bootstrapped(address_in(data)) == ONE_BOOTSTRAP
        postmaster = postmaster_of(data)
        for service in services:
            assert is_alive(postmaster)
            service.process.terminate()
        assert [service.process.wait(PATIENCE) for service in services] == [0] * 6
        assert not is_alive(postmaster)
    finally:
        for service in services:
            service.end()


def test_a_given_password_and_given_keys_are_used_and_not_printed(make_database, make_app):
    url = make_database(empty=True)
    password, keys = "a given password", ("*:*.the-first-given-key", "*:*.the-second-given-key")
    given = {"INIT_ADMIN_USERNAME": "root", "INIT_ADMIN_PASSWORD": password, "INIT_ADMIN_API_TOKENS": ",".join(keys)}
    done = run(*IMPORT, DATABASE_URL=url, **given)
    assert (done.returncode, done.stdout, done.stderr.count(HEADLINE)) == (0, "", 1)
    for secret in (password, *keys):
        assert secret not in done.stderr
    stranger = Caller(make_app(url))
    answer = stranger.post("/auth/simple/login", json={"username": "root", "password": password})
    assert (answer.status_code, answer.json["rootRole"]) == (200, 1)
    for key in keys:
        assert stranger.get("/api/admin/insights", headers={"Authorization": key}).status_code == 200


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS if setting.secret])
def test_an_empty_file_prevents_the_start(tmp_path, name):
    (tmp_path / "empty").write_text("\n")
    for command in (IMPORT, GUNICORN, SERVE, ("flags.py", "migrate")):
        done = run(*command, DATA_DIR=tmp_path / "data", PORT=free_port(), **{f"{name}_FILE": tmp_path / "empty"})
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith(
            f"The file in {name}_FILE is empty. Write the value to it, or unset the variable."
        )
    assert not (tmp_path / "data").exists()


def test_secrets_can_stand_in_files(make_database, tmp_path):
    secrets = {
        "DATABASE_URL": make_database(empty=True),
        "INIT_ADMIN_PASSWORD": "a password of a file",
        "INIT_ADMIN_API_TOKENS": "*:*.a-key-of-a-file",
    }
    for name, secret in secrets.items():
        (tmp_path / name).write_text(f"{secret}\n")
    done = run(*IMPORT, **{f"{name}_FILE": tmp_path / name for name in secrets})
    assert (done.returncode, done.stdout) == (0, "")
    for secret in list(secrets.values())[1:]:
        assert secret not in done.stderr
    with connect(secrets["DATABASE_URL"]) as conn:
        digest = "SELECT encode(digest, 'escape') FROM api_keys WHERE digest = sha256('*:*.a-key-of-a-file')"
        assert value(conn, digest) is not None
        assert value(conn, "SELECT count(*) FROM users WHERE username = 'admin'") == 1


def test_make_run_ignores_an_empty_number_of_workers_and_names_a_wrong_one():
    recipe = subprocess.run(["make", "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "exec ./flags serve" in recipe.splitlines()
    # No process listens there: the refusal comes after gunicorn has parsed the number.
    nowhere = {"DATABASE_URL": f"postgresql://127.0.0.1:{free_port()}/x", "PORT": free_port()}
    wrong, empty = run_together(
        [(SERVE, nowhere | {"WEB_CONCURRENCY": "many"}), (SERVE, nowhere | {"WEB_CONCURRENCY": ""})]
    )
    assert (wrong.returncode, wrong.stdout) == (empty.returncode, empty.stdout) == (1, "")
    assert wrong.stderr == "The setting WEB_CONCURRENCY must be a whole number from 1 to 256.\n"
    assert empty.stderr.startswith("The database cannot be reached: ")
    assert empty.stderr.count("\n") == 1
