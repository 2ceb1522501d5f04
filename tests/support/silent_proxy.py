"""A way to a PostgreSQL's socket over TCP, on which everything can stop: connections stay, new ones are accepted, and
nothing moves.
"""

import socket
import threading
from contextlib import suppress
from math import inf
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.support.service import free_port


class Proxy:
    """Passes everything on to the server of this address, until hush();

    `with` starts and stops it. url: how it is reached through here.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.lead_to(url)
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
        self._talking = threading.Event()
        self._talking.set()
        # How many of those to come are refused.
        self._refusals = 0.0
        self._is_deaf = False
        self._is_over = threading.Event()
        self._ends: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._is_over.set()
        self._talking.set()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def lead_to(self, url: str) -> None:
        """Make new connections go to the server of this address."""
        self._server = f"{parse_qs(urlsplit(url).query)['host'][0]}/.s.PGSQL.5432"

    def hush(self) -> None:
        """Stop passing data on."""
        self._talking.clear()

    def refuse(self, times: float = inf) -> None:
        """Close all connections, and close this number of new connections immediately."""
        self._refusals = times
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def talk(self) -> None:
        """Pass data on again, including the data that was held back."""
        self._refusals = 0
        self._talking.set()

    def ignore(self) -> None:
        """Let existing connections work. Accept new ones, but pass nothing on."""
        self._is_deaf = True

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._refusals > 0:
                    self._refusals -= 1
                    client.close()
                    continue
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._talking.wait()
        if self._is_deaf:
            self._ends.append(client)
            self._is_over.wait()
            client.close()
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._server)
        except OSError:
            server.close()
            client.close()
            return
        self._ends += [client, server]
        there = threading.Thread(target=self._pass, args=(client, server), daemon=True)
        there.start()
        self._pass(server, client)
        there.join()
        client.close()
        server.close()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._talking.wait()
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
