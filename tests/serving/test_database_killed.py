"""kill -9 of the whole PostgreSQL server while applications poll and report: no acknowledged report is lost."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Event

import pytest

from sql.database import connect, embedded, rows
from tests.support.embedded_server import own_server
from tests.support.outage import AUTHORIZED, KEY
from tests.support.reports import METRICS, metrics
from tests.support.service import Answer, Service, postmaster_of, wait_until

FEATURES = "/api/client/features"
FLAGS = "/api/admin/projects/default/features"
NAMES = [f"flag-{number}" for number in range(20)]
APPS = [f"app-{number}" for number in range(4)]
KILLS = 2


@pytest.fixture
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL server that the test starts, and the service does not."""
    with own_server() as server:
        yield server


def kill(server: embedded.Server) -> None:
    """Kill all processes of PostgreSQL, so that none can write what it holds in memory."""
    postmaster = postmaster_of(server.folder)
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for pid in (postmaster, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_reports_and_polls_outlive_kill_9_of_postgresql(server: embedded.Server) -> None:
    sent: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    stop = Event()

    def report(app: str) -> None:
        document = metrics({name: {"yes": 1, "no": 0} for name in NAMES}, app=app)
        while not stop.is_set():
            sent[app] += 1
            with suppress(OSError, HTTPException):
                status = service.request("POST", METRICS, json=document, headers=application).status
                assert status in (202, 503)
                acknowledged[app] += status == 202

    def poll() -> Answer:
        answer = service.get(FEATURES, headers=application)
        assert answer.status == 200
        return answer

    def is_on(answer: Answer) -> bool:
        return answer.json["features"][0]["enabled"]

    url = server.ensure()
    with Service(url, INIT_ADMIN_API_TOKENS=KEY) as service, ThreadPoolExecutor(len(APPS)) as pool:
        for name in NAMES:
            assert service.request("POST", FLAGS, {"name": name}, AUTHORIZED).status == 201
        body = {"type": "client", "tokenName": "test", "environment": "development"}
        secret = service.request("POST", "/api/admin/api-tokens", body, AUTHORIZED).json["secret"]
        application = {"Authorization": secret}
        before = poll()
        reporters = [pool.submit(report, app) for app in APPS]
        try:
            for number in range(KILLS):
                goal = acknowledged.total() + 20
                wait_until(lambda goal=goal: acknowledged.total() >= goal, "reports were acknowledged")
                kill(server)
                # A worker uses what the database said for CLIENT_KEEP_MS, without Age.
                wait_until(lambda: "Age" in poll().headers, "flags came from memory")
                for _ in range(10):
                    during = poll()
                    assert (during.body, "Age" in during.headers) == (before.body, True)
                server.ensure()
                wait_until(lambda: "Age" not in poll().headers, "the flags were current")
                state = "off" if number % 2 else "on"
                path = f"{FLAGS}/{NAMES[0]}/environments/development/{state}"
                wait_until(
                    lambda path=path: service.request("POST", path, None, AUTHORIZED).status == 200, "it changed"
                )
                wait_until(lambda state=state: is_on(poll()) == (state == "on"), "the change arrived")
                before = poll()
        finally:
            stop.set()
        for reporter in reporters:
            reporter.result()
    with connect(url) as conn:
        kept = rows(conn, "SELECT app_name, sum(yes)::integer AS yes FROM usage_metrics GROUP BY app_name, flag_name")
    assert len(kept) == len(APPS) * len(NAMES)
    wrong = [row for row in kept if not acknowledged[row["app_name"]] <= row["yes"] <= sent[row["app_name"]]]
    assert wrong == []
    assert sent != acknowledged
