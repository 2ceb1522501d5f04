"""Whose turn it is: as many requests are worked on at once as a process has threads for it; the others wait a bounded time, then 503."""

import time
from threading import BoundedSemaphore

from flask import Flask, current_app, g, request

from sql import timing
from validators.errors import Unavailable


def init_app(app: Flask) -> None:
    """Let the requests of this app wait for their turns."""
    app.extensions["turns"] = BoundedSemaphore(app.config["THREADS"])
    app.before_request(take)
    app.teardown_request(give_back)


def take() -> None:
    """Wait for a turn. Unavailable when none comes within WAIT_SECONDS."""
    # Our choice: who asks whether the process lives never waits. It does.
    if request.endpoint == "health.get_health":
        return
    turns: BoundedSemaphore = current_app.extensions["turns"]
    if not turns.acquire(blocking=False):
        began = time.perf_counter()
        came = turns.acquire(timeout=current_app.config["WAIT_SECONDS"])
        timing.waited_for_turn(time.perf_counter() - began)
        if not came:
            raise Unavailable("Too many requests are under way at this moment.")
    g.has_turn = True


def give_back(_error: BaseException | None) -> None:
    """The next one's turn. Flask calls this before a stream goes on, and once more at its end, so that a slow reader keeps no turn."""
    if g.pop("has_turn", None):
        current_app.extensions["turns"].release()
