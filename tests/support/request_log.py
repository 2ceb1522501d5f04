"""Reads the log line of a request."""

import json
from typing import Any

import pytest

KEYS = {"time", "requestId", "method", "route", "status", "ms", "caller"}


def line_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one log line since the last look."""
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == ""
    return json.loads(out)
