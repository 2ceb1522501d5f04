"""Serving under a path: BASE_URL may have one, and a proxy in front may or may not strip it."""

from collections.abc import Callable, Iterable
from typing import Any

WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Mount:
    """WSGI middleware: a request for <path>/x is one for /x; a request for /x stays what it is; and //x is nothing that there is."""

    def __init__(self, app: WSGI, path: str) -> None:
        self.app = app
        self.path = path

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        asked = environ.get("PATH_INFO", "")
        if self.path and asked.startswith(f"{self.path}/"):
            asked = asked[len(self.path) :]
            environ = {**environ, "SCRIPT_NAME": self.path, "PATH_INFO": asked}
        # Werkzeug takes several slashes at the beginning for one. No address of ours begins with a dot.
        if asked.startswith("//"):
            environ = {**environ, "PATH_INFO": f"/.{asked}"}
        return self.app(environ, start_response)
