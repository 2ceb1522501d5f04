"""How the real service starts: what it prints once and never again, what is given to it, and six starts at once."""

import json
import re
import shlex
import subprocess
import time

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


def found(pattern: str, text: str) -> str:
    """Return the one thing that a pattern finds in a text."""
    matches = re.findall(pattern, text)
    assert len(matches) == 1, text
    return matches[0]


def test_the_first_start_prints_secrets_and_the_second_none(tmp):
    data = tmp / "made" / "on the way"
    with Service(DATA_DIR=data) as first:
        assert first.stop() == 0
        out, err = first.out, first.err
    password, token = found(r"admin password +(\S+)", err), found(r"API token +(\S+)", err)
    assert len(password) >= 20
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}", token)
    assert err.count(HEADLINE) == err.count("curl ") == err.count(password) == 1
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = found(r"(?s)```text\n(The database is new.*?)```", tutorial)
    assert fits(f"{shown}…", re.sub(r":\d+", ":4242", err))
    assert [set(json.loads(line)) >= {"time", "route", "status"} for line in out.splitlines()] != []
    assert password not in out
    assert token not in out
    # An empty variable means none, for the workers too, which find an address in the environment.
    with Service(DATA_DIR=data, PORT=first.port, DATABASE_URL_FILE="") as second:
        command, option, header, url = shlex.split(found(r"(?m)^ *(curl .*)$", err))
        name, _, key = header.partition(": ")
        assert (command, option, key) == ("curl", "-H", token)
        assert url.startswith(f"{second.origin}/api/admin/")
        answer = second.get(url.removeprefix(second.origin), headers={name: key})
        assert (answer.status, answer.json["name"]) == (200, "Default")
        answer = second.request("POST", "/auth/simple/login", json={"username": "admin", "password": password})
        assert (answer.status, answer.json["username"], answer.json["rootRole"]) == (200, "admin", 1)
        assert f"Serving at {second.origin} " in second.err
        for secret in (HEADLINE, password, token):
            assert secret not in second.err + second.out


@pytest.mark.timing
def test_a_second_start_takes_less_than_three_seconds(tmp):
    with Service(DATA_DIR=tmp / "timed"):
        pass
    took = []
    # Other tests run at the same time.
    for _ in range(3):
        began = time.monotonic()
        with Service(DATA_DIR=tmp / "timed"):
            took.append(time.monotonic() - began)
    assert min(took) < 3


def assert_bootstrapped_once(url: str, outputs: list[str]) -> None:
    """Assert that one of several starts created one administrator and one token, and printed them."""
    assert sorted(output.count(HEADLINE) for output in outputs) == [*[0] * (len(outputs) - 1), 1]
    with psycopg.connect(url) as conn:
        assert conn.execute("SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM api_keys)").fetchone() == (1, 1)
        events = conn.execute("SELECT type, count(*) FROM events GROUP BY type ORDER BY type").fetchall()
        assert events == [("api-token-created", 1), ("user-created", 1)]


def test_six_processes_bootstrap_an_empty_database_once(make_database):
    url = make_database(empty=True)
    done = run_together([(IMPORT, {"DATABASE_URL": url})] * 6)
    assert [(process.returncode, process.stdout) for process in done] == [(0, "")] * 6, done
    assert_bootstrapped_once(url, [process.stderr for process in done])


def test_six_services_share_a_new_data_folder(tmp):
    data = tmp / "shared"
    services = [Service(DATA_DIR=data).start() for _ in range(6)]
    try:
        outputs = [service.ready().err for service in services]
        assert_bootstrapped_once(address_in(data), outputs)
        postmaster = postmaster_of(data)
        for service in services:
            assert is_alive(postmaster)
            service.process.terminate()
        assert [service.process.wait(PATIENCE) for service in services] == [0] * 6
        assert not is_alive(postmaster)
    finally:
        for service in services:
            service.end()


@pytest.mark.parametrize("in_files", [False, True])
def test_a_given_password_and_tokens_are_used_and_not_printed(make_database, make_app, tmp_path, in_files):
    password, tokens = "a given password", ("*:*.the-first-given-key", "*:*.the-second-given-key")
    url = make_database(empty=True)
    secrets = {"DATABASE_URL": url, "INIT_ADMIN_PASSWORD": password, "INIT_ADMIN_API_TOKENS": ",".join(tokens)}
    if in_files:
        for name, secret in secrets.items():
            (tmp_path / name).write_text(f"{secret}\n")
        secrets = {f"{name}_FILE": tmp_path / name for name in secrets}
    done = run(*IMPORT, INIT_ADMIN_USERNAME="root", **secrets)
    assert (done.returncode, done.stdout, done.stderr.count(HEADLINE)) == (0, "", 1)
    for secret in (password, *tokens):
        assert secret not in done.stderr
    stranger = Caller(make_app(url))
    answer = stranger.post("/auth/simple/login", json={"username": "root", "password": password})
    assert (answer.status_code, answer.json["rootRole"]) == (200, 1)
    for token in tokens:
        assert stranger.get("/api/admin/insights", headers={"Authorization": token}).status_code == 200
    with connect(url) as conn:
        assert value(conn, "SELECT count(*) FROM api_keys WHERE digest = sha256('*:*.the-first-given-key')") == 1


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS if setting.secret])
def test_an_empty_file_prevents_the_start(tmp_path, name):
    (tmp_path / "empty").write_text("\n")
    given = {"DATA_DIR": tmp_path / "data", f"{name}_FILE": tmp_path / "empty"}
    commands = (IMPORT, GUNICORN, SERVE, ("operations/flags.py", "migrate"))
    sentence = f"The file in {name}_FILE is empty. Write the value to it, or unset the variable.\n"
    for done in run_together([(command, given | {"PORT": free_port()}) for command in commands]):
        assert done.returncode == 1
        assert done.stderr.endswith(sentence)
    assert not (tmp_path / "data").exists()


def test_make_run_ignores_an_empty_number_of_workers_and_names_a_wrong_one():
    recipe = subprocess.run(["make", "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "exec ./flags serve" in recipe.splitlines()
    # No process listens there: the refusal comes after gunicorn has parsed the number.
    nowhere = {"DATABASE_URL": f"postgresql://127.0.0.1:{free_port()}/x", "PORT": free_port()}
    done = run_together([(SERVE, nowhere | {"WEB_CONCURRENCY": number}) for number in ("many", "")])
    assert [(each.returncode, each.stdout, each.stderr.count("\n")) for each in done] == [(1, "", 1)] * 2
    assert done[0].stderr == "The setting WEB_CONCURRENCY must be a whole number from 1 to 256.\n"
    assert done[1].stderr.startswith("The database cannot be reached: ")
