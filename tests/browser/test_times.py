"""The time of each page with the data of the demo."""

import time
from contextlib import closing
from http.client import HTTPConnection
from statistics import median

import pytest

from rules.access import SESSION_COOKIE
from tests.support.every_page import PAGES
from tests.support.service import PATIENCE, Service
from tests.support.window import open_session

pytestmark = pytest.mark.slow
# Milliseconds. An idle machine needs at most 40, but tests share theirs with others.
BOUND = 250
REQUESTS = 7


@pytest.mark.timing
def test_every_page_is_fast(demo: Service, demo_url: str, paths: dict[str, str]) -> None:
    took: dict[str, float] = {}
    # Pages for visitors without a session answer an address only a few times a minute.
    for example in (example for example in PAGES if example.status == 200 and example.user):
        session = open_session(demo_url, example.user)
        headers = {"Accept": "text/html", "Cookie": f"{SESSION_COOKIE}={session}"}
        each: list[float] = []
        for _ in range(REQUESTS):
            with closing(HTTPConnection("127.0.0.1", demo.port, timeout=PATIENCE)) as connection:
                began = time.perf_counter()
                connection.request("GET", f"/flags{example.path.format(**paths)}", headers=headers)
                answer = connection.getresponse()
                answer.read()
                each.append((time.perf_counter() - began) * 1000)
            assert answer.status == example.status
        took[str(example)] = median(each)
    for name, ms in sorted(took.items(), key=lambda item: -item[1]):
        print(f"{ms:5.0f} ms {name}")
    assert max(took.values()) < BOUND
