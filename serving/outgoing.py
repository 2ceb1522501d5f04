"""Send a request to a server that a user has named, without reaching addresses that are not allowed."""

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from rules.addresses import Network, is_allowed

CONNECT_SECONDS, TOTAL_SECONDS = 5.0, 15.0


def post(url: str, headers: Mapping[str, str], body: bytes, networks: Sequence[Network]) -> tuple[int, str | None]:
    """Send a POST and return the status and the header Retry-After. Redirects are not followed, the body is not read.

    Raises OSError or HTTPException without a valid response within 15 s.
    """
    parts = urlsplit(url)
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    connection = HTTPConnection(host, parts.port or (443 if is_encrypted else 80))
    connection.default_port = 443 if is_encrypted else 80
    found = socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM)
    # All of them: the answers of an attacker's name server may differ.
    if not all(is_allowed(str(address[0]), networks, is_encrypted=is_encrypted) for *_, address in found):
        why = f"{host} has a private address" if is_encrypted else f"{host} needs https"
        raise PermissionError(0, f"{why}. The setting INTEGRATION_NETWORKS can allow it")
    began = time.monotonic()
    sock = connect(found)
    if is_encrypted:
        context = ssl.create_default_context()
        sock = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    # A server that sends a byte now and then never reaches a timeout of the socket. Not the method of SSLSocket: it is
    # not for other threads.
    timer = Timer(began + TOTAL_SECONDS - time.monotonic(), socket.socket.shutdown, (sock, socket.SHUT_RDWR))
    timer.start()
    try:
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        connection.sock = sock
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fields = {name: text.encode() for name, text in headers.items()} | {"Connection": b"close"}
        connection.request("POST", path, body, fields)
        response = connection.getresponse()
        return response.status, response.getheader("Retry-After")
    except (OSError, HTTPException):
        if time.monotonic() > began + TOTAL_SECONDS - 0.1:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        sock.close()


def connect(found: Sequence[tuple[int, int, int, str, Any]]) -> socket.socket:
    """Return a socket that is connected to the first of these addresses that accepts it."""
    for position, (family, kind, protocol, _, address) in enumerate(found, start=1):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(CONNECT_SECONDS / len(found))
        try:
            sock.connect(address)
            sock.settimeout(TOTAL_SECONDS)
            return sock
        except OSError:
            sock.close()
            if position == len(found):
                raise
    raise OSError("no address")
