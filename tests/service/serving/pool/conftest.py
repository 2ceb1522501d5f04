"""A PostgreSQL server behind a proxy that can fall silent."""

import threading
from collections.abc import Iterator

import pytest

from operations.postgres import embedded
from tests.support.embedded_server import own_server
from tests.support.silent_proxy import Proxy


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL."""
    with own_server() as server:
        yield server


@pytest.fixture
def proxy(server: embedded.Server) -> Iterator[Proxy]:
    """A way to it, which ends before a test waits for ever."""
    with Proxy(server.ensure()) as proxy:
        end = threading.Timer(40, proxy.refuse)
        end.start()
        yield proxy
        end.cancel()
