"""kill -9 of whatever runs, at random moments under load: nothing that was acknowledged is lost, and nothing is there
by half.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from sql.database import connect
from tests.support.changes import Load, assert_nothing_lost, replayed
from tests.support.service import SERVE, Service, address_in, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

CLIENTS = 8
KILLS = {"a worker": 28, "a backend": 16, "gunicorn": 3, "PostgreSQL": 3}


def test_a_change_without_its_event_is_reported():
    off = {
        "id": 7,
        "type": "feature-environment-disabled",
        "feature_name": "f",
        "environment": "e",
        "data": None,
        "pre_data": None,
    }
    with pytest.raises(AssertionError, match="event 7 ends what began without an event: on f e"):
        replayed([off])


def children(pid: int) -> list[int]:
    """The processes that this one has started and that run."""
    return [
        int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if is_alive(int(child))
    ]


def kill(pid: int) -> None:
    """What no process can put off. It may have ended by itself this moment."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), "it was dead")


class Crashes:
    """Kills at random: of a running service with its embedded PostgreSQL, under load."""

    def __init__(self, service: Service, data: Path, random: Random) -> None:
        self.service = service
        self.data = data
        self.random = random

    def a_worker(self) -> None:
        """One of the service's processes; gunicorn starts another."""
        wait_until(lambda: children(self.service.process.pid), "there was a worker")
        kill(self.random.choice(children(self.service.process.pid)))

    def a_backend(self) -> None:
        """Any process of PostgreSQL but the first, which then ends all others and recovers."""
        wait_until(lambda: children(postmaster_of(self.data) or 0), "there was a backend")
        kill(self.random.choice(children(postmaster_of(self.data) or 0)))

    def gunicorn(self) -> None:
        """The first process of the service; workers and PostgreSQL live on as orphans. It is started again at once."""
        starts = self.service.err.count("Serving at")
        kill(self.service.process.pid)
        self.service.process.wait()
        self.service.start()
        # Until then orphans answer, or no process does.
        wait_until(lambda: self.service.err.count("Serving at") > starts, "it was started again")
        self.service.wait()

    def postgresql(self) -> None:
        """The first process of PostgreSQL; the service starts it again."""
        postmaster = postmaster_of(self.data)
        assert postmaster is not None
        kill(postmaster)
        # Its other processes go on for a moment, and answer.
        wait_until(lambda: postmaster_of(self.data) != postmaster, "PostgreSQL was started again")
        wait_until(lambda: self.service.get("/ready").status == 200, "it answered")


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder with a short path that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="crashes-") as name:
        Path(name).chmod(0o755)
        yield Path(name) / "data"


def test_no_kill_loses_what_was_acknowledged_or_leaves_anything_by_half(data: Path) -> None:
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    print(f"CRASH_SEED={seed}")
    random = Random(seed)
    keys = [f"*:*.the-key-of-client-{number}" for number in range(CLIENTS)]
    limits = {"MAX_FLAGS": 1_000_000, "MAX_SEGMENTS": 100_000}
    with Service(
        DATA_DIR=data, command=SERVE, WEB_CONCURRENCY=2, INIT_ADMIN_API_TOKENS=",".join(keys), **limits
    ) as service:
        crashes = Crashes(service, data, random)
        kills: dict[str, Callable[[], None]] = {
            "a worker": crashes.a_worker,
            "a backend": crashes.a_backend,
            "gunicorn": crashes.gunicorn,
            "PostgreSQL": crashes.postgresql,
        }
        whom = [name for name, times in KILLS.items() for _ in range(times)]
        random.shuffle(whom)
        with Load(service, keys) as load:
            for name in whom:
                load.go_on(random.randrange(1, 30), f"there were changes again before {name} was killed")
                time.sleep(random.random() / 20)
                kills[name]()
            load.go_on(100, "all was as before")
        assert "Traceback" not in service.err
        with connect(address_in(data)) as conn:
            assert_nothing_lost(conn, load)
        assert service.stop() == 0
    assert postmaster_of(data) is None
