"""Since when this process stops: what could go on for ever is cut soon after."""

import time
from math import inf

# How long slow clients and streams may go on then, in seconds.
PATIENCE = 3.0

_began = inf


def begin() -> None:
    """The process ends as soon as all that was begun has been answered. Called where a signal has arrived, so that it takes no lock."""
    global _began
    _began = min(_began, time.monotonic())


def since() -> float:
    """The instant on the monotonic clock; infinity: the process does not stop."""
    return _began


def is_begun() -> bool:
    """Whether the process stops."""
    return _began < inf


def is_over() -> bool:
    """Whether it has been stopping for so long that nobody is waited for any more."""
    return time.monotonic() >= _began + PATIENCE
