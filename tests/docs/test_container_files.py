"""Containerfile, .dockerignore and compose.yaml: what they say without being run."""

import re

from serving import settings
from serving.version import VERSION
from tests.support.containers import COMPOSE, SERVER
from tests.support.service import ROOT

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
DATABASE = COMPOSE["services"]["database"]
SENTENCE = "Set POSTGRES_PASSWORD in the file .env, as docs/how-to/container.md shows."


def test_both_files_carry_the_version() -> None:
    assert re.findall(r'image\.version="(.*?)"', CONTAINERFILE) == [VERSION]
    assert SERVER["image"] == f"localhost/flag-administration:{VERSION}"
    page = (ROOT / "docs" / "how-to" / "container.md").read_text(encoding="utf-8")
    assert set(re.findall(r"flag-administration:([0-9.]+[0-9])", page)) == {VERSION}


def test_build_has_only_what_the_server_needs() -> None:
    assert re.findall(r"RUN python3 operations/install.py (.*)", CONTAINERFILE) == [".venv requirements.txt"]
    lines = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert lines[0] == "*"
    names = {line[1:] for line in lines if line[0] == "!"}
    # The commit, for the footer of the pages. A worktree has a file .git, and not every clone has packed references.
    git = {".git/HEAD", ".git/packed-refs", ".git/refs/heads"}
    assert [name for name in names - git if not (ROOT / name).exists()] == []
    packages = {path.parent.name for path in ROOT.glob("*/*.py")}
    assert names >= packages - {"tests", "bench", "contract", "deploy"}
    assert "**/__pycache__" in lines


def test_there_is_no_default_password() -> None:
    assert re.findall(r"\$\{(.*?)\}", TEXT) == [f"POSTGRES_PASSWORD:?{SENTENCE}"] * 2
    assert SERVER["environment"].keys() == {"DATABASE_URL", "PGPASSWORD"}
    assert DATABASE["environment"].keys() == {"POSTGRES_PASSWORD"}


def test_server_waits_for_the_database_and_both_restart() -> None:
    assert SERVER["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert [service["restart"] for service in (SERVER, DATABASE)] == ["unless-stopped"] * 2
    # While the image creates the database, PostgreSQL listens on a Unix socket only.
    assert DATABASE["healthcheck"]["test"][:3] == ["CMD", "pg_isready", "--host=127.0.0.1"]
    # The folder of the image since PostgreSQL 18. Another one would be deleted with the container.
    assert DATABASE["volumes"][0] == "database:/var/lib/postgresql"
    assert "database" in COMPOSE["volumes"]
    assert (ROOT / DATABASE["volumes"][1].split(":")[0]).is_file()


def test_only_this_machine_reaches_the_server() -> None:
    port = settings.load({})["PORT"]
    assert SERVER["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert "ports" not in DATABASE


def test_running_requests_have_time_to_finish() -> None:
    defaults = settings.load({})
    # As graceful_timeout in gunicorn.conf.py.
    graceful = defaults["STATEMENT_TIMEOUT_SECONDS"] + 2 * defaults["WAIT_SECONDS"]
    assert int(SERVER["stop_grace_period"].removesuffix("s")) > graceful


def test_the_two_health_checks_are_the_same() -> None:
    options, command = re.findall(r"^HEALTHCHECK (.*) CMD \[(.*)\]$", CONTAINERFILE, re.MULTILINE)[0]
    check = SERVER["healthcheck"]
    assert ["CMD", *re.findall(r'"(.*?)"', command)] == check["test"]
    found = {name.replace("-", "_"): text for name, text in re.findall(r"--(\S+)=(\S+)", options)}
    assert found | {"test": check["test"]} == check
