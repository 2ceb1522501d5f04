"""flags demo: an instance of its own, filled once, all or nothing."""

import json
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from sql.database import connect, rows
from tests.support.command_line import FLAGS
from tests.support.demo import digests, fill
from tests.support.page_examples import README, fits
from tests.support.service import ROOT, environment, free_port, run, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short path: the folder of an instance may have 81 bytes."""
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        yield Path(name)


@pytest.fixture
def own_instance(tmp_path: Path) -> Iterator[Callable[..., tuple[str, str]]]:
    """own_instance(port): starts the demo as a newcomer does, and stops it when it serves; what it printed, and its
    address. The port is an option, unless by_setting.
    """
    running: list[subprocess.Popen[bytes]] = []

    def start(port: int, *, by_setting: bool = False, **settings: object) -> tuple[str, str]:
        log = tmp_path / "output"
        words = [*FLAGS, "demo", "--data-dir", str(tmp_path / "data-demo")]
        if by_setting:
            settings["PORT"] = port
        else:
            words += ["--port", str(port)]
        with log.open("wb") as output:
            process = subprocess.Popen(words, cwd=ROOT, env=environment(**settings), stdout=output, stderr=output)
        running.append(process)
        wait_until(
            lambda: b"Serving at" in log.read_bytes() or process.poll() is not None, "the demo serves", patience=120
        )
        return log.read_text(), f"http://127.0.0.1:{port}"

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        process.wait()


def test_a_newcomer_gets_a_running_instance_beside_the_real_one(own_instance, make_database, tmp_path):
    real, port = make_database(), free_port()
    output, address = own_instance(
        port, DATABASE_URL=real, BASE_URL="https://flags.example.org", INIT_ADMIN_PASSWORD="of the real instance"
    )
    with connect(real) as conn:
        assert rows(conn, "SELECT count(*) FROM flags") == [{"count": 0}]
    assert f"address      {address}\n" in output
    assert f"run: rm -rf {tmp_path / 'data-demo'}\n" in output
    login = {"username": "admin", "password": re.findall(r"password +(\S+)\n", output)[0]}
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{address}/auth/simple/login", json.dumps(login).encode(), headers)) as answer:
        assert json.load(answer)["username"] == "admin"
    readme = re.findall(r"```text\n(The demo is ready.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert fits(readme.replace("http://127.0.0.1:4243", address) + "…", output[output.index("The demo is ready") :])
    shown = re.findall(r"^    (curl .*)$", output, re.MULTILINE)[0]
    answer = subprocess.run(["bash", "-c", shown], capture_output=True, check=True)
    assert json.loads(answer.stdout)["name"] == "Checkout"
    assert (tmp_path / "data-demo" / "demo-login.json").stat().st_mode & 0o077 == 0


def test_the_settings_host_and_port_count_and_others_are_named(own_instance):
    port = free_port()
    output, _ = own_instance(port, by_setting=True, HOST="localhost", MAX_FLAGS=7, BASE_URL="https://flags.example.org")
    assert f"address      http://localhost:{port}\n" in output
    assert f"Serving at http://localhost:{port} " in output
    named = re.findall(r"^The demo ignores these settings: (.*)\.$", output, re.MULTILINE)[0].split(", ")
    assert {"BASE_URL", "MAX_FLAGS"} <= set(named)
    assert not {"HOST", "PORT", "PATH"} & set(named)
    with urlopen(f"http://127.0.0.1:{port}/health") as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"PORT": "x"}, "'--port'"),
        ({"HOST": "a b"}, "The setting HOST must be a host name or an address without a port"),
        ({"HOST": "nowhere.invalid"}, "Cannot listen on nowhere.invalid:4243: Unknown host name."),
    ],
)
def test_an_invalid_host_or_port_is_refused(tmp_path, setting, message):
    refused = run("operations/flags.py", "demo", "--data-dir", str(tmp_path / "data-demo"), **setting)
    assert refused.returncode in (1, 2)
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data-demo").exists()


def test_a_second_start_serves_the_same_demo(own_instance):
    first, _ = own_instance(free_port())
    port = int(re.findall(r":(\d+)\n", first)[0])
    busy, _ = own_instance(port)
    assert f"Error: Cannot listen on 127.0.0.1:{port}: " in busy
    assert " If the demo is already running" in busy
    second, _ = own_instance(free_port())
    assert "already filled" in second
    assert re.findall(r"password .*", second) == re.findall(r"password .*", first)


def test_a_second_run_changes_nothing_and_another_demo_of_the_day_is_the_same(url, read, make_database):
    before = digests(read)
    again = fill(url)
    assert (again.returncode, again.stdout.partition(":")[0]) == (0, "The demo is already filled")
    assert digests(read) == before
    twin = make_database()
    assert fill(twin).returncode == 0
    with connect(twin) as conn:
        assert digests(lambda statement: rows(conn, statement)) == before  # pyright: ignore


def test_a_database_that_holds_something_is_refused(make_database):
    url = make_database()
    with connect(url) as conn:
        conn.execute("INSERT INTO flags (name, project_id) VALUES ('ours', 'default')")
    refused = fill(url)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "Error: This database is not empty: it has users, projects or flags. Use an empty "
        "database. Nothing was changed.\n"
    )
    with connect(url) as conn:
        assert rows(conn, "SELECT name FROM flags") == [{"name": "ours"}]


@pytest.mark.parametrize(
    ("is_instance", "message"),
    [
        (True, "{} contains an instance that is not a demo. Set --data-dir to another folder."),
        # Otherwise the advice about rm -rf would delete them.
        (False, "{} contains other files. Set --data-dir to a new folder."),
    ],
)
def test_a_folder_with_an_instance_or_other_files_is_refused(tmp_path, is_instance, message):
    if is_instance:
        assert run("operations/flags.py", "migrate", DATA_DIR=tmp_path).returncode == 0
    else:
        (tmp_path / "photo").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    refused = run("operations/flags.py", "demo", "--data-dir", str(tmp_path), "--port", str(free_port()))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.endswith(f"Error: {message.format(tmp_path)}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_api_key_of_a_new_database_is_printed(make_database):
    settings = {"DATABASE_URL": make_database(empty=True), "INIT_ADMIN_PASSWORD": "a password of the settings"}
    done = run("operations/flags.py", "demo", "--use-database-url", **settings)
    assert done.returncode == 0
    assert re.search(r"API token +\*:\*\.[0-9a-f]{64}\n", done.stderr)


def test_the_option_needs_the_setting():
    refused = run("operations/flags.py", "demo", "--use-database-url")
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        2,
        "Error: --use-database-url requires the setting DATABASE_URL.",
    )
