"""What each worker does by the clock, in threads of its own."""

import logging
import time
from collections.abc import Callable
from threading import current_thread

from flask import Flask, current_app

from rules.flag_lifecycle import note_potentially_stale
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


def repeat(app: Flask, act: Callable[[], None], pause: float) -> None:
    """Do something again and again. pause: seconds before each time."""
    while True:
        time.sleep(pause)
        try:
            with app.app_context():
                act()
        except Exception as error:
            log.warning("The thread %s failed: %s", current_thread().name, type(error).__name__)
