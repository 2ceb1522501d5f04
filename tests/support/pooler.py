"""The real PgBouncer for a test, set up by the pgbouncer.ini of docs/how-to/scale.md, in front of a database; stopped
by its pid.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from psycopg.conninfo import conninfo_to_dict

from tests.support.service import AS_UNPRIVILEGED, PATIENCE, ROOT, free_port, wait_until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
# As (1, 18); () without the program.
_said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout if PROGRAM else ""
VERSION = tuple(int(part) for part in re.findall(r"\d+", _said)[:2])
PAGE = ROOT / "docs" / "how-to" / "scale.md"
# Root it refuses to be. The socket of a embedded PostgreSQL is for its owner alone.
AS_ANYBODY = (*AS_UNPRIVILEGED, "--inh-caps=+dac_override", "--ambient-caps=+dac_override") if os.geteuid() == 0 else ()


def block(language: str) -> str:
    """The only block of that language in docs/how-to/scale.md."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return found


def changed(text: str, changes: Mapping[str, str]) -> str:
    """A text with other values in place of some, each of which stands in it once."""
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


class Pooler:
    """PgBouncer as docs/how-to/scale.md has it, but for addresses, a pool of two, and changes;

    `with` starts it and stops it.
    """

    def __init__(self, database: str, changes: Mapping[str, str] | None = None, more: str = "") -> None:
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="pooler-")
        folder = Path(self._folder.name)
        folder.chmod(0o755)
        server = conninfo_to_dict(database)
        user, password = server.get("user") or "postgres", server.get("password") or "secret"
        (folder / "userlist.txt").write_text(f'"{user}" "{password}"\n')
        own = {
            "host=db.example.org port=5432": f"host={server['host']} port={server.get('port') or 5432}",
            "dbname=flags": f"dbname={server['dbname']}",
            "10.0.0.10": "127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.port}",
            "/etc/pgbouncer/userlist.txt": str(folder / "userlist.txt"),
            "default_pool_size = 20": "default_pool_size = 2",
        }
        self._settings = folder / "pgbouncer.ini"
        self._settings.write_text(changed(block("ini"), own | dict(changes or {})) + f"unix_socket_dir =\n{more}")
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{user}:{password}@127.0.0.1:{self.port}/flags"

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self._folder.cleanup()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self) -> Self:
        """Start it, and return when it listens."""
        assert PROGRAM
        with self._log.open("ab") as log:
            command = [*AS_ANYBODY, PROGRAM, str(self._settings)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self._listens, "PgBouncer listened")
        return self

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """Stop it at once, with its connections."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE)

    @property
    def log(self) -> str:
        """Its output."""
        return self._log.read_text()
