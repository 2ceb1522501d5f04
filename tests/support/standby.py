"""Starts a standby of a PostgreSQL server."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from operations.postgres import embedded
from operations.postgres.server_account import account_for


@contextmanager
def standby_of(first: embedded.Server) -> Iterator[embedded.Server]:
    """Start a standby, which follows the first server under the name second, and stop it at the end."""
    second = embedded.Server(first.folder.parent / "second")
    second.folder.mkdir()
    owner = first.cluster.stat()
    os.chown(second.folder, owner.st_uid, owner.st_gid)
    account = account_for(first.folder, embedded.PROGRAM) if os.geteuid() == 0 else None
    source = f"--dbname=host={first.folder / 'socket'} user=postgres application_name=second"
    options = ["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream"]
    command = [embedded.BINARIES / "pg_basebackup", source, f"--pgdata={second.cluster}", *options]
    subprocess.run([*(account.prefix if account else ()), *command], check=True, capture_output=True)
    try:
        second.ensure()
        yield second
    finally:
        second.release()
