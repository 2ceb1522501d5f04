"""The processor time and the memory of a server on this machine, from /proc."""

import os
from pathlib import Path

import psycopg

from bench.checkout import Checkout


class Processors:
    """The processor time of the server: of its workers, and of PostgreSQL. PostgreSQL must be on this machine."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        with psycopg.connect(checkout.url) as conn:
            rows = conn.execute(
                "SELECT pid FROM pg_stat_activity "
                "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            self._backends = [pid for (pid,) in rows]
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        return sum(map(milliseconds, workers(self._checkout))), sum(map(milliseconds, self._backends))

    def spent_by(self) -> tuple[float, float]:
        """Return the milliseconds of the workers and of PostgreSQL since the beginning."""
        now = self._now()
        return now[0] - self._began[0], now[1] - self._began[1]

    def spent(self) -> float:
        """Return the milliseconds since the beginning."""
        return sum(self.spent_by())


def workers(checkout: Checkout) -> list[int]:
    """Return the process ids of the workers."""
    return [int(pid) for pid in Path(f"/proc/{checkout.pid}/task/{checkout.pid}/children").read_text().split()]


def milliseconds(pid: int) -> float:
    """Return the processor time of a process."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e6


def family(pid: int) -> float:
    """Return the processor time of a process and its children, also of children that have ended."""
    ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(int, ended)) * 1000 / os.sysconf("SC_CLK_TCK") + sum(map(milliseconds, [pid, *map(int, children)]))


def resident(checkout: Checkout) -> float:
    """Return the memory of the only worker in MB."""
    pages = int(Path(f"/proc/{workers(checkout)[0]}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def share(checkout: Checkout) -> float:
    """Return the memory of the workers in MB. Memory that processes share is divided among them."""
    files = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in workers(checkout)]
    return sum(int(text.partition("\nPss:")[2].split()[0]) for text in files) / 1000
