"""Clients that make changes over HTTP while processes are killed, and assertions that none of the changes is lost."""

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from itertools import count
from typing import Any, Self

from sql.database import Connection, rows
from tests.support.service import Answer, Service, wait_until

ADMIN = "/api/admin"
# Timeout of a request in seconds. No request takes this long, whatever has just been killed.
HANGS = 20
DONE = {200, 201, 202, 204}

# A change of a client is identified by the type and the subject of its event.
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
        self._token = ""
        self._number = number
        self._thread = threading.Thread(target=self._work, name=self.name)

    def start(self) -> None:
        """Begin to make changes."""
        self._token = self._ask("POST", "invite-link/tokens", {"name": self.name, "expiresAt": self._expiry(0)}).json[
            "secret"
        ]
        self._thread.start()

    def stop(self) -> None:
        """Make no more changes, and return when the last request has its response."""
        self.is_over.set()
        self._thread.join()

    def _expiry(self, number: int) -> str:
        """Return a different expiry for each number."""
        return (
            (datetime(2050, 1, 1, tzinfo=UTC) + timedelta(minutes=number))
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z")
        )

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.service.request(method, f"{ADMIN}/{path}", body, self.headers, timeout=HANGS)

    def _work(self) -> None:
        """Make changes to one flag after another. A change that fails is the last one of its flag."""
        for number in count(1):
            for method, path, body, label in self._changes(number):
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
                if answer.status in DONE:
                    self.acknowledged.append(label)
                    continue
                if answer.status != 503 or not answer.headers["Retry-After"]:
                    self.surprises.append((label, answer.status, answer.body))
                self.is_over.wait(0.02)
                break

    def _changes(self, number: int) -> Iterator[tuple[str, str, Any, Label]]:
        """Yield the changes to the flag of this number: method, path, body and label."""
        flag = f"flag-{self._number}-{number}"
        environment = f"projects/default/features/{flag}/environments/development"
        tag = {"type": "simple", "value": f"of-{self._number}-{number % 5}"}
        # Ids of our own, so that unanswered requests can be identified too.
        yield "POST", "projects/default/features", {"name": flag}, ("feature-created", flag)
        for title in ("first", "second"):
            strategy = {"name": "flexibleRollout", "title": title}
            yield "POST", f"{environment}/strategies", strategy, ("feature-strategy-add", f"{flag} {title}")
        yield "POST", f"{environment}/on", None, ("feature-environment-enabled", flag)
        yield "POST", f"features/{flag}/tags", tag, ("feature-tagged", flag)
        listed = self._listed(environment)
        if listed:
            yield "DELETE", f"{environment}/strategies/{listed[0]}", None, ("feature-strategy-remove", f"{flag} first")
        yield "DELETE", f"features/{flag}/tags/simple/{tag['value']}", None, ("feature-untagged", flag)
        yield "POST", f"{environment}/off", None, ("feature-environment-disabled", flag)
        expiry = self._expiry(number)
        yield (
            "PUT",
            f"invite-link/tokens/{self._token}",
            {"expiresAt": expiry},
            ("public-signup-token-updated", f"{self.name} {expiry}"),
        )
        yield "POST", "segments", {"name": flag, "constraints": []}, ("segment-created", flag)

    def _listed(self, environment: str) -> list[str]:
        """Return the ids of a flag's strategies, in order, or [] if the request fails."""
        try:
            answer = self._ask("GET", f"{environment}/strategies")
        except (OSError, HTTPException):
            return []
        return [strategy["id"] for strategy in answer.json] if answer.status == 200 else []


class Load:
    """Clients that make changes during a `with` block."""

    def __init__(self, service: Service, keys: list[str]) -> None:
        self.clients = [Client(service, key, number) for number, key in enumerate(keys)]

    def __enter__(self) -> Self:
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.is_over.set()
        for client in self.clients:
            client.stop()

    @property
    def acknowledged(self) -> int:
        """Return the number of changes that were acknowledged so far."""
        return sum(len(client.acknowledged) for client in self.clients)

    def go_on(self, changes: int, what: str) -> None:
        """Return when so many more changes were acknowledged."""
        enough = self.acknowledged + changes
        wait_until(lambda: self.acknowledged >= enough, what)


LOG = """
    SELECT id, type, created_by, feature_name, environment, data, pre_data
      FROM events
     WHERE created_by <> 'system'
     ORDER BY id
"""


def label(event: Mapping[str, Any]) -> Label | None:
    """Return the label of the change that an event records, or None for an event that accompanies another one."""
    kind, data, before = event["type"], event["data"], event["pre_data"]
    match kind:
        case "feature-strategy-add":
            return kind, f"{event['feature_name']} {data['title']}"
        case "feature-strategy-remove":
            return kind, f"{event['feature_name']} {before['title']}"
        case "public-signup-token-updated":
            return kind, f"{data['name']} {data['expiresAt']}"
        case "segment-created":
            return kind, data["name"]
        case "tag-created" | "public-signup-token-created":
            return None
        case _:
            return kind, event["feature_name"]


def assert_acknowledged(log: list[dict[str, Any]], clients: list[Client]) -> None:
    """Assert that the log has each acknowledged change of a client once, in the order of ids, and no other changes."""
    for client in clients:
        assert client.surprises == [], client.surprises[:3]
        labels = [label(event) for event in log if event["created_by"] == client.name]
        labels = [one for one in labels if one]
        assert len(labels) == len(set(labels)), "a change is told twice"
        assert set(labels) <= client.tried, set(labels) - client.tried
        promised = set(client.acknowledged)
        assert promised <= set(labels), f"acknowledged and lost: {promised - set(labels)}"
        # The next change of a client comes after the answer to the one before, and so does its id.
        assert [one for one in labels if one in promised] == client.acknowledged, "ids went back"


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


def replayed(log: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return the state that the events lead to, in the form of STORED."""
    state: set[tuple[str, str]] = set()

    def end(kind: str, what: str) -> None:
        assert (kind, what) in state, f"event {event['id']} ends what began without an event: {kind} {what}"
        state.remove((kind, what))

    for event in log:
        flag, data, before = event["feature_name"], event["data"], event["pre_data"]
        match event["type"]:
            case "feature-created":
                state.add(("flag", flag))
            case "feature-strategy-add":
                state.add(("strategy", data["id"]))
            case "feature-strategy-remove":
                end("strategy", before["id"])
            case "feature-environment-enabled":
                state.add(("on", f"{flag} {event['environment']}"))
            case "feature-environment-disabled":
                end("on", f"{flag} {event['environment']}")
            case "tag-created":
                state.add(("tag", f"{data['type']} {data['value']}"))
            case "feature-tagged":
                state.add(("tagged", f"{flag} {data['type']} {data['value']}"))
            case "feature-untagged":
                end("tagged", f"{flag} {before['type']} {before['value']}")
            case "segment-created":
                state.add(("segment", f"{data['id']} {data['name']}"))
            case "public-signup-token-created":
                state.add(("token", f"{data['name']} {data['expiresAt']}"))
            case "public-signup-token-updated":
                end("token", f"{before['name']} {before['expiresAt']}")
                state.add(("token", f"{data['name']} {data['expiresAt']}"))
            case other:
                raise AssertionError(other)
    return state


def assert_nothing_lost(conn: Connection, load: Load) -> None:
    """Assert that each acknowledged change is stored, that each change has an event, and each event a change."""
    log = rows(conn, LOG)
    assert_acknowledged(log, load.clients)
    stored = [(row["kind"], row["what"]) for row in rows(conn, STORED)]
    assert len(stored) == len(set(stored)), "something is there twice"
    replay = replayed(log)
    assert set(stored) == replay, (
        f"without an event: {set(stored) - replay}; without its change: {replay - set(stored)}"
    )
