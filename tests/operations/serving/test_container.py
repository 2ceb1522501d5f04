"""The image of Containerfile, built by podman and run as in compose.yaml, with the commands of its page."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from operations import bootstrap
from operations.postgres.embedded import BINARIES
from serving.settings import load
from serving.version import VERSION
from tests.support.containers import CAN_RUN, SERVER, Image, built, restrictions
from tests.support.service import AS_UNPRIVILEGED, PATIENCE, ROOT, UNPRIVILEGED, Service, free_port, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CAN_RUN, reason="needs root, podman and mmdebstrap (on Debian: apt-get install podman mmdebstrap)"
    ),
]

PASSWORD = "not a/part@of:an address?"
HOME = "/opt/flag-administration"
USER = 10001
PAGE = ROOT / "docs" / "how-to" / "container.md"


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with built() as image:
        yield image


@dataclass(frozen=True)
class Database:
    """A PostgreSQL server with the database of deploy/compose.sql. folder: of its Unix socket."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """The address of the database by its socket, for the role of the server."""
        return f"postgresql://flags@/flags?host={self.folder}&port={self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of the container of the database."""
        own = {"PGHOST": str(self.folder), "PGPORT": str(self.port), "POSTGRES_PASSWORD": PASSWORD}
        return {**os.environ, **own, "PATH": f"{BINARIES}:{os.environ['PATH']}"}

    def run(self, program: str, *arguments: str, **kwargs: object) -> None:
        """Run a program of PostgreSQL as in the container of the database."""
        command = [*AS_UNPRIVILEGED, program, *arguments]
        given = {"env": self.environ, "cwd": self.folder, "capture_output": True, "timeout": PATIENCE}
        done = subprocess.run(command, **given, **kwargs)  # pyright: ignore
        assert done.returncode == 0, done.stderr.decode()


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """Passwords are checked as in the official image: over TCP, but not on the Unix socket."""
    with TemporaryDirectory(prefix="postgres-") as folder:
        os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        server = Database(Path(folder), free_port())
        data = f"--pgdata={folder}/data"
        (server.folder / "password").write_text(PASSWORD)
        access = ("--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={folder}/password")
        server.run("initdb", data, "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", *access)
        options = f"-c listen_addresses=127.0.0.1 -c port={server.port} -c unix_socket_directories={folder}"
        options += " -c fsync=off -c autovacuum=off"
        server.run("pg_ctl", "start", data, "--wait", "--silent", f"--log={folder}/log", f"--options={options}")
        try:
            with (ROOT / "deploy" / "compose.sql").open("rb") as script:
                server.run("psql", "--no-psqlrc", "--username=postgres", stdin=script)
            yield server
        finally:
            server.run("pg_ctl", "stop", data, "--mode=immediate", "--silent")


class Container(Service):
    """The command of the image, in a container."""

    def __init__(self, image: Image, settings: dict[str, object]) -> None:
        super().__init__(HOST="127.0.0.1", BCRYPT_ROUNDS=10, **settings)
        self.image = image

    def start(self) -> "Container":
        """Start the container without waiting for it."""
        settings = {name: text for name, text in self.settings.items() if text != ""}
        with self._stdout.open("ab") as out, self._stderr.open("ab") as err:
            self._process = subprocess.Popen(
                self.image.command(settings=settings, options=tuple(restrictions())),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self


@pytest.mark.timing
def test_the_container_serves_and_stops(image: Image, database: Database) -> None:
    assert SERVER["environment"]["PGPASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    url = SERVER["environment"]["DATABASE_URL"].replace("@database/", f"@127.0.0.1:{database.port}/")
    health = SERVER["healthcheck"]["test"][1:]
    given = {"DATABASE_URL": url, "PGPASSWORD": PASSWORD, "INIT_ADMIN_PASSWORD": "chosen for the test"}
    with Container(image, given) as server:
        assert server.get("/health").json == {"health": "GOOD"}
        login = {"username": "admin", "password": "chosen for the test"}
        assert server.request("POST", "/auth/simple/login", login).status == 200
        token = {"Authorization": re.findall(r"\S+:\S+\.[0-9a-f]{16,}", server.err)[0]}
        flag = {"name": "new-basket"}
        assert server.request("POST", "/api/admin/projects/default/features", flag, token).status == 201
        assert server.get("/docs").status == 200
        wait_until(lambda: re.search(r'"status": ?201\b.*\n', server.out), "the request was in the log")
        checked = image.run(*health, PORT=server.port)
        assert checked.returncode == 0, checked.stderr
        began = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0
        assert time.monotonic() - began < 10
        assert image.run(*health, PORT=server.port).returncode == 1


def test_without_a_database_the_container_refuses_to_start(image: Image) -> None:
    done = image.run(options=tuple(restrictions()), PORT=free_port())
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"Set DATABASE_URL\b.*\.\n", done.stderr)


def test_only_root_can_change_the_files(image: Image) -> None:
    found = image.run("sh", "-c", "id -u; find / -xdev '(' -writable -o -user 10001 -o -group 10001 ')' -not -type l")
    user, *writable = found.stdout.splitlines()
    assert user == str(USER)
    # Everybody's folders for temporary files, which belong to the base image. compose.yaml makes them read-only too.
    assert set(writable) <= {"/tmp", "/var/tmp", "/run/lock"}
    refused = image.run("sh", "-c", "touch /tmp/a || touch /var/tmp/a", options=tuple(restrictions()))
    assert refused.returncode != 0


def test_the_image_contains_what_the_server_needs(image: Image) -> None:
    listed = image.run("find", ".", "-maxdepth", "2", "-not", "-path", "./.venv/*", "-not", "-name", "*.pyc").stdout
    names = {name.removeprefix("./") for name in listed.splitlines()}
    files = {"app.py", "flags", "wsgi.py", "gunicorn.conf.py", "requirements.txt"}
    folders = {"blueprints", "docs", "evaluation", "operations", "rules", "serving", "sql", "validators"}
    own = {".", ".venv", "__pycache__", "schema.sql", "setup.cfg", "COMMIT"}
    assert image.run("cat", "COMMIT").stdout.strip() == "0123456"
    assert {name for name in names if "/" not in name} == own | files | folders
    assert {name for name in names if name.startswith("docs/")} == {"docs/openapi.json", "docs/viewer"}
    found = image.run("sh", "-c", "grep -rl 'not for the image' . ; ls .venv/lib/python3*/site-packages").stdout
    assert "gunicorn" in found
    assert not re.search(r"^\./|pgserver|^pip|pytest", found, re.MULTILINE)
    # Python would compile uncompiled modules at each start.
    modules = image.run("find", ".", "-name", "*.py", "-path", "./s*").stdout.split()
    compiled = image.run("find", ".", "-name", "*.pyc", "-path", "./s*").stdout.split()
    assert len(compiled) == len(modules) > 50
    fields = ("Config.Labels", "Config.User", "Config.Env", "HealthCheck.Test")
    shown = "\n".join(f"{{{{.{name}}}}}" for name in fields)
    labels, user, environ, health = image.do("image", "inspect", f"--format={shown}", image.name).splitlines()
    assert f"org.opencontainers.image.version:{VERSION}" in labels
    assert user == f"{USER}:{USER}"
    assert "HOST=0.0.0.0" in environ
    assert health == f"[{' '.join(SERVER['healthcheck']['test'])}]"


def test_the_role_of_the_server_is_no_superuser(database: Database) -> None:
    address = f"host=127.0.0.1 port={database.port} dbname=flags"
    rights = "rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
    with psycopg.connect(address, user="flags", password=PASSWORD) as conn:
        assert conn.execute(f"SELECT {rights} FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)  # pyright: ignore
    for user, password in (("postgres", PASSWORD), ("flags", "guessed")):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(address, user=user, password=password)


# The page's `docker compose` without containers: programs of the database run here, all others do nothing.
DOCKER = """
docker() {
  shift
  if [ "$1" = exec ]; then
    shift
    if [ "$1" = -T ]; then shift; fi
    if [ "$1" = database ]; then shift; "$@"; fi
  fi
}
"""


def test_the_commands_of_the_page_back_up_and_restore(database: Database, tmp_path: Path) -> None:
    bootstrap.prepare_database(database.url, load({}) | {"BCRYPT_ROUNDS": 10})
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    def type_in(word: str) -> int:
        """Run the block of the page with this word, and return its exit status."""
        (block,) = (block for block in blocks if word in block)
        command = ["bash", "-euc", DOCKER + re.sub(r"flags-2[0-9-]*\.dump", "flags-*.dump", block)]
        given = {"env": database.environ, "cwd": tmp_path, "timeout": PATIENCE}
        done = subprocess.run(command, capture_output=True, text=True, **given)
        assert (done.returncode != 0) is bool(done.stderr), done.stderr
        return done.returncode

    assert type_in("POSTGRES_PASSWORD") == 0
    assert re.fullmatch(r"POSTGRES_PASSWORD=[0-9a-f]{64}\n", (tmp_path / ".env").read_text())
    assert type_in("pg_dump") == 0
    (backup,) = tmp_path.glob("flags-*.dump")
    assert [oct(path.stat().st_mode) for path in (backup, tmp_path / ".env")] == ["0o100600", "0o100600"]
    with psycopg.connect(database.url, autocommit=True) as conn:
        conn.execute("UPDATE users SET username = 'changed' WHERE username = 'admin'")
        # Like a server that was not stopped.
        assert type_in("pg_restore") != 0
    assert type_in("pg_restore") == 0
    with psycopg.connect(database.url) as conn:
        assert conn.execute("SELECT count(*) FROM users WHERE username = 'admin'").fetchone() == (1,)
        assert conn.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'users'").fetchone() == ("flags",)
    # The server does not begin a second instance.
    assert bootstrap.prepare_database(database.url, load({})) is None
    assert type_in("DROP DATABASE") == 0
    with psycopg.connect(database.url) as conn:
        assert conn.execute("SELECT count(*) FROM pg_database WHERE datname = 'flags_before'").fetchone() == (0,)
