"""A real service for real SDKs."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.service import Service


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start the service on an empty instance."""
    with Service(make_database(), tmp_path_factory.mktemp("service")) as service:
        yield service
