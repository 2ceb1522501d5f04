"""gunicorn's hooks: what the main process and the workers do when they start, stop and are replaced."""

import ctypes
import errno
import gc
import os
import queue
import resource
import signal
import socket
import sys
import time
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from operations import metrics_files, start
from operations.postgres.migrate import DatabaseProblem
from serving import client_streams, clock, deliveries, mail
from serving.settings import SettingError

# The settings of the master. gunicorn.conf.py fills them at the start and at each SIGHUP.
settings = start.last_settings

# The threads of a worker, and what stops them.
threads: dict[str, Thread] = {}
stopping = Event()

# Parameters of mallopt() in glibc.
M_TRIM_THRESHOLD = -1
M_ARENA_MAX = -8
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def nworkers_changed(server: Any, _new_value: Any, _old_value: Any) -> None:
    """Refuse --preload. Only this hook runs before the application is loaded."""
    # Our choice: with --preload, a SIGHUP would not change settings, and the metrics library would count in the master.
    if server.cfg.preload_app:
        sys.exit("Start gunicorn without --preload: the workers have to load the service themselves.")


def address() -> str:
    """Return the address to listen on, for gunicorn."""
    host = f"[{settings['HOST']}]" if ":" in settings["HOST"] else settings["HOST"]
    return f"{host}:{settings['PORT']}"


def refuse_taken_port() -> None:
    """Exit if the port cannot be used, before a database is created. systemd can pass on an open port."""
    # Our choice: SIGUSR2 ends here, and the old master continues. After a SIGHUP, a second master would not prepare the
    # database, nor keep the embedded PostgreSQL running.
    if "LISTEN_FDS" in os.environ:
        return
    family = socket.AF_INET6 if ":" in settings["HOST"] else socket.AF_INET
    # Our choice: the workers of a killed master may hold the port for some seconds.
    deadline = time.monotonic() + 3
    while True:
        try:
            socket.create_server((settings["HOST"], settings["PORT"]), family=family).close()
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "Unknown host name"
                sys.exit(f"Cannot listen on {address()}: {reason}. Set HOST or PORT to another value.")
            time.sleep(0.05)


def files_needed() -> int:
    """Return how many files a worker opens that has all its streams."""
    return settings["CLIENT_STREAMS"] + client_streams.DESCRIPTORS + settings["DATABASE_POOL_SIZE"]


def raise_file_limit() -> None:
    """Let each worker open enough files for its streams."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files_needed():
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files_needed(), hard), hard))


def when_ready(_server: Any) -> None:
    """Print and keep the address. Warn if the workers cannot open enough files for their streams."""
    start.keep_address(settings["BASE_URL"])
    places, (_, files) = client_streams.places(settings), resource.getrlimit(resource.RLIMIT_NOFILE)
    if places < settings["CLIENT_STREAMS"]:
        print(
            f"Each worker can have {places} event streams instead of CLIENT_STREAMS={settings['CLIENT_STREAMS']}, "
            f"because it can open only {files} files. Raise the limit of open files to {files_needed()}.",
            file=sys.stderr,
        )
    print(f"Serving at {settings['BASE_URL']} (Ctrl-C to stop)", file=sys.stderr, flush=True)


def on_starting(_server: Any) -> None:
    """Prepare the database before the workers start. SIGINT and SIGTERM also stop the embedded PostgreSQL."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    refuse_taken_port()
    try:
        metrics_files.prepare(settings)
        start.prepare_database_once(os.environ)
    except (SettingError, DatabaseProblem) as error:
        print(error, file=sys.stderr)
        metrics_files.close()
        start.release_servers()
        sys.exit(1)


def pre_fork(server: Any, worker: Any) -> None:
    """Assign the worker a slot for its metrics."""
    # Otherwise the garbage collector would touch the memory that the workers share with the master.
    gc.freeze()
    # With the default of 700, a body of 450,000 empty lists takes 0.12 s to parse, and no other thread runs during this
    # time. With 10,000 it takes 0.06 s.
    gc.set_threshold(10_000)
    worker.slot = metrics_files.free_slot(other.slot for other in server.WORKERS.values())


def post_fork(server: Any, worker: Any) -> None:
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


def post_worker_init(worker: Any) -> None:
    """Finish running requests on Ctrl-C, which a terminal sends to the workers too. Start the other threads."""
    signal.signal(signal.SIGINT, worker.handle_exit)
    usage = worker.wsgi.extensions["ofrep_usage"]
    jobs = {"ofrep-usage": (usage.write, 10), "clock": (clock.run_jobs, 30), "mail": (mail.send_next, 0)}
    jobs |= {"deliveries": (deliveries.run_once, 1), "retention": (deliveries.remove_old, 3600)}
    jobs["change-requests"] = (clock.keep_schedules, 10)
    for name, (act, pause) in jobs.items():
        args = (worker.wsgi, act, pause, stopping)
        threads[name] = Thread(target=clock.repeat, args=args, name=name, daemon=True)
        threads[name].start()


def worker_exit(_server: Any, worker: Any) -> None:
    """Ignore SIGQUIT, which the master sends on Ctrl-C. End the streams, and write the rest of the usage of OFREP.

    Otherwise SIGQUIT kills a worker that has almost ended, and the master logs a warning.
    """
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    # A worker that ends before it is ready has none.
    if worker.booted:
        worker.wsgi.extensions["client_streams"].close()
        # The running attempt ends, so that it is not repeated.
        stopping.set()
        threads["deliveries"].join(deliveries.STOP)
        with worker.wsgi.app_context():
            worker.wsgi.extensions["ofrep_usage"].write()


def child_exit(_server: Any, worker: Any) -> None:
    """Drop the dead worker's gauges, keep its counters."""
    metrics_files.forget_gauges(worker.slot)


def on_exit(_server: Any) -> None:
    """Stop the embedded PostgreSQL last."""
    metrics_files.close()
    start.release_servers()
