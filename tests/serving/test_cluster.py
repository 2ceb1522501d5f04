"""Two services behind haproxy, on two PostgreSQL servers that Patroni manages with the files of deploy/cluster/: under
load, the primary is killed.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import psycopg
import pytest

from sql.database import connect, value
from tests.support import cluster
from tests.support.cluster import Cluster, Node
from tests.support.service import PATIENCE, Answer, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not cluster.IS_COMPLETE,
        reason="needs Patroni, etcd, haproxy, PostgreSQL and openssl "
        "(on Debian: apt-get install patroni etcd-server haproxy postgresql openssl)",
    ),
]

KEY = {"Authorization": "*:*.the-key-of-these-tests"}
FLAGS = "/api/admin/projects/default/features"
FEATURES = "/api/client/features"
# Seconds between two changes of a writer, and between two polls. The latter is more than CLIENT_KEEP_MS, within which
# services can differ.
PACE, INTERVAL = 0.05, 0.2


class Load:
    """Three writers that create flags, and three applications that ask for them, as long as a `with` block lasts."""

    def __init__(self, running: Cluster, token: str) -> None:
        self._cluster = running
        self._token = {"Authorization": token}
        # The names of acknowledged changes, and when they were sent. The same of refused changes.
        self.acknowledged: list[tuple[float, str]] = []
        self.refused: list[tuple[float, int]] = []
        # The responses to polls.
        self.polls: list[Answer] = []
        self.first_polls: list[Answer] = []
        self.errors: list[BaseException] = []
        self._is_over = threading.Event()
        jobs = [*(self._writer(f"flag-{number}") for number in range(3)), *(self._application() for _ in range(2))]
        self._threads = [threading.Thread(target=self._run, args=(job,)) for job in (*jobs, self._newcomers())]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        assert self.errors == []

    def _run(self, job: Iterator[float]) -> None:
        try:
            for pause in job:
                if self._is_over.wait(pause):
                    return
        except BaseException as error:
            self.errors.append(error)

    def _writer(self, prefix: str) -> Iterator[float]:
        """Create flags with other names each time. A change without a response may have happened, or not."""
        for number in range(100_000):
            name, began = f"{prefix}-{number}", time.monotonic()
            answer = self._cluster.request("POST", FLAGS, {"name": name}, KEY)
            if answer.status == 201:
                self.acknowledged.append((began, name))
            else:
                # The response of a service, not of haproxy.
                assert (answer.status, answer.json["name"]) == (503, "UnavailableError"), answer
                self.refused.append((began, answer.status))
            yield PACE

    def _application(self) -> Iterator[float]:
        """Poll as an SDK does. Each document has all flags of the one before, because the writers delete none."""
        seen: set[str] = set()
        headers = self._token
        while True:
            answer = self._poll(headers, self.polls)
            if answer.status == 200:
                now = {flag["name"] for flag in json.loads(answer.body)["features"]}
                assert seen <= now, f"{len(seen - now)} of {len(seen)} flags are gone: {answer.headers}"
                seen, headers = now, self._token | {"If-None-Match": answer.headers["ETag"]}
            yield INTERVAL

    def _newcomers(self) -> Iterator[float]:
        """Poll as SDKs do that start."""
        while True:
            self._poll(self._token, self.first_polls)
            yield INTERVAL

    def _poll(self, headers: dict[str, str], polls: list[Answer]) -> Answer:
        answer = self._cluster.request("GET", FEATURES, None, headers)
        polls.append(answer)
        return answer

    def wait_for_changes(self, count: int = 20) -> None:
        """Return when so many changes have been acknowledged that were sent from now on."""
        now = time.monotonic()
        wait_until(
            lambda: self.errors or sum(began > now for began, _ in list(self.acknowledged)) >= count,
            "changes were acknowledged",
            2 * PATIENCE,
        )


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """A cluster with two services."""
    with Cluster(INIT_ADMIN_API_TOKENS=KEY["Authorization"]) as running:
        yield running


@contextmanager
def outage(load: Load, kill: Callable[[], None]) -> Iterator[None]:
    """End a server under load. Assert that changes are accepted again in time, and that all acknowledged ones exist."""
    load.wait_for_changes()
    killed = time.monotonic()
    kill()
    yield
    load.wait_for_changes()
    back = min(began for began, _ in load.acknowledged if began > max(at for at, _ in load.refused)) - killed
    print(f"changes were accepted again after {back:.1f} s", end=", ")
    assert back < cluster.longest_outage()


def names_in_log(url: str) -> set[str]:
    """Return the names of flags that the event log says were created."""
    with psycopg.connect(url) as conn:
        return {name for (name,) in conn.execute("SELECT feature_name FROM events WHERE type = 'feature-created'")}


def test_no_acknowledged_change_is_lost_when_the_primary_dies(running: Cluster):
    token = running.request(
        "POST", "/api/admin/api-tokens", {"type": "client", "tokenName": "t", "environment": "development"}, KEY
    ).json["secret"]
    # Without the database, a worker has flags for the tokens that it has seen. Each service has one worker.
    for service in running.services:
        assert service.get(FEATURES, headers={"Authorization": token}).status == 200
    first = running.primary
    with Load(running, token) as load:
        # A machine: everything that runs there.
        with outage(load, first.kill):
            wait_until(lambda: other(running, first).is_primary, "the standby was promoted")
        first.start()
        wait_until(running.is_whole, "the old primary followed the new one", 2 * PATIENCE)
        second = running.primary
        assert second is not first
        # PostgreSQL alone.
        with outage(load, second.kill_postgresql):
            wait_until(lambda: first.is_primary, "the standby was promoted")
    names = {name for _, name in load.acknowledged}
    logged = names_in_log(running.url)
    print(
        f"{len(names)} changes acknowledged, {len(load.refused)} refused, {len(logged - names)} done without a response"
    )
    assert names <= logged
    # Applications get flags all the time. Those that have flags can be asked to wait with them.
    assert {answer.status for answer in load.polls} <= {200, 304, 503}
    assert load.first_polls
    assert [answer for answer in load.first_polls if answer.status != 200] == []


def test_postgresql_ends_the_sessions_of_a_service_whose_machine_is_lost(running: Cluster):
    with connect(running.url) as conn:
        assert value(conn, "SHOW tcp_keepalives_idle") == "4"
        assert value(conn, "SHOW tcp_keepalives_interval") == "2"
        assert value(conn, "SHOW tcp_keepalives_count") == "3"
        assert value(conn, "SHOW tcp_user_timeout") == "10000"


def other(running: Cluster, node: Node) -> Node:
    """Return the node that is not this one."""
    (found,) = (each for each in running.nodes if each is not node)
    return found
