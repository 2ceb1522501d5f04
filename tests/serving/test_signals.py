"""The real service reloads under load, and loses no request."""

import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event

import pytest

from sql.database import connect, value
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, Service, encode, wait_until

pytestmark = pytest.mark.slow

KEY = {"Authorization": ADMIN_KEY}
TAG_TYPES = "/api/admin/tag-types"
CLIENTS = 8


@dataclass
class Client:
    """Sends one change after the other. keeps: on one connection, as long as the service keeps it."""

    service: Service
    number: int
    keeps: bool
    over: Event
    created: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Until it is over, or one has failed."""
        headers = {**KEY, "Content-Type": "application/json"}
        with closing(HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)) as connection:
            while not self.over.is_set() and not self.failed:
                name = f"client-{self.number}-{len(self.created)}"
                try:
                    connection.request("POST", TAG_TYPES, encode({"name": name}), headers)
                    response = connection.getresponse()
                    response.read()
                except (OSError, HTTPException) as error:
                    self.failed.append(f"{name}: {type(error).__name__}: {error}")
                    return
                if response.status != 201:
                    self.failed.append(f"{name}: {response.status}")
                self.created.append(name)
                if not self.keeps:
                    connection.close()


def test_a_reload_under_load_loses_nothing(make_database: Callable[..., str], tmp_path) -> None:
    url = make_database()
    address = tmp_path / "address"
    address.write_text(url)
    with Service(DATABASE_URL_FILE=address, WEB_CONCURRENCY=2) as service, ThreadPoolExecutor(CLIENTS) as pool:
        over = Event()
        clients = [Client(service, number, number % 2 == 0, over) for number in range(CLIENTS)]
        running = [pool.submit(client.run) for client in clients]

        def went_on(count: int) -> None:
            """Every client has made so many more changes, or failed."""
            created = [len(client.created) for client in clients]
            wait_until(
                lambda: (
                    all(len(client.created) >= before + count for client, before in zip(clients, created, strict=True))
                    or failures(clients)
                ),
                "every client had gone on",
            )

        try:
            went_on(10)
            before = service.workers
            # Which database it is, and what names us there, is read anew.
            address.write_text(f"{url}{'&' if '?' in url else '?'}application_name=renewed")
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(service.workers) == 2 and not service.workers & before, "all workers were new")
            went_on(10)
        finally:
            over.set()
        for one in running:
            one.result(PATIENCE)
        assert failures(clients) == []
        with connect(url) as conn:
            renewed = (
                "SELECT bool_and(application_name = 'renewed') FROM pg_stat_activity "
                "WHERE backend_type = 'client backend'"
            )
            assert value(conn, renewed + " AND datname = current_database() AND pid <> pg_backend_pid()")
            kept = {row["name"] for row in conn.execute("SELECT name FROM tag_types WHERE name LIKE 'client-%'")}
        assert kept == {name for client in clients for name in client.created}
        assert "Traceback" not in service.err


def test_a_second_master_is_refused_and_the_first_one_serves() -> None:
    # The program that the systemd unit starts. `python -m gunicorn` cannot start itself again.
    command = (str(Path(sys.executable).with_name("gunicorn")), "wsgi:app")
    with Service(command=command, WEB_CONCURRENCY=1) as service:
        before = service.workers
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(service.workers) == 1 and not service.workers & before, "the worker was new")
        service.process.send_signal(signal.SIGUSR2)
        refusal = f"Cannot listen on 127.0.0.1:{service.port}: Address already in use."
        wait_until(lambda: refusal in service.err, "the second master was refused")
        assert service.get("/ready").status == 200
        assert service.stop() == 0


def failures(clients: list[Client]) -> list[str]:
    """What went wrong for any of them."""
    return [failed for client in clients for failed in client.failed]
