"""The real service for a test: gunicorn in a process group of its own, on a free port of the loopback interface,
stopped by its pid.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from itertools import cycle
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from serving.settings import SETTINGS
from tests.support.secrecy import VAULT

ROOT = Path(__file__).parents[2]
UNPRIVILEGED = 65534
AS_UNPRIVILEGED = ("setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups")
GUNICORN = ("-m", "gunicorn", "wsgi:app")
# What `make run` does.
SERVE = ("operations/flags.py", "serve")
IMPORT = ("-c", "import wsgi")
# Far more than anything here takes on a busy machine, in seconds.
PATIENCE = 30
# By default, Linux gives the ports from 32768 on to clients and to servers that listen on port 0. It could give a free
# one to another process before the test listens on it, so tests use lower ports. Each pytest-xdist worker has its own.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
MOST_WORKERS = 16
assert WORKER < MOST_WORKERS
PORTS = cycle(random.sample(range(10_000 + WORKER, 32_768, MOST_WORKERS), 1_000))


@dataclass(frozen=True)
class Answer:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body, parsed as JSON."""
        return json.loads(self.body)


def environment(**settings: object) -> dict[str, str]:
    """Return this process's environment with these settings instead of its own, and cheap defaults for the others."""
    ours = {f"{setting.name}{end}" for setting in SETTINGS for end in ("", "_FILE")}
    kept = {name: text for name, text in os.environ.items() if name not in ours}
    cheap = {"WEB_CONCURRENCY": "1", "BCRYPT_ROUNDS": "10"}
    return kept | cheap | {name: str(text) for name, text in settings.items()}


def free_port() -> int:
    """Return a port on which no process listens. It is not returned again until all other ports were tried."""
    return next(port for port in PORTS if is_free(port))


def is_free(port: int) -> bool:
    """Return whether a server can listen on this port of all IPv4 addresses."""
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Return as soon as the condition holds. Fail after so many seconds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.01)


def run(*arguments: str, prefix: Sequence[str] = (), **settings: object) -> subprocess.CompletedProcess[str]:
    """Python with these arguments and settings in the project's folder, until it ends by itself; text in stdout and
    stderr.
    """
    command = [*prefix, sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(**settings), capture_output=True, text=True, timeout=PATIENCE
    )


def run_together(
    commands: Sequence[tuple[Sequence[str], Mapping[str, object]]],
) -> list[subprocess.CompletedProcess[str]]:
    """Do the same as run() for several pairs of arguments and settings, at the same time."""
    running = [
        subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(**settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for arguments, settings in commands
    ]
    outputs = [process.communicate(timeout=PATIENCE) for process in running]
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *texts)
        for process, texts in zip(running, outputs, strict=True)
    ]


def address_in(data: Path) -> str:
    """Return the URL of the embedded PostgreSQL of a data folder."""
    return f"postgresql://postgres@/postgres?host={quote(str(data / 'socket'), safe='')}"


def postmaster_of(data: Path) -> int | None:
    """Return the pid of the embedded PostgreSQL of a data folder, or None if it has stopped."""
    try:
        return int((data / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    except (FileNotFoundError, IndexError):
        return None


def is_alive(pid: int | None) -> bool:
    """Return whether a process runs. A zombie does not."""
    if pid is None:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Service:
    """gunicorn with the given settings;

    `with` starts it, waits until it is ready, and stops it.

    database: its address, None for a private one; folder: where stdout and stderr go, None for one of its own; path:
    that of BASE_URL; prefix: what its command begins with; command: what Python is given; stdout: another place for
    that; root: the folder of another version.
    """

    def __init__(
        self,
        database: str | None = None,
        folder: Path | None = None,
        *,
        path: str = "",
        prefix: Sequence[str] = (),
        command: Sequence[str] = GUNICORN,
        stdout: str | None = None,
        root: Path = ROOT,
        **settings: object,
    ) -> None:
        self.port = int(str(settings.get("PORT") or free_port()))
        self.origin = f"http://127.0.0.1:{self.port}"
        self.settings = (
            {"BASE_URL": f"{self.origin}{path}", "DATABASE_URL": database or ""} | settings | {"PORT": self.port}
        )
        self.prefix = prefix
        self.command = command
        self.root = root
        self._own_folder = None if folder else tempfile.TemporaryDirectory(prefix="service-")
        folder = folder or Path(self._own_folder.name)
        self._stdout = Path(stdout or folder / "stdout")
        self._stderr = folder / "stderr"
        self._process: subprocess.Popen[bytes] | None = None
        # The length of stderr before the last start.
        self._printed = 0

    def __enter__(self) -> Self:
        try:
            return self.start().ready()
        except BaseException:
            self.end()
            raise

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> Self:
        """Start the service without waiting for it."""
        self._printed = len(self.err) if self._stderr.exists() else 0
        with self._stdout.open("ab") as out, self._stderr.open("ab") as err:
            self._process = subprocess.Popen(
                [*self.prefix, sys.executable, *self.command],
                cwd=self.root,
                env=environment(**self.settings),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self

    def ready(self) -> Self:
        """Return when the service is ready. Only fixtures and starters need this."""
        wait_until(self._is_ready, "the service was ready")
        return self

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.err
        # The workers of a killed master may still answer. Other versions print something else.
        if self.root == ROOT and "Serving at" not in self.err[self._printed :]:
            return False
        try:
            return self.get("/ready").status == 200
        except (OSError, HTTPException):
            return False

    def reload(self) -> None:
        """Send SIGHUP, and return when all workers are new."""
        before = self.workers
        self.process.send_signal(signal.SIGHUP)
        # The new workers start before the old ones stop. A killed worker may have been among those before.
        wait_until(lambda: self.workers and not self.workers & before, "all workers were new")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The master."""
        assert self._process is not None
        return self._process

    @property
    def workers(self) -> set[int]:
        """Return the pids of the worker processes."""
        return {
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        }

    @property
    def out(self) -> str:
        """Return the output on stdout so far."""
        return self._stdout.read_text()

    @property
    def err(self) -> str:
        """Return the output on stderr so far."""
        return self._stderr.read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the parsed lines of the request log, without those of logins and deliveries."""
        return [line for line in map(json.loads, self.out.splitlines()) if "method" in line]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the master a signal, wait until it has ended, and return its exit status."""
        self.process.send_signal(number)
        # gunicorn waits up to 40 s for a worker (graceful_timeout).
        return self.process.wait(40 + PATIENCE)

    def end(self) -> None:
        """Stop the service if it runs, and delete its folder."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        if self._own_folder:
            self._own_folder.cleanup()

    def get(self, path: str, **kwargs: Any) -> Answer:
        """GET, as request()."""
        return self.request("GET", path, **kwargs)

    def request(
        self,
        method: str,
        path: str,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        **kwargs: Any,
    ) -> Answer:
        """Send one request on a connection of its own. Raise OSError without a response within timeout seconds."""
        return send(HTTPConnection("127.0.0.1", self.port, timeout=timeout), method, path, json, headers, **kwargs)

    def raw(self, data: bytes, method: str = "GET") -> Answer:
        """Send exactly these bytes. method: the method of the request, on which the framing of the response depends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(data)
            response = HTTPResponse(connection, method=method)
            response.begin()
            answer = Answer(response.status, response.headers, response.read())
            VAULT.look("", None, [], response.headers.items(), answer.body)
            response.close()
            return answer

    def exchange(self, data: bytes) -> bytes:
        """Send exactly these bytes and no more. Return all that the service sends until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))


def send(
    connection: HTTPConnection,
    method: str,
    path: str,
    json: Any = None,
    headers: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> Answer:
    """Send one request, and close the connection."""
    headers = dict(headers or {})
    if json is not None:
        kwargs["body"] = encode(json)
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, path, headers=headers, **kwargs)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        VAULT.look(path, json, headers.items(), response.headers.items(), answer.body)
        return answer
    finally:
        connection.close()


def encode(document: Any) -> bytes:
    """Return a value as JSON in bytes."""
    return json.dumps(document).encode()
