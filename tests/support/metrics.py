"""Start services with metrics, read their metrics, and check these with Debian's promtool."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

TOKEN = "the-token-of-the-operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="there is no promtool (Debian: in the package prometheus)")

Series = tuple[str, frozenset[tuple[str, str]]]


def read(body: bytes) -> dict[Series, float]:
    """Return the value of each series by name and labels. Assert that none occurs twice."""
    samples = [sample for family in text_string_to_metric_families(body.decode()) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def total(found: Mapping[Series, float], name: str, **labels: str) -> float:
    """Return the sum of all series with this name and these labels, or 0 if there are none."""
    return sum(
        value for (its_name, its_labels), value in found.items() if its_name == name and labels.items() <= its_labels
    )


class Scraped:
    """A service with its own database, whose counters begin with 0."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.admin = Caller(app, ADMIN_KEY)
        self.stranger = Caller(app)

    @property
    def text(self) -> bytes:
        """Return the text of /metrics."""
        response = self.app.test_client().get("/metrics", headers=BEARER)
        assert response.status_code == 200
        return response.data

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of the series with this name and these labels."""
        return total(read(self.text), f"flags_{name}", **labels)

    def log_in(self, password: str) -> int:
        """Log in as the administrator, and return the status."""
        return self.stranger.post("/auth/simple/login", json={"username": "admin", "password": password}).status_code


def promtool(*arguments: str | Path, text: bytes = b"") -> tuple[int, str]:
    """Return the exit status and the output of promtool."""
    done = subprocess.run(
        [str(PROMTOOL), *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode()
