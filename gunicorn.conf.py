"""How the service is served: gunicorn with threads, its settings from the environment like all others."""

import errno
import gc
import os
import signal
import socket
import sys
import time

from gunicorn.http.errors import InvalidResponseHeader, InvalidResponseHeaderName, ParseException
from gunicorn.workers.gthread import ThreadWorker

from blueprints import browser_rules, request_log
from blueprints.metrics import meters_of
from commands import metrics, start
from sql.migrate import DatabaseProblem
from validators import settings
from validators.errors import error_body
from validators.settings import SettingError

try:
    chosen = settings.load(os.environ)
    # Any port: that of the setting may be served already, by the master that loads this file again or hands over to a new one.
    socket.create_server((chosen["HOST"], 0), family=socket.AF_INET6 if ":" in chosen["HOST"] else socket.AF_INET).close()
except SettingError as problem:
    sys.exit(str(problem))
except OSError as problem:
    reason = os.strerror(problem.errno) if problem.errno > 0 else "no such name"
    sys.exit(f"The setting HOST must be an address of this machine: {reason}.")


class Worker(ThreadWorker):
    """A thread worker whose refusals of what is not HTTP have the error body, whose log quotes no request, and who leaves as an orphan."""

    def is_parent_alive(self):
        """Looked at once a second. An orphan answers what it has accepted, and lets go of the port first: the next service waits for it."""
        is_alive = super().is_parent_alive()
        if not is_alive:
            self.set_accept_enabled(False)
            for listener in self.sockets:
                listener.close()
        return is_alive

    # Where it counts for /metrics; see commands/metrics.py.
    slot: int | None = None

    def handle_error(self, req, client, addr, exc):
        """400 for what cannot be parsed; the original would answer in HTML and log the path."""
        known = isinstance(exc, ParseException) and not isinstance(exc, (InvalidResponseHeader, InvalidResponseHeaderName))
        status, reason = (400, "Bad Request") if known else (500, "Internal Server Error")
        name, message = ("ValidationError", "The request is not valid HTTP, or larger than this service accepts.")
        if not known:
            self.log.error("A request failed outside the application: %s", type(exc).__name__)
            name, message = ("InternalError", "Something went wrong here.")
        body, error_id = error_body(name, message)
        request_log.write_unparsed(status, error_id)
        if meters := meters_of(self.wsgi):
            meters.count_unparsed(status)
        headers = {"Connection": "close", "Content-Type": "application/json", "Content-Length": len(body.encode())}
        headers |= browser_rules.of_every_answer(chosen) | browser_rules.USUALLY
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {text}" for name, text in headers.items())]
        answer = "\r\n".join([*lines, "", body]).encode()
        try:
            client.sendall(answer)
        except OSError:
            self.log.debug("The client did not wait for the answer.")


worker_class = Worker
bind = f"[{chosen['HOST']}]:{chosen['PORT']}" if ":" in chosen["HOST"] else f"{chosen['HOST']}:{chosen['PORT']}"
workers = chosen["WEB_CONCURRENCY"]
threads = chosen["THREADS"]
timeout = 60
graceful_timeout = 30
keepalive = 5
limit_request_line = 8190
control_socket_disable = True
accesslog = None  # the service writes its own, without paths
errorlog = "-"
loglevel = "warning"


# Our choice: who starts again what was killed need not wait. Its workers hold the port for so long, at most, in seconds.
ORPHANS_LINGER = 3


def refuse_taken_port():
    """Before a database is made and its secrets are shown. A master that hands over to a new one holds the port on purpose."""
    if "GUNICORN_FD" in os.environ or "LISTEN_FDS" in os.environ:
        return
    family = socket.AF_INET6 if ":" in chosen["HOST"] else socket.AF_INET
    deadline = time.monotonic() + ORPHANS_LINGER
    while True:
        try:
            socket.create_server((chosen["HOST"], chosen["PORT"]), family=family).close()
            return
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(problem.errno)
                sys.exit(f"Port {chosen['PORT']} of {chosen['HOST']} cannot be served: {reason}. Set PORT to another one.")
            time.sleep(0.05)


def on_starting(_server):
    """Bring the database up before any worker starts; one sentence when that cannot be done. Who stops us now stops PostgreSQL too."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    refuse_taken_port()
    try:
        metrics.prepare(chosen)
        start.bring_up(os.environ)
    except (SettingError, DatabaseProblem) as problem:
        print(problem, file=sys.stderr)
        start.let_go()
        sys.exit(1)


def when_ready(server):
    """Say where we are. Ctrl-C means the same as SIGTERM: requests in flight are answered first."""
    print(f"Serving at {chosen['BASE_URL']} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    signal.signal(signal.SIGINT, lambda _signal, frame: server.signal(signal.SIGTERM, frame))


def pre_fork(server, worker):
    """Decide where the worker will count. What the master has is shared for longer if the collector of rubbish does not touch it."""
    gc.freeze()
    worker.slot = metrics.take_slot(chosen, [other.slot for other in server.WORKERS.values()])


def post_fork(_server, worker):
    """Before the worker loads the service."""
    metrics.count_in(chosen, worker.slot)


def post_worker_init(worker):
    """A terminal sends Ctrl-C to the workers too; they finish what they are doing."""
    signal.signal(signal.SIGINT, worker.handle_exit)
    metrics.serve(worker.wsgi)


def child_exit(_server, worker):
    """What the worker held it holds no more; what it counted stays."""
    metrics.free_slot(worker.slot)


def on_exit(_server):
    """PostgreSQL goes last."""
    start.let_go()
