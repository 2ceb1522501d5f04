"""kill -9 of whatever runs, and a full disk, under load: no acknowledged change is lost, and none is stored by half."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from itertools import count
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any, Self

import psycopg
import pytest

from sql.database import Connection, connect, rows
from tests.support.service import SERVE, Answer, Service, address_in, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

# Timeout of a request in seconds. No request takes this long, whatever has just been killed.
HANGS = 20
FEATURES = "/api/admin/projects/default/features"
LIMITS = {"MAX_FLAGS": 1_000_000, "MAX_SEGMENTS": 100_000}

# A change is identified by the type and the subject of its event.
Label = tuple[str, str]


class Client:
    """A client with its own token that sends one change after another, and remembers the acknowledged ones."""

    def __init__(self, service: Service, key: str, number: int) -> None:
        self.service = service
        self.headers = {"Authorization": key}
        # What the log calls a key of the setting INIT_ADMIN_API_TOKENS.
        self.name = f"init-{number + 1}"
        self.tried: set[Label] = set()
        self.acknowledged: list[Label] = []
        self.surprises: list[Any] = []
        self.is_over = threading.Event()
        token = {"name": self.name, "expiresAt": self._expiry(0)}
        self._token = self._ask("POST", "/api/admin/invite-link/tokens", token).json["secret"]
        self.thread = threading.Thread(target=self._work, name=self.name)

    def _expiry(self, number: int) -> str:
        """Return a different expiry for each number."""
        expiry = datetime(2050, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        return expiry.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.service.request(method, path, body, self.headers, timeout=HANGS)

    def _work(self) -> None:
        """Make changes to one flag after another. A change that fails is the last one of its flag."""
        for number in count(1):
            for method, path, body, label in self._changes(f"{self.name}-{number}", number):
                if self.is_over.is_set():
                    return
                self.tried.add(label)
                try:
                    answer = self._ask(method, path, body)
                except TimeoutError as error:
                    self.surprises.append((label, error))
                    break
                except (OSError, HTTPException):
                    # No server is there. The client tries again soon.
                    self.is_over.wait(0.02)
                    break
                if answer.status not in (200, 201, 202, 204):
                    if answer.status != 503 or not answer.headers["Retry-After"]:
                        self.surprises.append((label, answer.status, answer.body))
                    self.is_over.wait(0.02)
                    break
                self.acknowledged.append(label)

    def _changes(self, flag: str, number: int) -> Iterator[tuple[str, str, Any, Label]]:
        """Yield the changes to a flag: method, path, body and label."""
        environment, tags = f"{FEATURES}/{flag}/environments/development", f"/api/admin/features/{flag}/tags"
        tag, expiry = {"type": "simple", "value": f"{self.name}-{number % 5}"}, self._expiry(number)
        yield "POST", FEATURES, {"name": flag}, ("feature-created", flag)
        for title in ("first", "second"):
            strategy = {"name": "flexibleRollout", "title": title}
            yield "POST", f"{environment}/strategies", strategy, ("feature-strategy-add", f"{flag} {title}")
        yield "POST", f"{environment}/on", None, ("feature-environment-enabled", flag)
        yield "POST", tags, tag, ("feature-tagged", flag)
        with suppress(OSError, HTTPException):
            listed = self._ask("GET", f"{environment}/strategies")
            if listed.status == 200:
                path = f"{environment}/strategies/{listed.json[0]['id']}"
                yield "DELETE", path, None, ("feature-strategy-remove", f"{flag} first")
        yield "DELETE", f"{tags}/simple/{tag['value']}", None, ("feature-untagged", flag)
        yield "POST", f"{environment}/off", None, ("feature-environment-disabled", flag)
        path, label = f"/api/admin/invite-link/tokens/{self._token}", f"{self.name} {expiry}"
        yield "PUT", path, {"expiresAt": expiry}, ("public-signup-token-updated", label)
        yield "POST", "/api/admin/segments", {"name": flag, "constraints": []}, ("segment-created", flag)


LOG = "SELECT id, type, created_by, feature_name AS flag, environment, data, pre_data FROM events ORDER BY id"
STORED = """
    SELECT 'flag' AS kind, name AS what FROM flags
     UNION ALL
    SELECT 'strategy', id FROM strategies
     UNION ALL
    SELECT 'on', name || ' ' || environment FROM flag_environments JOIN flags ON flags.id = flag_id WHERE enabled
     UNION ALL
    SELECT 'tag', type || ' ' || value FROM tags
     UNION ALL
    SELECT 'tagged', name || ' ' || flag_tags.type || ' ' || value FROM flag_tags JOIN flags ON flags.id = flag_id
     UNION ALL
    SELECT 'segment', id || ' ' || name FROM segments
     UNION ALL
    SELECT 'token', name || ' ' || iso(expires_at) FROM signup_tokens
"""
# What a change creates and what it deletes, in the form of STORED, with the values of its event.
EFFECTS = {
    "feature-created": ("flag", "{flag}", None),
    "feature-strategy-add": ("strategy", "{data[id]}", None),
    "feature-strategy-remove": ("strategy", None, "{pre_data[id]}"),
    "feature-environment-enabled": ("on", "{flag} {environment}", None),
    "feature-environment-disabled": ("on", None, "{flag} {environment}"),
    "tag-created": ("tag", "{data[type]} {data[value]}", None),
    "feature-tagged": ("tagged", "{flag} {data[type]} {data[value]}", None),
    "feature-untagged": ("tagged", None, "{flag} {pre_data[type]} {pre_data[value]}"),
    "segment-created": ("segment", "{data[id]} {data[name]}", None),
    "public-signup-token-created": ("token", "{data[name]} {data[expiresAt]}", None),
    "public-signup-token-updated": ("token", "{data[name]} {data[expiresAt]}", "{data[name]} {pre_data[expiresAt]}"),
}
# The subjects of changes in labels, and the events that accompany another one.
SUBJECTS = {
    "feature-strategy-add": "{flag} {data[title]}",
    "feature-strategy-remove": "{flag} {pre_data[title]}",
    "public-signup-token-updated": "{data[name]} {data[expiresAt]}",
    "segment-created": "{data[name]}",
}
ACCOMPANYING = ("tag-created", "public-signup-token-created")


class Load:
    """Clients that make changes during a `with` block."""

    def __init__(self, service: Service, keys: list[str]) -> None:
        self.clients = [Client(service, key, number) for number, key in enumerate(keys)]

    def __enter__(self) -> Self:
        for client in self.clients:
            client.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.is_over.set()
        for client in self.clients:
            client.thread.join()

    def go_on(self, changes: int, what: str) -> None:
        """Return when so many more changes were acknowledged."""

        def acknowledged() -> int:
            return sum(len(client.acknowledged) for client in self.clients)

        enough = acknowledged() + changes
        wait_until(lambda: acknowledged() >= enough, what)

    def assert_nothing_lost(self, conn: Connection) -> None:
        """Assert that each acknowledged change is stored, that each change has an event, and each event a change."""
        log = [event for event in rows(conn, LOG) if event["created_by"] != "system"]
        for client in self.clients:
            assert client.surprises == [], client.surprises[:3]
            labels = [
                (event["type"], SUBJECTS.get(event["type"], "{flag}").format(**event))
                for event in log
                if event["created_by"] == client.name and event["type"] not in ACCOMPANYING
            ]
            assert len(labels) == len(set(labels)), "a change has two events"
            assert set(labels) <= client.tried
            promised = set(client.acknowledged)
            assert promised <= set(labels), f"acknowledged and lost: {promised - set(labels)}"
            # The next change of a client comes after the response to the one before, and so does its id.
            assert [label for label in labels if label in promised] == client.acknowledged
        replayed: set[tuple[str, str]] = set()
        for event in log:
            kind, created, deleted = EFFECTS[event["type"]]
            if deleted:
                replayed.remove((kind, deleted.format(**event)))
            if created:
                replayed.add((kind, created.format(**event)))
        stored = [(row["kind"], row["what"]) for row in rows(conn, STORED)]
        assert len(stored) == len(set(stored)), "something is stored twice"
        assert set(stored) == replayed


# --- kill -9 ----------------------------------------------------------------------------------------------------------


def children(pid: int | None) -> list[int]:
    """Return the processes that this one has started and that run."""
    pids = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [child for child in pids if is_alive(child)]


def kill(pid: int) -> None:
    """Kill a process, which may have ended by itself this moment."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), "it was dead")


def kill_child(random: Random, pid: Callable[[], int | None]) -> None:
    """Kill a process that another one has started, and starts again."""
    wait_until(lambda: children(pid()), "there was one")
    kill(random.choice(children(pid())))


def kill_gunicorn(service: Service) -> None:
    """Kill the master, and start it again at once. Workers and PostgreSQL live on as orphans."""
    kill(service.process.pid)
    service.process.wait()
    service.start().ready()


def kill_postgresql(service: Service, data: Path) -> None:
    """Kill the first process of PostgreSQL, which the service starts again."""
    postmaster = postmaster_of(data)
    kill(postmaster or 0)
    # Its other processes go on for a moment, and answer.
    wait_until(lambda: postmaster_of(data) != postmaster, "PostgreSQL was started again")
    wait_until(lambda: service.get("/ready").status == 200, "it answered")


def test_no_kill_loses_an_acknowledged_change(tmp: Path) -> None:
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    print(f"CRASH_SEED={seed}")
    random, data = Random(seed), tmp / "data"
    keys = [f"*:*.the-key-of-client-{number}" for number in range(8)]
    given = {"INIT_ADMIN_API_TOKENS": ",".join(keys), "WEB_CONCURRENCY": 2, **LIMITS}
    with Service(DATA_DIR=data, command=SERVE, **given) as service:
        kills = [lambda: kill_child(random, lambda: service.process.pid)] * 28
        kills += [lambda: kill_child(random, lambda: postmaster_of(data))] * 16
        kills += [lambda: kill_gunicorn(service)] * 3 + [lambda: kill_postgresql(service, data)] * 3
        random.shuffle(kills)
        with Load(service, keys) as load:
            for kill_one in kills:
                load.go_on(random.randrange(1, 30), "there were changes again before a kill")
                time.sleep(random.random() / 20)
                kill_one()
            load.go_on(100, "all was as before")
        assert "Traceback" not in service.err
        with connect(address_in(data)) as conn:
            load.assert_nothing_lost(conn)
        assert service.stop() == 0
    assert postmaster_of(data) is None


# --- A full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disk(tmp: Path) -> Iterator[Path]:
    """A file system of its own, with room for a fresh PostgreSQL and not much more."""
    place = tmp / "disk"
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
    """Create a file that takes all space."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
    return ballast


def test_a_full_disk_is_503_and_nothing_is_lost(disk: Path) -> None:
    data, keys = disk / "data", [f"*:*.the-key-of-client-{number}" for number in range(5)]

    def change(name: str) -> Answer:
        # Random, because PostgreSQL compresses long values.
        body = {"name": name, "description": token_hex(2500)}
        return service.request("POST", FEATURES, body, {"Authorization": keys[-1]}, timeout=10)

    def assert_unavailable(answer: Answer, message: str) -> None:
        assert (answer.status, answer.headers["Retry-After"], answer.json["name"]) == (503, "1", "UnavailableError")
        assert (list(answer.json), answer.json["message"]) == (["id", "name", "message"], message)

    with Service(DATA_DIR=data, INIT_ADMIN_API_TOKENS=",".join(keys), **LIMITS) as service:
        workers = service.workers
        with Load(service, keys[:-1]) as load:
            load.go_on(50, "there were changes")
            # Tables cannot grow. Reads still work.
            ballast = fill(disk)
            answers = (change(f"x{number}") for number in range(1000))
            refused = next(answer for answer in answers if answer.status != 201)
            assert_unavailable(refused, "The disk of the database is full.")
            assert service.get("/ready").status == 200
            ballast.unlink()
            load.go_on(50, "there were changes again")
            # The write-ahead log cannot grow. Connect first: on a full disk, a new connection can fail to write
            # pg_internal.init.
            with connect(address_in(data)) as conn:
                ballast = fill(disk)
                # PostgreSQL stops, and cannot start again until there is space.
                with pytest.raises(psycopg.OperationalError):
                    conn.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 40000000))")
            wait_until(lambda: "The disk is full. Free some space." in service.err, "the log said so")
            assert_unavailable(change("z"), "The database is unavailable or too slow.")
            assert service.get("/health").status == 200
            ballast.unlink()
            load.go_on(50, "there were changes again")
        assert service.workers == workers
        assert {line["status"] for line in service.lines if line["status"] >= 500} == {503}
        assert "psycopg.errors.DiskFull (SQLSTATE 53100)" in service.out
        assert "Traceback" not in service.err
        with connect(address_in(data)) as conn:
            load.assert_nothing_lost(conn)
        assert service.stop() == 0
    assert postmaster_of(data) is None
