"""Start the service: settings, embedded PostgreSQL, schema, first administrator, gunicorn."""

import os
import runpy
import signal
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from operations import bootstrap
from operations.misspelt_settings import misspelt
from operations.postgres import embedded
from serving import settings
from serving.settings import PROJECT, SettingError

# Environment variable that tells child processes that the database is ready.
DATABASE_READY = "FLAGS_DATABASE_IS_UP"

_servers: list[embedded.Server] = []

# The last valid settings, by name. gunicorn's master reads them, and its workers inherit them.
last_settings: dict[str, Any] = {}

# The file in DATA_DIR with the address of the service.
ADDRESS = "address"


def reload_settings() -> dict[str, Any]:
    """Read the settings and return them. If they have become invalid, print the error and return the previous ones.

    Raises SettingError if the settings are invalid at the first call.
    """
    for message in () if last_settings else misspelt(os.environ):
        print(message, file=sys.stderr, flush=True)
    try:
        last_settings.update(settings.load(os.environ))
    except SettingError as error:
        if not last_settings:
            raise
        print(f"{error} The previous settings stay in effect.", file=sys.stderr, flush=True)
    return last_settings


def load_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings for create_app(). In a worker, they are those of the master. Raises SettingError."""
    return dict(last_settings) or settings.load(environ)


def prepare_database_once(environ: MutableMapping[str, str]) -> None:
    """Prepare the database, once for this process and its children. Raises SettingError and DatabaseProblem."""
    if DATABASE_READY in environ:
        return
    config = settings.load(environ)
    first_start = bootstrap.prepare_database(find_database(config, environ), config)
    if first_start:
        print(bootstrap.announcement(first_start, config["BASE_URL"]), file=sys.stderr, flush=True)
    environ[DATABASE_READY] = "1"


def find_database(config: Mapping[str, Any], environ: MutableMapping[str, str]) -> str:
    """Return the URL of the database. Without DATABASE_URL, start the embedded one, and set it in environ."""
    if config["DATABASE_URL"]:
        return config["DATABASE_URL"]
    server = embedded.Server(Path(config["DATA_DIR"]))
    _servers.append(server)
    environ["DATABASE_URL"] = server.ensure()
    if last_settings:
        last_settings["DATABASE_URL"] = environ["DATABASE_URL"]
    return environ["DATABASE_URL"]


def keep_address(address: str) -> None:
    """Write the address of the service to its data folder, for commands. With DATABASE_URL, do nothing."""
    for server in _servers:
        # PostgreSQL's user can own the folder, so root must not follow a link in it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with suppress(OSError), os.fdopen(os.open(server.folder / ADDRESS, flags, 0o600), "w") as file:
            file.write(f"{address}\n")


def kept_address(config: Mapping[str, Any]) -> str | None:
    """Return what keep_address() has written, or None."""
    try:
        return (Path(config["DATA_DIR"]) / ADDRESS).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def revive() -> None:
    """Restart the embedded PostgreSQL if it has ended. Raises DatabaseProblem if that fails."""
    for server in _servers:
        server.revive()


def release_servers() -> None:
    """Release the embedded PostgreSQL. The last process to release it stops it."""
    while _servers:
        _servers.pop().release()


def serve() -> None:
    """Run gunicorn in this process, for `flags serve`."""
    # Until gunicorn.conf.py handles Ctrl-C, it ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        workers = settings.load(os.environ)["WEB_CONCURRENCY"]
    except SettingError as error:
        sys.exit("\n".join([*misspelt(os.environ), str(error)]))
    # gunicorn itself also reads WEB_CONCURRENCY, and prints a traceback if it is not a number.
    os.environ["WEB_CONCURRENCY"] = str(workers)
    os.chdir(PROJECT)
    sys.argv[1:] = ["wsgi:app"]
    runpy.run_module("gunicorn", run_name="__main__", alter_sys=True)
