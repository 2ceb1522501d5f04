"""What each worker does by the clock, in threads of its own."""

import logging
from collections.abc import Callable
from threading import Event, current_thread

from flask import Flask, current_app

from rules.flag_lifecycle import note_potentially_stale
from sql import deliveries
from sql.database import transaction
from sql.tokens import api_tokens
from validators.tokens.api_tokens import KINDS

log = logging.getLogger(__name__)


def run_jobs() -> None:
    """Record which flags have become too old, and measure what /metrics shows of the database."""
    with transaction(limited=False) as conn:
        note_potentially_stale(conn)
        if meters := current_app.extensions.get("metrics"):
            meters.tokens_expiring.set(len(api_tokens.list_expiring(conn, KINDS)))
            backlog = deliveries.measure_backlog(conn)
            meters.deliveries_waiting.set(backlog["number"])
            meters.deliveries_oldest.set(backlog["seconds"])


def repeat(app: Flask, act: Callable[[], bool | None], pause: float, stopping: Event) -> None:
    """Do something again and again, until stopping is set.

    act: returns whether to repeat it at once. pause: seconds before each other time.
    """
    wait = pause
    while not stopping.wait(wait):
        try:
            with app.app_context():
                wait = 0 if act() else pause
        except Exception as error:
            # Each attempt to write to a read-only database replaces the connections of the worker.
            wait = 60
            log.warning("The thread %s waits a minute after an error: %s", current_thread().name, type(error).__name__)
