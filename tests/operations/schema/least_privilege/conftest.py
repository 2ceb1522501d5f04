"""A database with the roles of docs/how-to/deploy.md, one for each file of tests."""

from collections.abc import Iterator

import pytest

from sql.database import Connection, connect
from tests.support.deployment import Deployment, deployment


@pytest.fixture(scope="module")
def deployed(server: str) -> Iterator[Deployment]:
    """The database of the page."""
    with deployment(server) as created:
        yield created


@pytest.fixture
def service(deployed: Deployment) -> Iterator[Connection]:
    """A connection of the service's role."""
    with connect(deployed.address("service")) as conn:
        yield conn


@pytest.fixture
def admin(deployed: Deployment) -> Iterator[Connection]:
    """A superuser's connection to the same database."""
    with connect(deployed.address()) as conn:
        yield conn
