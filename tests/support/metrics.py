"""Start services with metrics, read their metrics, and check these with Debian's promtool."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.parser import text_string_to_metric_families

from serving.metrics_files import PREFIX
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, Answer, Service, free_port
from tests.support.world import Caller

TOKEN = "the-token-of-the-operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="there is no promtool (Debian: in the package prometheus)")

REQUESTS = "flags_http_requests_total"

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


class Metered(Service):
    """A service with two workers, /metrics and METRICS_PORT."""

    def __init__(self, database: str | None, **settings: object) -> None:
        self.metrics_port = free_port()
        settings = {"METRICS_TOKEN": TOKEN, "METRICS_PORT": self.metrics_port, "WEB_CONCURRENCY": 2} | settings
        super().__init__(database, **settings)

    @property
    def folder(self) -> Path:
        """Return the folder of the workers' metrics."""
        (folder,) = Path("/dev/shm").glob(f"{PREFIX}-{os.geteuid()}-{self.process.pid}-*")
        return folder

    @property
    def shares(self) -> list[float]:
        """Return the number of 404 responses that the workers of each slot have sent."""
        files = [MmapedDict.read_all_values_from_file(file) for file in self.folder.glob("counter_*.db")]
        mine = '"method": "GET", "route": "none", "status": "404"'
        return [sum(value for key, value, *_ in values if mine in key) for values in files]

    def ask(self, path: str = "/metrics", method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        """Return the response of METRICS_PORT."""
        connection = HTTPConnection("127.0.0.1", self.metrics_port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=BEARER if headers is None else headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def scraped(self) -> dict[Series, float]:
        """Return every series, from METRICS_PORT."""
        answer = self.ask()
        assert answer.status == 200
        return read(answer.body)

    def counted(self) -> float:
        """Return the number of 404 responses."""
        return total(self.scraped(), REQUESTS, route="none", status="404")

    def send(self, number: int) -> None:
        """Send so many requests with the response 404."""
        for _ in range(number):
            assert self.get("/absent").status == 404


def promtool(*arguments: str | Path, text: bytes = b"") -> tuple[int, str]:
    """Return the exit status and the output of promtool."""
    done = subprocess.run(
        [str(PROMTOOL), *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode()
