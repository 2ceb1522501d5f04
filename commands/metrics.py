"""What gunicorn's master and its workers do for metrics, where a setting asks for them; its hooks call this (gunicorn.conf.py)."""

import os
import socket
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flask import Flask

from blueprints.metrics import are_wanted, meters_of
from commands import metrics_port
from validators.settings import SettingError

if TYPE_CHECKING:
    from commands.metrics_folder import Folder

# The master's, inherited by its workers. Not in gunicorn.conf.py, which a SIGHUP reads anew.
_folder: "Folder | None" = None
_listener: socket.socket | None = None


def prepare(config: Mapping[str, Any]) -> None:
    """In the master, before anything else is made: take the port, and the folder. SettingError: one of them cannot be had."""
    if config["METRICS_PORT"] is not None:
        listen(config["METRICS_HOST"], config["METRICS_PORT"])
    if are_wanted(config):
        try:
            folder().take_slot(())
        except OSError as problem:
            raise SettingError(f"There is no place to count for metrics: {os.strerror(problem.errno or 0)}.") from None


def listen(host: str, port: int) -> None:
    """Take the port of METRICS_PORT for as long as this process and its workers live."""
    global _listener
    try:
        _listener = metrics_port.listen(host, port)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno and problem.errno > 0 else "no such name"
        raise SettingError(f"Port {port} of {host} cannot be served: {reason}. Set METRICS_PORT to another one, or METRICS_HOST.") from None


def folder() -> "Folder":
    """The folder in which all workers count."""
    global _folder
    if _folder is None:
        # Here, not above: who does not want metrics does not load the library. The master does it, so that its workers share that memory.
        from commands.metrics_folder import Folder

        _folder = Folder()
    return _folder


def take_slot(config: Mapping[str, Any], taken: Iterable[int | None]) -> int | None:
    """Where the next worker counts, given where the others do; None: metrics are off, or there is no space for it."""
    try:
        return folder().take_slot(taken) if are_wanted(config) else None
    except OSError:
        return None


def count_in(config: Mapping[str, Any], slot: int | None) -> None:
    """In a worker that has just been forked: count where the master says."""
    if are_wanted(config):
        from commands.metrics_folder import count_in

        count_in(slot)


def serve(app: Flask) -> None:
    """In a worker that is ready: answer on the port too."""
    meters = meters_of(app)
    if _listener is not None and meters is not None:
        metrics_port.serve(_listener, meters.text, app.config["METRICS_TOKEN"])


def free_slot(slot: int | None) -> None:
    """In the master, when a worker has ended, however it did."""
    if _folder is not None and slot is not None:
        _folder.free_slot(slot)
