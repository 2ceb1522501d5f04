"""Send the same request on many connections, and measure how long another client waits meanwhile."""

import socket
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median
from threading import Thread

from tests.support.service import Service, wait_until

# Processes do not share memory that only one of them has.
PRIVATE = "Private_Dirty:"


def lists(size: int) -> bytes:
    """Return a JSON list of empty lists in about so many bytes."""
    return b"[" + b"[]," * (size // 3) + b"[]]"


def text(size: int) -> bytes:
    """Return a JSON string of about so many bytes."""
    return b'"' + b"x" * size + b'"'


@dataclass(frozen=True)
class Attack:
    """A request, and how many connections send it. path: with its method."""

    path: str
    body: bytes
    connections: int
    headers: Mapping[str, str]

    @property
    def request(self) -> bytes:
        """The bytes of the request."""
        headers = {"Host": "x", "Content-Type": "application/json", "Content-Length": str(len(self.body))}
        lines = [f"{name}: {value}" for name, value in (headers | dict(self.headers)).items()]
        return "\r\n".join([f"{self.path} HTTP/1.1", *lines, "", ""]).encode() + self.body


@dataclass(frozen=True)
class Effect:
    """What an attack did: the times of the other client in seconds, the growth of the workers, and statuses."""

    times: list[float]
    grown: int
    statuses: Counter[int]

    def __str__(self) -> str:
        times = f"median {median(self.times) * 1000:.0f} ms, maximum {max(self.times) * 1000:.0f} ms"
        return f"{times} of {len(self.times)}, workers +{self.grown >> 20} MB, {dict(self.statuses)}"


def send(port: int, attacks: list[Attack], stop: Event, results: Connection) -> None:
    """Send the requests of attacks again and again, until the event is set."""
    statuses: Counter[int] = Counter()

    def repeat(request: bytes) -> None:
        while not stop.is_set():
            with suppress(OSError, HTTPException), socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                while not stop.is_set():
                    client.sendall(request)
                    response = HTTPResponse(client)
                    response.begin()
                    response.read()
                    statuses[response.status] += 1
                    if response.will_close:
                        break

    threads = [Thread(target=repeat, args=[attack.request]) for attack in attacks for _ in range(attack.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.send(statuses)


def memory(service: Service) -> int:
    """Return the private memory of the workers in bytes."""
    lines = [line for pid in service.workers for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(PRIVATE))


def attack(service: Service, attacks: list[Attack], path: str, headers: Mapping[str, str], seconds: float) -> Effect:
    """Send attacks for some seconds, while another client sends GET path, one request after the other."""
    before = most = memory(service)
    context = get_context("spawn")
    here, there = context.Pipe()
    stop = context.Event()
    sender = context.Process(target=send, args=(service.port, attacks, stop, there))
    sender.start()
    try:
        lines = len(service.lines)
        wait_until(lambda: len(service.lines) > lines, "the attack has begun")
        times = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            assert service.get(path, headers=headers, timeout=60).status == 200
            times.append(time.monotonic() - began)
            # To add the pages up takes time in the kernel.
            if len(times) % 10 == 1:
                most = max(most, memory(service))
        stop.set()
        return Effect(times, most - before, here.recv())
    finally:
        stop.set()
        sender.join()
