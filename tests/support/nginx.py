"""The real nginx for a test, with the configurations of docs/how-to/proxy.md, in front of a service."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.certificate import certify
from tests.support.program import AS_ANYBODY, Program, changed
from tests.support.service import PATIENCE, ROOT, UNPRIVILEGED, Answer, send

PROGRAM = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
PAGE = ROOT / "docs" / "how-to" / "proxy.md"
# What Debian's nginx.conf has around a file of conf.d/, with folders of our own.
AROUND = """
worker_processes 1;
pid nginx.pid;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{site}
}}
"""


def blocks() -> list[str]:
    """The configurations of docs/how-to/proxy.md: a name of its own, a path that is passed on, a path that is taken
    off.
    """
    return re.findall(r"^```nginx\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def under_a_path(location: str) -> str:
    """The first configuration with another location in the place of its first, and its second under the path."""
    before, _, streams = re.split(r"(    location / {.*?\n    }\n)", blocks()[0], flags=re.DOTALL)
    return f"{before}{location}{changed(streams, {'= /api/': '= /flags/api/'})}"


class Nginx:
    """nginx with a site of docs/how-to/proxy.md, but for addresses and the certificate;

    `with` starts it and stops it.
    """

    def __init__(self, site: str, port: int, plain_port: int, upstream: int) -> None:
        self.port = port
        self._folder = tempfile.TemporaryDirectory(prefix="nginx-")
        self._place = Path(self._folder.name)
        own = {
            "server 127.0.0.1:4242;": f"server 127.0.0.1:{upstream};",
            "listen 80;": f"listen 127.0.0.1:{plain_port};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
            "/etc/ssl/flags/fullchain.pem": str(self._place / "certificate"),
            "/etc/ssl/flags/privkey.pem": str(self._place / "key"),
        }
        (self._place / "nginx.conf").write_text(
            AROUND.format(site=changed(site.replace("flags.example.org", "localhost"), own))
        )
        self._program: Program | None = None

    def __enter__(self) -> Self:
        assert PROGRAM
        try:
            self._trust = certify(self._place)
            for path in (self._place, *self._place.iterdir()) if AS_ANYBODY else ():
                os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
            options = ["-e", "stderr", "-p", self._place, "-c", "nginx.conf", "-g", "daemon off;"]
            self._program = Program([*AS_ANYBODY, PROGRAM, *options], self._place / "log")
            self._program.ready(self.port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._program is not None:
            self._program.kill()
        self._folder.cleanup()

    def connect(self) -> HTTPSConnection:
        """Return a connection over TLS, from 127.0.0.2: an address that the proxy alone sees."""
        return HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE, context=self._trust, source_address=("127.0.0.2", 0)
        )

    def request(
        self, method: str, address: str, json: Any = None, headers: Mapping[str, str] | None = None, **kwargs: Any
    ) -> Answer:
        """Send one request on a connection of its own. The address may be one with a host."""
        path = urlsplit(address)._replace(scheme="", netloc="").geturl()
        return send(self.connect(), method, path, json, headers, **kwargs)
