"""Two services behind haproxy, on two PostgreSQL servers that Patroni manages: under load, the primary is killed.

The files are those of deploy/cluster/, and the commands those of docs/how-to/scale.md.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from sql.database import connect, value
from tests.support.certificate import OPENSSL, certify
from tests.support.machine_server import AS_POSTGRES, BINARIES, IS_INSTALLED
from tests.support.program import AS_ANYBODY, Program, changed
from tests.support.service import PATIENCE, ROOT, Answer, Service, free_port, run, send, wait_until

FILES = ROOT / "deploy" / "cluster"
PAGE = (ROOT / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
PATH = f"{os.environ['PATH']}:/usr/sbin"
ETCD, PATRONI, HAPROXY = (shutil.which(program, path=PATH) or "" for program in ("etcd", "patroni", "haproxy"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ETCD and PATRONI and HAPROXY and OPENSSL and IS_INSTALLED and shutil.which("psql")),
        reason="needs Patroni, etcd, haproxy, PostgreSQL and openssl "
        "(on Debian: apt-get install patroni etcd-server haproxy postgresql openssl)",
    ),
]

KEY = {"Authorization": "*:*.the-key-of-these-tests"}
FLAGS = "/api/admin/projects/default/features"
FEATURES = "/api/client/features"
# Seconds between two changes of a writer, and between two polls. The latter is more than CLIENT_KEEP_MS, within which
# services can differ.
PACE, INTERVAL = 0.05, 0.2


class Node:
    """A machine with Patroni and the PostgreSQL that Patroni starts."""

    def __init__(self, folder: Path, host: str, text: str) -> None:
        self.host = host
        self._data = folder / "data"
        self._settings = folder / "patroni.yml"
        self._program: Program | None = None
        folder.mkdir()
        self._settings.write_text(text)

    def start(self) -> None:
        """Start Patroni, without waiting for it."""
        home = {"HOME": str(self._data.parent)}
        self._program = Program([*AS_POSTGRES, PATRONI, self._settings], self._data.parent / "log", home)

    def kill_postgresql(self) -> None:
        """Kill PostgreSQL with all its processes, and let Patroni live."""
        pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children")
        for each in (pid, *map(int, children.read_text().split() if children.exists() else ())):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    def kill(self) -> None:
        """Kill all processes of the machine, as a power failure does."""
        if self._program is not None:
            self._program.kill()
        with suppress(FileNotFoundError):
            self.kill_postgresql()

    def _is(self, role: str) -> bool:
        with suppress(OSError, HTTPException):
            return send(HTTPConnection(self.host, 8008, timeout=2), "GET", f"/{role}").status == 200
        return False

    @property
    def is_primary(self) -> bool:
        """Whether this node has the lock."""
        return self._is("primary")

    @property
    def is_synchronous(self) -> bool:
        """Whether this node has everything that is acknowledged."""
        return self._is("synchronous")


class Cluster:
    """etcd, two nodes, haproxy, and the services behind it;

    `with` starts and ends all of them.
    """

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="cluster-")
        self._folder = Path(self._place.name)
        # The whole of 127.0.0.0/8 leads to this machine, so each test can have its own 10.0.0.0/24.
        self._net = f"127.{random.randint(1, 254)}.{random.randint(1, 254)}."
        self.https, self._http, self._primary = free_port(), free_port(), free_port()
        self._settings = {
            "BASE_URL": f"https://localhost:{self.https}",
            "TRUSTED_PROXIES": 1,
            "INIT_ADMIN_API_TOKENS": KEY["Authorization"],
        }
        self.services = [Service(**self._settings) for _ in range(2)]
        self.nodes: list[Node] = []
        self._programs: list[Program] = []
        # The address of the database, for the role of the owner.
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self._start()
            self._ready()
        except BaseException as error:
            for log in sorted(self._folder.glob("**/*log")):
                error.add_note(f"{log}:\n{log.read_text()[-3000:]}")
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for service in self.services:
            service.end()
        for ended in (*reversed(self._programs), *self.nodes):
            ended.kill()
        self._place.cleanup()

    def is_whole(self) -> bool:
        """Return whether there are a primary and a synchronous standby."""
        return sorted((node.is_primary, node.is_synchronous) for node in self.nodes) == [(False, True), (True, False)]

    def _local(self, text: str) -> str:
        # Connections come from 127.0.0.1, wherever they lead.
        return text.replace("10.0.0.0/24", "127.0.0.0/8").replace("10.0.0.", self._net)

    def _start(self) -> None:
        self._trust = certify(self._folder)
        texts = [(self._folder / name).read_text() for name in ("certificate", "key")]
        (self._folder / "flags.pem").write_text("".join(texts))
        self._start_etcd()
        self.nodes = [self._node("db1", 11), self._node("db2", 12)]
        # The users of the programs read their files.
        self._folder.chmod(0o755)
        if AS_POSTGRES:
            # Not the files of etcd, which renames them at the same time.
            others = [path for path in self._folder.iterdir() if not path.name.startswith("etcd")]
            subprocess.run(["chown", "postgres:postgres", self._folder], check=True)
            subprocess.run(["chown", "-R", "postgres:postgres", *others], check=True)
        (self._folder / "flags.pem").chmod(0o644)
        for node in self.nodes:
            node.start()
        self._start_haproxy()

    def _ready(self) -> None:
        """Return when requests are answered."""
        wait_until(self.is_whole, "both nodes ran", 2 * PATIENCE)
        self._create_database()
        for service in self.services:
            service.start()
        for service in self.services:
            service.ready()
        # haproxy checks each service once a second, and answers 503 until one is ready.
        wait_until(lambda: self.request("GET", "/ready").status == 200, "haproxy used a service")

    def _etcd_members(self, number: int) -> list[str]:
        """Return the names of the machines in the cluster of an etcd, as the page asks for them."""
        (command,) = re.findall(r"^\$ (curl .*member/list.*)$", PAGE, re.MULTILINE)
        command = command.replace("10.0.0.11", f"{self._net}{number}")
        printed = subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout
        return sorted(re.findall(r'"name":"(\w+)"', printed))

    def _start_etcd(self) -> None:
        """Start etcd on three machines, after Debian has started it there with its own settings."""
        text = (FILES / "etcd").read_text(encoding="utf-8")
        names = {"etcd1": 11, "etcd2": 12, "etcd3": 21}
        for name, number in names.items():
            own = changed(text, {"ETCD_NAME=etcd1\n": f"ETCD_NAME={name}\n"})
            own = re.sub(r"(URLS=http://)10\.0\.0\.11:", rf"\g<1>10.0.0.{number}:", own)
            own = self._local(own.replace("/var/lib/etcd", str(self._folder / name)))
            settings = dict(line.split("=", 1) for line in own.splitlines() if not line.startswith("#"))
            clients = {key: settings[key] for key in ("ETCD_LISTEN_CLIENT_URLS", "ETCD_ADVERTISE_CLIENT_URLS")}
            debian = {"ETCD_DATA_DIR": f"{self._folder}/{name}/default", "ETCD_LISTEN_PEER_URLS": "http://127.0.0.1:0"}
            alone = Program([ETCD, "--logger=zap"], self._folder / f"{name}-alone.log", clients | debian)
            alone.ready(lambda number=number: self._etcd_members(number) == ["default"]).kill()
            self._programs.append(Program([ETCD, "--logger=zap"], self._folder / f"{name}.log", settings))
        self._programs[0].ready(lambda: self._etcd_members(11) == sorted(names))

    def _node(self, name: str, number: int) -> Node:
        folder, text = self._folder / name, (FILES / "patroni.yml").read_text(encoding="utf-8")
        for port in ("8008", "5432"):
            text = text.replace(f"10.0.0.11:{port}", f"10.0.0.{number}:{port}")
        own = {
            "name: db1": f"name: {name}",
            "/usr/lib/postgresql/15/bin": str(BINARIES),
            "/var/lib/postgresql/flags\n": f"{folder}/data\n",
            "/var/lib/postgresql/flags.pgpass": f"{folder}/pgpass",
            "/var/run/postgresql": str(folder),
        }
        return Node(folder, f"{self._net}{number}", self._local(changed(text, own)))

    def _start_haproxy(self) -> None:
        own = {
            "    log /dev/log local0\n": "",
            "    user haproxy\n    group haproxy\n": "",
            "bind :80\n": f"bind 127.0.0.1:{self._http}\n",
            "bind :443 ": f"bind 127.0.0.1:{self.https} ",
            "/etc/haproxy/flags.pem": str(self._folder / "flags.pem"),
            "127.0.0.1:5000": f"127.0.0.1:{self._primary}",
        }
        text = changed((FILES / "haproxy.cfg").read_text(encoding="utf-8"), own)
        for number, service in zip((21, 22), self.services, strict=True):
            text = text.replace(f"10.0.0.{number}:4242", f"127.0.0.1:{service.port}")
        settings = self._folder / "haproxy.cfg"
        settings.write_text(self._local(text))
        program = Program([*AS_ANYBODY, HAPROXY, "-W", "-f", settings], self._folder / "haproxy.log")
        self._programs.append(program)
        program.ready(self.https)

    def _create_database(self) -> None:
        """Run the commands of the page, and let the services use their role."""
        create, grant = re.findall(r"^```bash\n(export PGPASSWORD.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
        self._type(create)
        self.url, service_role = (
            (self._folder / "urls" / f"{role}-url").read_text().strip() for role in ("owner", "service")
        )
        done = run("operations/flags.py", "migrate", **self._settings | {"DATABASE_URL": self.url})
        assert done.returncode == 0, done.stderr
        self._type(grant)
        for service in self.services:
            service.settings |= {"DATABASE_URL": service_role}

    def _type(self, commands: str) -> None:
        """Run commands of the page with the addresses and files of this test."""
        commands = commands.replace("127.0.0.1:5000", f"127.0.0.1:{self._primary}")
        commands = commands.replace("/etc/flag-administration", f"{self._folder}/urls")
        done = subprocess.run(["bash", "-ec", commands], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send one request to the address of all services, on a connection of its own."""
        connection = HTTPSConnection("localhost", self.https, timeout=2 * PATIENCE, context=self._trust)
        return send(connection, method, path, body, headers)


class Load:
    """Three writers that create flags, and three applications that ask for them, as long as a `with` block lasts."""

    def __init__(self, running: Cluster, token: str) -> None:
        self._cluster = running
        self._token = {"Authorization": token}
        # The names of acknowledged changes, and when they were sent; and when refused changes were sent.
        self.acknowledged: list[tuple[float, str]] = []
        self.refused: list[float] = []
        # The responses to polls, and to those of applications that start.
        self.polls: list[Answer] = []
        self.first_polls: list[Answer] = []
        self._is_over = threading.Event()
        jobs = [*(self._writer(f"flag-{number}") for number in range(3)), *(self._application() for _ in range(2))]
        self._pool = ThreadPoolExecutor(6)
        self._running = [self._pool.submit(self._run, job) for job in (*jobs, self._newcomers())]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._pool.shutdown()
        for job in self._running:
            job.result()

    def _run(self, job: Iterator[float]) -> None:
        for pause in job:
            if self._is_over.wait(pause):
                return

    def _writer(self, prefix: str) -> Iterator[float]:
        """Create flags with other names each time. A change without a response may have happened, or not."""
        for number in range(100_000):
            name, began = f"{prefix}-{number}", time.monotonic()
            answer = self._cluster.request("POST", FLAGS, {"name": name}, KEY)
            if answer.status == 201:
                self.acknowledged.append((began, name))
            else:
                # The response of a service, not of haproxy.
                assert (answer.status, answer.json["name"]) == (503, "UnavailableError"), answer
                self.refused.append(began)
            yield PACE

    def _application(self) -> Iterator[float]:
        """Poll as an SDK does. Each document has all flags of the one before, because the writers delete none."""
        seen: set[str] = set()
        headers = self._token
        while True:
            answer = self._cluster.request("GET", FEATURES, None, headers)
            self.polls.append(answer)
            if answer.status == 200:
                now = {flag["name"] for flag in json.loads(answer.body)["features"]}
                assert seen <= now, f"{len(seen - now)} of {len(seen)} flags are gone: {answer.headers}"
                seen, headers = now, self._token | {"If-None-Match": answer.headers["ETag"]}
            yield INTERVAL

    def _newcomers(self) -> Iterator[float]:
        """Poll as SDKs do that start."""
        while True:
            self.first_polls.append(self._cluster.request("GET", FEATURES, None, self._token))
            yield INTERVAL

    def wait_for_changes(self, count: int = 20) -> None:
        """Return when so many changes have been acknowledged that were sent from now on."""
        now = time.monotonic()
        wait_until(
            lambda: (
                any(job.done() for job in self._running)
                or sum(began > now for began, _ in list(self.acknowledged)) >= count
            ),
            "changes were acknowledged",
            2 * PATIENCE,
        )

    @contextmanager
    def outage(self, kill: Callable[[], None]) -> Iterator[None]:
        """End a server. Assert that changes are accepted again in the time that docs/how-to/scale.md allows."""
        self.wait_for_changes()
        killed = time.monotonic()
        kill()
        yield
        self.wait_for_changes()
        back = min(began for began, _ in self.acknowledged if began > max(self.refused)) - killed
        print(f"changes were accepted again after {back:.1f} s", end=", ")
        printed = subprocess.run([PATRONI, "--version"], capture_output=True, text=True).stdout
        major, minor = re.findall(r"\d+", printed)[:2]
        # The ttl of newer versions of Patroni is 20 s at least.
        assert back < (15 if (int(major), int(minor)) < (3, 1) else 25)


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """A cluster with two services."""
    with Cluster() as running:
        yield running


@pytest.mark.timing
def test_no_acknowledged_change_is_lost_when_the_primary_dies(running: Cluster):
    body = {"type": "client", "tokenName": "t", "environment": "development"}
    token = running.request("POST", "/api/admin/api-tokens", body, KEY).json["secret"]
    # Without the database, a worker has flags for the tokens that it has seen. Each service has one worker.
    for service in running.services:
        assert service.get(FEATURES, headers={"Authorization": token}).status == 200
    second, first = sorted(running.nodes, key=lambda node: node.is_primary)
    with Load(running, token) as load:
        # A machine: everything that runs there.
        with load.outage(first.kill):
            wait_until(lambda: second.is_primary, "the standby was promoted")
        first.start()
        wait_until(running.is_whole, "the old primary followed the new one", 2 * PATIENCE)
        assert second.is_primary
        # PostgreSQL alone.
        with load.outage(second.kill_postgresql):
            wait_until(lambda: first.is_primary, "the standby was promoted")
    names = {name for _, name in load.acknowledged}
    with psycopg.connect(running.url) as conn:
        logged = {name for (name,) in conn.execute("SELECT feature_name FROM events WHERE type = 'feature-created'")}
    print(
        f"{len(names)} changes acknowledged, {len(load.refused)} refused, {len(logged - names)} unknown to the client"
    )
    assert names <= logged
    # Applications get flags all the time. Those that have flags can be asked to wait with them.
    assert {answer.status for answer in load.polls} <= {200, 304, 503}
    assert {answer.status for answer in load.first_polls} == {200}


def test_postgresql_ends_the_sessions_of_a_service_whose_machine_is_lost(running: Cluster):
    with connect(running.url) as conn:
        limits = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
        assert [value(conn, f"SHOW {name}") for name in limits] == ["4", "2", "3", "10000"]
