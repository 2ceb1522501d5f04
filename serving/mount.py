"""Serving under a path: BASE_URL may have one, and a proxy in front may or may not strip it."""

from collections.abc import Callable, Container, Iterable
from typing import Any

WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Mount:
    """WSGI middleware: a request for <path>/x is one for /x; a request for /x stays what it is; and //x is nothing that there is."""

    def __init__(self, app: WSGI, path: str, roots: Container[str]) -> None:
        """path: that of BASE_URL; roots: the first words of our own addresses, by which a path such as /api is told from them."""
        self.app = app
        self.path = path
        self.roots = roots

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        asked = environ.get("PATH_INFO", "")
        inner = asked.removeprefix(self.path)
        if self.path and inner != asked and (inner.startswith("//") or inner[1:].partition("/")[0] in self.roots):
            asked = inner
            environ = {**environ, "SCRIPT_NAME": self.path, "PATH_INFO": asked}
        # Werkzeug takes several slashes at the beginning for one. No address of ours begins with a dot.
        if asked.startswith("//"):
            environ = {**environ, "PATH_INFO": f"/.{asked}"}
        return self.app(environ, start_response)
