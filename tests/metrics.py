"""Reads what /metrics says, and finds Debian's promtool, which checks it."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import ADMIN_KEY
from tests.world import Caller

TOKEN = "the-token-of-the-operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="there is no promtool (Debian: in the package prometheus)")

Series = tuple[str, frozenset[tuple[str, str]]]


def read(body: bytes) -> dict[Series, float]:
    """Every series with its value, by name and labels; AssertionError when one is told twice."""
    samples = [sample for family in text_string_to_metric_families(body.decode()) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def total(found: Mapping[Series, float], name: str, **labels: str) -> float:
    """The sum of all series of a name that have these labels; 0: there are none."""
    return sum(value for (its_name, its_labels), value in found.items() if its_name == name and labels.items() <= its_labels)


class Scraped:
    """A service of its own that counts from zero, on a database of its own."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.admin = Caller(app, ADMIN_KEY)
        self.stranger = Caller(app)

    @property
    def text(self) -> bytes:
        """What /metrics says."""
        response = self.app.test_client().get("/metrics", headers=BEARER)
        assert response.status_code == 200
        return response.data

    def total(self, name: str, **labels: str) -> float:
        """The sum of the series of that name with these labels."""
        return total(read(self.text), f"flags_{name}", **labels)

    def log_in(self, password: str) -> int:
        """The status of a login of the administrator."""
        return self.stranger.post("/auth/simple/login", json={"username": "admin", "password": password}).status_code


def promtool(*arguments: str | Path, text: bytes = b"") -> tuple[int, str]:
    """How promtool ended, and all that it said."""
    done = subprocess.run([str(PROMTOOL), *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()
