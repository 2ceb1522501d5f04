"""The health check of the container, against servers that respond in different ways."""

import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.support.service import free_port, run


@pytest.mark.parametrize(("host", "address"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("127.0.0.1", "127.0.0.1")])
@pytest.mark.parametrize("status", [200, 503])
def test_only_200_is_healthy(host: str, address: str, status: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(HTTPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

    with Server((address, 0), Handler) as server:
        Thread(target=server.handle_request).start()
        done = run("-m", "operations.health_check", HOST=host, PORT=server.server_port)
    expected = "" if status == 200 else "The server answers /health with 503 instead of 200.\n"
    assert (done.returncode, done.stderr) == (0 if status == 200 else 1, expected)


def test_a_missing_server_is_not_healthy() -> None:
    port = free_port()
    done = run("-m", "operations.health_check", PORT=port)
    assert (done.returncode, done.stderr) == (1, f"The server does not respond on port {port}: Connection refused.\n")
