"""Exit with status 0 if the server in this container responds: python -m operations.health_check."""

import os
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException

TIMEOUT = 3  # seconds


def main() -> None:
    """Ask for /health on this machine. Otherwise print why, and exit with status 1."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = int(os.environ.get("PORT") or "4242")
    try:
        status = ask(host, port)
    except (OSError, HTTPException) as error:
        sys.exit(f"The server does not respond on port {port}: {getattr(error, 'strerror', None) or error}.")
    if status != 200:
        sys.exit(f"The server answers /health with {status} instead of 200.")


def ask(host: str, port: int) -> int:
    """Return the status of /health. host: the setting HOST. Raises OSError and HTTPException."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    with closing(HTTPConnection(host, port, timeout=TIMEOUT)) as connection:
        connection.request("GET", "/health")
        return connection.getresponse().status


if __name__ == "__main__":
    main()
