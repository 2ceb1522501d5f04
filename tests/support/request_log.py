"""Reads the log line of a request."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

KEYS = {"time", "requestId", "method", "route", "status", "ms", "caller"}


def line_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one log line since the last look."""
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == ""
    return json.loads(out)


def broken_app(make_app: Callable[..., Flask], url: str, error: Exception) -> Flask:
    """The service with a view that has a bug."""
    app = make_app(url)

    def broken(_word: str) -> TestResponse:
        raise error

    app.add_url_rule("/broken/<_word>", view_func=broken)
    return app
