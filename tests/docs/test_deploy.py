"""docs/how-to/deploy.md from its top to its end, typed in a shell, but for what would change this machine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from sql.database import connect, rows
from tests.support.deployment import PAGE, PSQL, ROLE_NAMES, Deployment, dropped
from tests.support.service import PATIENCE, ROOT, Service, environment, free_port

pytestmark = pytest.mark.slow
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
ELSEWHERE = ("apt-get ", "git ", "make install", "cd ", "systemctl ")
START = "systemctl enable --now flag-administration\n"


@dataclass
class Machine:
    """A folder in which everything of the page has its place, with the names and addresses of a test."""

    folder: Path
    deployment: Deployment
    port: int
    outputs: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for name in ("program", "etc", "systemd", "sbin"):
            (self.folder / name).mkdir()
        for path in ROOT.iterdir():
            if path.name not in ("deploy", "data", ".venv", "flags"):
                (self.folder / "program" / path.name).symlink_to(path)
        # Not a link: it would lead to the packages of this checkout.
        shutil.copy(ROOT / "flags", self.folder / "program")
        (self.folder / "program" / ".venv").symlink_to(sys.prefix)
        shutil.copytree(ROOT / "deploy", self.folder / "program" / "deploy")
        for path in [path for path in (self.folder / "program" / "deploy").rglob("*") if path.suffix != ".pyc"]:
            if path.is_file():
                path.write_text(self.here(path.read_text(encoding="utf-8")), encoding="utf-8")

    def here(self, text: str) -> str:
        """A text of the page as it is to be on this machine."""
        server = conninfo_to_dict(self.deployment.server)
        host, port = quote(str(server["host"]), safe=""), server.get("port", 5432)
        changes = {
            "/opt/flag-administration": str(self.folder / "program"),
            "/etc/flag-administration": str(self.folder / "etc" / "flag-administration"),
            "/etc/systemd/system": str(self.folder / "systemd"),
            "/usr/local/sbin": str(self.folder / "sbin"),
            "/var/backups": str(self.folder),
            "runuser -u postgres -- psql": f"{PSQL} --no-psqlrc",
            "@127.0.0.1:5432/flags": f"@/{self.deployment.database}?host={host}&port={port}",
            "flags_$role": f"flags_${{role}}_{self.deployment.suffix}",
            "http://127.0.0.1:4242": f"http://127.0.0.1:{self.port}",
        }
        for before, after in changes.items():
            text = text.replace(before, after)
        return self.deployment.renamed(text)

    def type(self, block: str) -> str:
        """What a block says, without what is done elsewhere; AssertionError unless each of its commands succeeds."""
        script = "".join(line for line in block.splitlines(keepends=True) if not line.startswith(ELSEWHERE))
        server = conninfo_to_dict(self.deployment.server)
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
        own = {names[key]: str(value) for key, value in server.items() if key in names}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.here(script)],
            cwd=self.folder / "program",
            env=environment() | own | {"PATH": f"{self.folder / 'sbin'}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        self.outputs[block] = done.stdout
        return done.stdout

    def secret(self, role: str) -> Path:
        """The file with the address of the database for a role."""
        return self.folder / "etc" / "flag-administration" / f"{role}-url"

    @property
    def systemd(self) -> Path:
        """Where systemd looks for units."""
        return self.folder / "systemd"

    def settings(self) -> dict[str, str]:
        """What systemd reads."""
        lines = (self.folder / "etc" / "flag-administration" / "settings").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture(scope="module")
def machine(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which all of the page has been typed."""
    with dropped(server) as deployment:
        machine = Machine(tmp_path_factory.mktemp("machine"), deployment, free_port())
        start = next(number for number, block in enumerate(BLOCKS) if START in block)
        for block in BLOCKS[: start + 1]:
            machine.type(block)
        with Service(None, PORT=machine.port, DATABASE_URL_FILE=machine.secret("service"), **machine.settings()):
            for block in BLOCKS[start + 1 :]:
                machine.type(block)
            yield machine


def test_all_commands_of_the_page_work(machine):
    assert len(machine.outputs) == len(set(BLOCKS)) >= 10
    first, again = [text for block, text in machine.outputs.items() if "flags migrate" in block]
    assert "admin password" in first
    assert "API token" in first
    assert "The schema is current: version" in again
    report = next(text for block, text in machine.outputs.items() if "flags doctor" in block)
    assert re.findall(r"(?m)^FAIL.*", report) == []
    # The server of the tests runs without fsync, which is a warning.
    assert re.search(r"(?m)^(ok|warn) +database ", report)
    units = {str(path.relative_to(machine.systemd)) for path in machine.systemd.rglob("*") if path.is_file()}
    assert units == {
        "flag-administration.service",
        "flag-administration.service.d/database.conf",
        "flag-administration-prune.service",
        "flag-administration-prune.timer",
    }


def test_each_role_has_a_password_of_its_own_that_only_root_can_read(machine):
    assert (machine.folder / "etc" / "flag-administration").stat().st_mode & 0o777 == 0o700
    passwords = set()
    for role in ROLE_NAMES:
        assert machine.secret(role).stat().st_mode & 0o777 == 0o600
        address = conninfo_to_dict(machine.secret(role).read_text().strip())
        assert address["user"] == machine.deployment.renamed(f"flags_{role}")
        assert re.fullmatch(r"[0-9a-f]{64}", str(address["password"]))
        passwords.add(address["password"])
    assert len(passwords) == 3
    statement = "SELECT rolpassword FROM pg_authid WHERE rolname ~ %s"
    with psycopg.connect(machine.deployment.server) as conn:
        kept = conn.execute(statement, [f"_{machine.deployment.suffix}$"]).fetchall()
    assert [password.startswith("SCRAM-SHA-256$") for (password,) in kept] == [True] * 3


def test_backup_holds_everything_and_is_roots(machine):
    [block] = [block for block in BLOCKS if "flags backup" in block]
    [backup] = machine.folder.glob("flags-*.dump")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backup.read_bytes().startswith(b"PGDMP")
    # And again before each upgrade, and every night, with no more than cron gives it.
    machine.type(block)
    [line] = re.findall(r"^15 3 \* \* \*  (.*)$", TEXT, re.MULTILINE)
    line = line.replace("\\%", "%")
    machine.type(f"env --ignore-environment PATH=/usr/bin:/bin sh -c {shlex.quote(line)}\n")
    assert len([*machine.folder.glob("flags-*.dump")]) == 3


def test_role_of_the_service_serves_and_the_third_one_prunes(machine):
    statement = """
        SELECT DISTINCT usename FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    """
    with connect(machine.deployment.address()) as conn:
        users = rows(conn, statement)
    assert [row["usename"] for row in users] == [machine.deployment.renamed("flags_service")]
    typed = "DATABASE_URL_FILE=/etc/flag-administration/prune-url flags events prune --days 60\n"
    assert machine.type(typed).startswith("Deleted 0 events before ")
