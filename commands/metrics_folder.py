"""Where the worker processes count together for Prometheus: a folder of the master's with the files of a few slots, each of one worker.

A worker that starts takes a slot that is free, and counts on where the one before it stopped, however that ended: counters never go back,
and there are not more files after a hundred restarts than after one.
"""

import atexit
import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prometheus_client import multiprocess, values

from blueprints.meters import FOLDER, SINCE

PREFIX = "flags-metrics-"
# In memory, where there is such a place: nothing waits for a disk.
MEMORY = "/dev/shm"  # noqa: S108 (a folder of our own is made in it)
# Bytes of the files of a slot. All series that there can be fit in, as a test proves. The space is taken at once: in a file that can grow,
# a full disk is found out by a write to memory, which ends the process.
SIZES = {"counter": 1 << 19, "histogram": 1 << 19, "gauge_livesum": 1 << 16}


class Folder:
    """The folder of this master; it goes when the service stops, and the next start removes what a killed one has left."""

    def __init__(self) -> None:
        """OSError: there is no place for it."""
        in_memory = "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK)
        place = Path(MEMORY if in_memory else tempfile.gettempdir())
        for old in place.glob(f"{PREFIX}*"):
            remove_abandoned(old)
        made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
        # Held by this process and its workers for as long as any of them lives. The name comes when it is held.
        fcntl.flock(os.open(made, os.O_RDONLY), fcntl.LOCK_EX)
        self.path = made.rename(place / made.name[1:])
        self._master = os.getpid()
        atexit.register(self.close)
        os.environ[FOLDER] = str(self.path)
        os.environ[SINCE] = str(time.time())

    def take_slot(self, taken: Iterable[int | None]) -> int:
        """The first slot that no living worker has, ready for the next one. OSError: there is no space for it."""
        used = set(taken)
        slot = next(number for number in range(len(used) + 1) if number not in used)
        self.free_slot(slot)
        for kind, size in SIZES.items():
            self._allocate(f"{kind}_{slot}.db", size)
        return slot

    def free_slot(self, slot: int) -> None:
        """The worker in it has ended: what it held it holds no more, and what it counted stays."""
        multiprocess.mark_process_dead(slot, str(self.path))

    def close(self) -> None:
        """Remove it, however the master ends but by force. When a worker ends, it stays."""
        if os.getpid() == self._master:
            shutil.rmtree(self.path, ignore_errors=True)

    def _allocate(self, name: str, size: int) -> None:
        path, made = self.path / name, self.path / f"{name}.new"
        if not path.exists():
            try:
                with made.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, size)
                made.rename(path)
            except OSError:
                made.unlink(missing_ok=True)
                raise


def remove_abandoned(folder: Path) -> None:
    """Remove the folder of a service that has ended without doing so; that of one that lives, or of somebody else, stays."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder)
        finally:
            os.close(lock)


def count_in(slot: int | None) -> None:
    """Have this worker count in its slot; None: for itself alone, because there was no space for one. It tells what the others count."""
    if slot is None:
        values.ValueClass = values.MutexValue
        print("There is no space for what this worker process counts: its part is missing in the metrics.", file=sys.stderr, flush=True)
    else:
        values.ValueClass = values.MultiProcessValue(lambda: slot)
