"""A small HTTP server in the place of an Unleash server, for answers that a real one does not give in tests."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, text: str = "{}", **headers: str) -> Answer:
    """Return an answer with this status and text. Underscores in names of headers mean hyphens."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return send


def broken(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection in the middle of an answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"flags": [')
    handler.close_connection = True


STRATEGY: dict[str, Any] = {"id": "1", "name": "flexibleRollout", "parameters": {"rollout": "50"}, "constraints": []}
FLAG: dict[str, Any] = {
    "name": "checkout", "type": "release", "description": None, "project": "default", "stale": False,
    "createdAt": "2024-05-31T12:00:00.000Z", "dependencies": [],
    "environments": [{"name": "development", "enabled": True, "strategies": [STRATEGY]}],
}  # fmt: skip
PROJECT = "/api/admin/projects/default"
# The answers of an Unleash 8 with one flag, by path.
ANSWERS: dict[str, Any] = {
    "/api/admin/ui-config": {"name": "Unleash", "versionInfo": {"current": {"oss": "8.2.0", "enterprise": ""}}},
    "/api/admin/user": {"permissions": [{"permission": "ADMIN"}]},
    "/api/admin/projects": {"projects": [{"id": "default", "archivedAt": None}, {"id": "shop", "archivedAt": None}]},
    f"{PROJECT}/overview": {"name": "Default", "mode": "open", "environments": [{"environment": "development"}]},
    "/api/admin/projects/shop/overview": {"name": "Shop", "environments": [{"environment": "development"}]},
    "/api/admin/environments": {"environments": [{"name": "development", "type": "development", "enabled": True}]},
    "/api/admin/context": [],
    "/api/admin/tag-types": {"tagTypes": []},
    "/api/admin/tags": {"tags": []},
    "/api/admin/strategies": {"strategies": []},
    "/api/admin/feature-types": {"types": []},
    "/api/admin/segments": {"segments": []},
    "/api/admin/api-tokens": {"tokens": []},
    f"{PROJECT}/features": {"features": [{"name": "checkout", "environments": []}]},
    "/api/admin/projects/shop/features": {"features": []},
    f"{PROJECT}/features/checkout": FLAG,
    "/api/admin/search/features": {"features": [], "total": 0},
    "/api/admin/features-batch/export": {
        "featureEnvironments": [{"featureName": "checkout", "enabled": True, "variants": []}],
        "featureTags": [{"featureName": "checkout", "tagType": "simple", "tagValue": "red"}],
    },
}


@dataclass
class OldServer:
    """answers: by path, JSON or a function, which can differ from ANSWERS. requests: what it was asked, in order."""

    url: str
    answers: dict[str, Any] = field(default_factory=lambda: dict(ANSWERS))
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def old_server(folder: Path | None = None) -> Iterator[OldServer]:
    """Run such a server. folder: that of a key and a certificate, for HTTPS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.requests.append((self.path, dict(self.headers)))
            answer = server.answers.get(self.path.partition("?")[0], status(404))
            (answer if callable(answer) else status(200, json.dumps(answer)))(self)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        scheme = "http"
        if folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / "certificate", folder / "key")
            http.socket = context.wrap_socket(http.socket, server_side=True)
            scheme = "https"
        http.handle_error = lambda *_: None
        server = OldServer(f"{scheme}://localhost:{http.server_port}")
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
