"""Clients of event streams: one that reads events, and many that only listen."""

import json
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Self

from tests.support.instance import ADMIN_KEY
from tests.support.metrics import BEARER, read, total
from tests.support.service import PATIENCE, Service

SDK, PAGE = "/api/client/streaming", "/ofrep/v1/stream"
EVALUATE = "/ofrep/v1/evaluate/flags"
AUTHORIZED = {"Authorization": ADMIN_KEY}
FLAGS = "/api/admin/projects/default/features"
TOKENS = "/api/admin/api-tokens"
STRATEGY = {"name": "default", "constraints": [], "parameters": {}}


@dataclass(frozen=True)
class Sent:
    """An event: its name, its id and its data. They are empty if it has none."""

    name: str
    id: str
    data: Any

    @property
    def flags(self) -> dict[str, bool]:
        """Return which flags it has, and whether they are on."""
        events = [flag for event in self.data["events"] for flag in event.get("features", [event.get("feature")])]
        return {flag["name"]: flag["enabled"] for flag in events if flag}


class EventStream:
    """A stream that is open until the end of a `with` block."""

    def __init__(
        self, service: Service, path: str = SDK, token: str | None = None, last: str | None = None, version: int = 11
    ) -> None:
        self._connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self._connection._http_vsn, self._connection._http_vsn_str = version, f"HTTP/1.{version - 10}"  # pyright: ignore
        headers = {"Authorization": token} if token else {}
        self._connection.request("GET", path, headers=headers | ({"Last-Event-ID": last} if last else {}))
        self._response = self._connection.getresponse()
        self.status, self.headers = self._response.status, self._response.headers
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()
        self._connection.close()

    def _piece(self) -> bytes:
        """Return the next piece of the body, or nothing at its end."""
        file = self._response.fp
        # HTTPResponse does not notice that the last chunk is missing.
        if not self._response.chunked:
            return file.read1(1 << 16)
        head = file.readline()
        assert head, "the last chunk is missing"
        data = file.read(int(head, 16))
        assert file.readline() == b"\r\n"
        return data

    def _line(self) -> str:
        """Return the next line, or an empty text at the end."""
        while b"\n" not in self._rest:
            piece = self._piece()
            if not piece:
                return ""
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return f"{line.decode()}\n"

    def next(self) -> Sent | None:
        """Return the next event, or None at the end. Fail if the last chunk is missing."""
        fields: dict[str, str] = {}
        deadline = time.monotonic() + PATIENCE
        while line := self._line():
            assert time.monotonic() < deadline, "only comments have come"
            name, _, text = line.rstrip("\n").partition(":")
            # Without a name, it is a comment.
            if name:
                fields[name] = text.lstrip()
            elif not text and fields:
                data = fields.get("data", "")
                return Sent(
                    fields.get("event", ""), fields.get("id", ""), json.loads(data) if data[:1] == "{" else data
                )
        return None

    def event(self) -> Sent:
        """Return the next event. Fail at the end."""
        found = self.next()
        assert found is not None, "the stream has ended"
        return found

    def comment(self) -> None:
        """Return when a comment has come. Fail if anything else comes."""
        assert (self._line(), self._line()) == (":\n", "\n")

    def all(self) -> list[Sent]:
        """Return all events until the end."""
        return [*iter(self.next, None)]


def page_path(service: Service, token: str) -> str:
    """Return the path of the stream that a bulk evaluation announces to a page."""
    answer = service.request("POST", EVALUATE, {"context": {"targetingKey": "u"}}, {"Authorization": token})
    return answer.json["eventStreams"][0]["endpoint"]["requestUri"]


class Listeners:
    """Many open streams of SDKs."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []

    def open(self, service: Service, token: str) -> None:
        """Open one more, and read its first event."""
        sock = socket.socket()
        self.sockets.append(sock)
        # Otherwise the kernel takes up to 32 MB for a client that does not read.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", service.port))
        sock.sendall(f"GET {SDK} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n".encode())
        data = b""
        while b"unleash-connected" not in data or not data.endswith(b"\n\n\r\n"):
            received = sock.recv(1 << 18)
            assert received, data
            data += received
        assert b"fetch-mode" not in data

    def wait_for(self, text: bytes) -> None:
        """Return when this has arrived on each stream, and no other bytes but comments."""
        waiting = set(self.sockets)
        with selectors.DefaultSelector() as selector:
            for sock in self.sockets:
                selector.register(sock, selectors.EVENT_READ)
            while waiting:
                ready = selector.select(PATIENCE)
                assert ready, f"{len(waiting)} streams wait in vain"
                for key, _ in ready:
                    data = key.fileobj.recv(1 << 18)  # pyright: ignore
                    assert data, "a stream has ended"
                    if text in data:
                        waiting.discard(key.fileobj)  # pyright: ignore


@contextmanager
def listeners(service: Service, token: str, number: int) -> Iterator[Listeners]:
    """Keep so many streams open during the block."""
    found = Listeners()
    try:
        for _ in range(number):
            found.open(service, token)
        yield found
    finally:
        for sock in found.sockets:
            sock.close()


def change(service: Service, method: str, path: str, body: Any = None) -> Any:
    """Send a change, and return the response."""
    answer = service.request(method, path, body, AUTHORIZED)
    assert answer.status in (200, 201), answer.body
    return answer.json if answer.body else None


def new_token(service: Service, kind: str = "client") -> str:
    """Create a token for the flags of the project default in development, and return its secret."""
    body = {"tokenName": "app", "type": kind, "environment": "development", "projects": ["default"]}
    return change(service, "POST", TOKENS, body)["secret"]


def new_flag(service: Service, name: str) -> None:
    """Create a flag that is on for everybody."""
    change(service, "POST", FLAGS, {"name": name})
    change(service, "POST", f"{FLAGS}/{name}/environments/development/strategies", STRATEGY)
    switch(service, name, "on")


def switch(service: Service, name: str, state: str) -> None:
    """Switch a flag on or off."""
    change(service, "POST", f"{FLAGS}/{name}/environments/development/{state}")


def scraped(service: Service, name: str) -> float:
    """Return the sum of the series with this name."""
    return total(read(service.get("/metrics", headers=BEARER).body), name)
