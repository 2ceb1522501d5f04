"""A full disk under the embedded PostgreSQL: 503 for what cannot be written, nothing lost, and all is well again when
there is space.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest

from sql.database import Connection, connect
from tests.support.changes import Load, assert_nothing_lost
from tests.support.service import Answer, Service, address_in, postmaster_of, wait_until

pytestmark = pytest.mark.slow

# The last one is our own.
KEYS = [f"*:*.the-key-of-client-{number}" for number in range(5)]
FULL = "The disk of the database is full."
AWAY = "The database is unavailable or too slow."


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A file system of its own, with room for a fresh PostgreSQL and not much more."""
    with tempfile.TemporaryDirectory(prefix="disk-") as name:
        Path(name).chmod(0o755)
        place = Path(name) / "disk"
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=120m,mode=755", "flags-test", str(place)]
        # Not in a user namespace either: PostgreSQL does not run as its root, and it has no other user.
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            pytest.skip("a file system cannot be mounted here")
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the room there is."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
    return ballast


def make_log_grow(conn: Connection) -> None:
    """Make PostgreSQL need another file for its write-ahead log.

    On a full disk, it stops, and cannot start again until there is space.
    """
    with pytest.raises(psycopg.OperationalError):
        conn.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 40000000))")


def change(service: Service, name: str) -> Answer:
    """The answer to a change, which comes soon whatever it is."""
    # Random, because PostgreSQL compresses long values.
    body = {"name": name, "description": token_hex(2500)}
    return service.request(
        "POST", "/api/admin/projects/default/features", body, {"Authorization": KEYS[-1]}, timeout=10
    )


def assert_unavailable(answer: Answer, message: str) -> None:
    """Asserts that this is the documented 503, for this reason."""
    assert (answer.status, answer.headers["Retry-After"], answer.json["name"]) == (503, "1", "UnavailableError")
    assert (list(answer.json), answer.json["message"]) == (["id", "name", "message"], message)


def test_a_full_disk_is_503_and_nothing_is_lost(disk):
    data = disk / "data"
    settings = {"MAX_FLAGS": 1_000_000, "MAX_SEGMENTS": 100_000, "INIT_ADMIN_API_TOKENS": ",".join(KEYS)}
    with Service(DATA_DIR=data, **settings) as service:
        workers = service.workers
        with Load(service, KEYS[:-1]) as load:
            load.go_on(50, "there were changes")
            # Tables cannot grow. Reads still work.
            ballast = fill(disk)
            answers = (change(service, f"x{number}") for number in range(1000))
            refused = next(answer for answer in answers if answer.status != 201)
            assert_unavailable(refused, FULL)
            assert service.get("/ready").status == 200
            ballast.unlink()
            load.go_on(50, "there were changes again")
            # The write-ahead log cannot grow. Connect first: on a full disk, a new connection can fail to write
            # pg_internal.init.
            with connect(address_in(data)) as conn:
                ballast = fill(disk)
                make_log_grow(conn)
            wait_until(lambda: "The disk is full. Free some space." in service.err, "the log said so")
            assert_unavailable(change(service, "z"), AWAY)
            assert service.get("/health").status == 200
            ballast.unlink()
            load.go_on(50, "there were changes again")
        assert service.workers == workers
        assert {line["status"] for line in service.lines if line["status"] >= 500} == {503}
        assert "psycopg.errors.DiskFull (SQLSTATE 53100)" in service.out
        assert "Traceback" not in service.err
        with connect(address_in(data)) as conn:
            assert_nothing_lost(conn, load)
        assert service.stop() == 0
    assert postmaster_of(data) is None
