"""Servers of Unleash for tests, as npm installs them. `make sdks` does not install them, `make unleash` does."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.program import Program
from tests.support.service import ROOT, free_port

NODE_MODULES = ROOT / ".sdks" / "unleash" / "node_modules"
# The packages in tests/operations/commands/unleash/package.json.
VERSIONS = {"5.12.8": "unleash-5", "6.3.0": "unleash-6", "7.6.5": "unleash-7", "8.2.0": "unleash-8"}
ADMIN_TOKEN = "*:*.admin-token-of-the-old-server"


class Api:
    """The HTTP API of a server, with an admin token."""

    def __init__(self, url: str, token: str = ADMIN_TOKEN) -> None:
        self.url = url
        self.token = token
        self._user: Api | None = None

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return the status of a response, and its body parsed as JSON."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        text = None if body is None else json.dumps(body)
        sent = {"Authorization": self.token, "Content-Type": "application/json", **headers}
        connection.request(method, path, text, sent)
        response = connection.getresponse()
        read = response.read()
        connection.close()
        try:
            return response.status, json.loads(read) if read else None
        except ValueError:
            return response.status, read.decode()

    def get(self, path: str, **headers: str) -> Any:
        """Return the body of a successful GET."""
        return self.expect("GET", path, None, **headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.expect("POST", path, {} if body is None else body)

    def put(self, path: str, body: Any) -> Any:
        return self.expect("PUT", path, body)

    def expect(self, method: str, path: str, body: Any, **headers: str) -> Any:
        status, answer = self.send(method, path, body, **headers)
        assert status in (200, 201, 202, 204), (method, path, body, status, answer)
        return answer

    def as_user(self) -> "Api":
        """Return the API with a personal token of the first user. Servers refuse some requests with an admin token."""
        if self._user is None:
            connection = HTTPConnection(urlsplit(self.url).netloc, timeout=60)
            login = json.dumps({"username": "admin", "password": "unleash4all"})
            connection.request("POST", "/auth/simple/login", login, {"Content-Type": "application/json"})
            response = connection.getresponse()
            cookie = str(response.headers["Set-Cookie"]).partition(";")[0]
            assert (response.status, bool(response.read())) == (200, True)
            connection.close()
            body = {"description": "test", "expiresAt": "2100-01-01T00:00:00.000Z"}
            status, token = Api(self.url, "").send("POST", "/api/admin/user/tokens", body, Cookie=cookie)
            assert status == 201, token
            self._user = Api(self.url, token["secret"])
        return self._user

    def accepts(self, method: str, path: str, body: Any = None) -> bool:
        """Return whether the server accepts a request that some versions refuse."""
        return self.send(method, path, {} if body is None else body)[0] < 300


@contextmanager
def unleash_server(version: str, database: str, folder: Path, **settings: str) -> Iterator[Api]:
    """Run an Unleash server of this version on an empty database."""
    program = NODE_MODULES / VERSIONS[version] / "dist" / "server.js"
    if not (program.exists() and shutil.which("node")):
        needed = "needs servers of Unleash (make unleash)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(needed)
    parts = conninfo_to_dict(database)
    with psycopg.connect(database) as conn:
        password = conn.info.password
    port = free_port()
    environ = {
        "DATABASE_HOST": str(parts["host"]),
        "DATABASE_PORT": str(parts.get("port", 5432)),
        "DATABASE_NAME": str(parts["dbname"]),
        "DATABASE_USERNAME": str(parts["user"]),
        "DATABASE_PASSWORD": password or "none",
        "DATABASE_SSL": "false",
        "INIT_ADMIN_API_TOKENS": ADMIN_TOKEN,
        "LOG_LEVEL": "warn",
        "CHECK_VERSION": "false",
        "SEND_TELEMETRY": "false",
        "HTTP_HOST": "127.0.0.1",
        "PORT": str(port),
        "TZ": "UTC",
        **settings,
    }
    api = Api(f"http://127.0.0.1:{port}")
    running = Program(["node", program], folder / "unleash.log", environ)
    try:
        running.ready(port)
        yield api
    finally:
        running.kill()


def path(name: str) -> str:
    """Return a name for a path of a URL."""
    return quote(name, safe="")
