"""The files in which gunicorn's workers count metrics, and the hooks that create and remove them.

Each worker has a slot, a number in the names of its metrics files. After a worker has ended, the next one gets its slot
and continues its files. So counters never decrease, and reloads do not add files.

Written for prometheus_client 0.26 (bounded in setup.cfg). It documents values.ValueClass, values.MultiProcessValue and
multiprocess.mark_process_dead() for servers that identify workers by another number than the process id. In
serving/metrics.py, AllWorkers overrides MultiProcessCollector.collect().
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from serving.settings import SettingError

PREFIX = "flags-metrics"

# In the master: the folder of the workers' metrics, or None without metrics.
_folder: str | None = None


def prepare(config: Mapping[str, Any]) -> None:
    """Create the folder, in the master. Raises SettingError if that fails."""
    global _folder
    if not config["METRICS_TOKEN"]:
        return
    os.environ["FLAGS_METRICS_SINCE"] = str(time.time())
    try:
        # The library decides at its import whether to count in files, so it is imported later.
        _folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = create_folder()
    except OSError as error:
        raise SettingError(f"The folder for metrics cannot be created: {os.strerror(error.errno or 0)}.") from None


def create_folder() -> str:
    """Create the folder of this master, and remove those of masters that were killed."""
    # In memory, so that counting never waits for a disk.
    place = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # noqa: S108
    for old in place.glob(f"{PREFIX}-{os.geteuid()}-*"):
        if not Path("/proc", old.name.split("-")[3]).exists():
            shutil.rmtree(old, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{PREFIX}-{os.geteuid()}-{os.getpid()}-", dir=place)


def free_slot(taken: Iterable[int | None]) -> int:
    """Return the first slot that no living worker uses."""
    used = set(taken)
    return next(slot for slot in range(len(used) + 1) if slot not in used)


def count_in(slot: int) -> None:
    """Make this worker write its metrics to the files of a slot."""
    if _folder is not None:
        from prometheus_client import values

        values.ValueClass = values.MultiProcessValue(lambda: slot)


def forget_gauges(slot: int) -> None:
    """Remove the gauges of an ended worker. Its counters stay for the next worker of the slot."""
    if _folder is not None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(slot)


def close() -> None:
    """Remove the folder when the master ends."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
