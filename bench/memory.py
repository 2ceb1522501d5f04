"""Memory of the service's processes: what each has for itself, and its part of what they share (PSS)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.client import Wrk, has_wrk, one_after_another, together
from bench.shapes import Request
from tests.service import Service


@dataclass(frozen=True)
class Memory:
    """Megabytes (10^6 bytes) of master and workers together. rate: requests a second of the load."""

    idle: float
    after: float
    master: float
    workers: list[float]
    minutes: float
    rate: float | None


def pss(pid: int) -> float:
    """The PSS of a process, in megabytes."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024 / 1e6


def whole(service: Service) -> tuple[float, list[float]]:
    """Of the master, and of each worker."""
    return pss(service.process.pid), [pss(pid) for pid in sorted(service.workers)]


def measure(service: Service, requests: Sequence[Request], minutes: float) -> Memory:
    """Of a service that has just been started, and after so long a time of these requests in turn over 8 connections."""
    master, workers = whole(service)
    idle = master + sum(workers)
    if has_wrk():
        with Wrk(service.port, requests, minutes * 60) as wrk:
            pass
        rate = wrk.rate
    else:
        rate, _ = together(service.port, one_after_another(requests), minutes * 60)
    master, workers = whole(service)
    return Memory(idle, master + sum(workers), master, workers, minutes, rate)
