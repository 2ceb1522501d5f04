"""A PostgreSQL of the run's own: Debian's newest, or the embedded one, with fsync on and defaults but for what is named here."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from sql import embedded

# What differs from the defaults while we measure. The report shows it.
MEASURED = {"shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "1GB"}
# And while databases are filled: a COPY into an emptied table needs no WAL then.
FILLING = {"wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off"}
PATIENCE = 300


def binaries() -> Path:
    """Where PostgreSQL's programs are: Debian's newest server, which has pg_trgm, or the embedded one, which has not."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name)) if found else embedded.BINARIES


def program(name: str) -> str | None:
    """The path of one of PostgreSQL's programs; None: it is not here."""
    own = binaries() / name
    return str(own) if own.exists() else shutil.which(name)


class Server:
    """A cluster in a folder, made if it is not there; start() gives its address."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.cluster = folder / "cluster"
        # A socket's path may not be long, and the folder's can be.
        self._socket = Path(tempfile.mkdtemp(prefix="bench-socket-"))
        self._account = embedded.account_for(folder) if os.geteuid() == 0 else None
        # One that a killed run has left.
        self._is_running = (self.cluster / "postmaster.pid").exists()
        self._own(self._socket)
        if not (self.cluster / "PG_VERSION").exists():
            self._own(self.cluster)
            locale = ("--locale=C.UTF-8",)
            if binaries() == embedded.BINARIES:
                locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
            self._run("initdb", "--pgdata", str(self.cluster), "--username=postgres", "--auth=trust", "--encoding=UTF8", *locale)

    def start(self, *, filling: bool) -> str:
        """The address of the server, started, or started again, with the settings for filling or for measuring."""
        self.stop()
        settings = MEASURED | {"listen_addresses": "", "unix_socket_directories": str(self._socket), "timezone": "UTC"}
        settings |= FILLING if filling else {}
        options = " ".join(f"-c {name}='{text}'" for name, text in settings.items())
        log = str(self.cluster / "server.log")
        self._run(
            "pg_ctl", "start", "--pgdata", str(self.cluster), "--wait", "--timeout=300", "--silent", "--log", log, "--options", options
        )
        self._is_running = True
        return f"postgresql://postgres@/postgres?host={quote(str(self._socket), safe='')}"

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._is_running and self._run("pg_ctl", "status", "--pgdata", str(self.cluster), may_fail=True):
            self._run("pg_ctl", "stop", "--pgdata", str(self.cluster), "--mode=fast", "--wait", "--timeout=300", "--silent")
        self._is_running = False

    def end(self) -> None:
        """Stop it for good; its data stay."""
        self.stop()
        shutil.rmtree(self._socket, ignore_errors=True)

    def _own(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        if self._account:
            os.chown(path, self._account.uid, self._account.gid)

    def _run(self, name: str, *arguments: str, may_fail: bool = False) -> bool:
        """Whether one of PostgreSQL's own commands succeeded."""
        prefix = self._account.prefix if self._account else ()
        path = f"{binaries()}:{os.defpath}"
        # Files, not pipes: the server that pg_ctl starts would keep a pipe open.
        with tempfile.TemporaryFile() as said:
            command = [*prefix, str(binaries() / name), *arguments]
            environment = {**os.environ, "PATH": path}
            done = subprocess.run(command, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=PATIENCE)
            said.seek(0)
            if done.returncode != 0 and not may_fail:
                raise RuntimeError(f"{name} failed: {said.read().decode(errors='replace').strip()}")
        return done.returncode == 0
