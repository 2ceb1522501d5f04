"""Logins a second beside what bcrypt gives by itself, and what other requests feel of them."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, repeat

import bcrypt

from bench.client import Latency, Wrk, again, has_wrk, latency, together
from bench.company import email
from bench.facts import USER_PASSWORD
from bench.service import SETTINGS, WORKERS
from bench.shapes import Request

LOGIN = "/auth/simple/login"


@dataclass(frozen=True)
class Logins:
    """A second: of logins, and of bcrypt alone on two cores. Milliseconds of another request: while idle, and during logins."""

    rate: float
    bcrypt: float
    idle: Latency
    busy: Latency | None


def login(user: int) -> Request:
    """A login by the user of this index."""
    return Request("POST", LOGIN, body=json.dumps({"username": email(user), "password": USER_PASSWORD}))


def measure(port: int, users: int, other: Request, seconds: float) -> Logins:
    """Logins of different users over 4 connections for so long."""
    idle = latency(port, again(other), seconds, warm=20)
    alone = bcrypt_rate(seconds)
    busy = None
    if has_wrk():
        with Wrk(port, [login(user) for user in range(users)], seconds + 1, connections=4) as wrk:
            time.sleep(0.5)  # until passwords are being compared
            busy = latency(port, again(other), seconds)
        rate = wrk.rate or 0.0
        if wrk.errors:
            raise RuntimeError(f"{wrk.errors} logins were refused")
    else:
        rate, _ = together(port, in_turn(users), seconds, connections=4)
    return Logins(rate, alone, idle, busy)


def bcrypt_rate(seconds: float, cores: int = WORKERS) -> float:
    """How many passwords a second are compared by as many threads as there are workers, with nothing beside."""
    hashed = bcrypt.hashpw(USER_PASSWORD.encode(), bcrypt.gensalt(int(SETTINGS["BCRYPT_ROUNDS"])))
    began = time.monotonic()

    def work(_: int) -> int:
        done = 0
        while time.monotonic() < began + seconds:
            bcrypt.checkpw(USER_PASSWORD.encode(), hashed)
            done += 1
        return done

    with ThreadPoolExecutor(cores) as pool:
        return sum(pool.map(work, range(cores))) / (time.monotonic() - began)


def in_turn(users: int) -> Iterator[Request]:
    """Logins of one user after the other, for ever."""
    return chain.from_iterable(repeat([login(user) for user in range(users)]))
