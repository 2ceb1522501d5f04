"""A migration while the service of a released version runs under load on the same database."""

import io
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from operations.postgres import migrate
from sql.database import connect
from tests.support.instance import ADMIN_KEY
from tests.support.service import ROOT, Service, free_port, run, wait_until

pytestmark = pytest.mark.slow

# Commits, with the version of their schema: 0.1.0, 0.2.0, and the last one before 1.0.0 with the schema of 0.2.0.
COMMITS = {
    "ba3457d3f6d635ff871576ec9f1a2b874cd892e5": 1,
    "3351edea0b0174a7d8ec15558803a8313a86fbc3": 3,
    "d764dd61749d3d1428ac8f37a2716863ebbff2ce": 3,
}
HEADERS = {"Authorization": ADMIN_KEY}
FIRST_START: dict[str, Any] = {
    "INIT_ADMIN_API_TOKENS": ADMIN_KEY,
    "INIT_ADMIN_PASSWORD": "the administrator's password",
}
FLAGS = "/api/admin/projects/default/features"


@pytest.fixture(params=COMMITS)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[int, Path]:
    """The version of the schema of a release, and a folder with its program."""
    archive = subprocess.run(["git", "archive", request.param], cwd=ROOT, capture_output=True)
    if archive.returncode != 0:
        pytest.skip("this clone has no history")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path / "release", filter="data")
    return COMMITS[request.param], tmp_path / "release"


@contextmanager
def load(service: Service) -> Iterator[list[int]]:
    """Create, read and change flags until the block ends. Yield the statuses of all responses."""
    statuses: list[int] = []
    is_over = threading.Event()

    def work(worker: int) -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            name = f"flag-{worker}-{number}"
            change = f"{FLAGS}/{name}/environments/development"
            for method, path, body in (
                ("POST", FLAGS, {"name": name}),
                ("POST", f"{change}/strategies", {"name": "default"}),
                ("GET", "/api/admin/search/events?limit=5", None),
                ("GET", "/api/admin/projects/default/overview", None),
            ):
                statuses.append(service.request(method, path, json=body, headers=HEADERS).status)

    threads = [threading.Thread(target=work, args=[worker]) for worker in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def wait_for_more(statuses: list[int]) -> None:
    """Return after 40 more responses."""
    seen = len(statuses)
    wait_until(lambda: len(statuses) >= seen + 40, "the old service answered")


def test_a_migration_is_refused_until_the_old_service_stops(make_database, release) -> None:
    before, folder = release
    url = make_database(empty=True)
    with Service(url, root=folder, **FIRST_START) as old, load(old) as statuses:
        for command in (("operations/flags.py", "migrate"), ("operations/flags.py", "serve")):
            wait_for_more(statuses)
            done = run(*command, DATABASE_URL=url, PORT=free_port())
            assert done.returncode == 1
            assert done.stderr.splitlines()[-1] == (
                f"{'Error: ' if 'migrate' in command else ''}A running service uses schema version {before} of this "
                "database. Stop all services of the old version, then migrate."
            )
        wait_for_more(statuses)
    assert set(statuses) <= {200, 201}
    done = run("operations/flags.py", "migrate", DATABASE_URL=url)
    assert (done.returncode, done.stderr) == (0, "")
    with connect(url) as conn:
        assert migrate.version(conn) == migrate.VERSION
    with Service(url) as new:
        name = new.get(FLAGS, headers=HEADERS).json["features"][0]["name"]
        assert new.request("DELETE", f"{FLAGS}/{name}", headers=HEADERS).status == 202
