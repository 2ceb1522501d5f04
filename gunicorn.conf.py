"""How gunicorn serves the application. The settings come from environment variables (docs/reference/settings.md)."""

import ctypes
import errno
import gc
import os
import queue
import signal
import socket
import sys
import time
from contextlib import suppress

from serving import metrics_files, start
from serving.settings import SettingError
from serving.worker import Worker
from sql.database.migrate import DatabaseProblem

try:
    # SIGHUP runs this file again.
    chosen = start.reload_settings()
except SettingError as error:
    sys.exit(str(error))

worker_class = Worker
bind = f"[{chosen['HOST']}]:{chosen['PORT']}" if ":" in chosen["HOST"] else f"{chosen['HOST']}:{chosen['PORT']}"
workers = chosen["WEB_CONCURRENCY"]
threads = chosen["THREADS"]
# Well below 1024, the usual limit of open files. Further connections wait until one closes.
worker_connections = 800
timeout = 60
# Running requests finish first.
graceful_timeout = chosen["STATEMENT_TIMEOUT_SECONDS"] + 2 * chosen["WAIT_SECONDS"]
keepalive = 5
limit_request_line = 8190
# By default, gunicorn trusts headers about the path and the scheme if the client is on the same machine. Behind a proxy
# on the same machine, all clients seem to be.
forwarder_headers = ""
secure_scheme_headers = {}
control_socket_disable = True
errorlog = "-"
loglevel = "warning"


def nworkers_changed(server, _new_value, _old_value):
    """Refuse --preload. Only this hook runs before the application is loaded."""
    # Our choice: with --preload, a SIGHUP would not change settings, and the metrics library would count in the master.
    if server.cfg.preload_app:
        sys.exit("Start gunicorn without --preload: the workers have to load the service themselves.")


def refuse_taken_port():
    """Exit if the port cannot be used, before a database is created. systemd can pass on an open port."""
    # Our choice: SIGUSR2 ends here, and the old master continues. After a SIGHUP, a second master would not prepare the
    # database, nor keep the embedded PostgreSQL running.
    if "LISTEN_FDS" in os.environ:
        return
    family = socket.AF_INET6 if ":" in chosen["HOST"] else socket.AF_INET
    # Our choice: the workers of a killed master may hold the port for some seconds.
    deadline = time.monotonic() + 3
    while True:
        try:
            socket.create_server((chosen["HOST"], chosen["PORT"]), family=family).close()
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(error.errno) if error.errno > 0 else "Unknown host name"
                sys.exit(f"Cannot listen on {bind}: {reason}. Set HOST or PORT to another value.")
            time.sleep(0.05)


def on_starting(_server):
    """Prepare the database before the workers start. SIGINT and SIGTERM also stop the embedded PostgreSQL."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    refuse_taken_port()
    try:
        metrics_files.prepare(chosen)
        start.prepare_database_once(os.environ)
    except (SettingError, DatabaseProblem) as error:
        print(error, file=sys.stderr)
        metrics_files.close()
        start.release_servers()
        sys.exit(1)


def when_ready(_server):
    """Print and keep the address."""
    start.keep_address(chosen["BASE_URL"])
    print(f"Serving at {chosen['BASE_URL']} (Ctrl-C to stop)", file=sys.stderr, flush=True)


def pre_fork(server, worker):
    """Assign the worker a slot for its metrics."""
    # Otherwise the garbage collector would touch the memory that the workers share with the master.
    gc.freeze()
    # With the default of 700, a body of 450,000 empty lists takes 0.12 s to parse, and no other thread runs during this
    # time. With 10,000 it takes 0.06 s.
    gc.set_threshold(10_000)
    worker.slot = metrics_files.free_slot(other.slot for other in server.WORKERS.values())


# Parameters of mallopt() in glibc.
M_TRIM_THRESHOLD = -1
M_ARENA_MAX = -8


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def post_fork(server, worker):
    """Begin to write metrics in the new worker. End it if it is to stop already."""
    # Until the worker has signal handlers of its own, it would put a signal into its copy of the master's queue, and
    # the master would wait for it until graceful_timeout.
    for number in STOP_SIGNALS:
        signal.signal(number, lambda _number, _frame: sys.exit(0))
    with suppress(queue.Empty):
        while True:
            if server.SIG_QUEUE.get_nowait() in STOP_SIGNALS:
                sys.exit(0)
    # By default, glibc keeps freed memory for each thread. With 10,000 flags, that made a worker twice as large. Other
    # C libraries have no mallopt().
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_TRIM_THRESHOLD, 128 * 1024)
    metrics_files.count_in(worker.slot)


def post_worker_init(worker):
    """Finish running requests on Ctrl-C, which a terminal sends to the workers too."""
    signal.signal(signal.SIGINT, worker.handle_exit)


def worker_exit(_server, _worker):
    """Ignore SIGQUIT, which the master sends on Ctrl-C. It would kill a worker that has almost ended."""
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)


def child_exit(_server, worker):
    """Drop the dead worker's gauges, keep its counters."""
    metrics_files.forget_gauges(worker.slot)


def on_exit(_server):
    """Stop the embedded PostgreSQL last."""
    metrics_files.close()
    start.release_servers()
