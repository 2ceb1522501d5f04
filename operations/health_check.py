"""Exit with status 0 if the server in this container responds: python -m operations.health_check."""

import os
import sys
from http.client import HTTPConnection, HTTPException

TIMEOUT = 3  # seconds


def main() -> None:
    """Ask for /health on this machine. Otherwise print why, and exit with status 1."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = int(os.environ.get("PORT") or "4242")
    try:
        connection = HTTPConnection({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port, timeout=TIMEOUT)  # noqa: S104
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        sys.exit(f"The server does not respond on port {port}: {getattr(error, 'strerror', None) or error}.")
    if status != 200:
        sys.exit(f"The server answers /health with {status} instead of 200.")


if __name__ == "__main__":
    main()
