"""The web UI of Unleash 8 in front of a service: its files as `make unleash` installs them, and a proxy for the API."""

import os
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from typing import Self
from urllib.parse import urlsplit

import pytest

from tests.support.service import free_port
from tests.support.unleash import NODE_MODULES, VERSIONS

BUILD = NODE_MODULES / VERSIONS["8.2.0"] / "frontend" / "build"
# What Unleash puts into index.html. Empty flags are JSON in JSON.
PLACEHOLDERS = {"faviconPrefix": "", "baseUriPath": "", "cdnPrefix": "", "uiFlags": "%22%7B%7D%22", "unleashToken": ""}
API = ("/api/", "/auth/", "/invite/", "/logout")


class UnleashUi:
    """A server of the UI and of the service behind it;

    `with` starts and stops it. requests: STATUS METHOD PATH of each request to the service. waiting: how many
    have no response yet.
    """

    def __init__(self) -> None:
        if not BUILD.is_dir():
            (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the servers of Unleash (make unleash)")
        self.requests: list[str] = []
        self.waiting = 0
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        # The port of the service, which starts later because it needs this origin.
        self.service = 0
        self.index = (BUILD / "index.html").read_text()
        for name, text in PLACEHOLDERS.items():
            self.index = self.index.replace(f"::{name}::", text)

    def __enter__(self) -> Self:
        handler = type("Handler", (Handler,), {"ui": self})
        self._server = Server(("127.0.0.1", self.port), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Server(ThreadingHTTPServer):
    """Accepts as many connections at once as a page opens."""

    request_queue_size = 64


class Handler(BaseHTTPRequestHandler):
    """Answers a request with a file of the UI, or with the response of the service."""

    ui: UnleashUi

    def respond(self) -> None:
        path = urlsplit(self.path).path
        file = BUILD / path.removeprefix("/")
        if path.startswith(API):
            self.forward()
        elif file.is_file():
            self.send(200, [("Content-Type", guess_type(path)[0] or "application/octet-stream")], file.read_bytes())
        else:
            self.send(200, [("Content-Type", "text/html")], self.ui.index.encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond

    def forward(self) -> None:
        self.ui.waiting += 1
        connection = HTTPConnection("127.0.0.1", self.ui.service, timeout=60)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection.request(self.command, self.path, body, dict(self.headers))
        response = connection.getresponse()
        headers = [pair for pair in response.getheaders() if pair[0] not in ("Connection", "Transfer-Encoding")]
        self.send(response.status, headers, response.read())
        connection.close()
        self.ui.requests.append(f"{response.status} {self.command} {self.path}")
        self.ui.waiting -= 1

    def send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""
