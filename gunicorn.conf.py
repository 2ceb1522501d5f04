"""How gunicorn serves the application. The settings come from environment variables (README.md)."""

import errno
import gc
import os
import signal
import socket
import sys
import time

from commands import metrics, start
from sql.migrate import DatabaseProblem
from validators.settings import SettingError
from worker import Worker

try:
    # A SIGHUP runs this file again.
    chosen = start.keep_settings()
except SettingError as problem:
    sys.exit(str(problem))

worker_class = Worker
bind = f"[{chosen['HOST']}]:{chosen['PORT']}" if ":" in chosen["HOST"] else f"{chosen['HOST']}:{chosen['PORT']}"
workers = chosen["WEB_CONCURRENCY"]
threads = chosen["THREADS"]
# Well below the 1024 files that a process can usually open. gunicorn accepts no more, and the others wait.
worker_connections = 800
timeout = 60
# Running requests finish first.
graceful_timeout = chosen["STATEMENT_TIMEOUT_SECONDS"] + 2 * chosen["WAIT_SECONDS"]
keepalive = 5
limit_request_line = 8190
# By default, gunicorn believes headers about the path and the scheme from clients on the same machine, such as a proxy.
forwarder_headers = ""
secure_scheme_headers = {}
control_socket_disable = True
errorlog = "-"
loglevel = "warning"


def nworkers_changed(server, _new_value, _old_value):
    """Refuse --preload. Of all hooks, only this one comes before the application is loaded."""
    # Our choice: otherwise a SIGHUP would not change settings, and metrics would count in the master.
    if server.cfg.preload_app:
        sys.exit("Start gunicorn without --preload: the workers have to load the service themselves.")


def refuse_taken_port():
    """Exit if the port cannot be used, before a database is created. A master that takes over from another one has it already."""
    if "GUNICORN_FD" in os.environ or "LISTEN_FDS" in os.environ:
        return
    family = socket.AF_INET6 if ":" in chosen["HOST"] else socket.AF_INET
    # Our choice: the workers of a killed master may hold the port for so many seconds.
    deadline = time.monotonic() + 3
    while True:
        try:
            socket.create_server((chosen["HOST"], chosen["PORT"]), family=family).close()
            return
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(problem.errno) if problem.errno > 0 else "no such name"
                sys.exit(f"Port {chosen['PORT']} of {chosen['HOST']} cannot be served: {reason}. Set HOST or PORT to another one.")
            time.sleep(0.05)


def on_starting(_server):
    """Prepare the database before the workers start. SIGINT and SIGTERM stop a private PostgreSQL too."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    refuse_taken_port()
    try:
        metrics.prepare(chosen)
        start.bring_up(os.environ)
    except (SettingError, DatabaseProblem) as problem:
        print(problem, file=sys.stderr)
        metrics.close()
        start.let_go()
        sys.exit(1)


def when_ready(_server):
    """Print the address, and answer on METRICS_PORT."""
    metrics.serve()
    print(f"Serving at {chosen['BASE_URL']} (Ctrl-C to stop)", file=sys.stderr, flush=True)


def pre_fork(server, worker):
    """Choose where the worker counts for metrics. gc.freeze() keeps memory shared that the collector would otherwise touch."""
    gc.freeze()
    # The default is 700. A body of 450,000 empty lists then takes 0.12 s to parse, during which no other thread runs. Now it takes 0.06 s.
    gc.set_threshold(10_000)
    worker.slot = metrics.free_slot(other.slot for other in server.WORKERS.values())


def post_fork(_server, worker):
    """Count in the new worker."""
    metrics.count_in(worker.slot)


def post_worker_init(worker):
    """Let running requests finish on Ctrl-C, which a terminal sends to the workers too."""
    signal.signal(signal.SIGINT, worker.handle_exit)


def child_exit(_server, worker):
    """Drop the dead worker's gauges, keep its counters."""
    metrics.forget_gauges(worker.slot)


def on_exit(_server):
    """Stop a private PostgreSQL last."""
    metrics.close()
    start.let_go()
