"""The port of its own for metrics: taken once by the master, answered by a thread of each worker, whatever its other threads wait for."""

import errno
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

from blueprints.metrics import CONTENT_TYPE, knows_token
from validators.errors import error_body, error_name

# Seconds, and bytes: a request that takes longer or is larger is not one for metrics.
PATIENCE, MOST = 5.0, 8192
# Connections of each worker at once. One more, and the oldest is hung up on: who asks for metrics has them long before so many others come.
AT_ONCE = 64
END = b"\r\n\r\n"
ALWAYS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Connection": "close"}
NOT_HTTP = "The request is not valid HTTP, or larger than this service accepts."
# The workers of a master that was killed hold the port until they notice, in seconds.
ORPHANS_LINGER = 3.0


def listen(host: str, port: int) -> socket.socket:
    """The socket for it. OSError: it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # A master that hands over to a new one (SIGUSR2) listens until it ends: both have to allow that the other one does.
    if "GUNICORN_FD" not in os.environ:
        await_free_port(host, port, family)
    return socket.create_server((host, port), family=family, reuse_port=True)


def await_free_port(host: str, port: int, family: socket.AddressFamily) -> None:
    """Return when nobody else has the port. OSError: somebody keeps it, or it cannot be had."""
    deadline = time.monotonic() + ORPHANS_LINGER
    while True:
        try:
            return socket.create_server((host, port), family=family).close()
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def serve(listener: socket.socket, text: Callable[[], bytes], token: str | None) -> None:
    """Answer on that socket from now on, in threads that end with the process. text: the metrics; token: who asks has to know it."""
    threading.Thread(target=accept, args=(listener, text, token), name="metrics", daemon=True).start()


def accept(listener: socket.socket, text: Callable[[], bytes], token: str | None) -> None:
    """Answer each connection in a thread of its own, so that a slow client holds nobody up."""
    newest: deque[socket.socket] = deque()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(response(read_head(connection), text, token))
            connection.shutdown(socket.SHUT_WR)

    # Looked at once a second: an orphan lets go of the port, because the next service waits for it.
    master = os.getppid()
    listener.settimeout(1.0)
    while os.getppid() == master:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        except OSError:
            # Too many open files, and the like: they pass.
            time.sleep(0.1)
            continue
        newest.append(connection)
        if len(newest) > AT_ONCE:
            # One that has had its answer is closed already.
            with suppress(OSError):
                newest.popleft().shutdown(socket.SHUT_RDWR)
        try:
            threading.Thread(target=answer, args=(connection,), name="metrics", daemon=True).start()
        except RuntimeError:
            # Too many threads: that passes too.
            connection.close()
    listener.close()


def read_head(connection: socket.socket) -> bytes:
    """The request as far as its headers; what has come of it when it is too slow, too large or cut off."""
    deadline, head = time.monotonic() + PATIENCE, b""
    while END not in head and len(head) < MOST:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(MOST)
        if not part:
            break
        head += part
    connection.settimeout(PATIENCE)
    return head


def response(head: bytes, text: Callable[[], bytes], token: str | None) -> bytes:
    """The answer to a request, byte for byte, after which the connection is closed."""
    line, *lines = head.partition(END)[0].decode("latin-1").split("\r\n")
    method, _, rest = line.partition(" ")
    headers = {name.lower(): value.strip(" \t") for name, _, value in (line.partition(":") for line in lines)}
    status, content_type, body = decide(method, rest, headers, text, token) if END in head else refusal(400, NOT_HTTP)
    told = {"Content-Type": content_type, "Content-Length": len(body), **ALWAYS} | ({"Allow": "GET, HEAD"} if status == 405 else {})
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
    answer = first + "".join(f"{name}: {value}\r\n" for name, value in told.items()) + "\r\n"
    return answer.encode() + (b"" if method == "HEAD" else body)


def decide(method: str, rest: str, headers: Mapping[str, str], text: Callable[[], bytes], token: str | None) -> tuple[int, str, bytes]:
    """The status, media type and body: there is nothing but GET /metrics. rest: what stands behind the method."""
    address, _, version = rest.partition(" ")
    if not version.startswith("HTTP/1."):
        return refusal(400, NOT_HTTP)
    if address.partition("?")[0] != "/metrics":
        return refusal(404, "There is nothing at this address.")
    if method not in ("GET", "HEAD"):
        return refusal(405, "This address does not take that method.")
    if token is not None and not knows_token(headers.get("authorization", ""), token):
        return refusal(401, "The token of METRICS_TOKEN in the header Authorization: Bearer … is required.")
    return 200, CONTENT_TYPE, text()


def refusal(status: int, message: str) -> tuple[int, str, bytes]:
    """The same with the one error body."""
    return status, "application/json", error_body(error_name(status), message)[0].encode()
