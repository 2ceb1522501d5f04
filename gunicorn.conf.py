"""How the service is served: gunicorn with threads, its settings from the environment like all others."""

import errno
import gc
import os
import resource
import signal
import socket
import sys
import time

from blueprints import browser_rules, stopping
from commands import metrics, start
from sql.migrate import DatabaseProblem
from validators import settings
from validators.settings import SettingError
from worker import Worker, let_nobody_connect


def choose():
    """The settings; SystemExit with a sentence when one of them makes no sense."""
    try:
        found = settings.load(os.environ)
        # Any port: that of the setting may be served already, by the master that loads this file again or hands over to a new one.
        socket.create_server((found["HOST"], 0), family=socket.AF_INET6 if ":" in found["HOST"] else socket.AF_INET).close()
    except SettingError as problem:
        sys.exit(str(problem))
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno > 0 else "no such name"
        sys.exit(f"The setting HOST must be an address of this machine: {reason}.")
    return found


chosen = choose()
Worker.patience = chosen["CLIENT_TIMEOUT_SECONDS"]
Worker.headers = browser_rules.of_every_answer(chosen) | browser_rules.USUALLY
worker_class = Worker
bind = f"[{chosen['HOST']}]:{chosen['PORT']}" if ":" in chosen["HOST"] else f"{chosen['HOST']}:{chosen['PORT']}"
workers = chosen["WEB_CONCURRENCY"]
threads = chosen["THREADS"]
# Those who are served, and those who wait, send or read slowly, or keep their connection for later.
worker_connections = chosen["THREADS"] + chosen["CLIENT_CONNECTIONS"]
backlog = 2048
timeout = 60
# What was begun is answered: one statement, what it waits for before, and the client after it.
graceful_timeout = chosen["STATEMENT_TIMEOUT_SECONDS"] + 2 * chosen["WAIT_SECONDS"] + 2 * round(stopping.PATIENCE)
keepalive = 5
limit_request_line = 8190
# By default, who connects from this machine is believed what his headers say of the path and the scheme: a proxy, and so its clients.
forwarder_headers = ""
secure_scheme_headers = {}
sendfile = False  # it would not look at the client's time
control_socket_disable = True
accesslog = None  # the service writes its own, without paths
errorlog = "-"
loglevel = "warning"


# Our choice: who starts again what was killed need not wait. Its workers hold the port for so long, at most, in seconds.
ORPHANS_LINGER = 3
# A file for each client, for those whom the kernel keeps and a stop takes on, and some for the database and all the rest.
others = chosen["DATABASE_POOL_SIZE"] + 100
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
files = worker_connections + backlog + others
if hard != resource.RLIM_INFINITY:
    files = min(files, hard)
if soft != resource.RLIM_INFINITY and soft < files:
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
if files - others < worker_connections:
    # Our choice: otherwise clients who send nothing could take the files that connections to the database need.
    worker_connections = max(files - others, chosen["THREADS"] + 1)
    print(
        f"This machine lets a process open {files} files: there are at most {worker_connections} connections of clients to each worker.",
        file=sys.stderr,
        flush=True,
    )


def nworkers_changed(server, _new_value, _old_value):
    """The first hook there is, and the only one before --preload would load the service."""
    # Our choice: so loaded, it would make the database before the port is known to be free, and no reload would change a setting.
    if server.cfg.preload_app:
        sys.exit("The service cannot be loaded before its worker processes are made: start gunicorn without --preload.")


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
    metrics.serve()
    print(f"Serving at {chosen['BASE_URL']} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    signal.signal(signal.SIGINT, lambda _signal, frame: server.signal(signal.SIGTERM, frame))
    stop = server.stop

    def stop_for_good(graceful=True):
        """The original, and nobody connects any more; not where the port lives on, with a new master or with systemd."""
        if server.reexec_pid == server.master_pid == 0 and not server.systemd:
            let_nobody_connect(server.LISTENERS)
        stop(graceful)

    server.stop = stop_for_good
    reload = server.reload

    def reload_if_possible():
        """The original, unless a setting that comes from a file makes no sense by now."""
        # Our choice: the original would end the service then.
        try:
            choose()
        except SystemExit as problem:
            print(f"{problem} Nothing was reloaded.", file=sys.stderr, flush=True)
        else:
            reload()

    server.reload = reload_if_possible


def pre_fork(server, worker):
    """Decide where the worker will count. What the master has is shared for longer if the collector of rubbish does not touch it."""
    gc.freeze()
    worker.slot = metrics.free_slot(other.slot for other in server.WORKERS.values())


def post_fork(_server, worker):
    """Before the worker loads the service."""
    metrics.count_in(worker.slot)


def post_worker_init(worker):
    """A terminal sends Ctrl-C to the workers too; they finish what they are doing."""
    signal.signal(signal.SIGINT, worker.handle_exit)


def child_exit(_server, worker):
    """Drop the dead worker's gauges, keep its counters."""
    metrics.forget_gauges(worker.slot)


def on_exit(_server):
    """PostgreSQL goes last."""
    metrics.close()
    start.let_go()
