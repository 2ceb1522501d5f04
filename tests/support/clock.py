"""A clock that stands still, for tests of tokens that expire."""

import time
from types import SimpleNamespace

import pytest


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stop the clock by which workers forget tokens. Add seconds to its attribute now to move it."""
    clock = SimpleNamespace(now=time.monotonic())
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr("rules.client_access.time", clock)
    return clock
