"""Run a PostgreSQL server that is installed on this machine, for tests of moves between servers."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Debian installs each version here. The newest one is used.
BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
IS_INSTALLED = BINARIES is not None and (BINARIES / "initdb").exists()
AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") if os.geteuid() == 0 else ()
OPTIONS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off -c listen_addresses="


@contextmanager
def machine_server(folder: Path) -> Iterator[str]:
    """Run a new server in a folder, with its socket there, and yield its URL."""
    data = folder / "data"
    # PostgreSQL's user has to reach the folder.
    os.chmod(folder, 0o755)
    data.mkdir(mode=0o700)
    if AS_POSTGRES:
        subprocess.run(["chown", "postgres:postgres", folder, data], check=True)

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*AS_POSTGRES, f"{BINARIES}/{program}", "--pgdata", data, *arguments], cwd=folder, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()

    run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
    options = f"{OPTIONS} -c unix_socket_directories={folder}"
    run("pg_ctl", "start", "--wait", "--silent", f"--log={folder}/log", f"--options={options}")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        run("pg_ctl", "stop", "--mode=immediate", "--silent")
