"""A version of the service with a filled database, and a client of it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from platform import python_version
from socket import socket
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from operations.postgres import embedded
from serving.settings import SETTINGS

KEY, TOKEN = "*:*.bench" + "0" * 59, "user:bench" + "0" * 54
# Seconds after which an idle connection is opened anew. The server closes it after 5 s.
REOPEN_AFTER = 3
UNANALYZED = "SELECT FROM pg_stat_user_tables WHERE n_mod_since_analyze > 50 + 0.1 * n_live_tup"


def set_autovacuum(conn: psycopg.Connection, state: str) -> None:
    """Turn autovacuum of all tables on or off."""
    for (table,) in conn.execute("SELECT relname FROM pg_stat_user_tables").fetchall():
        conn.execute(SQL("ALTER TABLE {} SET (autovacuum_enabled = {})").format(Identifier(table), state))


@dataclass
class Checkout:
    """A version of the service: its folder, its filled database, and its port while it runs."""

    name: str
    folder: Path
    url: str = ""
    port: int = 0
    pid: int = 0
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """Return the Python of the checkout's own virtual environment, or else this one."""
        own = self.folder / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    def fill(self, server: str, size: int, script: str = "fill.sql") -> None:
        """Create and fill a database for this version."""
        name = f"bench_{self.name}_{size}"
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(name)))
            conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        self.url = address(server, name)
        settings = {f"{setting.name}{end}" for setting in SETTINGS for end in ("", "_FILE")}
        self.environ = {key: text for key, text in os.environ.items() if key not in settings}
        self.environ |= {"DATABASE_URL": self.url, "INIT_ADMIN_API_TOKENS": KEY}
        command = [self.python, "-c", "import wsgi"]
        subprocess.run(command, cwd=self.folder, env=self.environ, check=True, capture_output=True)
        with psycopg.connect(self.url, autocommit=True) as conn:
            set_autovacuum(conn, "off")
            with conn.transaction():
                settings = "SELECT set_config('bench.size', %s, true), set_config('bench.token', %s, true)"
                conn.execute(settings, [str(size), TOKEN])
                conn.execute((Path(__file__).parent / script).read_bytes())
            conn.execute("CHECKPOINT")

    def settle(self) -> None:
        """Wait until autovacuum has analyzed the tables that have changed enough. It looks once a minute."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            set_autovacuum(conn, "on")
            while conn.execute(UNANALYZED).fetchone() is not None:
                time.sleep(1)

    def drop(self, server: str) -> None:
        """Drop the database of this version."""
        with psycopg.connect(server, autocommit=True) as conn:
            name = self.url.split("/")[3].partition("?")[0]
            conn.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    @contextmanager
    def served(self, workers: int = 2) -> Iterator[None]:
        """Run the server with this number of workers during the block."""
        with socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        with tempfile.TemporaryFile() as log:
            command = [self.python, "-m", "gunicorn", "wsgi:app"]
            environ = self.environ | {"PORT": str(self.port), "WEB_CONCURRENCY": str(workers)}
            process = subprocess.Popen(command, cwd=self.folder, env=environ, stdout=log, stderr=log)
            self.pid = process.pid
            try:
                deadline = time.monotonic() + 60
                while not self.is_ready():
                    if process.poll() is not None or time.monotonic() > deadline:
                        log.seek(0)
                        sys.exit(f"The server in {self.folder} does not start:\n{log.read().decode()}")
                    time.sleep(0.1)
                yield
            finally:
                process.terminate()
                process.wait()

    def is_ready(self) -> bool:
        """Return whether the server answers."""
        try:
            return Client(self, KEY).ask("GET", "/health") == 200
        except OSError:
            return False


@contextmanager
def database_server() -> Iterator[str]:
    """Yield the URL of a PostgreSQL server on which databases can be created."""
    if server := os.environ.get("BENCH_DATABASE_URL"):
        yield server
        return
    with ExitStack() as stack:
        cluster = embedded.Server(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "data")
        stack.callback(cluster.release)
        yield cluster.ensure()


def commit(folder: Path) -> str:
    """Return the commit of a checkout, or unknown."""
    command = ["git", "log", "-1", "--format=%h"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.strip() or "unknown"


def machine(server: str) -> str:
    """Return what the figures are measured on."""
    with psycopg.connect(server) as conn:
        version = conn.info.parameter_status("server_version")
    return f"{os.cpu_count()} cores, Python {python_version()}, PostgreSQL {version}, {datetime.now(UTC).date()}"


def address(server: str, name: str) -> str:
    """Return the URL of a database on this server, for the setting DATABASE_URL."""
    rest = {key: text for key, text in conninfo_to_dict(server).items() if key != "dbname"}
    return f"postgresql:///{name}?{urlencode(rest, quote_via=quote)}"


class Client:
    """A client with one connection, which it keeps open."""

    def __init__(self, checkout: Checkout, credential: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", checkout.port, timeout=60)
        self._used = time.monotonic()
        # The headers of each request, and those and the body of the last response.
        self.headers = {"Authorization": credential}
        self.received: Message = Message()
        self.body = b""

    def ask(self, method: str, path: str, body: str | None = None) -> int:
        """Send a request, read the response, and return its status."""
        if time.monotonic() - self._used >= REOPEN_AFTER:
            self._connection.close()
        self._connection.request(method, path, body, self.headers)
        response = self._connection.getresponse()
        self.body = response.read()
        self.received = response.headers
        self._used = time.monotonic()
        return response.status

    def expect(self, method: str, path: str, status: int = 200) -> None:
        """Send a request, and raise if the response has another status."""
        if (received := self.ask(method, path)) != status:
            raise RuntimeError(f"{path}: the status is {received} instead of {status}.")

    def repeat(self, requests: Iterable[tuple[str, str]], deadline: float, status: int = 200) -> int:
        """Send requests until the deadline, and return their number."""
        for done, (method, path) in enumerate(requests, start=1):
            self.expect(method, path, status)
            if time.monotonic() > deadline:
                return done
        return 0
