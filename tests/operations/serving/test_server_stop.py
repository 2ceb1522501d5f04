"""How the real service stops: running requests finish, gunicorn ends, PostgreSQL goes last; and what a crash or a
reload leaves.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest

from sql.database import Connection, connect, value
from tests.support import fixtures
from tests.support.lock_waiters import lock_waiters
from tests.support.service import PATIENCE, Answer, Service, address_in, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

KEY = "*:*.the-key-of-these-tests"


@pytest.fixture
def data(tmp: Path) -> Iterator[Path]:
    """The data folder of all these tests, each of which leaves it without a server."""
    yield tmp / "data"
    assert postmaster_of(tmp / "data") is None


def service_on(data: Path) -> Service:
    """Return a service with a known API token."""
    return Service(DATA_DIR=data, INIT_ADMIN_API_TOKENS=KEY)


@contextmanager
def in_flight(service: Service, conn: Connection) -> Iterator[list[Answer]]:
    """Let a change wait in the service. Its response is there after the block."""
    expiry = datetime.now(UTC) + timedelta(days=1)
    token = fixtures.signup_token(conn, name="held", expires_at=expiry, created_by="the test")
    path = f"/api/admin/invite-link/tokens/{token['secret']}"
    answers: list[Answer] = []

    def change() -> None:
        answers.append(service.request("PUT", path, {"enabled": False}, {"Authorization": KEY}))

    with conn.transaction():
        conn.execute("SELECT FROM signup_tokens FOR UPDATE")
        request = threading.Thread(target=change)
        request.start()
        wait_until(lambda: lock_waiters(conn), "the request waited")
        yield answers
        assert answers == []
    request.join()
    assert [(answer.status, answer.json["enabled"]) for answer in answers] == [(200, False)]


def is_refused(service: Service) -> bool:
    """Return whether no request is answered. Until the last worker has gone, the port still accepts connections."""
    try:
        service.get("/health", timeout=0.3)
    except OSError:
        return True
    return False


def press_ctrl_c_twice(service: Service) -> None:
    """Stop the service as a terminal does: the whole process group gets the signal."""
    os.killpg(service.process.pid, signal.SIGINT)
    wait_until(lambda: is_refused(service), "no request was answered")
    os.killpg(service.process.pid, signal.SIGINT)


def test_evaluations_by_ofrep_are_written_soon_and_when_a_worker_ends(data: Path) -> None:
    used = "SELECT coalesce(sum(yes + no), 0)::integer FROM usage_metrics"
    with service_on(data) as service, connect(address_in(data)) as conn:
        key = {"Authorization": KEY}
        assert service.request("POST", "/api/admin/projects/default/features", {"name": "f"}, key).status == 201
        for number, write in enumerate((service.reload, lambda: None), 1):
            assert service.request("POST", "/ofrep/v1/evaluate/flags/f", {"context": {}}, key).status == 200
            write()
            wait_until(lambda number=number: value(conn, used) == number, "the use was written")


@pytest.mark.parametrize("stop", [lambda service: service.process.terminate(), press_ctrl_c_twice])
def test_running_requests_finish_then_gunicorn_then_postgresql(data: Path, stop: Callable[[Service], None]):
    with service_on(data) as service, connect(address_in(data)) as conn:
        pids = {service.process.pid, postmaster_of(data), *service.workers}
        with in_flight(service, conn):
            stop(service)
            wait_until(lambda: is_refused(service), "no request was answered")
            assert all(map(is_alive, pids))
        # gunicorn waits up to 40 s for a worker (graceful_timeout).
        assert service.process.wait(40 + PATIENCE) == 0
        assert not any(map(is_alive, pids))
        assert postmaster_of(data) is None
        assert "Traceback" not in service.err
        assert [line["status"] for line in service.lines if line["method"] == "PUT"] == [200]


def test_ctrl_c_prints_nothing(data: Path):
    with service_on(data) as service:
        printed = service.err
        # An idle worker has almost ended when the master sends SIGQUIT. There is no condition to wait for.
        time.sleep(2)
        os.killpg(service.process.pid, signal.SIGINT)
        assert service.process.wait(PATIENCE) == 0
        assert service.err == printed


@pytest.mark.parametrize(
    ("folder", "created", "number"),
    [("data", "postgres/postmaster.pid", signal.SIGTERM), ("new", "postgres.new", signal.SIGINT)],
)
def test_a_stop_during_the_start_leaves_no_postgresql(tmp: Path, folder: str, created: str, number: signal.Signals):
    data = tmp / folder
    service = service_on(data).start()
    try:
        wait_until((data / created).exists, f"{created} was there")
        postmaster = postmaster_of(data)
        os.killpg(service.process.pid, number)
        assert service.process.wait(PATIENCE) == 128 + number
        assert not is_alive(postmaster)
        assert postmaster_of(data) is None
        # initdb creates this database, postgres, last. It does not finish first.
        assert not (data / "postgres.new" / "base" / "5").exists()
        assert "Traceback" not in service.err
    finally:
        service.end()


def test_a_reload_keeps_postgresql_running(data: Path):
    with service_on(data) as service:
        service.reload()
        postmaster = postmaster_of(data)
        with service_on(data) as other:
            assert postmaster_of(data) == postmaster
            assert other.stop() == 0
        assert is_alive(postmaster)
        assert service.get("/api/admin/insights", headers={"Authorization": KEY}).status == 200


def test_a_reload_with_an_invalid_setting_keeps_the_last_valid_settings(
    make_database: Callable[..., str], tmp_path: Path
):
    token, address = tmp_path / "token", tmp_path / "address"
    token.write_text("the-token-of-a-file")
    address.write_text(make_database())
    with Service(DATABASE_URL_FILE=address, METRICS_TOKEN_FILE=token) as service:

        def knows(text: str) -> bool:
            """Return whether the service knows this token. Its database answers, too."""
            assert service.get("/ready").status == 200
            return service.get("/metrics", headers={"Authorization": f"Bearer {text}"}).status == 200

        token.write_text("short")
        service.reload()
        sentence = "The setting METRICS_TOKEN must be 16 to 255 ASCII characters without spaces."
        assert f"{sentence} The previous settings stay in effect.\n" in service.err
        assert knows("the-token-of-a-file")
        # A worker that starts later gets them too.
        [worker] = service.workers
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: service.workers - {worker}, "there was another worker")
        assert knows("the-token-of-a-file")
        token.write_text("another-token-of-a-file")
        service.reload()
        assert knows("another-token-of-a-file")
        assert not knows("the-token-of-a-file")
        assert service.err.count(sentence) == 1
        address.write_text("")
        service.reload()
        sentence = "The file in DATABASE_URL_FILE is empty. Write the value to it, or unset the variable."
        assert f"{sentence} The previous settings stay in effect.\n" in service.err
        assert knows("another-token-of-a-file")


def test_a_start_after_kill_9_takes_over_from_orphans(data: Path):
    with service_on(data) as killed, connect(address_in(data)) as conn:
        orphans = killed.workers
        with in_flight(killed, conn):
            killed.stop(signal.SIGKILL)
            service = Service(DATA_DIR=data, PORT=killed.port).start()
            assert service.ready().workers
            assert any(map(is_alive, orphans))
        wait_until(lambda: not any(map(is_alive, orphans)), "the orphans had ended")
        assert service.stop() == 0
        service.end()


def test_a_start_after_kill_9_recovers(data: Path):
    with service_on(data) as killed:
        workers = killed.workers
        client = HTTPConnection("127.0.0.1", killed.port, timeout=PATIENCE)

        def announces_close() -> bool:
            """Return whether the response to one more request says that the connection ends."""
            client.request("GET", "/health")
            response = client.getresponse()
            assert response.read()
            return response.headers["Connection"] == "close"

        assert not announces_close()
        assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        assert is_alive(postmaster_of(data))
        # A client that always uses its connection again would keep them for ever.
        wait_until(announces_close, "a response said that the connection ends")
        wait_until(lambda: not any(map(is_alive, workers)), "the workers had noticed")
    with service_on(data) as service:
        assert service.get("/api/admin/insights", headers={"Authorization": KEY}).status == 200
        assert "Traceback" not in service.err
        postmaster = postmaster_of(data)
        assert service.stop() == 0
    assert not is_alive(postmaster)
