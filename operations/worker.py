"""gunicorn's thread worker, with deadlines for slow clients, JSON errors, and no text of requests in its log.

Written for gunicorn 27 (bounded in setup.cfg). All that we override of it is here, and not documented:

- gthread.TConn, with init(), wait_for_data() and close(): gunicorn would have to read requests without a thread for
  each connection, and with a deadline.
- ThreadWorker.is_parent_alive(), handle_quit(), set_accept_enabled(), handle() and handle_error(): gunicorn would have
  to close its sockets when it stops, take no lock in a signal handler, and let the application build error responses.
- gthread._DEFER, which handle() returns for a connection without a request.
- wsgi.Response.write(): gunicorn would have to send the headers and the body of a response together.
"""

import errno
import math
import select
import time
from contextlib import suppress
from socket import socket
from typing import Any

from gunicorn import util
from gunicorn.http import wsgi
from gunicorn.http.errors import InvalidResponseHeader, InvalidResponseHeaderName, ParseException
from gunicorn.workers import gthread
from werkzeug.exceptions import BadRequest

# Seconds that a client has to send a request.
SEND_SECONDS = 15.0
# Seconds that a client has to read a response, and one more for each MiB.
READ_SECONDS = 15.0
# Seconds that a client has to close the connection after the last response.
LINGER_SECONDS = 2.0
# Milliseconds that a thread waits for the next request on a connection.
NEXT_MS = 2
# Bytes of a body that is copied, so that it can be sent with the headers.
COPIED_BYTES = 1 << 16


class ClientSocket(socket):
    """A socket with a deadline, which handle() sets. A client that is too slow counts as disconnected.

    stream: what the response sets if the socket becomes an event stream (serving/client_streams.py).
    """

    stream: Any = None

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.settimeout(max(self.deadline - time.monotonic(), 0.001))
        with suppress(TimeoutError):
            return super().recv(size, flags)
        raise ConnectionResetError(errno.ECONNRESET, "the client sends too slowly")

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.settimeout(READ_SECONDS + len(data) / (1 << 20))
        with suppress(TimeoutError):
            return super().sendall(data, flags)
        raise ConnectionResetError(errno.ECONNRESET, "the client reads too slowly")


class Connection(gthread.TConn):
    """A connection that occupies no thread before its first byte. The main thread closes it without waiting."""

    def __init__(self, cfg: Any, sock: socket, client: Any, server: Any) -> None:
        super().__init__(cfg, ClientSocket(sock.family, sock.type, sock.proto, sock.detach()), client, server)

    def wait_for_data(self, timeout: float) -> bool:
        return super().wait_for_data(min(timeout, 0.01))

    def has_next_request(self) -> bool:
        """Return whether the client sends its next request within NEXT_MS."""
        # select() does not work with descriptors above 1023.
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(NEXT_MS))

    def close(self, graceful: bool = False) -> None:
        util.close(self.sock)


class Packet(bytearray):
    """Bytes that are sent together."""

    sendall = bytearray.extend


class Response(wsgi.Response):
    """A response that sends its headers with the first part of its body, so that the client wakes up once."""

    def write(self, arg: bytes) -> None:
        if self.headers_sent or len(arg) > COPIED_BYTES:
            super().write(arg)
            return
        client, self.sock = self.sock, Packet()
        super().write(arg)
        packet, self.sock = self.sock, client
        client.sendall(packet)


gthread.TConn = Connection
wsgi.Response = Response


class Worker(gthread.ThreadWorker):
    """The worker class of gunicorn.conf.py. When the master dies, it stops as on SIGTERM and frees the port."""

    def is_parent_alive(self) -> bool:
        self.alive = self.alive and super().is_parent_alive()
        return self.alive

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Finish running requests and end. ThreadWorker's method takes a lock that the interrupted code may hold."""
        super(gthread.ThreadWorker, self).handle_quit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        for listener in () if self.alive else self.sockets:
            listener.close()

    def handle(self, conn: Any) -> Any:
        conn.sock.deadline = time.monotonic() + SEND_SECONDS
        keep_alive = super().handle(conn)
        if keep_alive is gthread._DEFER:
            # If the worker stops before the first byte arrives, ThreadWorker closes a connection without a parser.
            conn.init()
        # To hand the connection to the main thread and back takes as long as a short response. While there is a thread
        # for each connection, no other connection waits for this one.
        while keep_alive is True and self.nr_conns <= self.cfg.threads and conn.has_next_request():
            conn.sock.deadline = time.monotonic() + SEND_SECONDS
            keep_alive = super().handle(conn)
        # With TLS, conn.sock is another class.
        if stream := getattr(conn.sock, "stream", None):
            # gunicorn then closes a socket without a descriptor.
            self.wsgi.extensions["client_streams"].add(stream, socket(fileno=conn.sock.detach()))
            return False
        if not keep_alive:
            conn.sock.deadline = time.monotonic() + LINGER_SECONDS
            # Our choice: read the rest of a refused body, whatever its size. nginx responds 502 if it cannot send the
            # whole body.
            util.close_graceful(conn.sock, max_drain=math.inf)
        return keep_alive

    def handle_error(self, req: Any, client: socket, addr: Any, exc: Exception) -> None:
        """Respond to malformed HTTP with 400 and an error body. ThreadWorker would send HTML and log the path."""
        if isinstance(exc, ParseException) and not isinstance(exc, (InvalidResponseHeader, InvalidResponseHeaderName)):
            exc = BadRequest("The request is not valid HTTP, or its first line or headers are too long.")
        with self.wsgi.test_request_context(method="-") as context, suppress(OSError):
            self.wsgi.preprocess_request()
            response = self.wsgi.process_response(self.wsgi.handle_user_exception(exc))
            response.headers["Connection"] = "close"
            head = f"HTTP/1.1 {response.status}\r\n{response.get_wsgi_headers(context.request.environ)}"
            client.sendall(head.encode() + response.get_data())
