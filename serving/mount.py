"""Serve under the path of BASE_URL, whether or not a proxy strips that path. Keep %2F of the client's path encoded."""

import re
from collections.abc import Callable, Container, Iterable
from typing import Any

from serving.path_converters import keep_encoded_slashes

WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]
# Our choice: SDKs append their paths to an address that people configure, with or without a slash at its end. In other
# paths, a trailing or doubled slash is 404.
OF_APPLICATIONS = re.compile(r"/(?:api/(?:client|frontend|proxy)|ofrep|edge)(?:/|\Z)")
# Our choice: Unleash Edge has these paths too. SDKs append /client/metrics to any of them.
OF_EDGE = re.compile(r"\A/api/(?:(?:proxy|frontend)(?:/all)?(?=/client/)|proxy(?=/|\Z))")


class Mount:
    """WSGI middleware: PATH/x is served like /x, //x is 404 except for applications, and %2F separates no segments."""

    def __init__(self, app: WSGI, path: str, roots: Container[str]) -> None:
        """Wrap an application. path: the path of BASE_URL. roots: the first segments of our own paths, such as api."""
        self.app = app
        self.path = path
        self.roots = roots

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ = keep_encoded_slashes(environ)
        path = path_of_operation(environ.get("PATH_INFO", ""), self.path)
        environ = {**environ, "PATH_INFO": path}
        inner = path.removeprefix(self.path)
        first = inner[1:].partition("/")[0]
        # If BASE_URL has a path of ours, such as /admin, PATH without a slash is the start page.
        ours = first in self.roots and (inner != "" or self.path[1:] not in self.roots)
        if self.path and inner != path and (inner.startswith("//") or ours):
            path = inner or "/"
            environ = {**environ, "SCRIPT_NAME": self.path, "PATH_INFO": path}
        # Werkzeug merges leading slashes. No path of ours begins with a dot.
        if path.startswith("//"):
            environ = {**environ, "PATH_INFO": f"/.{path}"}
        return self.app(environ, start_response)


def path_of_operation(path: str, base: str) -> str:
    """Return the path of an application, also below base, with single slashes and as in Unleash; others as given."""
    single = re.sub("//+", "/", path).rstrip("/")
    for inner in (single.removeprefix(base), single):
        if OF_APPLICATIONS.match(inner):
            return single.removesuffix(inner) + OF_EDGE.sub("/api/frontend", inner)
    return path
