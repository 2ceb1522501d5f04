"""What ./flags runs: one of the commands."""

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

# While modules are imported, Ctrl-C ends the process without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

# This file is a script, so Python looks for modules in operations/ only.
sys.path[0] = str(Path(__file__).resolve().parents[1])

try:
    from flask import Flask
    from flask.cli import ScriptInfo

    from operations.commands import program
    from serving import settings
except ImportError as error:
    advice = "Run make install, or make install-embedded without a PostgreSQL of your own; if needed, make clean first."
    sys.exit(f"The packages cannot be loaded: {error}. {advice}")


def main() -> None:
    """Run the command in the arguments of this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        program.main(prog_name="flags", obj=ScriptInfo(create_app=create_app, set_debug_flag=False))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        # At the exit, Python would try again to write the rest of stdout, and print a traceback.
        with suppress(OSError), open(os.devnull, "wb") as devnull:
            os.dup2(devnull.fileno(), sys.stdout.fileno())
        sys.exit(f"Error: The output or a temporary file cannot be written: {error.strerror}.")


def create_app() -> Flask:
    """Return the application. Invalid settings have their defaults here: each command reports them itself."""
    # `flags serve` and --help do not need the application.
    found, _ = settings.read(os.environ)
    return import_module("app").create_app(found, environ={})


if __name__ == "__main__":
    main()
