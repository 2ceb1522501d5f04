"""Metrics in gunicorn's hooks: the folder of the workers' metrics, and METRICS_PORT (docs/reference/metrics.md).

Each worker has a slot, a number in the names of its metrics files. After a worker has ended, the next one gets its slot
and continues its files. So counters never decrease, and reloads do not add files.
"""

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

from serving.errors import error_body, error_name
from serving.metrics_endpoint import CONTENT_TYPE, are_enabled, has_token
from serving.settings import SettingError

PREFIX = "flags-metrics"
CLIENT_TIMEOUT = 5  # seconds

# In the master: the folder of the workers' metrics, and the server of METRICS_PORT.
_folder: str | None = None
_server: WSGIServer | None = None


def prepare(config: Mapping[str, Any]) -> None:
    """Create the folder and bind METRICS_PORT, in the master. Raises SettingError if that fails."""
    global _folder
    if not are_enabled(config):
        return
    os.environ["FLAGS_METRICS_SINCE"] = str(time.time())
    try:
        _folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = create_folder()
    except OSError as error:
        raise SettingError(f"The folder for metrics cannot be created: {os.strerror(error.errno or 0)}.") from None
    if config["METRICS_PORT"] is not None:
        bind(config)


def create_folder() -> str:
    """Create the folder of this master, and remove those of masters that were killed."""
    # In memory, so that counting never waits for a disk.
    place = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # noqa: S108
    for old in place.glob(f"{PREFIX}-{os.geteuid()}-*"):
        if not Path("/proc", old.name.split("-")[3]).exists():
            shutil.rmtree(old, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{PREFIX}-{os.geteuid()}-{os.getpid()}-", dir=place)


def bind(config: Mapping[str, Any]) -> None:
    """Bind METRICS_PORT, for serve(). Raises SettingError if that fails."""
    # Imported after the folder has its name: the library decides at its import whether to count in files.
    from prometheus_client import generate_latest
    from prometheus_client.exposition import ThreadingWSGIServer, _SilentHandler

    from serving.metrics import shared_registry

    class Server(ThreadingWSGIServer):
        """Serves each client in its own thread, and logs no traceback when a client disconnects."""

        request_queue_size = 128
        address_family = socket.AF_INET6 if ":" in config["METRICS_HOST"] else socket.AF_INET

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore the error. The default prints a traceback."""

    class Handler(_SilentHandler):
        """Disconnects silent clients."""

        timeout = CLIENT_TIMEOUT

    global _server
    registry = shared_registry(config)
    application = metrics_application(lambda: generate_latest(registry), config)
    host, port = config["METRICS_HOST"], config["METRICS_PORT"]
    try:
        _server = make_server(host, port, application, Server, handler_class=Handler)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "Unknown host name"
        advice = "Set METRICS_HOST or METRICS_PORT to another value."
        raise SettingError(f"Cannot listen on {host}:{port}: {reason}. {advice}") from None


def metrics_application(text: Callable[[], bytes], config: Mapping[str, Any]) -> Callable[..., list[bytes]]:
    """Return a WSGI application that serves GET /metrics only. text: returns the metrics."""

    def application(environ: Mapping[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        # SIGHUP can change the token.
        token = config["METRICS_TOKEN"]
        status, message = 200, ""
        if environ["PATH_INFO"] != "/metrics":
            status, message = 404, "Not found. The metrics are at /metrics."
        elif environ["REQUEST_METHOD"] != "GET":
            status, message = 405, "Method not allowed. Use GET."
        elif token is not None and not has_token(environ.get("HTTP_AUTHORIZATION", ""), token):
            status, message = 401, "The header Authorization: Bearer <METRICS_TOKEN> is required."
        body = text() if status == 200 else error_body(error_name(status), message)[0].encode()
        headers = [
            ("Content-Type", CONTENT_TYPE if status == 200 else "application/json"),
            ("Cache-Control", "no-store"),
        ]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers + ([("Allow", "GET")] if status == 405 else []))
        return [body]

    return application


def serve() -> None:
    """Serve METRICS_PORT in a thread of the master, which answers even while all workers are busy."""
    if _server is not None:
        threading.Thread(target=_server.serve_forever, name="metrics", daemon=True).start()


def free_slot(taken: Iterable[int | None]) -> int:
    """Return the first slot that no living worker uses."""
    used = set(taken)
    return next(slot for slot in range(len(used) + 1) if slot not in used)


def count_in(slot: int) -> None:
    """Make this worker write its metrics to the files of a slot."""
    if _server is not None:
        # Otherwise an orphaned worker would keep the master's port open.
        _server.socket.close()
    if _folder is not None:
        from prometheus_client import values

        values.ValueClass = values.MultiProcessValue(lambda: slot)


def forget_gauges(slot: int) -> None:
    """Remove the gauges of a worker that has ended, in the master.

    Its counters stay for the next worker of the slot.
    """
    if _folder is not None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(slot)


def close() -> None:
    """Remove the folder when the master ends."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
