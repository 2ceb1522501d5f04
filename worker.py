"""gunicorn's worker: each client has a thread, so that a slow one waits alone, and all that was taken is answered before the end."""

import ctypes
import errno
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from socket import SHUT_WR, SOL_SOCKET, socket
from struct import pack
from types import FrameType
from typing import Any

from gunicorn.http.errors import InvalidResponseHeader, InvalidResponseHeaderName, ParseException
from gunicorn.workers.gthread import TConn, ThreadWorker

from blueprints import request_log, stopping
from blueprints.metrics import meters_of
from sql.threads import Threads
from validators.errors import error_body

# What a client sends or takes in a second at least, beyond the time that each has. While more than MOST_KEPT bytes are kept for slow ones,
# it has to be more, and the time is short.
LEAST_RATE = 16 << 10
MOST_KEPT = 64 << 20
HURRY = 1.0
HURRIED_RATE = 1 << 20
# How long a client may take to hang up when it was told that the connection ends, and how much it may still send.
LINGER = 2.0
LAST_BYTES = 64 << 10
# How often somebody who waits for a client looks whether the process stops, in seconds.
LOOK = 0.5


# Of Linux. A program of its packet filter: load the flags of the segment; are those of SYN 0? Then take all of it, else nothing.
SO_ATTACH_FILTER = 26
NO_SYN = [(0x30, 0, 0, 13), (0x54, 0, 0, 2), (0x15, 0, 1, 0), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)]


def let_nobody_connect(listeners: Iterable[Any]) -> None:
    """From now on nobody can connect, while those who are connected can still be accepted.

    Otherwise the kernel connects clients up to the moment in which the last process closes the port, and resets those that nobody accepted.
    """
    program = ctypes.create_string_buffer(b"".join(pack("HBBI", *step) for step in NO_SYN))
    for listener in listeners if sys.platform == "linux" else ():
        with suppress(OSError):
            listener.setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, pack("HP", len(NO_SYN), ctypes.addressof(program)))


class Worker(ThreadWorker):
    """A thread worker whose refusals of what is not HTTP have the error body, whose log quotes no request, and who leaves as an orphan."""

    # CLIENT_TIMEOUT_SECONDS
    patience: float = 15.0
    # What every answer says to browsers.
    headers: Mapping[str, str] = {}
    # Where it counts for /metrics; see commands/metrics.py.
    slot: int | None = None
    wsgi: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept = 0
        self.kept_lock = threading.Lock()

    def get_thread_pool(self) -> ThreadPoolExecutor:
        """A thread for each client; who is worked for is decided by blueprints/turns.py. The original's wait for slow clients too."""
        return Threads(self.cfg.worker_connections)

    def accept(self, listener: Any) -> bool:
        """Whether there was a client."""
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                # Those who are served give theirs back. The original would end the process.
                time.sleep(0.05)
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                raise
            return False
        conn = Connection(self.cfg, Client(self, sock), address, listener.getsockname())
        # Its own thread waits for the first byte.
        conn.data_ready = True
        self.nr_conns += 1
        self.enqueue_req(conn)
        return True

    def set_accept_enabled(self, enabled: bool) -> None:
        """As the original; a worker that stops takes all who are connected by then, and lets nobody connect who would not be answered."""
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            for listener in self.sockets:
                # As many as the kernel keeps. Where others go on accepting, as when the service reloads, there would always be one more.
                for _ in range(self.cfg.backlog + 1):
                    if not self.accept(listener):
                        break
                listener.close()
            self.sockets = []

    def is_parent_alive(self) -> bool:
        """Looked at once a second. An orphan answers what it has accepted, and lets go of the port first: the next service waits for it."""
        is_alive = super().is_parent_alive()
        if not is_alive:
            stopping.begin()
            # Otherwise clients would be told that they may ask again, and asked for ever.
            self.alive = False
            self.set_accept_enabled(False)
        return is_alive

    def handle(self, conn: Any) -> Any:
        """Whether the connection is kept, after one request. Runs in the client's thread."""
        conn.sock.begin()
        keep = super().handle(conn)
        conn.sock.give_up()
        if not keep and not conn.sock.is_too_slow:
            conn.sock.linger()
        return keep

    def handle_request(self, req: Any, conn: Any) -> bool:
        """As the original, and a client whose request came before the worker was stopped is told that the connection ends."""
        # Once for all: what the client was told holds.
        req.should_close = cache(lambda asked=req.should_close: not self.alive or asked())
        return super().handle_request(req, conn)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        stopping.begin()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """End, and wait for slow clients and streams no longer than a stop does."""
        stopping.begin()
        super().handle_quit(sig, frame)

    def handle_error(self, req: Any, client: socket, addr: Any, exc: Exception) -> None:
        """400 for what cannot be parsed; the original would answer in HTML and log the path."""
        known = isinstance(exc, ParseException) and not isinstance(exc, (InvalidResponseHeader, InvalidResponseHeaderName))
        status, reason = (400, "Bad Request") if known else (500, "Internal Server Error")
        name, message = ("ValidationError", "The request is not valid HTTP, or larger than this service accepts.")
        if not known:
            self.log.error("A request failed outside the application: %s", type(exc).__name__)
            name, message = ("InternalError", "Something went wrong here.")
        body, error_id = error_body(name, message)
        request_log.write_unparsed(status, error_id, None if known else exc)
        if self.wsgi and (meters := meters_of(self.wsgi)):
            meters.count_unparsed(status)
        headers = {"Connection": "close", "Content-Type": "application/json", "Content-Length": len(body.encode()), **self.headers}
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {text}" for name, text in headers.items())]
        answer = "\r\n".join([*lines, "", body]).encode()
        try:
            client.sendall(answer)
        except OSError:
            self.log.debug("The client did not wait for the answer.")


class Connection(TConn):
    """A connection whose end nobody waits for in the main thread."""

    def close(self, graceful: bool = False) -> None:
        """Close it. The original waits two seconds for the client, and everybody with it."""
        super().close()


class Client(socket):
    """The socket of a client. One that is too slow is for gunicorn one that has gone: ConnectionResetError."""

    def __init__(self, worker: Worker, sock: socket) -> None:
        super().__init__(sock.family, sock.type, sock.proto, sock.detach())
        self._worker = worker
        self._received = 0
        self.is_too_slow = False
        self.begin()

    def begin(self, seconds: float | None = None) -> None:
        """The client sends a request from now on, or for so many seconds what nobody reads."""
        self._keep(-self._received)
        self._received = 0
        self._began = time.monotonic()
        self._seconds = seconds

    def recv(self, size: int, flags: int = 0) -> bytes:
        """What has come, as soon as something has."""
        while True:
            self._wait(self._began, self._received, self._seconds)
            with suppress(TimeoutError):
                data = super().recv(size, flags)
                self._received += len(data)
                self._keep(len(data))
                return data

    def sendall(self, data: bytes, flags: int = 0) -> None:
        """Send all of it."""
        began, rest = time.monotonic(), memoryview(data)
        size = left = len(rest)
        kept = 0
        try:
            while left:
                self._wait(began, size)
                with suppress(TimeoutError):
                    left -= super().send(rest[size - left :], flags)
                    self._keep(left - kept)
                    kept = left
        finally:
            self._keep(-kept)

    def linger(self) -> None:
        """Close it when the client has: who still sends would lose the end of the answer otherwise."""
        with suppress(OSError):
            self.shutdown(SHUT_WR)
            self.begin(LINGER)
            while self._received < LAST_BYTES and self.recv(4096):
                pass
        self.give_up()
        self.close()

    def give_up(self) -> None:
        """Keep nothing of what has come from this client."""
        self._keep(-self._received)
        self._received = 0

    def _wait(self, began: float, size: int, seconds: float | None = None) -> None:
        """Have the next operation wait for a while; ConnectionResetError when so many bytes should not have taken as long."""
        worker, now = self._worker, time.monotonic()
        patience, rate = (HURRY, HURRIED_RATE) if worker.kept > MOST_KEPT else (worker.patience, LEAST_RATE)
        until = min(began + (seconds or patience) + size / rate, max(began, stopping.since()) + stopping.PATIENCE)
        if now >= until:
            self.is_too_slow = True
            raise ConnectionResetError(errno.ECONNRESET, "the client is too slow")
        self.settimeout(min(until - now, LOOK))

    def _keep(self, size: int) -> None:
        """Count the bytes that are kept for clients in the whole process."""
        if size:
            with self._worker.kept_lock:
                self._worker.kept += size
