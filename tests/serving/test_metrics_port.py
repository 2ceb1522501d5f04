"""METRICS_PORT and METRICS_HOST: a port for metrics alone."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from serving.settings import SettingError, load, read
from sql.database import connect
from tests.support import metrics
from tests.support.metrics import BEARER, TOKEN, total
from tests.support.service import GUNICORN, PATIENCE, Answer, Service, free_port, run_together, send, wait_until
from tests.support.world import Caller


def test_settings():
    assert (load({})["METRICS_PORT"], load({})["METRICS_HOST"]) == (None, "127.0.0.1")
    assert load({"METRICS_PORT": "65535", "METRICS_HOST": "::1"})["METRICS_PORT"] == 65535
    for name, text in (("METRICS_PORT", "0"), ("METRICS_PORT", "65536"), ("METRICS_HOST", "h:80")):
        with pytest.raises(SettingError, match=f"^The setting {name} must be "):
            load({name: text})
    errors = ["The setting METRICS_PORT must differ from PORT."]
    found = read({"METRICS_PORT": "9100", "PORT": "9100", "METRICS_HOST": "10.0.0.1"})
    assert (found[0]["METRICS_PORT"], found[1]) == (None, errors)


def test_the_service_itself_has_no_metrics_without_a_token(make_app, shared_url):
    app = make_app(shared_url, METRICS_PORT=9100)
    assert Caller(app).get("/metrics", headers=BEARER).status_code == 404
    assert "metrics" in app.extensions


class Metered(Service):
    """A service with METRICS_PORT."""

    def __init__(self, database: str, **settings: object) -> None:
        self.metrics_port = free_port()
        super().__init__(database, **{"METRICS_TOKEN": TOKEN, "METRICS_PORT": self.metrics_port} | settings)

    def ask(self, path: str = "/metrics", method: str = "GET", headers: dict[str, str] = BEARER) -> Answer:
        """Return the response of METRICS_PORT."""
        return send(HTTPConnection("127.0.0.1", self.metrics_port, timeout=PATIENCE), method, path, None, headers)

    def threads(self) -> int:
        """Return the number of threads of the master."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))


@pytest.fixture(scope="module")
def service(make_database) -> Iterator[Metered]:
    with Metered(make_database()) as service:
        yield service


@pytest.mark.slow
def test_the_port_serves_metrics_to_the_token_only(service):
    assert total(metrics.read(service.ask().body), "flags_workers") == 1
    for headers in ({}, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}):
        assert service.ask(headers=headers).status == 401
    for method, path, status, allow in (
        ("GET", "/metrics?x=y", 200, None),
        ("GET", "/api/admin/projects", 404, None),
        ("POST", "/metrics", 405, "GET"),
    ):
        answer = service.ask(path, method)
        assert (answer.status, answer.headers["Allow"]) == (status, allow)
        assert status == 200 or answer.json.keys() == {"id", "name", "message"}


@pytest.mark.slow
@pytest.mark.parametrize("part", [b"", b"GET /metr", b"\x16\x03\x01\x02"])
def test_slow_clients_delay_no_other_and_are_disconnected(service, part):
    before = service.threads()
    with ExitStack() as stack:
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", service.metrics_port), timeout=PATIENCE)
            stack.enter_context(connection).sendall(part)
        wait_until(lambda: service.threads() >= 100, "each had a thread")
        assert [service.ask().status for _ in range(5)] == [200] * 5
        wait_until(lambda: service.threads() <= before, "all were disconnected")
    assert "Traceback" not in service.err


@pytest.mark.slow
def test_a_port_without_a_token_is_open_at_its_own_address_alone(make_database):
    with Metered(make_database(), METRICS_TOKEN="", METRICS_HOST="::1") as service:
        connection = HTTPConnection("::1", service.metrics_port, timeout=PATIENCE)
        assert send(connection, "GET", "/metrics").status == 200
        with pytest.raises(ConnectionRefusedError):
            service.ask()


@pytest.mark.slow
def test_orphans_do_not_keep_the_port(make_database):
    url = make_database()
    with Metered(url) as killed, connect(url) as conn, conn.transaction():

        def wait() -> None:
            with suppress(OSError, HTTPException):
                killed.get("/ready")

        conn.execute("LOCK TABLE schema_version")
        waiting = threading.Thread(target=wait)
        waiting.start()
        used = "flags_database_connections_in_use"
        wait_until(lambda: total(metrics.read(killed.ask().body), used) == 1, "a request waited")
        killed.process.kill()
        killed.process.wait(PATIENCE)
        with Metered(make_database(), METRICS_PORT=killed.metrics_port):
            assert killed.ask().status == 200
    waiting.join()


@pytest.mark.slow
def test_a_port_that_cannot_be_used_is_refused(tmp_path):
    port = free_port()
    # As another service of ours would have it.
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        hosts = {"127.0.0.1": "Address already in use.", "192.0.2.1": "Cannot assign ", "x.invalid": "Unknown host "}
        given = {"DATA_DIR": tmp_path / "data", "METRICS_PORT": port}
        done = run_together([(GUNICORN, given | {"PORT": free_port(), "METRICS_HOST": host}) for host in hosts])
    for process, (host, reason) in zip(done, hosts.items(), strict=True):
        assert (process.returncode, process.stdout, process.stderr.count("\n")) == (1, "", 1)
        assert process.stderr.startswith(f"Cannot listen on {host}:{port}: {reason}")
    assert not (tmp_path / "data").exists()
