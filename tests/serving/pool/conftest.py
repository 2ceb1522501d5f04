"""A PostgreSQL server behind a proxy that can fall silent."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sql.database import embedded
from tests.support.silent_proxy import Proxy


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="pool-") as name:
        Path(name).chmod(0o755)
        server = embedded.Server(Path(name) / "data")
        server.ensure()
        yield server
        server.release()


@pytest.fixture
def proxy(server: embedded.Server) -> Iterator[Proxy]:
    """A way to it, which ends before a test waits for ever."""
    with Proxy(server.ensure()) as proxy:
        end = threading.Timer(40, proxy.refuse)
        end.start()
        yield proxy
        end.cancel()
