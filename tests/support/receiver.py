"""A server that receives the messages of integrations, in threads of the test process."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.support import certificate
from tests.support.world import Caller


@dataclass
class Received:
    """A request: its path, headers and body."""

    path: str
    headers: dict[str, str]
    body: bytes


# What a receiver does with a request: write a response, or not.
Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Answer:
    """Answer with a status without a body. Names of headers have _ for -."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, text in headers.items():
            handler.send_header(name.replace("_", "-"), text)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@dataclass
class Receiver:
    """Answers with the next of answers, and with 200 when there are none left."""

    url: str = ""
    received: list[Received] = field(default_factory=list[Received])
    answers: list[Answer] = field(default_factory=list[Answer])

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of all requests."""
        return [request.body for request in self.received]


@contextmanager
def receiving(folder: Path | None = None) -> Iterator[Receiver]:
    """Run a receiver on 127.0.0.1, or on localhost with TLS and a new certificate in this folder."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, dict(self.headers), body))
            (receiver.answers.pop(0) if receiver.answers else status(200))(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    if folder is not None:
        certificate.certify(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        receiver.url = f"https://localhost:{server.server_port}/hook"
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def log(caller: Caller, integration: dict[str, Any]) -> list[dict[str, Any]]:
    """The deliveries of an integration, newest first."""
    response = caller.get(f"/api/admin/addons/{integration['id']}/events")
    assert response.status_code == 200, response.text
    return json.loads(response.text)["integrationEvents"]
