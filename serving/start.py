"""What every start of the service does before it serves: settings, PostgreSQL, schema, first administrator."""

import os
import runpy
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from rules import bootstrap
from serving import settings
from serving.settings import SettingError
from sql.database import embedded

# Set by the process that has brought the database up, for the processes that it starts.
DONE = "FLAGS_DATABASE_IS_UP"

_servers: list[embedded.Server] = []

# The last valid settings that gunicorn's master has read. Its workers inherit them.
kept: dict[str, Any] = {}


def keep_settings() -> dict[str, Any]:
    """Return the settings, read anew. If they are invalid now, log that, and return the last valid ones. SettingError: there are none."""
    try:
        found = settings.load(os.environ)
        if kept.get("DATABASE_URL") and not found["DATABASE_URL"]:
            raise SettingError("The setting DATABASE_URL is missing.")
        kept.update(found)
    except SettingError as problem:
        if not kept:
            raise
        print(f"{problem} The service goes on with its previous settings.", file=sys.stderr, flush=True)
    return kept


def bring_up(environ: MutableMapping[str, str]) -> None:
    """Make the database fit to be served, once for this process and its children. SettingError, DatabaseProblem: it cannot be done."""
    if DONE in environ:
        return
    config = settings.load(environ)
    made = bootstrap.prepare_database(find_database(environ), config)
    if made:
        print(bootstrap.announcement(made, config["BASE_URL"]), file=sys.stderr, flush=True)
    environ[DONE] = "1"


def find_database(environ: MutableMapping[str, str]) -> str:
    """The address of the database, which is put into the environ: that of the settings, else the private one, started if need be."""
    config = settings.load(environ)
    if config["DATABASE_URL"]:
        return config["DATABASE_URL"]
    server = embedded.Server(Path(config["DATA_DIR"]))
    _servers.append(server)
    # Its file says nothing, and only one of the two can be given.
    environ.pop("DATABASE_URL_FILE", None)
    environ["DATABASE_URL"] = server.ensure()
    if kept:
        kept["DATABASE_URL"] = environ["DATABASE_URL"]
    return environ["DATABASE_URL"]


def revive() -> None:
    """Start the private PostgreSQL anew if it has ended, for a process that uses it or a child of one. DatabaseProblem: not now."""
    for server in _servers:
        server.revive()


def let_go() -> None:
    """Let go of the private PostgreSQL, if this process has one; the last to do so stops it."""
    while _servers:
        _servers.pop().release()


def serve() -> None:
    """Run gunicorn in this process, for `make run`. Alone it reads WEB_CONCURRENCY first, with a traceback for what is no number."""
    try:
        workers = settings.load(os.environ)["WEB_CONCURRENCY"]
    except SettingError as problem:
        sys.exit(str(problem))
    os.environ["WEB_CONCURRENCY"] = str(workers)
    sys.argv[1:] = ["wsgi:app"]
    runpy.run_module("gunicorn", run_name="__main__", alter_sys=True)
