"""A cluster for a test: etcd, two nodes of Patroni and haproxy, with the files of deploy/cluster/, on loopback
addresses of its own.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Self

from tests.support.certificate import OPENSSL, certify
from tests.support.machine_server import AS_POSTGRES, BINARIES, IS_INSTALLED
from tests.support.nginx import AS_ANYBODY
from tests.support.program import Program, changed, children_of, listens
from tests.support.secrecy import VAULT
from tests.support.service import PATIENCE, ROOT, Answer, Service, encode, free_port, run, wait_until

FILES = ROOT / "deploy" / "cluster"
PAGE = ROOT / "docs" / "how-to" / "scale.md"
PATH = f"{os.environ['PATH']}:/usr/sbin"
ETCD, PATRONI, HAPROXY = (shutil.which(program, path=PATH) for program in ("etcd", "patroni", "haproxy"))
IS_COMPLETE = bool(ETCD and PATRONI and HAPROXY and OPENSSL and IS_INSTALLED and shutil.which("psql"))


def text_of(name: str) -> str:
    """Return a file of deploy/cluster/."""
    return (FILES / name).read_text(encoding="utf-8")


def longest_outage() -> float:
    """Return the seconds that docs/how-to/scale.md allows. The ttl of newer versions of Patroni is 20 s at least."""
    assert PATRONI
    printed = subprocess.run([PATRONI, "--version"], capture_output=True, text=True).stdout
    major, minor = re.findall(r"\d+", printed)[:2]
    return 15 if (int(major), int(minor)) < (3, 1) else 25


def etcd_members(host: str) -> list[str]:
    """Return the names of the machines in the cluster of an etcd, as the page asks for them."""
    (command,) = re.findall(r"^\$ (curl .*member/list.*)$", PAGE.read_text(), re.MULTILINE)
    printed = subprocess.run(["bash", "-c", command.replace("10.0.0.11", host)], capture_output=True, text=True).stdout
    return sorted(re.findall(r'"name":"(\w+)"', printed))


class Node:
    """A machine with Patroni and the PostgreSQL that Patroni starts."""

    def __init__(self, folder: Path, name: str, host: str, text: str) -> None:
        self.host = host
        self._data = folder / name / "data"
        self._program: Program | None = None
        self._settings = folder / name / "patroni.yml"
        self._data.parent.mkdir()
        self._settings.write_text(text)

    def start(self) -> None:
        """Start Patroni, without waiting for it."""
        assert PATRONI
        home = {"HOME": str(self._data.parent)}
        self._program = Program([*AS_POSTGRES, PATRONI, self._settings], self._data.parent / "log", home)

    @property
    def postmaster(self) -> int:
        """The pid of PostgreSQL."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def kill_postgresql(self) -> None:
        """Kill PostgreSQL with all its processes, and let Patroni live."""
        pid = self.postmaster
        for each in (pid, *children_of(pid)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    def kill(self) -> None:
        """Kill all processes of the machine, as a power failure does."""
        if self._program is not None:
            self._program.kill()
        with suppress(FileNotFoundError):
            self.kill_postgresql()

    def ask(self, path: str) -> tuple[int, Any]:
        """Return the status and the body of Patroni's answer; 0 without an answer."""
        connection = HTTPConnection(self.host, 8008, timeout=2)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        except (OSError, HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    @property
    def is_primary(self) -> bool:
        """Whether this node has the lock."""
        return self.ask("/primary")[0] == 200

    @property
    def is_synchronous(self) -> bool:
        """Whether this node has everything that is acknowledged."""
        return self.ask("/synchronous")[0] == 200


class Cluster:
    """etcd, two nodes, haproxy, and the services behind it;

    `with` starts and ends all of them.
    """

    def __init__(self, **settings: object) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="cluster-")
        self._folder = Path(self._place.name)
        # The whole of 127.0.0.0/8 leads to this machine, so each test can have its own 10.0.0.0/24.
        self._net = f"127.{random.randint(1, 254)}.{random.randint(1, 254)}."
        self.https, self._http, self._primary = free_port(), free_port(), free_port()
        self._settings = {"BASE_URL": f"https://localhost:{self.https}", "TRUSTED_PROXIES": 1, **settings}
        self.services = [Service(**self._settings) for _ in range(2)]
        self.nodes: list[Node] = []
        self._programs: list[Program] = []
        # The address of the database, for the role of the owner.
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self._start()
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

    @property
    def primary(self) -> Node:
        """The node that has the lock."""
        (found,) = (node for node in self.nodes if node.is_primary)
        return found

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
        self._own()
        for node in self.nodes:
            node.start()
        self._start_haproxy()
        wait_until(self.is_whole, "both nodes ran", 2 * PATIENCE)
        self._create_database()
        for service in self.services:
            service.start()
        for service in self.services:
            service.wait()
        # haproxy checks each service once a second, and answers 503 until one is ready.
        wait_until(lambda: self.request("GET", "/ready").status == 200, "haproxy used a service")

    def _own(self) -> None:
        """Let the users of the programs read their files."""
        self._folder.chmod(0o755)
        if AS_POSTGRES:
            subprocess.run(["chown", "-R", "postgres:postgres", self._folder], check=True)
        (self._folder / "flags.pem").chmod(0o644)

    def _start_etcd(self) -> None:
        """Start etcd on three machines, after Debian has started it there with its own settings."""
        assert ETCD
        text = text_of("etcd")
        names = {"etcd1": 11, "etcd2": 12, "etcd3": 21}
        for name, number in names.items():
            own = changed(text, {"ETCD_NAME=etcd1\n": f"ETCD_NAME={name}\n"})
            own = re.sub(r"(URLS=http://)10\.0\.0\.11:", rf"\g<1>10.0.0.{number}:", own)
            own = self._local(own.replace("/var/lib/etcd", str(self._folder / name)))
            settings = dict(line.split("=", 1) for line in own.splitlines() if not line.startswith("#"))
            clients = {key: settings[key] for key in ("ETCD_LISTEN_CLIENT_URLS", "ETCD_ADVERTISE_CLIENT_URLS")}
            debian = {"ETCD_DATA_DIR": f"{self._folder}/{name}/default", "ETCD_LISTEN_PEER_URLS": "http://127.0.0.1:0"}
            alone = Program([ETCD, "--logger=zap"], self._folder / f"{name}-alone.log", clients | debian)
            alone.wait_until(
                lambda number=number: etcd_members(f"{self._net}{number}") == ["default"], "etcd ran alone"
            )
            alone.kill()
            self._programs.append(Program([ETCD, "--logger=zap"], self._folder / f"{name}.log", settings))
        wait_until(lambda: etcd_members(f"{self._net}11") == sorted(names), "all three were one cluster")

    def _node(self, name: str, number: int) -> Node:
        folder = self._folder / name
        text = changed(
            text_of("patroni.yml")
            .replace("10.0.0.11:8008", f"10.0.0.{number}:8008")
            .replace("10.0.0.11:5432", f"10.0.0.{number}:5432"),
            {
                "name: db1": f"name: {name}",
                "/usr/lib/postgresql/15/bin": str(BINARIES),
                "/var/lib/postgresql/flags\n": f"{folder}/data\n",
                "/var/lib/postgresql/flags.pgpass": f"{folder}/pgpass",
                "/var/run/postgresql": str(folder),
            },
        )
        return Node(self._folder, name, f"{self._net}{number}", self._local(text))

    def _start_haproxy(self) -> None:
        assert HAPROXY
        one, other = (f"127.0.0.1:{service.port}" for service in self.services)
        text = text_of("haproxy.cfg").replace("10.0.0.21:4242", one).replace("10.0.0.22:4242", other)
        own = {
            "    log /dev/log local0\n": "",
            "    user haproxy\n    group haproxy\n": "",
            "bind :80\n": f"bind 127.0.0.1:{self._http}\n",
            "bind :443 ": f"bind 127.0.0.1:{self.https} ",
            "/etc/haproxy/flags.pem": str(self._folder / "flags.pem"),
            "127.0.0.1:5000": f"127.0.0.1:{self._primary}",
        }
        settings = self._folder / "haproxy.cfg"
        settings.write_text(self._local(changed(text, own)))
        program = Program([*AS_ANYBODY, HAPROXY, "-W", "-f", settings], self._folder / "haproxy.log")
        self._programs.append(program)
        program.wait_until(lambda: listens("127.0.0.1", self.https), "haproxy listened")

    def _create_database(self) -> None:
        """Run the commands of the page, and let the services use their role."""
        create, grant = re.findall(r"^```bash\n(export PGPASSWORD.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
        self._type(create)
        owner, service_role = (
            (self._folder / "urls" / f"{role}-url").read_text().strip() for role in ("owner", "service")
        )
        done = run("flags.py", "migrate", **self._settings | {"DATABASE_URL": owner})
        assert done.returncode == 0, done.stderr
        self._type(grant)
        self.url = owner
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
        headers = {"Content-Type": "application/json", **(headers or {})}
        connection = HTTPSConnection("localhost", self.https, timeout=2 * PATIENCE, context=self._trust)
        try:
            connection.request(method, path, None if body is None else encode(body), headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            VAULT.look(path, body, headers.items(), response.headers.items(), answer.body)
            return answer
        finally:
            connection.close()
