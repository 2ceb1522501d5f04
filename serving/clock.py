"""What each worker does by the clock, in threads of its own."""

import logging
from collections.abc import Callable
from threading import Event, current_thread

from flask import Flask, current_app

from rules.change_request_schedule import keep_schedule
from rules.flag_lifecycle import note_potentially_stale
from sql import deliveries
from sql.database import connection, transaction
from sql.projects import change_request_lists
from sql.tokens import api_tokens
from validators.tokens.api_tokens import KINDS

log = logging.getLogger(__name__)


def run_jobs() -> None:
    """Record which flags have become too old, suspend schedules, and measure what /metrics shows of the database."""
    with transaction(limited=False) as conn:
        note_potentially_stale(conn)
        if meters := current_app.extensions.get("metrics"):
            meters.tokens_expiring.set(len(api_tokens.list_expiring(conn, KINDS)))
            backlog = deliveries.measure_backlog(conn)
            meters.deliveries_waiting.set(backlog["number"])
            meters.deliveries_oldest.set(backlog["seconds"])
    keep_schedules(due=False)


def keep_schedules(*, due: bool = True) -> None:
    """Apply the change requests whose time has come, or suspend others with conflicts, each in its own transaction."""
    with connection(limited=False) as conn:
        pending = change_request_lists.list_pending(conn, due=due)
    for request in pending:
        try:
            with transaction(limited=False) as conn:
                keep_schedule(conn, request["project_id"], request["id"])
        except Exception as error:
            # An unexpected error of one request does not delay the others.
            log.warning("A scheduled change request failed: %s", type(error).__name__)


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
